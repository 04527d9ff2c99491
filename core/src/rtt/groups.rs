//! The RTTs of one of many groups of connections that were estimated at once: each as if the others were not there.
//!
//! A path belongs to one group: where connections of several groups go between the same hosts, each group has its own.

use std::io;
use std::ops::Range;

use super::estimate::Rtts;
use super::paths::Paths;
use super::phases::{Changes, Phases};
use crate::recording::Recording;

impl Rtts {
    /// The RTTs of the group that has these connections among those of all groups together, whose RTTs these are.
    pub fn part(&self, connections: Range<usize>, group: &Recording) -> io::Result<Rtts> {
        let start_ns = group.start_ns().map_err(io::Error::other)?;
        let runtime_ns = group.runtime_ns().map_err(io::Error::other)?;
        let all = &self.phases;
        let of_connections = all.path.get(connections.clone()).unwrap_or_default();
        let [Some(&first), Some(&last)] = [of_connections.first(), of_connections.iter().max()] else {
            let phases = Phases { changes: Changes::none(0), ..Phases::default() };
            return Ok(Rtts { start_ns, runtime_ns, phases, ..Rtts::default() });
        };
        let paths = first..last + 1;
        let [first, last] = [paths.start, paths.end - 1].map(|path| all.changes.of_path(path));
        let periods = first.start..last.end;
        let phases = all.opening[connections.start]..all.closing[connections.end - 1] + 1;
        let less = |numbers: &[u32], first: u32| numbers.iter().map(|number| number - first).collect::<Vec<_>>();
        let in_phases = phases.start as usize..phases.end as usize;
        let in_paths = paths.start as usize..paths.end as usize;
        let later_ns = start_ns.saturating_sub(self.start_ns);
        let of_path = |path: u32| all.changes.changes_of(path).iter().map(move |change| (path, change));
        let changes = paths.clone().flat_map(of_path);
        let changes = changes.map(|(path, change)| change.later(path - paths.start, later_ns));
        let bounds = [phases.start, phases.end].map(|bound| self.of_exchanges.partition_point(|&phase| phase < bound));
        Ok(Rtts {
            start_ns,
            runtime_ns,
            paths: Paths {
                clients: self.paths.clients[in_paths.clone()].to_vec(),
                servers: self.paths.servers[in_paths.clone()].to_vec(),
            },
            phases: Phases {
                changes: Changes::of(changes.collect(), in_paths.len()),
                path: less(of_connections, paths.start),
                opening: less(&all.opening[connections.clone()], phases.start),
                closing: less(&all.closing[connections.clone()], phases.start),
                period: less(&all.period[in_phases.clone()], periods.start as u32),
                connection: less(&all.connection[in_phases.clone()], connections.start as u32),
            },
            of_paths: self.of_paths[in_paths].to_vec(),
            of_connections: self.of_connections[connections].to_vec(),
            of_periods: self.of_periods[periods].to_vec(),
            of_phases: self.of_phases[in_phases.clone()].to_vec(),
            of_exchanges: less(&self.of_exchanges[bounds[0]..bounds[1]], phases.start),
            clean: self.clean[in_phases].to_vec(),
            beyond: None,
        })
    }
}
