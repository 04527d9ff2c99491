//! The RTTs that a window takes from its recording: they are estimated from the whole, which knows more of each path.
//!
//! Handshakes may have been before the window, and that the RTT changed shows only beside what it was at another time.

use std::io;

use super::estimate::{Busiest, Rtts};
use super::evidence::each_exchange;
use super::paths::Paths;
use super::phases::{Changes, Phases};
use crate::recording::{DatabaseConnections, Recording};

impl Rtts {
    /// The RTTs of a `window` of the `whole` recording whose RTTs these are.
    pub fn within(&self, whole: &Recording, window: &Recording) -> io::Result<Rtts> {
        let of_whole = whole.database_connections().map_err(io::Error::other)?;
        let connections = window.database_connections().map_err(io::Error::other)?;
        let later_ns = connections.start_ns.saturating_sub(of_whole.start_ns);
        let places = connections.all.iter().map(|connection| of_whole.place(i64::from(connection.stream)));
        let places: Option<Vec<_>> = places.collect();
        let places = places.ok_or_else(|| io::Error::other("a window has connections that its recording has not"))?;
        let (paths, path) = Paths::of(&connections, None);
        let mut path_in_whole = vec![0; paths.len()];
        for (&path, &place) in path.iter().zip(&places) {
            path_in_whole[path as usize] = self.phases.path[place];
        }
        let changes = self.changes_within(&path_in_whole, later_ns, connections.runtime_ns);
        let begins_ns: Vec<_> = changes.begins_ns().map(|begin| begin.unwrap_or(0)).collect();
        let periods = changes.path_of_periods().zip(&begins_ns).map(|(path, begin)| {
            let path = path_in_whole[path as usize];
            self.phases.changes.period(path, Some(begin.saturating_add(later_ns))) as usize
        });
        let of_periods: Vec<_> = periods.map(|period| self.of_periods[period]).collect();
        let phases = Phases::of(&connections, path, changes);
        let in_whole = phases.connection.iter().zip(&phases.period).map(|(&connection, &period)| {
            let start = connections.all[connection as usize].start_ns.max(begins_ns[period as usize]);
            self.phases.at(places[connection as usize], Some(start.saturating_add(later_ns))) as usize
        });
        let in_whole: Vec<_> = in_whole.collect();
        let of_phases: Vec<_> = in_whole.iter().map(|&phase| self.of_phases[phase]).collect();
        let (of_exchanges, round_trips) = exchanges_of(window, &connections, &phases)?;
        let busiest = Busiest::of(&phases, &round_trips);
        Ok(Rtts {
            start_ns: connections.start_ns,
            runtime_ns: connections.runtime_ns,
            paths,
            of_paths: busiest.periods.iter().map(|&period| of_periods[period]).collect(),
            of_connections: busiest.phases.iter().map(|&phase| of_phases[phase]).collect(),
            phases,
            of_periods,
            of_phases,
            of_exchanges,
            clean: in_whole.iter().map(|&phase| self.clean[phase]).collect(),
            beyond: None,
        })
    }

    /// The changes in a window; `path_in_whole` is the number of each of its paths in the whole recording.
    fn changes_within(&self, path_in_whole: &[u32], later_ns: i64, runtime_ns: i64) -> Changes {
        let of_path = |(path, &in_whole): (u32, &u32)| {
            let changes = self.phases.changes.changes_of(in_whole).iter();
            let since_then = changes.map(move |change| change.later(path, later_ns));
            since_then.filter(|change| 0 < change.time_ns && change.time_ns < runtime_ns)
        };
        Changes::of((0..).zip(path_in_whole).flat_map(of_path).collect(), path_in_whole.len())
    }
}

/// The phase of each exchange, and the round trips of each phase.
fn exchanges_of(
    recording: &Recording,
    connections: &DatabaseConnections,
    phases: &Phases,
) -> io::Result<(Vec<u32>, Vec<u64>)> {
    let (mut of_exchanges, mut round_trips) = (vec![0; recording.exchanges.len()], vec![0; phases.len()]);
    each_exchange(recording, connections, |exchange| {
        let phase = phases.at(exchange.connection, exchange.begin_ns);
        of_exchanges[exchange.place] = phase;
        round_trips[phase as usize] += exchange.round_trips;
    })?;
    Ok((of_exchanges, round_trips))
}
