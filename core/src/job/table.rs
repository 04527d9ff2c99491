//! The exchanges of a recording as a job has them: packed rows, whose each is, and what their words mean.

use std::collections::HashMap;
use std::io;
use std::iter;
use std::ops::Range;

use super::recorded::{Connections, Phases};
use crate::exchange::Wait;
use crate::protocols::Purpose;
use crate::recording::{Column, ExchangeColumns};

/// Rows that are read at once, of a long recording one part in so many, and in more where memory is scarce: rows that
/// are not kept in their order are unpacked once for each. Tests have few.
const MIN_PIECE_ROWS: usize = if cfg!(test) { 16 } else { 1 << 17 };
const PIECES: usize = 3;
const PIECES_WHERE_SCARCE: usize = 5;

/// The exchanges of a recording, and what a job knows of them before it reads any.
#[derive(Debug)]
pub struct Table {
    pub exchanges: ExchangeColumns,
    owners: Vec<Owner>,
    /// The meanings of words, by their numbers.
    pub purposes: Vec<Purpose>,
    pub waits: Vec<Wait>,
    pub phases: Phases,
    pub connections: Connections,
    /// Which statements end a transaction.
    pub ends: Vec<bool>,
    /// When the recording began, in ns since 1970, and how long it went on.
    pub start_ns: i64,
    pub runtime_ns: i64,
    pub is_window: bool,
    /// There is no room for all exchanges.
    pub scarce: bool,
}

/// Rows of one connection in one phase, up to a last one.
#[derive(Debug)]
struct Owner {
    end: usize,
    place: [u32; 2],
}

impl Table {
    /// Some exchanges, and which statements end a transaction; nothing else is known yet.
    pub fn of(exchanges: ExchangeColumns, ends: Vec<bool>) -> Table {
        let purpose = |word: &&str| Purpose::named(word).unwrap_or(Purpose::Other);
        let wait = |word: &&str| Wait::named(word).unwrap_or(Wait::None);
        Table {
            owners: Vec::new(),
            purposes: exchanges.words(Column::purpose).iter().map(purpose).collect(),
            waits: exchanges.words(Column::wait).iter().map(wait).collect(),
            phases: Phases::default(),
            connections: Connections::default(),
            ends,
            start_ns: 0,
            runtime_ns: 0,
            is_window: false,
            scarce: false,
            exchanges,
        }
    }

    /// Take the phase of each exchange; false where these or the connections are of another recording.
    pub fn belong(&mut self, phases: &[u32]) -> io::Result<bool> {
        let fit = phases.len() == self.exchanges.len() && phases.len() < u32::MAX as usize;
        let owners = if fit { self.owners_in(phases)? } else { None };
        let known = owners.is_some();
        self.owners = owners.unwrap_or_default();
        Ok(known)
    }

    pub fn piece_rows(&self) -> usize {
        MIN_PIECE_ROWS.max(self.exchanges.len().div_ceil(if self.scarce { PIECES_WHERE_SCARCE } else { PIECES }))
    }

    /// The connection and the phase of each of the rows.
    pub fn owners(&self, rows: Range<usize>) -> impl Iterator<Item = [u32; 2]> + '_ {
        let first = self.owners.partition_point(|owner| owner.end <= rows.start);
        let begins = iter::once(rows.start).chain(self.owners[first..].iter().map(|owner| owner.end));
        let owners = self.owners[first..].iter().zip(begins).take_while(move |&(_, begin)| begin < rows.end);
        owners.flat_map(move |(owner, begin)| iter::repeat_n(owner.place, owner.end.min(rows.end) - begin))
    }

    /// Whose the exchanges are, which ascend by connection; `None` where that is not known of each.
    fn owners_in(&self, phases: &[u32]) -> io::Result<Option<Vec<Owner>>> {
        let connections: HashMap<i64, u32> =
            self.connections.stream.iter().map(|&stream| stream.into()).zip(0..).collect();
        let mut owners: Vec<Owner> = Vec::new();
        let mut latest = None;
        for first in (0..phases.len()).step_by(self.piece_rows()) {
            let rows = first..phases.len().min(first + self.piece_rows());
            for (row, stream) in rows.clone().zip(self.exchanges.numbers(Column::stream, &rows)?) {
                let now = (stream, phases[row]);
                if latest != Some(now) {
                    let is_known = (phases[row] as usize) < self.phases.count();
                    let Some(&connection) = connections.get(&stream).filter(|_| is_known) else { return Ok(None) };
                    owners.push(Owner { end: row, place: [connection, phases[row]] });
                    latest = Some(now);
                }
                if let Some(owner) = owners.last_mut() {
                    owner.end = row + 1;
                }
            }
        }
        Ok(Some(owners).filter(|owners| owners.is_sorted_by_key(|owner| owner.place[0])))
    }
}
