//! The exchanges of a recording as a job has them, read from their table.

use super::columns::{Of, Source, Table};
use super::exchange::{Exchange, Exchanges};
use super::facts::{Facts, Waits};
use super::packed_rows::PackedRows;
use super::read::Read;
use super::recorded::{Connections, Phases};

/// What there is beside the table of the exchanges.
#[derive(Debug, Default)]
pub struct Recorded {
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
    pub held: Option<PackedRows>,
}

impl Recorded {
    /// Read the table: what all exchanges tell together, and each of them, if there is room.
    pub fn read<S: Source>(&mut self, source: &S) -> Result<(), S::Error> {
        let (mut held, of) = (if self.scarce { PackedRows::nothing() } else { PackedRows::of(source.count()) }, &*self);
        self.facts = Facts::of(&of.table(source), |piece| held.add(&Read::new(piece, &of.ends, &of.facts)))?;
        if self.facts.misses {
            self.facts.usual_ns = Some(self.waits(source, &held)?.usual(self.connections.count()));
        }
        let (of, has) = (&*self, |rare| self.facts.has(rare));
        if !held.given_up {
            let again = |piece| held.replace(&Read::new(piece, &of.ends, &of.facts));
            of.table(source).those(&of.facts.depending, has, again)?;
        }
        self.held = held.found();
        Ok(())
    }

    fn waits<S: Source>(&self, source: &S, held: &PackedRows) -> Result<Waits, S::Error> {
        let mut waits = Waits::default();
        if held.given_up {
            self.table(source).pieces(
                |_| false,
                |piece| {
                    for place in 0..piece.rows.len() {
                        let trips = piece.at(Of::RoundTrips, place) as u32;
                        let (complete, waited) = (piece.is_complete(place), piece.at(Of::Waited, place));
                        waits.add(piece.connection(place), complete, trips, waited);
                    }
                },
            )?;
        } else {
            held.each(source, &self.connections, &mut |of| {
                waits.add(of.connection as usize, of.complete, of.round_trips, of.waited);
            });
        }
        Ok(waits)
    }

    fn table<'a, S: Source>(&'a self, source: &'a S) -> Table<'a, S> {
        let &Recorded { ref connections, ref phases, start_ns, scarce, .. } = self;
        Table { source, connections, phases, start_ns, scarce }
    }
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
        let Recorded { connections, ends, facts, held, .. } = self.of;
        if let Some(held) = held {
            held.each(self.source, connections, take);
            return Ok(());
        }
        self.of.table(self.source).pieces(
            |rare| facts.has(rare),
            |piece| {
                let read = Read::new(piece, ends, facts);
                (0..read.piece.rows.len()).for_each(|place| take(&read.exchange(place)));
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::ops::Range;

    use proptest::prelude::*;

    use super::super::UNSEEN;
    use super::super::columns::Column;
    use super::super::tests::Made;
    use super::*;

    /// Exchanges of one connection that wait once each: when each packet passed.
    struct Waits(Vec<[i64; 4]>);

    impl Source for Waits {
        type Error = Infallible;

        fn count(&self) -> usize {
            self.0.len()
        }

        fn place(&self, _: usize) -> [u32; 2] {
            [0, 0]
        }

        fn columns(&self, names: &[&'static str], rows: &Range<usize>) -> Result<Vec<Column>, Infallible> {
            let of_row = |name: &str, times: [i64; 4]| match name {
                "request_time" => times[0],
                "request_end_time" => times[1],
                "response_time" => times[2],
                "response_end_time" => times[3],
                "complete" => i64::from(!times.contains(&UNSEEN)),
                "waited_ns" if !times.contains(&UNSEEN) => times[2] - times[1],
                "waited_ns" => UNSEEN,
                "round_trips" => 1,
                _ => 0,
            };
            let column = |name: &&'static str| Column {
                numbers: self.0[rows.clone()].iter().map(|&times| of_row(name, times)).collect(),
                words: vec![if *name == "wait" { "own" } else { "execute" }.to_owned()],
            };
            Ok(names.iter().map(column).collect())
        }
    }

    /// Exchanges of which anything may be so, by chance.
    struct Anything {
        rows: usize,
        seed: u64,
        /// Of so many one is unlike most.
        one_in: u64,
    }

    impl Anything {
        fn chance(&self, name: &str, row: usize) -> u64 {
            name.bytes().chain(row.to_le_bytes()).fold(self.seed, |mixed, byte| {
                (mixed ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
            })
        }

        fn number(&self, name: &str, row: usize) -> i64 {
            let chance = self.chance(name, row);
            let (unlike, some) = ((chance >> 32).is_multiple_of(self.one_in), (chance % 1000) as i64);
            let after = |before: &str| match self.number(before, row) {
                UNSEEN => UNSEEN,
                before => before + some,
            };
            match name {
                "request_time" | "response_time" if unlike => UNSEEN,
                "request_time" => 1_000_000 * row as i64,
                "response_time" => 1_000_000 * row as i64 + 2000 + some,
                "request_end_time" => after("request_time"),
                "response_end_time" => after("response_time"),
                "waited_ns" if unlike => some,
                "waited_ns" => match ["response_time", "request_end_time"].map(|time| self.number(time, row)) {
                    [UNSEEN, _] | [_, UNSEEN] => UNSEEN,
                    [answered, sent] => answered - sent,
                },
                "fingerprint" if some < 300 => UNSEEN,
                "purpose" | "wait" | "command" | "fingerprint" => some % 2,
                "complete" => i64::from(!unlike),
                "round_trips" => some % 3,
                "request_wire_bytes" | "response_wire_bytes" => some * if unlike { 1 << 40 } else { 7 },
                _ => {
                    if unlike {
                        some
                    } else {
                        0
                    }
                }
            }
        }
    }

    impl Source for Anything {
        type Error = Infallible;

        fn count(&self) -> usize {
            self.rows
        }

        fn place(&self, row: usize) -> [u32; 2] {
            [(2 * row / self.rows) as u32; 2]
        }

        fn columns(&self, names: &[&'static str], rows: &Range<usize>) -> Result<Vec<Column>, Infallible> {
            let words = |name: &str| match name {
                "wait" => vec!["own".to_owned(), "shared".to_owned()],
                _ => vec!["execute".to_owned(), "setup".to_owned()],
            };
            let column = |&name: &&'static str| Column {
                numbers: rows.clone().map(|row| self.number(name, row)).collect(),
                words: words(name),
            };
            Ok(names.iter().map(column).collect())
        }
    }

    proptest! {
        #[test]
        fn what_is_held_of_exchanges_is_what_their_table_says(
            rows in 1..300_usize, seed in any::<u64>(), one_in in prop_oneof![Just(1_u64), 2..9_u64, Just(200)],
        ) {
            let source = Anything { rows, seed, one_in };
            let Made { phases, connections, .. } = Made::with(2, 10.0);
            let mut recorded = Recorded { phases, connections, ends: vec![false, true], ..Recorded::default() };
            recorded.read(&source).unwrap();
            let all = |recorded: &Recorded| {
                let mut all = Vec::new();
                Reading { source: &source, of: recorded }.each(&mut |exchange| all.push(*exchange)).unwrap();
                all
            };
            let held = all(&recorded);
            prop_assert!(recorded.held.take().is_some());
            let read = all(&recorded);
            let but_for_kind = |of: &Exchange| Exchange { kind: if recorded.facts.loses { of.kind } else { 0 }, ..*of };
            prop_assert!(held.iter().map(but_for_kind).eq(read.iter().map(but_for_kind)));
        }
    }

    #[test]
    fn what_was_not_captured_lies_between_its_neighbours() {
        let asks = |at: i64| [at, at, at + 10, at + 12];
        let (request, answer) = ([60, 61, UNSEEN, UNSEEN], [UNSEEN, UNSEEN, 110, 111]);
        let source = Waits(vec![asks(0), asks(20), asks(40), request, asks(80), answer, asks(120)]);
        let Made { phases, connections, .. } = Made::with(1, 10.0);
        let mut recorded = Recorded { phases, connections, ..Recorded::default() };
        recorded.read(&source).unwrap();
        let mut kept = Vec::new();
        Reading { source: &source, of: &recorded }.each(&mut |exchange| kept.push(*exchange)).unwrap();
        let times: Vec<[i64; 4]> =
            kept.iter().map(|of| [of.request, of.request_end, of.response, of.response_end]).collect();
        assert_eq!(times[3], [60, 61, 71, 71], "it waited as its siblings do");
        assert_eq!(times[5], [100, 100, 110, 111]);
        assert!([0, 1, 2, 4, 6].iter().all(|&row| times[row] == source.0[row]), "what was captured keeps its times");
    }
}
