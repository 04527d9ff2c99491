//! The exchanges of a recording as a job has them, read piece by piece from its packed rows.

use std::io;

use super::exchange::{Exchange, Exchanges};
use super::facts::{Facts, Waits};
use super::filled::Filled;
use super::packed_rows::PackedRows;
use super::piece::ALWAYS;
use super::recorded::Job;
use super::table::Table;
use crate::recording::Column;

/// A recording, as its job reads it.
#[derive(Debug)]
pub struct Recorded {
    pub table: Table,
    pub facts: Facts,
    /// The largest window of the clients, and of the servers, that take little at once, of each connection; infinite for
    /// all others.
    pub narrow_windows_bytes: [Vec<f64>; 2],
    /// All exchanges, where there is room for them and most are alike.
    held: Option<PackedRows>,
}

impl Recorded {
    /// The job of a table of which nothing is read yet.
    pub fn of(table: Table) -> Recorded {
        let narrow_windows_bytes = [(); 2].map(|()| vec![f64::INFINITY; table.connections.count()]);
        Recorded { table, facts: Facts::default(), narrow_windows_bytes, held: None }
    }

    /// Read what all exchanges tell together, and each of them, if there is room. `phases` is that of each; returns
    /// whether these, the connections and the exchanges fit together.
    pub fn read(&mut self, phases: &[u32]) -> io::Result<bool> {
        if !self.table.belong(phases)? {
            return Ok(false);
        }
        let (table, nothing) = (&self.table, Facts::default());
        let mut held = if table.scarce { PackedRows::nothing() } else { PackedRows::of(table.exchanges.len()) };
        self.facts = Facts::of(table, |piece| held.add(&Filled::new(piece, &nothing)))?;
        if self.facts.misses {
            self.facts.usual_ns = Some(self.usual_waits(&held)?.usual(self.table.connections.count()));
        }
        if !held.given_up {
            for rows in &self.facts.depending {
                let piece = self.table.piece(&self.facts.columns, rows.clone())?;
                held.replace(&Filled::new(piece, &self.facts));
            }
        }
        self.held = held.found();
        Ok(true)
    }

    /// The job, where RTTs that are not known are so long.
    pub fn job<'a, T>(&'a self, otherwise_ns: f64, read: impl FnOnce(&Job<'_, &'a Recorded>) -> T) -> T {
        let (phases, connections) = (self.table.phases.known(otherwise_ns), &self.table.connections);
        read(&Job { phases: &phases, connections, exchanges: self })
    }

    /// The waits of each connection for a round trip.
    fn usual_waits(&self, held: &PackedRows) -> io::Result<Waits> {
        let mut waits = Waits::default();
        if held.given_up {
            self.table.pieces(&ALWAYS, |piece| {
                for place in 0..piece.rows.len() {
                    let trips = piece.at(Column::round_trips, place) as u32;
                    let (complete, waited) = (piece.is_complete(place), piece.at(Column::waited_ns, place));
                    waits.add(piece.connection(place), complete, trips, waited);
                }
            })?;
        } else {
            held.each(&self.table, &mut |of| waits.add(of.connection as usize, of.complete, of.round_trips, of.waited));
        }
        Ok(waits)
    }
}

impl Exchanges for &Recorded {
    type Error = io::Error;

    fn count(&self) -> usize {
        self.table.exchanges.len()
    }

    fn may_lose(&self) -> bool {
        self.facts.loses
    }

    fn each(&self, take: &mut dyn FnMut(&Exchange)) -> io::Result<()> {
        if let Some(held) = &self.held {
            held.each(&self.table, take);
            return Ok(());
        }
        self.table.pieces(&self.facts.columns, |piece| {
            let filled = Filled::new(piece, &self.facts);
            filled.each(take);
        })
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
