//! The exchanges of a recording as a job has them, read piece by piece from its packed rows.

use std::collections::HashMap;
use std::io;
use std::iter;
use std::ops::Range;

use super::UNSEEN;
use super::exchange::{Exchange, Exchanges};
use super::facts::{Facts, Waits};
use super::packed_rows::PackedRows;
use super::piece::{ALWAYS, Piece};
use super::recorded::{Connections, Job, Phases};
use crate::exchange::Wait;
use crate::protocols::Purpose;
use crate::recording::{Column, ExchangeColumns};

/// Rows that are read at once, of a long recording one part in so many, and in more where memory is scarce: rows that
/// are not kept in their order are unpacked once for each. Tests have few.
const MIN_PIECE_ROWS: usize = if cfg!(test) { 16 } else { 1 << 17 };
const PIECES: usize = 3;
const PIECES_WHERE_SCARCE: usize = 5;

/// A recording, as its job reads it.
#[derive(Debug)]
pub struct Recorded {
    exchanges: ExchangeColumns,
    owners: Vec<Owner>,
    /// What the numbers of words mean.
    pub purposes: Vec<Purpose>,
    pub waits: Vec<Wait>,
    pub phases: Phases,
    pub connections: Connections,
    /// Which statements end a transaction.
    pub ends: Vec<bool>,
    /// ns since 1970.
    pub start_ns: i64,
    /// There is no room for all exchanges.
    pub scarce: bool,
    pub facts: Facts,
    /// All exchanges, where there is room for them and most are alike.
    held: Option<PackedRows>,
}

/// Rows of one connection in one phase, up to a last one.
#[derive(Debug)]
struct Owner {
    end: usize,
    place: [u32; 2],
}

impl Recorded {
    /// Some exchanges, and which statements end a transaction; nothing else is known yet.
    pub fn of(exchanges: ExchangeColumns, ends: Vec<bool>) -> Recorded {
        let purpose = |word: &&str| Purpose::named(word).unwrap_or(Purpose::Other);
        let wait = |word: &&str| Wait::named(word).unwrap_or(Wait::None);
        Recorded {
            owners: Vec::new(),
            purposes: exchanges.words(Column::purpose).iter().map(purpose).collect(),
            waits: exchanges.words(Column::wait).iter().map(wait).collect(),
            phases: Phases::default(),
            connections: Connections::default(),
            ends,
            start_ns: 0,
            scarce: false,
            facts: Facts::default(),
            held: None,
            exchanges,
        }
    }

    /// Read what all exchanges tell together, and each of them, if there is room. `phases` is that of each; returns
    /// whether these, the connections and the exchanges fit together.
    pub fn read(&mut self, phases: &[i64]) -> io::Result<bool> {
        let fit = self.connections.fit(&self.phases)
            && phases.len() == self.exchanges.len()
            && self.exchanges.len() < u32::MAX as usize;
        match if fit { self.owners_in(phases)? } else { None } {
            Some(owners) => self.owners = owners,
            None => return Ok(false),
        }
        let mut held = if self.scarce { PackedRows::nothing() } else { PackedRows::of(self.exchanges.len()) };
        self.facts = Facts::of(self, |piece| held.add(&piece.filled()))?;
        if self.facts.misses {
            self.facts.usual_ns = Some(self.usual_waits(&held)?.usual(self.connections.count()));
        }
        if !held.given_up {
            for rows in &self.facts.depending {
                held.replace(&self.piece(&self.facts.columns, rows.clone())?.filled());
            }
        }
        self.held = held.found();
        let seen = self.facts.waits.iter().zip(&self.connections.syn_ns);
        self.connections.is_aside = seen.map(|(&waits, &syn)| !waits && syn == UNSEEN).collect();
        Ok(true)
    }

    /// The job, where RTTs that are not known are so long.
    pub fn job<'a, T>(&'a self, otherwise_ns: f64, read: impl FnOnce(&Job<'_, &'a Recorded>) -> T) -> T {
        read(&Job { phases: &self.phases.known(otherwise_ns), connections: &self.connections, exchanges: self })
    }

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

    fn piece_rows(&self) -> usize {
        MIN_PIECE_ROWS.max(self.exchanges.len().div_ceil(if self.scarce { PIECES_WHERE_SCARCE } else { PIECES }))
    }

    fn piece(&self, columns: &[Column], rows: Range<usize>) -> io::Result<Piece<'_>> {
        let mut read = vec![Vec::new(); ExchangeColumns::names().count()];
        for &column in columns {
            read[column as usize] = self.exchanges.numbers(column, &rows)?;
        }
        Ok(Piece::new(self, rows, read))
    }

    /// What each connection waits for a round trip.
    fn usual_waits(&self, held: &PackedRows) -> io::Result<Waits> {
        let mut waits = Waits::default();
        if held.given_up {
            self.pieces(&ALWAYS, |piece| {
                for place in 0..piece.rows.len() {
                    let trips = piece.at(Column::round_trips, place) as u32;
                    let (complete, waited) = (piece.is_complete(place), piece.at(Column::waited_ns, place));
                    waits.add(piece.connection(place), complete, trips, waited);
                }
            })?;
        } else {
            held.each(self, &mut |of| waits.add(of.connection as usize, of.complete, of.round_trips, of.waited));
        }
        Ok(waits)
    }

    /// The connection and the phase of each of the rows.
    pub fn owners(&self, rows: Range<usize>) -> impl Iterator<Item = [u32; 2]> + '_ {
        let first = self.owners.partition_point(|owner| owner.end <= rows.start);
        let begins = iter::once(rows.start).chain(self.owners[first..].iter().map(|owner| owner.end));
        let owners = self.owners[first..].iter().zip(begins).take_while(move |&(_, begin)| begin < rows.end);
        owners.flat_map(move |(owner, begin)| iter::repeat_n(owner.place, owner.end.min(rows.end) - begin))
    }

    /// Whose the exchanges are, which ascend by connection; `None` where that is not known of each.
    fn owners_in(&self, phases: &[i64]) -> io::Result<Option<Vec<Owner>>> {
        let connections: HashMap<i64, u32> =
            self.connections.stream.iter().map(|&stream| stream.into()).zip(0..).collect();
        let mut owners: Vec<Owner> = Vec::new();
        let mut latest = None;
        for first in (0..phases.len()).step_by(self.piece_rows()) {
            let rows = first..phases.len().min(first + self.piece_rows());
            for (row, stream) in rows.clone().zip(self.exchanges.numbers(Column::stream, &rows)?) {
                let now = (stream, phases[row]);
                if latest != Some(now) {
                    let phase = u32::try_from(phases[row]).ok().filter(|&phase| (phase as usize) < self.phases.count());
                    let (Some(&connection), Some(phase)) = (connections.get(&stream), phase) else { return Ok(None) };
                    owners.push(Owner { end: row, place: [connection, phase] });
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

impl Exchanges for &Recorded {
    type Error = io::Error;

    fn count(&self) -> usize {
        self.exchanges.len()
    }

    fn may_lose(&self) -> bool {
        self.facts.loses
    }

    fn each(&self, take: &mut dyn FnMut(&Exchange)) -> io::Result<()> {
        if let Some(held) = &self.held {
            held.each(self, take);
            return Ok(());
        }
        self.pieces(&self.facts.columns, |piece| {
            let piece = piece.filled();
            (0..piece.rows.len()).for_each(|place| take(&piece.exchange(place)));
        })
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
