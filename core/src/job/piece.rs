//! Some rows of a recording's exchanges, column by column.

use std::io;
use std::ops::Range;

use super::UNSEEN;
use super::table::Table;
use crate::exchange::Wait;
use crate::protocols::Purpose;
use crate::recording::{Column, ExchangeColumns};

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

pub const TIMES: [Column; 4] =
    [Column::request_time, Column::request_end_time, Column::response_time, Column::response_end_time];

/// An exchange's number of what it asks for begins with as many for the purposes alone.
pub const PURPOSES: u32 = Purpose::ALL.len() as u32;
/// Sets the numbers of commands apart from those of statements.
pub const COMMAND: u64 = 1 << 63;

/// Some rows.
pub struct Piece<'a> {
    pub of: &'a Table,
    pub rows: Range<usize>,
    /// The connection and the phase of each.
    pub owners: Vec<[u32; 2]>,
    /// By column; none of those that were not read. Times are ns since the recording began.
    pub columns: Vec<Vec<i64>>,
}

impl Table {
    /// All rows, piece by piece, with these columns.
    pub fn pieces<'a>(&'a self, columns: &[Column], mut take: impl FnMut(Piece<'a>)) -> io::Result<()> {
        let (count, mut first, mut most) = (self.exchanges.len(), 0, self.piece_rows());
        while first < count {
            let mut piece = self.piece(columns, first..count.min(first + most))?;
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

    pub fn piece(&self, columns: &[Column], rows: Range<usize>) -> io::Result<Piece<'_>> {
        let mut read = vec![Vec::new(); ExchangeColumns::names().count()];
        for &column in columns {
            read[column as usize] = self.exchanges.numbers(column, &rows)?;
        }
        Ok(Piece::new(self, rows, read))
    }
}

impl<'a> Piece<'a> {
    fn new(of: &'a Table, rows: Range<usize>, mut columns: Vec<Vec<i64>>) -> Piece<'a> {
        for time in TIMES {
            let times = columns[time as usize].iter_mut().filter(|time| **time != UNSEEN);
            times.for_each(|time| *time -= of.start_ns);
        }
        let owners = of.owners(rows.clone()).collect();
        Piece { of, rows, owners, columns }
    }

    /// The number of a row in a column; 0 in a column that was not read.
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

    /// The first packet of a row.
    pub fn begin(&self, place: usize) -> i64 {
        match self.at(Column::request_time, place) {
            UNSEEN => self.at(Column::response_time, place),
            request => request,
        }
    }

    /// Its last packet.
    pub fn end(&self, place: usize) -> i64 {
        let ends = [Column::request_end_time, Column::response_end_time].map(|end| self.at(end, place));
        ends[0].max(ends[1]).max(self.begin(place))
    }

    pub fn is_complete(&self, place: usize) -> bool {
        self.at(Column::complete, place) == 1
    }

    /// A number for its command, where commands were read.
    pub fn command(&self, place: usize) -> u64 {
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
}

/// The meaning of a word, by its number.
fn named<T: Copy>(meanings: &[T], number: i64) -> Option<T> {
    meanings.get(usize::try_from(number).ok()?).copied()
}
