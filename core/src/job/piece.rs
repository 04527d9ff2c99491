//! Some rows of a recording's exchanges, column by column, and each of them as an exchange of a job.

use std::ops::Range;

use super::UNSEEN;
use super::exchange::Exchange;
use super::missing;
use super::reading::Recorded;
use super::transfer::INITIAL_WINDOW;
use crate::exchange::Wait;
use crate::protocols::Purpose;
use crate::recording::Column;

/// Columns that are read of every row.
pub const ALWAYS: [Column; 12] = [
    Column::request_time,
    Column::request_end_time,
    Column::response_time,
    Column::response_end_time,
    Column::purpose,
    Column::wait,
    Column::fingerprint,
    Column::round_trips,
    Column::waited_ns,
    Column::complete,
    Column::request_wire_bytes,
    Column::response_wire_bytes,
];

/// Columns that are read only where some row has anything in them.
pub const RARE: [Column; 9] = [
    Column::streamed_bytes,
    Column::retransmissions,
    Column::stalled_ns,
    Column::lost_before_ns,
    Column::silent_ns,
    Column::request_silent_ns,
    Column::request_paced_ns,
    Column::response_paced_ns,
    Column::since_push_ns,
];

const TIMES: [Column; 4] =
    [Column::request_time, Column::request_end_time, Column::response_time, Column::response_end_time];

/// An exchange's number of what it asks for begins with as many for the purposes alone.
pub const PURPOSES: u32 = Purpose::ALL.len() as u32;
/// Sets the numbers of commands apart from those of statements.
pub const COMMAND: u64 = 1 << 63;

/// Some rows.
pub struct Piece<'a> {
    pub of: &'a Recorded,
    pub rows: Range<usize>,
    /// The connection and the phase of each.
    pub owners: Vec<[u32; 2]>,
    /// By column; none of those that were not read. Times are ns since the recording began.
    columns: Vec<Vec<i64>>,
    /// How many segments each request, and each response, fills; once they are known.
    segments: [Vec<f64>; 2],
}

impl<'a> Piece<'a> {
    pub fn new(of: &'a Recorded, rows: Range<usize>, mut columns: Vec<Vec<i64>>) -> Piece<'a> {
        for time in TIMES {
            let times = columns[time as usize].iter_mut().filter(|time| **time != UNSEEN);
            times.for_each(|time| *time -= of.start_ns);
        }
        let owners = of.owners(rows.clone()).collect();
        Piece { of, rows, owners, columns, segments: [Vec::new(), Vec::new()] }
    }

    /// What a row has in a column; 0 where none has anything.
    pub fn at(&self, column: Column, place: usize) -> i64 {
        self.columns[column as usize].get(place).copied().unwrap_or(0)
    }

    pub fn has_any(&self, column: Column) -> bool {
        self.columns[column as usize].iter().any(|&number| number != 0)
    }

    pub fn connection(&self, place: usize) -> usize {
        self.owners[place][0] as usize
    }

    pub fn purpose(&self, place: usize) -> Purpose {
        named(&self.of.purposes, self.at(Column::purpose, place)).unwrap_or(Purpose::Other)
    }

    pub fn wait(&self, place: usize) -> Wait {
        named(&self.of.waits, self.at(Column::wait, place)).unwrap_or(Wait::None)
    }

    pub fn is_complete(&self, place: usize) -> bool {
        self.at(Column::complete, place) == 1
    }

    /// A number for its command, where commands were read.
    fn command(&self, place: usize) -> u64 {
        u64::try_from(self.at(Column::command, place)).map_or(u64::MAX, |command| COMMAND | command)
    }

    /// The last row from which on nothing depends on those before it; 0 for none.
    pub fn stop(&self) -> usize {
        let apart = |end: Column, begin: Column, place: usize| self.at(end, place - 1) != self.at(begin, place);
        let alone = |&place: &usize| {
            apart(Column::request_end_time, Column::request_time, place)
                && apart(Column::response_end_time, Column::response_time, place)
                && self.is_complete(place - 1)
                && self.is_complete(place)
        };
        (1..self.rows.len()).rev().find(alone).unwrap_or(0)
    }

    /// The same with what its messages fill, and the times of packets that were not captured, as far as others tell.
    pub fn filled(mut self) -> Piece<'a> {
        self.segments = [
            self.segments(Column::request_wire_bytes, Column::request_time, Column::request_end_time),
            self.segments(Column::response_wire_bytes, Column::response_time, Column::response_end_time),
        ];
        if let Some(usual) = &self.of.facts.usual_ns {
            let mut times = TIMES.map(|time| self.columns[time as usize].clone());
            missing::fill_in(&mut times, &self, usual);
            TIMES.into_iter().zip(times).for_each(|(time, times)| self.columns[time as usize] = times);
        }
        self
    }

    /// How many segments messages fill; one that begins in the last packet of another fills it with that.
    fn segments(&self, sizes: Column, begins: Column, ends: Column) -> Vec<f64> {
        let mut filled: Vec<f64> = (0..self.rows.len()).map(|place| self.alone(sizes, place)).collect();
        let (mut first, mut together) = (0, 0.0_f64);
        for place in 0..filled.len() {
            if place > 0 && self.at(begins, place) != self.at(ends, place - 1) {
                filled[first] = in_packets(filled[first], together);
                (first, together) = (place, 0.0);
            }
            together += filled[place];
        }
        if let Some(first) = filled.get_mut(first) {
            *first = in_packets(*first, together);
        }
        filled
    }

    /// The same of its bytes alone.
    fn alone(&self, sizes: Column, place: usize) -> f64 {
        self.at(sizes, place) as f64 / self.of.connections.segment_bytes[self.connection(place)]
    }

    /// A row, once it is filled.
    pub fn exchange(&self, place: usize) -> Exchange {
        let [connection, phase] = self.owners[place];
        let [request, request_end, response, response_end] = TIMES.map(|time| self.at(time, place));
        let purpose = self.purpose(place);
        let statement = usize::try_from(self.at(Column::fingerprint, place)).ok();
        let ends = statement.and_then(|statement| self.of.ends.get(statement)).is_some_and(|&ends| ends);
        let streams = self.at(Column::streamed_bytes, place) as f64;
        Exchange {
            row: (self.rows.start + place) as u32,
            connection,
            phase,
            request,
            request_end,
            response,
            response_end,
            waited: self.at(Column::waited_ns, place),
            round_trips: self.at(Column::round_trips, place) as u32,
            setup: purpose == Purpose::Setup,
            complete: self.is_complete(place),
            ends_transaction: purpose == Purpose::End || (purpose == Purpose::Execute && ends),
            shared: self.wait(place) == Wait::Shared,
            deferred: self.wait(place) == Wait::Deferred,
            streamed: streams > INITIAL_WINDOW * self.of.connections.segment_bytes[connection as usize],
            statement: statement.map_or(0, |statement| statement as u32 + 1) * PURPOSES + purpose as u32,
            segments: [self.segments[0][place], self.segments[1][place]],
            alone: [Column::request_wire_bytes, Column::response_wire_bytes].map(|sizes| self.alone(sizes, place)),
            stalled: self.stalled(place),
            lost_before: self.at(Column::lost_before_ns, place),
            silent: self.at(Column::silent_ns, place) as f64,
            request_silent: self.at(Column::request_silent_ns, place) as f64,
            paced: self.of.facts.pacing.of(self, place),
            since_push: self.at(Column::since_push_ns, place) as f64,
            resent: self.at(Column::retransmissions, place) > 0,
            was_stalled: self.at(Column::stalled_ns, place) != 0,
            kind: statement.map_or_else(|| self.command(place), |statement| statement as u64),
        }
    }

    /// How long it was held up for an ACK timer: behind a request that has no answer the wait lies in the client time
    /// before it; else between the packets of its request or of its response.
    fn stalled(&self, place: usize) -> [f64; 2] {
        let stalled = self.at(Column::stalled_ns, place);
        let is_clean = self.is_complete(place) && self.at(Column::retransmissions, place) == 0;
        if stalled == 0 || !is_clean || self.purpose(place) == Purpose::Setup {
            return [0.0; 2];
        }
        let [request, request_end, response, response_end] = TIMES.map(|time| self.at(time, place));
        let answered = response != UNSEEN && response_end - response >= stalled;
        let inside = request_end.wrapping_sub(request) >= stalled || answered;
        if inside { [0.0, stalled as f64] } else { [stalled as f64, 0.0] }
    }
}

/// What the number of a word means.
fn named<T: Copy>(meanings: &[T], number: i64) -> Option<T> {
    meanings.get(usize::try_from(number).ok()?).copied()
}

/// What a message fills of the packets that it begins; `together`: with those that share its last one.
pub fn in_packets(alone: f64, together: f64) -> f64 {
    alone + (together.ceil() - together)
}
