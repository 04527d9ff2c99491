//! The exchanges of a recording as a job has them, read from the columns of its table piece by piece.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::exchange::{Exchange, Exchanges, UNSEEN};
use super::facts::Facts;
use super::missing;
use super::recorded::{Connections, Phases};
use super::transfer::INITIAL_WINDOW;
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
    Told: "told_ns",
    Command: "command",
}

/// From there on columns are read only where some row has any of it; commands where something was lost.
const RARE: usize = Of::Streamed as usize;
pub const RARE_COLUMNS: usize = Of::Command as usize - RARE;

const TIMES: [Of; 4] = [Of::Request, Of::RequestEnd, Of::Response, Of::ResponseEnd];

/// Rows that are read at once, of a long recording one part in so many: rows that are not kept in their order are
/// unpacked once for each.
const PIECE: usize = 1 << 17;
const PIECES: usize = 8;

/// What there is beside the columns of the exchanges.
#[derive(Debug, Default)]
pub struct Recorded {
    pub phases: Phases,
    pub connections: Connections,
    /// Which statements end a transaction.
    pub ends: Vec<bool>,
    /// ns since 1970.
    pub start_ns: i64,
    pub facts: Facts,
}

/// The exchanges of a recording.
pub struct Reading<'a, S> {
    pub source: &'a S,
    pub of: &'a Recorded,
}

impl<S: Source> Exchanges for Reading<'_, S> {
    type Error = S::Error;

    fn count(&self) -> usize {
        self.source.count()
    }

    fn may_lose(&self) -> bool {
        self.of.facts.loses
    }

    fn each(&self, take: &mut dyn FnMut(&Exchange)) -> Result<(), S::Error> {
        if let Some(kept) = &self.of.facts.kept {
            kept.iter().for_each(take);
            return Ok(());
        }
        self.pieces(|piece| {
            let piece = piece.filled_in(self.of);
            (0..piece.rows.len()).for_each(|place| take(&piece.exchange(place)));
        })
    }
}

impl<S: Source> Reading<'_, S> {
    /// All rows, piece by piece.
    pub fn pieces(&self, mut take: impl FnMut(Piece<'_>)) -> Result<(), S::Error> {
        let (count, mut first) = (self.source.count(), 0);
        let mut most = PIECE.max(count.div_ceil(PIECES));
        while first < count {
            let rows = first..count.min(first + most);
            let mut piece = self.piece(rows)?;
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

    fn piece(&self, rows: Range<usize>) -> Result<Piece<'_>, S::Error> {
        let has = |&place: &usize| place < RARE || self.of.facts.has(place - RARE);
        let wanted: Vec<usize> = (0..NAMES.len()).filter(has).collect();
        let names: Vec<&'static str> = wanted.iter().map(|&place| NAMES[place]).collect();
        let mut columns = vec![Column::default(); NAMES.len()];
        for (place, column) in wanted.into_iter().zip(self.source.columns(&names, &rows)?) {
            columns[place] = column;
        }
        for time in TIMES {
            let times = columns[time as usize].numbers.iter_mut().filter(|time| **time != UNSEEN);
            times.for_each(|time| *time -= self.of.start_ns);
        }
        let places = rows.clone().map(|row| self.source.place(row)).collect();
        Ok(Piece::new(self.of, rows, places, columns))
    }
}

/// Some rows.
pub struct Piece<'a> {
    pub rows: Range<usize>,
    pub of: &'a Recorded,
    /// The connection and the phase of each.
    pub places: Vec<[u32; 2]>,
    columns: Vec<Column>,
    purposes: Vec<Purpose>,
    /// The numbers of `own`, `shared` and `deferred` among the waits; -1 where none is so.
    waits: [i64; 3],
    commands: Vec<u64>,
    segments: [Vec<f64>; 2],
}

impl<'a> Piece<'a> {
    fn new(of: &'a Recorded, rows: Range<usize>, places: Vec<[u32; 2]>, columns: Vec<Column>) -> Piece<'a> {
        let words = |of: Of| columns[of as usize].words.iter();
        let purposes = words(Of::Purpose).map(|word| Purpose::named(word)).collect();
        let commands = words(Of::Command).map(|word| hash(word)).collect();
        let number = |wait| words(Of::Wait).position(|word| word == wait).map_or(-1, |number| number as i64);
        let waits = ["own", "shared", "deferred"].map(number);
        let mut piece =
            Piece { rows, of, places, columns, purposes, waits, commands, segments: [Vec::new(), Vec::new()] };
        piece.segments = [
            piece.filled(Of::RequestBytes, Of::Request, Of::RequestEnd),
            piece.filled(Of::ResponseBytes, Of::Response, Of::ResponseEnd),
        ];
        piece
    }

    /// What a row has in a column; 0 where none has anything.
    pub fn at(&self, of: Of, place: usize) -> i64 {
        self.columns[of as usize].numbers.get(place).copied().unwrap_or(0)
    }

    pub fn connection(&self, place: usize) -> usize {
        self.places[place][0] as usize
    }

    pub fn purpose(&self, place: usize) -> Purpose {
        let purpose = usize::try_from(self.at(Of::Purpose, place)).ok().and_then(|number| self.purposes.get(number));
        purpose.copied().unwrap_or(Purpose::Other)
    }

    /// The client waits for its answer alone.
    pub fn waits_alone(&self, place: usize) -> bool {
        self.at(Of::Wait, place) == self.waits[0]
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

    /// How many segments messages fill; one that begins in the last packet of another fills it with that.
    fn filled(&self, sizes: Of, begins: Of, ends: Of) -> Vec<f64> {
        let of_row =
            |place: usize| self.at(sizes, place) as f64 / self.of.connections.segment_bytes[self.connection(place)];
        let mut filled: Vec<f64> = (0..self.rows.len()).map(of_row).collect();
        let (mut first, mut together) = (0, 0.0_f64);
        for place in 0..filled.len() {
            if place > 0 && self.at(begins, place) != self.at(ends, place - 1) {
                filled[first] += together.ceil() - together;
                (first, together) = (place, 0.0);
            }
            together += filled[place];
        }
        if let Some(first) = filled.get_mut(first) {
            *first += together.ceil() - together;
        }
        filled
    }

    /// The same with the times of packets that were not captured, as far as others tell.
    fn filled_in(mut self, of: &Recorded) -> Piece<'a> {
        if let Some(usual) = &of.facts.usual_ns {
            let mut times = TIMES.map(|time| std::mem::take(&mut self.columns[time as usize].numbers));
            missing::fill_in(&mut times, &self, usual);
            TIMES.into_iter().zip(times).for_each(|(of, times)| self.columns[of as usize].numbers = times);
        }
        self
    }

    fn exchange(&self, place: usize) -> Exchange {
        let [connection, phase] = self.places[place];
        let [request, request_end, response, response_end] = TIMES.map(|time| self.at(time, place));
        let purpose = self.purpose(place);
        let fingerprint = self.at(Of::Fingerprint, place);
        let statement = usize::try_from(fingerprint).ok();
        let ends = statement.and_then(|statement| self.of.ends.get(statement)).is_some_and(|&ends| ends);
        let streams = self.at(Of::Streamed, place) as f64;
        Exchange {
            row: (self.rows.start + place) as u32,
            connection,
            phase,
            request,
            request_end,
            response,
            response_end,
            waited: self.at(Of::Waited, place),
            round_trips: self.at(Of::RoundTrips, place) as u32,
            setup: purpose == Purpose::Setup,
            complete: self.is_complete(place),
            ends_transaction: purpose == Purpose::End || (purpose == Purpose::Execute && ends),
            shared: self.at(Of::Wait, place) == self.waits[1],
            deferred: self.at(Of::Wait, place) == self.waits[2],
            streamed: streams > INITIAL_WINDOW * self.of.connections.segment_bytes[connection as usize],
            statement: statement.map_or(0, |statement| statement as u32 + 1) * Purpose::COUNT + purpose as u32,
            segments: [self.segments[0][place], self.segments[1][place]],
            stalled: self.stalled(place),
            lost_before: self.at(Of::LostBefore, place),
            silent: self.at(Of::Silent, place) as f64,
            request_silent: self.at(Of::RequestSilent, place) as f64,
            paced: self.of.facts.pacing.of(self, place),
            told: self.at(Of::Told, place) as f64,
            resent: self.at(Of::Retransmissions, place) > 0,
            held: self.at(Of::Stalled, place) != 0,
            kind: match statement {
                Some(statement) => statement as u64,
                None => self.commands.get(self.at(Of::Command, place) as usize).copied().unwrap_or(u64::MAX),
            },
        }
    }

    /// How long it was held up for an ACK timer: behind a request that has no answer the wait lies in the client time
    /// before it; else between the packets of its request or of its response.
    fn stalled(&self, place: usize) -> [f64; 2] {
        let stalled = self.at(Of::Stalled, place);
        let is_clean = self.is_complete(place) && self.at(Of::Retransmissions, place) == 0;
        if stalled == 0 || !is_clean || self.purpose(place) == Purpose::Setup {
            return [0.0; 2];
        }
        let [request, request_end, response, response_end] = TIMES.map(|time| self.at(time, place));
        let answered = response != UNSEEN && response_end - response >= stalled;
        let inside = request_end.wrapping_sub(request) >= stalled || answered;
        if inside { [0.0, stalled as f64] } else { [stalled as f64, 0.0] }
    }
}

/// Of a command's name: apart from the numbers of statements.
fn hash(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish() | 1 << 63
}
