//! Several captures as one recording: packets in time order, as `mergecap` would write them.

pub(super) mod resolution;
mod ring;

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use resolution::Resolution;
use zeroize::Zeroizing;

use super::contents::Origin;
use super::error::CaptureError;
use super::host_curve::HostCurve;
use super::pcapng::blocks::Extras;
use super::read_buffer::USUAL_SIZE;
use super::reader::Reader;
use super::source::Source;
use super::stop::Stop;
use super::summary::{CaptureFile, CutPacket, cut_short, joined};
use super::taps::{Tap, Taps};
use crate::note::{Note, NoteCode, Notes};

/// With more files than these, each is opened again when its turn comes, and for each piece: a ring buffer has
/// thousands.
const MAX_OPEN_FILES: usize = 16;
/// A file may begin so long before the last packet of the one that it goes on with, and such a part of the time that
/// this one took: what several processors see is not written in the order of its time.
const ENDING_NS: i64 = 1_000_000_000;
const ENDING_PART: i64 = 16;
/// So much of what is left of a file is looked at for that.
const SMALL_FILE_BYTES: usize = 64 * 1024;
/// What the read buffers of open files may take together, before further ones get smaller ones: what the ledger of the
/// least memory has for files.
const MAX_BUFFERS_BYTES: usize = 9_000_000;
const MIN_BUFFER_BYTES: usize = 1 << 10;
/// Of more places than these nobody asks any more which one a file goes on at: it is one of its own.
const PLACES_COMPARED: usize = 1 << 10;
/// Files of which the same is told one by one.
const MAX_FILES_NAMED: usize = 3;
/// A tap's next file begins as soon.
const SOON_NS: i64 = 2_000_000_000;

/// One captured packet, borrowed from the reader until the next one is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The number Wireshark gives it: 1 for the first packet of the recording.
    pub frame: u64,
    /// Nanoseconds since 1970-01-01 UTC, as the capture says.
    pub time_ns: i64,
    /// Which of several taps saw it: files that follow each other are of one place, files side by side in time of
    /// several, and each interface there is a tap.
    pub tap: u16,
    /// What was captured there has one clock.
    pub place: u16,
    /// No other tap shows anything now.
    pub alone: bool,
    /// The tcpdump.org LINKTYPE of its interface.
    pub link_type: u16,
    /// What was captured.
    pub bytes: &'a [u8],
    /// Its length on the wire, at least `bytes.len()`.
    pub original_length: u32,
}

pub struct Captures {
    files: Vec<File>,
    /// The next packet of every file but the current one, earliest first.
    waiting: BinaryHeap<Reverse<Turn>>,
    /// The file whose packet was given last.
    current: Option<usize>,
    taps: Taps,
    /// Files that have begun and go on.
    going_on: Vec<usize>,
    /// Only one of them does, and no other begins soon.
    alone: bool,
    frames: u64,
    turns: Turns,
    extras: Extras,
    total_bytes: Option<u64>,
    consumed: Arc<AtomicU64>,
    stop: Stop,
}

struct File {
    source: Source,
    /// As it was before anything was read of it.
    origin: Origin,
    is_one_of_many: bool,
    state: State,
    summary: CaptureFile,
    notes: Notes,
    /// How many of its frames have been passed.
    frames: u64,
    /// The time of its first packet, and whether that has passed.
    begins_ns: Option<i64>,
    has_begun: bool,
    /// The one that goes on when this one has ended, while it waits.
    next: Option<usize>,
    /// Where it was captured, and the tap of the last packet: of this interface.
    place: u16,
    tap: Option<(u32, u16)>,
    host_curve: Option<HostCurve>,
}

enum State {
    /// The first packet's time is known, and the file closed again.
    Closed,
    Open(Box<Reader>),
    Done,
}

/// The time of a file's next packet; `None` where the format has none for it.
struct Due(Option<i64>);

/// When a file's next packet is due. Of equal times the last file's goes first; a packet without time goes
/// at once, the first file's first. Both as Wireshark's `mergecap` has it, so that frame numbers agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    time_ns: i64,
    rank: i64,
}

impl Turn {
    #[inline]
    fn new(time_ns: Option<i64>, file: usize) -> Self {
        match time_ns {
            Some(time_ns) => Self { time_ns, rank: -(file as i64) },
            None => Self { time_ns: i64::MIN, rank: file as i64 },
        }
    }

    fn file(self) -> usize {
        self.rank.unsigned_abs() as usize
    }
}

impl Packet<'_> {
    /// It was longer on the wire.
    pub fn is_cut(&self) -> bool {
        self.bytes.len() < self.original_length as usize
    }
}

impl Captures {
    /// Opens all of them and finds each one's first packet. What is no capture is an error; of several files one that
    /// is cut or damaged at its beginning has a note instead, where another can be read.
    pub fn open(sources: Vec<Source>) -> Result<Self, CaptureError> {
        Self::open_until(sources, Stop::default())
    }

    /// The same for a recording that may be stopped: pipes are then left, see also `stopped`.
    pub fn open_until(sources: Vec<Source>, stop: Stop) -> Result<Self, CaptureError> {
        let total_bytes = sources.iter().map(Source::size).sum();
        let many = sources.len() > MAX_OPEN_FILES;
        let mut recording = Self {
            files: Vec::with_capacity(sources.len()),
            waiting: BinaryHeap::with_capacity(sources.len()),
            current: None,
            taps: Taps::default(),
            going_on: Vec::new(),
            alone: true,
            frames: 0,
            turns: Turns::default(),
            extras: Extras::default(),
            total_bytes,
            consumed: Arc::default(),
            stop,
        };
        let mut damaged = None;
        for source in sources {
            if let Some(error) = recording.add(source, many)? {
                damaged.get_or_insert(error);
            }
        }
        let is_capture = |file: &File| !file.summary.format.is_empty();
        recording.follow_rings();
        match damaged {
            Some(error) if !recording.files.iter().any(is_capture) => Err(error),
            _ => Ok(recording),
        }
    }

    /// Comes back with what is wrong with a file whose beginning is damaged: nothing of it will be read.
    fn add(&mut self, source: Source, many: bool) -> Result<Option<CaptureError>, CaptureError> {
        let close = many && source.opens_again();
        let mut file = File::new(source, many);
        let first = match close {
            true => file.look(&self.consumed, &self.stop),
            false => file.open(&self.consumed, USUAL_SIZE, &self.stop, &mut self.extras),
        };
        let damage = first.as_ref().err().and_then(CaptureError::damage);
        let (first, damaged) = match (first, damage) {
            (Err(error), Some(code)) => {
                file.notes.add(code, || error.reason());
                (None, Some(error))
            }
            (first, _) => (first?, None),
        };
        if let Some(Due(time_ns)) = first {
            file.begins_ns = time_ns;
            let turn = Turn::new(time_ns, self.files.len());
            self.waiting.push(Reverse(turn));
        }
        self.files.push(file);
        Ok(damaged)
    }

    /// The files of a ring are read one after the other.
    fn follow_rings(&mut self) {
        let paths = self.waiting.iter().map(|&Reverse(turn)| turn.file());
        let paths: Vec<(usize, String)> =
            paths.filter_map(|number| Some((number, self.files.get(number)?.source.place()))).collect();
        let mut later = HashSet::new();
        for pair in ring::rings(&paths).iter().flat_map(|ring| ring.windows(2)) {
            if let &[one, next] = pair
                && let Some(file) = self.files.get_mut(one)
            {
                file.next = Some(next);
                later.insert(next);
            }
        }
        self.waiting.retain(|&Reverse(turn)| !later.contains(&turn.file()));
    }

    /// The next packet in time order; frame numbers count from 1.
    #[inline]
    pub fn next_packet(&mut self) -> Option<Packet<'_>> {
        if self.advance() { self.packet() } else { None }
    }

    /// Steps to the next packet; `false` where there is none.
    #[inline]
    pub fn advance(&mut self) -> bool {
        loop {
            let Some(file) = self.next_file().and_then(|number| self.files.get_mut(number)) else { return false };
            self.frames += 1;
            file.frames += 1;
            if file.has_packet() {
                return true;
            }
        }
    }

    /// The packet that was stepped to, asked for once.
    #[inline]
    pub fn packet(&mut self) -> Option<Packet<'_>> {
        let packet = self.files.get_mut(self.current?)?.packet(self.frames, &mut self.taps)?;
        Some(Packet { alone: self.alone && !self.taps.has_several_interfaces(), ..packet })
    }

    /// The TLS key logs that the files hold before the packet that was stepped to, since somebody asked last.
    #[inline]
    pub fn take_key_log(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        self.extras.take_key_log()
    }

    /// How much later a host answers after a rest: that of the first file that says so.
    pub fn host_curve(&self) -> Option<&HostCurve> {
        self.files.iter().find_map(|file| file.host_curve.as_ref())
    }

    /// How many blocks with decryption secrets have been passed.
    pub fn secrets(&self) -> u64 {
        self.extras.secrets
    }

    /// Whether to end here because that was asked for: between packets of files, while pipes end by themselves.
    pub fn stopped(&mut self) -> bool {
        let Some(total) = self.total_bytes.filter(|_| self.stop.is_asked()) else {
            return false;
        };
        let (frames, read) = (self.frames, self.consumed.load(Ordering::Relaxed));
        let percent = 100.0 * read as f64 / total.max(1) as f64;
        if let Some(file) = self.current.and_then(|current| self.files.get_mut(current)) {
            file.notes.add(NoteCode::Stopped, || {
                format!("reading was stopped after frame {frames}, with {percent:.0} % of the bytes read")
            });
        }
        true
    }

    /// A packet lacks some of its IP datagram.
    pub fn note_cut(&mut self, packet: CutPacket) {
        let (file, frame) = self.turns.place(packet.frame).unwrap_or_else(|| {
            let file = self.current.unwrap_or(self.files.len().saturating_sub(1));
            let passed = self.files.get(file).map_or(0, |file| file.frames);
            // A packet that was held for its time is a few frames behind.
            (file, passed.saturating_sub(self.frames - packet.frame))
        });
        if let Some(file) = self.files.get_mut(file) {
            file.notes.add(NoteCode::SnapLength, || cut_short(CutPacket { frame, ..packet }));
        }
    }

    /// The comments of the packet that was given last.
    pub fn comments(&self) -> impl Iterator<Item = &[u8]> {
        let file = self.current.and_then(|current| self.files.get(current));
        let open = file.and_then(|file| match &file.state {
            State::Open(reader) => Some(reader.comments()),
            State::Closed | State::Done => None,
        });
        open.into_iter().flatten()
    }

    /// The file whose packet is due.
    #[inline(always)]
    fn next_file(&mut self) -> Option<usize> {
        let Some(current) = self.current else { return self.next_turn(None) };
        let Some(Due(time_ns)) = self.files.get_mut(current)?.advance(&mut self.extras) else {
            return self.next_turn(None);
        };
        let turn = Turn::new(time_ns, current);
        match self.waiting.peek() {
            Some(&Reverse(next)) if next < turn => self.next_turn(Some(turn)),
            _ => Some(current),
        }
    }

    /// Goes to the file that is due first; the current one waits for its `turn`, or has ended.
    #[inline(never)]
    fn next_turn(&mut self, mut turn: Option<Turn>) -> Option<usize> {
        if let Some(ended) = self.current.take().filter(|_| turn.is_none()) {
            self.go_on(ended);
        }
        let at_once = (MAX_BUFFERS_BYTES / self.going_on.len().max(1)).clamp(MIN_BUFFER_BYTES, USUAL_SIZE);
        loop {
            let first = self.waiting.peek_mut()?;
            let number = match turn.take() {
                Some(turn) => swap(first, turn).file(),
                None => PeekMut::pop(first).0.file(),
            };
            if !self.files.get_mut(number)?.reopen(&self.consumed, at_once, &self.stop, &mut self.extras) {
                self.go_on(number);
            } else if self.begin(number) {
                let own = self.files.get(number)?.frames + 1;
                self.current = Some(number);
                self.turns.begin(self.frames + 1, number, own);
                if own == 1 {
                    self.going_on.push(number);
                    self.look_for_others(number);
                }
                return self.current;
            }
        }
    }

    /// A file has ended: the one that waits for that is due.
    fn go_on(&mut self, ended: usize) {
        self.going_on.retain(|&other| other != ended);
        let next = self.files.get_mut(ended).and_then(|file| file.next.take());
        if let Some((number, next)) = next.and_then(|number| Some((number, self.files.get(number)?))) {
            self.waiting.push(Reverse(Turn::new(next.begins_ns, number)));
        }
        self.look_for_others(ended);
    }

    /// A file's first packet is due: it goes on where another one ends. `false` where that one has packets still, which
    /// were captured before.
    fn begin(&mut self, number: usize) -> bool {
        if self.files.get(number).is_none_or(|file| file.has_begun) {
            return true;
        }
        let goes_on = self.goes_on_with(number);
        let place = self.taps.begin(number, goes_on.map(|(place, _)| place));
        if let Some(file) = self.files.get_mut(number) {
            (file.has_begun, file.place) = (true, place);
        }
        let last = goes_on.and_then(|(_, last)| self.files.get_mut(last)).filter(|last| !last.is_over());
        let is_due = last.is_none();
        if let Some(last) = last {
            last.next = Some(number);
        }
        is_due
    }

    /// The place that a file goes on at, and the last file there: the one whose name is most alike, of those that end.
    fn goes_on_with(&mut self, number: usize) -> Option<(usize, usize)> {
        let file = self.files.get(number).filter(|_| self.taps.places() <= PLACES_COMPARED)?;
        let (path, begins_ns) = (file.source.place(), file.begins_ns);
        let alike = |last: usize| {
            let other = self.files.get(last)?;
            let other_path = other.source.place();
            let same = path.bytes().zip(other_path.bytes()).take_while(|(one, other)| one == other).count();
            Some((same, other.is_over()))
        };
        // Of names as alike the first: the others may be copies of its files.
        let last_files = self.taps.last_files().rev();
        let mut places: Vec<_> = last_files.filter_map(|(place, last)| Some((alike(last)?, place, last))).collect();
        places.sort_by_key(|&(alike, ..)| alike);
        let &(_, place, last) = places.last()?;
        if self.files.get_mut(last)?.ends_at(begins_ns) {
            return Some((place, last));
        }
        places.into_iter().rfind(|((_, is_over), ..)| *is_over).map(|(_, place, last)| (place, last))
    }

    /// A file has begun or ended: do others go on, or begin soon?
    fn look_for_others(&mut self, number: usize) {
        let now_ns = self.files.get(number).and_then(File::now_ns).unwrap_or(i64::MIN);
        let is_to_begin = |turn: &Turn| self.files.get(turn.file()).is_some_and(|file| file.frames == 0);
        let begins_soon = |turn: &Turn| turn.time_ns.saturating_sub(now_ns) <= SOON_NS && is_to_begin(turn);
        self.alone = self.going_on.len() <= 1 && !self.waiting.iter().any(|Reverse(turn)| begins_soon(turn));
    }

    /// What is known of each file: complete once everything has been read.
    pub fn files(&self) -> impl Iterator<Item = &CaptureFile> {
        self.files.iter().map(|file| &file.summary)
    }

    /// Where to learn what each of them holds, to the byte.
    pub fn origins(&self) -> Vec<Origin> {
        self.files.iter().map(|file| file.origin.clone()).collect()
    }

    /// Everything that went wrong so far; each message begins with the file's name. What is alike in many files, as
    /// those of a ring buffer, is told of the first ones; of damage, which costs packets, every file is named.
    pub fn notes(&self) -> Vec<Note> {
        let clocks = self.clocks();
        let mut told: Vec<Note> = Vec::new();
        let mut alike: HashMap<NoteCode, Alike> = HashMap::new();
        for note in self.files.iter().flat_map(|file| file.named_notes(&clocks)) {
            let alike = alike.entry(note.code).or_default();
            if alike.files < MAX_FILES_NAMED || note.code.is_damage() {
                (alike.files, alike.last) = (alike.files + 1, told.len());
                told.push(note);
            } else if let Some(last) = told.get_mut(alike.last) {
                alike.more += 1;
                last.count = last.count.saturating_add(note.count);
            }
        }
        for Alike { last, more, .. } in alike.into_values().filter(|alike| alike.more > 0) {
            if let Some(note) = told.get_mut(last) {
                let files = if more == 1 { "file" } else { "files" };
                note.message.push_str(&format!("; likewise in {more} more {files}"));
            }
        }
        told
    }

    /// What a tap is called: the first of its files, with the interface's number where there are several.
    pub fn tap_name(&self, number: u16) -> Option<String> {
        let tap = self.taps.get(number)?;
        let file = &self.files.get(tap.file)?.summary.path;
        Some(match self.taps.is_one_of_several(tap) {
            true => format!("{file} (interface {})", tap.interface),
            false => file.clone(),
        })
    }

    /// Where it was captured.
    pub fn tap(&self, number: u16) -> Option<Tap> {
        self.taps.get(number)
    }

    /// How fine each tap's clock is, in ns: 0 where it does not show.
    pub fn tap_ticks_ns(&self) -> Vec<i64> {
        let clocks = self.clocks();
        let tick_ns = |tap: Tap| clocks.get(usize::from(tap.place))?.tick_ns()?.try_into().ok();
        self.taps.iter().map(|tap| tick_ns(tap).unwrap_or(0)).collect()
    }

    /// How fine each file's clock is, in ns: `None` where it does not show.
    pub fn ticks_ns(&self) -> Vec<Option<u64>> {
        let clocks = self.clocks();
        let tick_ns = |file: &File| file.summary.tick_ns(clocks.get(usize::from(file.place))?);
        self.files.iter().map(tick_ns).collect()
    }

    /// The clock of each place.
    fn clocks(&self) -> Vec<Resolution> {
        let mut files: Vec<&File> = self.files.iter().collect();
        files.sort_by_key(|file| (file.place, file.summary.first_time_ns));
        let of_one = files.chunk_by(|one, other| one.place == other.place);
        of_one.map(|files| joined(files.iter().map(|file| &file.summary))).collect()
    }

    /// Which frame of which file a frame of the recording is; `None` where there is but one file.
    pub fn place(&self, frame: u64) -> Option<String> {
        let (file, own) = self.turns.place(frame).filter(|_| self.files.len() > 1)?;
        Some(format!("frame {own} of {}", base_name(&self.files.get(file)?.summary.path)))
    }

    /// The size of all files as they lie on disk; `None` where one is a pipe.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// How many of these bytes have been read: for progress, from any thread.
    pub fn consumed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.consumed)
    }
}

impl File {
    fn new(source: Source, is_one_of_many: bool) -> Self {
        let summary = CaptureFile::new(source.name());
        let origin = source.origin();
        Self {
            summary,
            source,
            origin,
            is_one_of_many,
            state: State::Done,
            notes: Notes::default(),
            frames: 0,
            begins_ns: None,
            has_begun: false,
            next: None,
            place: 0,
            tap: None,
            host_curve: None,
        }
    }

    /// Finds the first packet and closes the file again, so that nothing of it has been read yet.
    fn look(&mut self, consumed: &Arc<AtomicU64>, stop: &Stop) -> Result<Option<Due>, CaptureError> {
        let looked_at = Arc::default();
        let first = self.open(&looked_at, USUAL_SIZE, stop, &mut Extras::default())?;
        if first.is_some() {
            self.state = State::Closed;
            self.notes = Notes::default();
        } else {
            consumed.fetch_add(looked_at.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        Ok(first)
    }

    fn open(
        &mut self,
        consumed: &Arc<AtomicU64>,
        at_once: usize,
        stop: &Stop,
        extras: &mut Extras,
    ) -> Result<Option<Due>, CaptureError> {
        let stream = self.source.open(consumed, self.is_one_of_many, stop)?;
        let mut reader = Reader::open(&self.source.place(), stream, at_once, stop)?;
        self.summary.format = reader.format();
        let first = reader.advance(&mut self.notes, extras).map(|record| Due(record.time_ns));
        match first {
            Some(_) => self.state = State::Open(Box::new(reader)),
            None => self.close(extras),
        }
        Ok(first)
    }

    /// Opens a closed file; `false` where it is gone or has changed since it was looked at.
    fn reopen(&mut self, consumed: &Arc<AtomicU64>, at_once: usize, stop: &Stop, extras: &mut Extras) -> bool {
        if !matches!(self.state, State::Closed) {
            return true;
        }
        match self.open(consumed, at_once, stop, extras) {
            Ok(first) => first.is_some(),
            Err(error) => {
                self.state = State::Done;
                self.notes.add(NoteCode::FileUnreadable, || {
                    format!("was readable when the analysis began: {}", error.reason())
                });
                false
            }
        }
    }

    /// Steps to the next packet.
    #[inline(always)]
    fn advance(&mut self, extras: &mut Extras) -> Option<Due> {
        let State::Open(reader) = &mut self.state else {
            return None;
        };
        let due = reader.advance(&mut self.notes, extras).map(|record| Due(record.time_ns));
        if due.is_none() {
            self.close(extras);
        }
        due
    }

    #[cold]
    fn close(&mut self, extras: &mut Extras) {
        self.state = State::Done;
        self.host_curve = extras.host_curve.take();
    }

    fn is_over(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Does it end where the next file begins? Both may hold a little of the same time.
    fn ends_at(&mut self, next_ns: Option<i64>) -> bool {
        let State::Open(reader) = &mut self.state else { return self.is_over() };
        // what a pipe still brings is not waited for
        let Some(next_ns) = next_ns.filter(|_| self.source.opens_again() && self.next.is_none()) else { return false };
        let Some(ends_ns) = reader.ends_ns(SMALL_FILE_BYTES) else { return false };
        let lasted_ns = self.begins_ns.map_or(0, |begins_ns| ends_ns.saturating_sub(begins_ns));
        ends_ns.saturating_sub(next_ns) <= (lasted_ns / ENDING_PART).min(ENDING_NS)
    }

    /// The time of the packet that is due, or of the last one.
    fn now_ns(&self) -> Option<i64> {
        match &self.state {
            State::Open(reader) => reader.record().time_ns,
            State::Closed | State::Done => self.summary.last_time_ns,
        }
    }

    #[inline]
    fn has_packet(&self) -> bool {
        matches!(&self.state, State::Open(reader) if reader.record().is_packet)
    }

    /// The packet that is due, counted in the file's facts.
    #[inline(always)]
    fn packet(&mut self, frame: u64, taps: &mut Taps) -> Option<Packet<'_>> {
        let State::Open(reader) = &self.state else {
            return None;
        };
        let record = reader.record();
        self.summary.count(record, self.frames, &mut self.notes);
        let tap = match self.tap {
            Some((interface, tap)) if interface == record.interface => tap,
            _ => taps.number(self.place, record.interface),
        };
        self.tap = Some((record.interface, tap));
        Some(Packet {
            frame,
            time_ns: record.time_ns.unwrap_or(0),
            tap,
            place: self.place,
            alone: false,
            link_type: record.link_type,
            bytes: reader.bytes(),
            original_length: record.original_length,
        })
    }

    fn named_notes(&self, clocks: &[Resolution]) -> impl Iterator<Item = Note> {
        let coarse_clock = clocks.get(usize::from(self.place)).and_then(|clock| self.summary.note(clock));
        let notes = self.notes.iter().cloned().chain(coarse_clock);
        notes.map(|note| Note { message: format!("{}: {}", self.summary.path, note.message), ..note })
    }
}

/// Lets `turn` wait in place of the first one.
fn swap(mut first: PeekMut<'_, Reverse<Turn>>, turn: Turn) -> Turn {
    std::mem::replace(&mut *first, Reverse(turn)).0
}

/// A file's name without its folders.
fn base_name(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    if name.is_empty() { path } else { name }
}

/// Notes of one code, of several files.
#[derive(Default)]
struct Alike {
    /// Those that are told one by one, and where the last of them stands.
    files: usize,
    last: usize,
    /// The others.
    more: u64,
}

/// Where the recording goes from one file to another.
#[derive(Default)]
struct Turns {
    /// From which frame of the recording on it is in which file, and the frame of that file.
    began: Vec<(u64, usize, u64)>,
    /// The first frame that found no room.
    full: Option<u64>,
}

impl Turns {
    /// Files that take turns packet by packet would fill the memory with them.
    const MAX_FILES: usize = 1 << 16;

    fn begin(&mut self, frame: u64, file: usize, own: u64) {
        if self.began.last().is_some_and(|&(.., last, _)| last == file) || self.full.is_some() {
            return;
        }
        if self.began.len() < Self::MAX_FILES {
            self.began.push((frame, file, own));
        } else {
            self.full = Some(frame);
        }
    }

    fn place(&self, frame: u64) -> Option<(usize, u64)> {
        if self.full.is_some_and(|full| frame >= full) {
            return None;
        }
        let turn = self.began.partition_point(|&(began, ..)| began <= frame).checked_sub(1)?;
        let (began, file, own) = *self.began.get(turn)?;
        Some((file, own + (frame - began)))
    }
}

#[cfg(test)]
#[path = "captures_tests.rs"]
mod tests;
