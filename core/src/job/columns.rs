//! The columns of the exchanges' table, read piece by piece.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::UNSEEN;
use super::recorded::{Connections, Phases};
use crate::exchange::Wait;
use crate::protocols::Purpose;

/// Where the columns of the exchanges come from.
pub trait Source {
    type Error;

    fn count(&self) -> usize;

    /// The connection of a row, which ascends, and its phase.
    fn place(&self, row: usize) -> [u32; 2];

    /// Some columns of some rows.
    fn columns(&self, names: &[&'static str], rows: &Range<usize>) -> Result<Vec<Column>, Self::Error>;
}

/// Numbers, [`UNSEEN`] for null; a flag is 0 or 1, and a word its place among all.
#[derive(Clone, Debug, Default)]
pub struct Column {
    pub numbers: Vec<i64>,
    pub words: Vec<String>,
}

macro_rules! columns {
    ($($of:ident: $name:literal,)*) => {
        /// A column that is read.
        #[derive(Clone, Copy)]
        pub enum Of {
            $($of,)*
        }

        const NAMES: [&str; [$($name),*].len()] = [$($name),*];
    };
}

columns! {
    Request: "request_time",
    RequestEnd: "request_end_time",
    Response: "response_time",
    ResponseEnd: "response_end_time",
    Purpose: "purpose",
    Wait: "wait",
    Fingerprint: "fingerprint",
    RoundTrips: "round_trips",
    Waited: "waited_ns",
    Complete: "complete",
    RequestBytes: "request_wire_bytes",
    ResponseBytes: "response_wire_bytes",
    Streamed: "streamed_bytes",
    Retransmissions: "retransmissions",
    Stalled: "stalled_ns",
    LostBefore: "lost_before_ns",
    Silent: "silent_ns",
    RequestSilent: "request_silent_ns",
    RequestPaced: "request_paced_ns",
    ResponsePaced: "response_paced_ns",
    SincePush: "since_push_ns",
    Command: "command",
}

/// From there on columns are read only where some row has any of it; commands where something was lost.
const RARE: usize = Of::Streamed as usize;
pub const RARE_COLUMNS: usize = Of::Command as usize - RARE;

pub const TIMES: [Of; 4] = [Of::Request, Of::RequestEnd, Of::Response, Of::ResponseEnd];

/// Rows that are read at once, of a long recording one part in so many, and in more where memory is scarce: rows that
/// are not kept in their order are unpacked once for each. Tests have few.
const PIECE: usize = if cfg!(test) { 16 } else { 1 << 17 };
const PIECES: usize = 3;
const PIECES_WHERE_SCARCE: usize = 5;

/// Of the rare columns those that there are, and all others, by their places.
fn wanted(has: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..NAMES.len()).filter(|&place| place < RARE || has(place - RARE)).collect()
}

/// The table, and what its rows belong to.
pub struct Table<'a, S> {
    pub source: &'a S,
    pub connections: &'a Connections,
    pub phases: &'a Phases,
    /// ns since 1970.
    pub start_ns: i64,
    /// There is no room for all rows.
    pub scarce: bool,
}

impl<'a, S: Source> Table<'a, S> {
    /// All rows, piece by piece; of the rare columns those that there are, by their places.
    pub fn pieces(&self, has: impl Fn(usize) -> bool, mut take: impl FnMut(Piece<'a>)) -> Result<(), S::Error> {
        let wanted = wanted(has);
        let (count, mut first) = (self.source.count(), 0);
        let mut most = PIECE.max(count.div_ceil(if self.scarce { PIECES_WHERE_SCARCE } else { PIECES }));
        while first < count {
            let mut piece = self.piece(&wanted, first..count.min(first + most))?;
            let stop = if piece.rows.end < count { piece.stop() } else { piece.rows.len() };
            if stop == 0 {
                most *= 2;
                continue;
            }
            piece.rows.end = first + stop;
            first = piece.rows.end;
            take(piece);
        }
        Ok(())
    }

    /// Some of the pieces again, by their rows.
    pub fn those(
        &self,
        pieces: &[Range<usize>],
        has: impl Fn(usize) -> bool,
        mut take: impl FnMut(Piece<'a>),
    ) -> Result<(), S::Error> {
        let wanted = wanted(has);
        for rows in pieces {
            take(self.piece(&wanted, rows.clone())?);
        }
        Ok(())
    }

    fn piece(&self, wanted: &[usize], rows: Range<usize>) -> Result<Piece<'a>, S::Error> {
        let names: Vec<&'static str> = wanted.iter().map(|&place| NAMES[place]).collect();
        let mut columns = vec![Column::default(); NAMES.len()];
        for (&place, column) in wanted.iter().zip(self.source.columns(&names, &rows)?) {
            columns[place] = column;
        }
        for time in TIMES {
            let times = columns[time as usize].numbers.iter_mut().filter(|time| **time != UNSEEN);
            times.for_each(|time| *time -= self.start_ns);
        }
        let places = rows.clone().map(|row| self.source.place(row)).collect();
        let words = |of: Of| columns[of as usize].words.iter();
        let purposes = words(Of::Purpose).map(|word| Purpose::named(word).unwrap_or(Purpose::Other)).collect();
        let waits = words(Of::Wait).map(|word| Wait::named(word).unwrap_or(Wait::None)).collect();
        let commands = words(Of::Command).map(|word| hash(word)).collect();
        let (connections, phases) = (self.connections, self.phases);
        Ok(Piece { rows, connections, phases, places, columns, purposes, waits, commands })
    }
}

/// Some rows.
pub struct Piece<'a> {
    pub rows: Range<usize>,
    pub connections: &'a Connections,
    pub phases: &'a Phases,
    /// The connection and the phase of each.
    pub places: Vec<[u32; 2]>,
    pub columns: Vec<Column>,
    purposes: Vec<Purpose>,
    waits: Vec<Wait>,
    commands: Vec<u64>,
}

impl Piece<'_> {
    /// What a row has in a column; 0 where none has anything.
    pub fn at(&self, of: Of, place: usize) -> i64 {
        self.columns[of as usize].numbers.get(place).copied().unwrap_or(0)
    }

    pub fn connection(&self, place: usize) -> usize {
        self.places[place][0] as usize
    }

    pub fn purpose(&self, place: usize) -> Purpose {
        self.word(Of::Purpose, place, &self.purposes).unwrap_or(Purpose::Other)
    }

    pub fn wait(&self, place: usize) -> Wait {
        self.word(Of::Wait, place, &self.waits).unwrap_or(Wait::None)
    }

    /// A number for its command.
    pub fn command(&self, place: usize) -> u64 {
        self.word(Of::Command, place, &self.commands).unwrap_or(u64::MAX)
    }

    fn word<T: Copy>(&self, of: Of, place: usize, words: &[T]) -> Option<T> {
        words.get(usize::try_from(self.at(of, place)).ok()?).copied()
    }

    pub fn is_complete(&self, place: usize) -> bool {
        self.at(Of::Complete, place) == 1
    }

    /// The rare columns, in their order; empty where they were not read.
    pub fn rare(&self) -> impl Iterator<Item = &[i64]> {
        self.columns[RARE..RARE + RARE_COLUMNS].iter().map(|column| &*column.numbers)
    }

    /// The last row from which on nothing depends on those before it; 0 for none.
    fn stop(&self) -> usize {
        let apart = |end: Of, begin: Of, place: usize| self.at(end, place - 1) != self.at(begin, place);
        let alone = |&place: &usize| {
            apart(Of::RequestEnd, Of::Request, place)
                && apart(Of::ResponseEnd, Of::Response, place)
                && self.is_complete(place - 1)
                && self.is_complete(place)
        };
        (1..self.rows.len()).rev().find(alone).unwrap_or(0)
    }
}

/// Of a command's name: apart from the numbers of statements.
fn hash(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish() | 1 << 63
}
