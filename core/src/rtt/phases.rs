//! When the RTT of paths changed, and the phases that cuts their connections into: one each, where nothing changed.
//!
//! Each phase of a connection is measured as a connection is, and each period of a path as a path is.

use std::ops::{Range, RangeInclusive};

use crate::recording::DatabaseConnections;

/// The evidence that a path changed, and not the server. Its numbers are those of `latpcap/rtt/phases.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum ChangeEvidence {
    Measured,
    Answers,
    Clocks,
    Statements,
}

/// From then on a path has another RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub path: u32,
    pub time_ns: i64,
    pub shown_by: ChangeEvidence,
}

/// The changes of so many paths, in the order of path and time. A path without one has one period, with one two.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    all: Vec<Change>,
    /// The first period of each path, and at last the number of all periods.
    first: Vec<u32>,
}

/// The phases of connections, in the order of connection and time.
#[derive(Clone, Debug, Default)]
pub struct Phases {
    pub changes: Changes,
    /// The path of each connection.
    pub path: Vec<u32>,
    /// The first and the last phase of each connection.
    pub opening: Vec<u32>,
    pub closing: Vec<u32>,
    /// The period of its path, and the connection, of each phase.
    pub period: Vec<u32>,
    pub connection: Vec<u32>,
}

impl Change {
    /// The change as a part of the recording has it, which begins so much later and has another number for the path.
    pub fn later(&self, path: u32, later_ns: i64) -> Change {
        Change { path, time_ns: self.time_ns.saturating_sub(later_ns), ..*self }
    }
}

impl Changes {
    /// Changes in the order of path and time, of so many paths.
    pub fn of(all: Vec<Change>, paths: usize) -> Changes {
        let mut changes = all.iter().peekable();
        let mut first = vec![0];
        for path in 0..paths as u32 {
            let mut periods = 1;
            while changes.next_if(|change| change.path == path).is_some() {
                periods += 1;
            }
            first.push(first[path as usize] + periods);
        }
        Changes { all, first }
    }

    pub fn none(paths: usize) -> Changes {
        Changes::of(Vec::new(), paths)
    }

    pub fn all(&self) -> &[Change] {
        &self.all
    }

    pub fn paths(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// How many periods all paths have.
    pub fn periods(&self) -> usize {
        self.first.last().map_or(0, |&periods| periods as usize)
    }

    /// The periods of a path.
    pub fn of_path(&self, path: u32) -> Range<usize> {
        self.first[path as usize] as usize..self.first[path as usize + 1] as usize
    }

    /// Its changes.
    pub fn changes_of(&self, path: u32) -> &[Change] {
        let begin = self.first[path as usize] - path;
        let end = self.first[path as usize + 1] - path - 1;
        &self.all[begin as usize..end as usize]
    }

    /// The period of a path at a time; the first one before all, and where the time is unknown.
    pub fn period(&self, path: u32, time_ns: Option<i64>) -> u32 {
        let before = |time_ns| self.changes_of(path).partition_point(|change| change.time_ns <= time_ns) as u32;
        self.first[path as usize] + time_ns.map_or(0, before)
    }

    /// The path of each period.
    pub fn path_of_periods(&self) -> impl Iterator<Item = u32> {
        (0..self.paths() as u32).flat_map(|path| self.of_path(path).map(move |_| path))
    }

    /// When each period begins; `None` for the first of a path.
    pub fn begins_ns(&self) -> impl Iterator<Item = Option<i64>> {
        let of_path = |path| self.changes_of(path).iter().map(|change| Some(change.time_ns));
        (0..self.paths() as u32).flat_map(move |path| std::iter::once(None).chain(of_path(path)))
    }
}

impl Phases {
    /// Cut connections, each on its path, where these changed.
    pub fn of(connections: &DatabaseConnections, path: Vec<u32>, changes: Changes) -> Phases {
        let mut phases = Phases { changes, path, ..Phases::default() };
        for (connection, of) in connections.all.iter().enumerate() {
            let [first, last] =
                [of.start_ns, of.end_ns].map(|time| phases.changes.period(phases.path[connection], Some(time)));
            phases.opening.push(phases.period.len() as u32);
            phases.period.extend(first..=last.max(first));
            phases.connection.resize(phases.period.len(), connection as u32);
            phases.closing.push(phases.period.len() as u32 - 1);
        }
        phases
    }

    pub fn len(&self) -> usize {
        self.period.len()
    }

    pub fn is_empty(&self) -> bool {
        self.period.is_empty()
    }

    /// The phases of a connection.
    pub fn of_connection(&self, connection: usize) -> RangeInclusive<u32> {
        self.opening[connection]..=self.closing[connection]
    }

    /// The phase that a connection was in at a time, or the nearest one that it has.
    #[inline]
    pub fn at(&self, connection: usize, time_ns: Option<i64>) -> u32 {
        let (opening, closing) = (self.opening[connection], self.closing[connection]);
        if opening == closing {
            return opening;
        }
        let period = self.changes.period(self.path[connection], time_ns);
        (opening + period.saturating_sub(self.period[opening as usize])).min(closing)
    }

    /// A phase of the connection was at that time: not where a selection leaves out what was measured then.
    #[inline]
    pub fn covers(&self, connection: usize, time_ns: Option<i64>) -> bool {
        if self.changes.all.is_empty() {
            return true;
        }
        let phase = self.at(connection, time_ns);
        self.period[phase as usize] == self.changes.period(self.path[connection], time_ns)
    }
}
