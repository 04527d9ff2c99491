//! Halves of paths that may have changed: their measurements with the time of each.
//!
//! Counted values show which halves have short and long measurements; these alone are collected once more.

use std::io;

use super::evidence::{Clean, Collected, Evidence, each_exchange, each_sample};
use super::periods::{MIN_FOR_LEVEL, is_apart};
use super::phases::Phases;
use super::series::Measurement;
use super::values::Values;
use super::{FAR, NEAR};
use crate::recording::{ClockReading, DatabaseConnections, NULL, Recording};

/// Measurements that are kept, of all paths together; of more, every second, third and so on of each connection.
const MAX_KEPT: u64 = 2_000_000;

/// A path: what was measured of its far half and of its near one, and the clocks of the senders on it.
#[derive(Debug, Default)]
pub struct Path {
    pub halves: [Half; 2],
    /// By side, connection and time.
    pub clocks: Vec<ClockReading>,
}

/// The measurements of a half, in the order of time, where that may have changed.
#[derive(Debug, Default)]
pub struct Half {
    /// Some handshakes and acknowledgments are short and as many long; some responses are.
    pub may_direct_change: bool,
    pub may_responses_change: bool,
    pub direct: Vec<Measurement>,
    pub responses: Vec<Measurement>,
}

/// The paths with measurements of those halves that may have changed; `relevant` are the far and near halves that count.
pub fn paths(
    recording: &Recording,
    connections: &DatabaseConnections,
    phases: &Phases,
    collected: &Collected,
    relevant: &[[bool; 2]],
) -> io::Result<Vec<Path>> {
    let mut counted = 0;
    let path = |(halves, are_relevant): (&[Evidence; 2], &[bool; 2])| Path {
        halves: [FAR, NEAR].map(|half| {
            let found = if are_relevant[half] { Half::of(&halves[half]) } else { Half::default() };
            counted += if found.may_change() { measurements(&halves[half]) } else { 0 };
            found
        }),
        clocks: Vec::new(),
    };
    let mut paths: Vec<Path> = collected.of_periods().iter().zip(relevant).map(path).collect();
    if counted > 0 {
        let mut collecting = Collecting {
            connections,
            phases,
            every: counted.div_ceil(MAX_KEPT),
            counts: vec![[0; 4]; connections.len()],
            paths: &mut paths,
        };
        collecting.handshakes();
        collecting.acknowledgments(recording, &collected.clean)?;
        collecting.responses(recording)?;
        collecting.clock_readings(recording)?;
        collecting.sort();
    }
    Ok(paths)
}

fn measurements(of: &Evidence) -> u64 {
    of.handshakes.count() + of.acks.count() + of.responses.count()
}

impl Half {
    fn of(evidence: &Evidence) -> Half {
        Half {
            may_direct_change: may_change(&Values::joined([&evidence.handshakes, &evidence.acks])),
            may_responses_change: may_change(&evidence.responses),
            ..Half::default()
        }
    }

    pub fn may_change(&self) -> bool {
        self.may_direct_change || self.may_responses_change
    }
}

/// Enough of them are short, and as many long.
fn may_change(values: &Values) -> bool {
    let (count, few) = (values.count(), MIN_FOR_LEVEL as u64);
    let short = values.nth(few - 1).filter(|_| count >= 2 * few);
    short.zip(values.nth(count.saturating_sub(few))).is_some_and(|(short, long)| is_apart(short as f64, long as f64))
}

struct Collecting<'a> {
    connections: &'a DatabaseConnections,
    phases: &'a Phases,
    paths: &'a mut [Path],
    /// One of so many measurements of a connection is kept.
    every: u64,
    /// How many there were of each connection: direct ones and responses, of the far half and of the near one.
    counts: Vec<[u64; 4]>,
}

impl Collecting<'_> {
    fn handshakes(&mut self) {
        for (place, connection) in self.connections.all.iter().enumerate() {
            let [client_ns, server_ns] = connection.handshake_ns;
            for (half, ns) in [(FAR, server_ns), (NEAR, client_ns)] {
                if let Some(ns) = ns {
                    self.direct(place, half, connection.start_ns, ns);
                }
            }
        }
    }

    fn acknowledgments(&mut self, recording: &Recording, clean: &[[Clean; 2]]) -> io::Result<()> {
        let (connections, phases) = (self.connections, self.phases);
        each_sample(recording, connections, phases, |phase, half, sample| {
            if clean[phase][half].takes(sample) {
                let time_ns = sample.time_ns.wrapping_sub(connections.start_ns);
                self.direct(phases.connection[phase] as usize, half, time_ns, sample.rtt_ns);
            }
        })
    }

    fn responses(&mut self, recording: &Recording) -> io::Result<()> {
        each_exchange(recording, self.connections, |exchange| {
            let (time_ns, place) = (exchange.begin_ns.unwrap_or(NULL), exchange.place as u64);
            for half in [FAR, NEAR] {
                let Some((ns, statement)) = exchange.responses[half] else { continue };
                if let Some(of) = self.taker(exchange.connection, half, 2) {
                    of.responses.push(Measurement { time_ns, place, ns, statement });
                }
            }
        })
    }

    fn direct(&mut self, connection: usize, half: usize, time_ns: i64, ns: i64) {
        let Some(half) = self.taker(connection, half, 0) else { return };
        half.direct.push(Measurement { time_ns, place: half.direct.len() as u64, ns, statement: 0 });
    }

    /// The half of a connection's path that takes its next measurement of a kind; `None` where it is left out.
    fn taker(&mut self, connection: usize, half: usize, kind: usize) -> Option<&mut Half> {
        let of = self.paths[self.phases.path[connection] as usize].halves.get_mut(half)?;
        let counts = &mut self.counts[connection][kind + half];
        *counts += 1;
        // Not the first of each connection: they alone may be many.
        (of.may_change() && (*counts + connection as u64).is_multiple_of(self.every)).then_some(of)
    }

    /// The readings on paths whose responses may need a witness.
    fn clock_readings(&mut self, recording: &Recording) -> io::Result<()> {
        let (connections, phases) = (self.connections, self.phases);
        let take = |reading: ClockReading| {
            let Some(connection) = connections.place(reading.stream.into()) else { return };
            let path = &mut self.paths[phases.path[connection] as usize];
            if path.halves.iter().any(|half| half.may_responses_change) {
                let time_ns = reading.time_ns.wrapping_sub(connections.start_ns);
                path.clocks.push(ClockReading { time_ns, ..reading });
            }
        };
        recording.each_clock_reading(take).map_err(io::Error::other)
    }

    fn sort(&mut self) {
        let connections = self.connections;
        let place =
            |reading: &ClockReading| (reading.by_server, connections.place(reading.stream.into()), reading.time_ns);
        for path in &mut *self.paths {
            path.clocks.sort_by_key(place);
            path.halves.iter_mut().for_each(|half| {
                half.direct.sort_unstable();
                half.responses.sort_unstable();
            });
        }
    }
}

#[cfg(test)]
#[path = "halves_tests.rs"]
mod tests;
