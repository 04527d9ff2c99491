//! The file under way: whoever forwards appends packets to a buffer, a thread of its own writes it, so that a slow disk
//! holds nobody up.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use latpcap_core::capture::writing::{self as pcapng, Described, Dropped, LINKTYPE_RAW};

use super::packets::Sink;

/// What passed is in the file so much later at most.
const FLUSHED_EVERY: Duration = Duration::from_millis(50);
/// Written at once.
const LARGE: usize = 1 << 20;
/// What waits for a slow disk; packets beyond that are counted, not kept.
const MAX_WAITING_BYTES: usize = 64 << 20;

const APPLICATION: &str = concat!("latpcap ", env!("CARGO_PKG_VERSION"));
const NAME: &str = "relay";
/// The core takes an interface whose description begins with this word for a relay's.
const DESCRIPTION: &str = "relayed: what a recording relay handed on; headers, acknowledgments and windows are its own";

/// What became of a recording.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    pub packets: u64,
    /// They found no room in the buffer, or no file any more.
    pub dropped: u64,
    /// Why the file ends before the traffic did.
    pub ended: Option<String>,
}

/// A pcapng file that grows, or nothing where nothing is to be recorded.
pub struct Recording {
    shared: Arc<Shared>,
    snap_length: u32,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Held from before something is handed on until it is recorded.
    handing: Mutex<()>,
    /// For the writer: there is something to write, or nothing more will come.
    news: Condvar,
    /// For whoever waits until all is written.
    written: Condvar,
}

#[derive(Default)]
struct State {
    blocks: Vec<u8>,
    /// The writer has taken blocks that are not written yet.
    writes: bool,
    hurry: bool,
    closing: bool,
    recorded: Recorded,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recording {
    /// Begins a file, whose header is written when this returns.
    pub fn begin(path: &Path, snap_length: u32) -> io::Result<Self> {
        let mut file = create(path)?;
        let mut head = Vec::new();
        pcapng::section(&mut head, APPLICATION);
        let relay = Described { link_type: LINKTYPE_RAW, snap_length, name: NAME, description: DESCRIPTION };
        pcapng::interface(&mut head, &relay);
        file.write_all(&head)?;
        let shared = Arc::<Shared>::default();
        let for_writer = Arc::clone(&shared);
        let thread = thread::Builder::new().name("relay-file".into()).spawn(move || write(&mut file, &for_writer))?;
        Ok(Self { shared, snap_length, thread: Some(thread) })
    }

    /// Nothing is recorded.
    pub fn nothing() -> Self {
        Self { shared: Arc::default(), snap_length: 0, thread: None }
    }

    /// A handle for who only waits for the file.
    pub fn watcher(&self) -> Watcher {
        Watcher(self.thread.is_some().then(|| Arc::clone(&self.shared)))
    }

    /// Writes what is left, and the statistics.
    pub fn end(mut self) -> Recorded {
        self.close();
        self.shared.lock().recorded.clone()
    }

    fn close(&mut self) {
        self.shared.lock().closing = true;
        self.shared.news.notify_one();
        if let Some(thread) = self.thread.take() {
            // The writer does not panic; if it did, what it wrote stays.
            let _ = thread.join();
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.close();
    }
}

impl Sink for Recording {
    fn packet(&mut self, length: usize, write: impl FnOnce(&mut Vec<u8>, u32)) {
        if self.thread.is_none() {
            return;
        }
        let mut state = self.shared.lock();
        if state.recorded.ended.is_some() || state.blocks.len() + length > MAX_WAITING_BYTES {
            state.recorded.dropped += 1;
            return;
        }
        let before = state.blocks.len();
        write(&mut state.blocks, self.snap_length);
        state.recorded.packets += 1;
        if before == 0 || (before < LARGE && state.blocks.len() >= LARGE) {
            self.shared.news.notify_one();
        }
    }
}

/// Waits for the file without keeping it open.
#[derive(Clone)]
pub struct Watcher(Option<Arc<Shared>>);

impl Watcher {
    /// While it is held, what is handed on may not be recorded yet: a flush waits.
    #[must_use]
    pub fn hold(&self) -> Option<MutexGuard<'_, ()>> {
        self.0.as_ref().map(|shared| shared.handing.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns when all that was handed on so far is in the file, or the file has ended: its receiver may be quicker to
    /// ask for it than the relay is to record it.
    pub fn flush(&self) {
        let Some(shared) = &self.0 else { return };
        drop(self.hold());
        let mut state = shared.lock();
        while (state.writes || !state.blocks.is_empty()) && state.recorded.ended.is_none() {
            state.hurry = true;
            shared.news.notify_one();
            state = shared.written.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub fn recorded(&self) -> Recorded {
        self.0.as_ref().map(|shared| shared.lock().recorded.clone()).unwrap_or_default()
    }
}

/// The writer's thread: what came within a while is written at once, whole blocks only.
fn write(file: &mut File, shared: &Shared) {
    let mut blocks = Vec::new();
    let mut whole = file.stream_position().ok();
    let mut written_drops = 0;
    loop {
        let mut state = shared.lock();
        while state.blocks.is_empty() && !state.closing {
            state = shared.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.closing && !state.hurry && state.blocks.len() < LARGE {
            let more = shared.news.wait_timeout_while(state, FLUSHED_EVERY, |state| {
                !state.closing && !state.hurry && state.blocks.len() < LARGE
            });
            state = more.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(&mut state.blocks, &mut blocks);
        let (closing, dropped) = (state.closing, state.recorded.dropped);
        state.hurry = false;
        state.writes = true;
        drop(state);
        if dropped > written_drops || closing {
            pcapng::statistics(&mut blocks, now_ns(), Dropped::ByInterface(dropped));
            written_drops = dropped;
        }
        let done = file.write_all(&blocks);
        let (ended, kept) = match &done {
            Ok(()) => {
                whole = whole.map(|whole| whole + blocks.len() as u64);
                (None, blocks.len())
            }
            Err(problem) => (Some(problem.to_string()), keep_whole(file, whole, &blocks)),
        };
        let unwritten = pcapng::packets(&blocks[kept..]);
        blocks.clear();
        blocks.shrink_to(LARGE);
        let mut state = shared.lock();
        state.writes = false;
        let is_over = closing || ended.is_some();
        state.recorded.ended = ended;
        if is_over {
            let lost = unwritten + pcapng::packets(&std::mem::take(&mut state.blocks));
            state.recorded.packets -= lost;
            state.recorded.dropped += lost;
        }
        shared.written.notify_all();
        if is_over {
            return;
        }
    }
}

/// What passed may hold passwords: nobody else is to read it.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// After a failure, ends the file behind the last block that is whole. `before`: where these `blocks` begin. Comes back
/// with how much of them is in the file; nothing where that cannot be known.
fn keep_whole(file: &mut File, before: Option<u64>, blocks: &[u8]) -> usize {
    let Some(before) = before else { return 0 };
    let Ok(length) = file.metadata().map(|metadata| metadata.len()) else { return 0 };
    let mut end = 0;
    while let Some(next) = pcapng::block_end(blocks, end).filter(|&next| before + next as u64 <= length) {
        end = next;
    }
    // What cannot be cut either, a reader says of it that the file ends inside a block.
    let _ = file.set_len(before + end as u64);
    end
}

/// The clock that every capture of this machine goes by.
pub fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
