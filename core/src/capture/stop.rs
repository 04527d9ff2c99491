//! A reading that is stopped before its end, from another thread: what was read so far is then the result.

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

/// How much of a pipe is read at once, and how many of these pieces may wait.
const PIECE: usize = 64 * 1024;
const PIECES: usize = 4;
/// How long a silent pipe is waited for before the flags are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// What a pipe still gets after it was to stop: whoever writes it may be ending, too, and has something left.
const GRACE: Duration = Duration::from_secs(2);

/// Asks a reading to stop; clones ask the same one.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    asked: AtomicBool,
    at_once: AtomicBool,
    /// A pipe or a file elsewhere was left before its end.
    left: AtomicBool,
}

impl Stop {
    /// Read no further than what is there.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }

    /// Wait for nothing more, not even for what a pipe's writer has left.
    pub fn at_once(&self) {
        self.0.at_once.store(true, Ordering::Relaxed);
        self.ask();
    }

    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// Whether whoever waits for more is to leave what it reads, which is then known as left.
    pub fn leave(&self) -> bool {
        if self.is_asked() {
            self.0.left.store(true, Ordering::Relaxed);
        }
        self.is_asked()
    }

    pub(super) fn has_left(&self) -> bool {
        self.0.left.load(Ordering::Relaxed)
    }
}

/// A stream that may keep its reader waiting for ever, read in a thread of its own so that it can be left.
pub(super) struct Pipe {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: io::Cursor<Vec<u8>>,
    stop: Stop,
    until: Option<Instant>,
}

impl Pipe {
    pub fn new(stream: impl Read + Send + 'static, stop: &Stop) -> Self {
        let (sender, pieces) = mpsc::sync_channel(PIECES);
        thread::spawn(move || pump(stream, &sender));
        Self { pieces, piece: io::Cursor::default(), stop: stop.clone(), until: None }
    }

    /// The next piece; `None` at the end, and where the pipe is to be left.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        while !self.is_over() {
            match self.pieces.recv_timeout(LOOK) {
                Ok(piece) => return piece.map(Some),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.stop.leave();
        Ok(None)
    }

    fn is_over(&mut self) -> bool {
        if !self.stop.is_asked() {
            return false;
        }
        let until = *self.until.get_or_insert_with(|| Instant::now() + GRACE);
        self.stop.0.at_once.load(Ordering::Relaxed) || Instant::now() >= until
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.piece.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            match self.next()? {
                Some(piece) => self.piece = io::Cursor::new(piece),
                None => return Ok(0),
            }
        }
    }
}

/// Reads until the end, a failure, or until nobody asks for more.
fn pump(mut stream: impl Read, sender: &SyncSender<io::Result<Vec<u8>>>) {
    let mut buffer = vec![0; PIECE];
    loop {
        let piece = match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => Ok(buffer.get(..count).unwrap_or_default().to_vec()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = piece.is_err();
        if sender.send(piece).is_err() || failed {
            return;
        }
    }
}

#[cfg(test)]
#[path = "stop_tests.rs"]
mod tests;
