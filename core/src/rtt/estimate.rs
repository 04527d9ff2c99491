//! The RTTs of a recording: each path's and each connection's, put together from both halves.
//!
//! ```text
//! one phase a connection ─► collect ─► choose ─► position ─► baselines ─► has a path changed?
//!                              ▲                                              │
//!                              └───────────── its connections cut ◄───────────┘ once
//! ```

use std::io;
use std::ops::Range;

use super::baseline::{Baseline, Position};
use super::choice::{self, Chosen, MEAN_EXCESS_SHARE};
use super::evidence::{self, Clean, Collected, Evidence};
pub use super::paths::Paths;
use super::phases::{Changes, Phases};
use super::position::position_of;
use super::siblings::Own;
use super::{FAR, NEAR, changes};
use crate::recording::{DatabaseConnection, DatabaseConnections, Recording};

/// A clock with longer ticks measures no RTT.
const MAX_TICK_NS: i64 = 1_000_000_000;
/// The longest handshake, in ns: more than a century.
const MAX_HANDSHAKE_NS: f64 = (1_i64 << 62) as f64;

/// The RTTs of a recording.
#[derive(Clone, Debug, Default)]
pub struct Rtts {
    /// When the recording began, in ns since 1970, and how long it went on: times of phases are since then.
    pub start_ns: i64,
    pub runtime_ns: i64,
    pub paths: Paths,
    pub phases: Phases,
    /// The RTT of each path and of each connection: of the period, or phase, with most round trips.
    pub of_paths: Vec<Baseline>,
    pub of_connections: Vec<Baseline>,
    pub of_periods: Vec<Baseline>,
    /// The RTTs of phases; where a proxy passes exchanges on, behind these those that take both networks.
    pub of_phases: Vec<Baseline>,
    /// The phase of each exchange, whose RTT divides its time.
    pub of_exchanges: Vec<u32>,
    /// Which acknowledgments of each phase are clean.
    pub clean: Vec<[Clean; 2]>,
    pub beyond: Option<BehindProxy>,
}

/// Networks behind a proxy, which a round trip of the application takes, too: one for each of the last of
/// [`Rtts::of_phases`].
#[derive(Clone, Debug, Default)]
pub struct BehindProxy {
    pub all: Vec<Beyond>,
}

#[derive(Clone, Debug)]
pub struct Beyond {
    /// The connection through the proxy, and the phase that it has on its way to there.
    pub connection: u32,
    pub outer: u32,
    /// Behind the proxy.
    pub server: String,
    /// How many round trips of the proxy one of the application takes.
    pub trips: f64,
    /// A network of its own leads there: not where proxy and server are on one machine.
    pub is_far: bool,
    /// The RTT behind the proxy in ns, with the ends of its range; 0 on one machine.
    pub ns: f64,
    pub low_ns: f64,
    pub high_ns: f64,
    /// The round trips of the application.
    pub round_trips: u64,
}

impl Rtts {
    /// The RTTs of a recording; `given_ms` overrules what was measured. Each of `groups`, one a connection, is measured as
    /// if it had a recording of its own.
    pub fn of(recording: &Recording, given_ms: Option<f64>, groups: Option<&[u32]>) -> io::Result<Rtts> {
        let connections = recording.database_connections().map_err(io::Error::other)?;
        let tick_ns = recording.tick_ns().map_err(io::Error::other)?;
        let (paths, path) = Paths::of(&connections, groups);
        let phases = Phases::of(&connections, path, Changes::none(paths.len()));
        let collected = evidence::collect(recording, &connections, &phases)?;
        let whole = Rtts::estimated(&connections, paths, phases, &collected, tick_ns, None);
        if let Some(given_ms) = given_ms {
            return Ok(whole.with_rows_of(collected).with_given_ms(given_ms));
        }
        if tick_ns >= MAX_TICK_NS {
            return Ok(whole.with_rows_of(collected));
        }
        let relevant: Vec<_> = whole.of_paths.iter().map(may_be_network).collect();
        let (changes, doubts_ns) = changes::find(recording, &connections, &whole.phases, &collected, &relevant)?;
        if changes.all().is_empty() {
            return Ok(whole.with_rows_of(collected).with_doubts_ns(&doubts_ns));
        }
        drop(collected);
        let positions: Vec<_> = whole.of_paths.iter().map(|path| path.position).collect();
        let phases = Phases::of(&connections, whole.phases.path, changes);
        let collected = evidence::collect(recording, &connections, &phases)?;
        let cut = Rtts::estimated(&connections, whole.paths, phases, &collected, tick_ns, Some(&positions));
        Ok(cut.with_rows_of(collected).with_doubts_ns(&doubts_ns))
    }

    /// The RTTs with exchanges that cross networks behind a proxy as well.
    pub fn through(mut self, beyond: BehindProxy, of_exchanges: Vec<u32>) -> Rtts {
        let both: Vec<_> = beyond.all.iter().map(|each| each.added_to(&self.of_phases[each.outer as usize])).collect();
        self.of_phases.extend(both);
        Rtts { of_exchanges, beyond: Some(beyond), ..self }
    }

    /// The baselines of periods and phases; `positions`, of each path, as the whole path shows.
    fn estimated(
        connections: &DatabaseConnections,
        paths: Paths,
        phases: Phases,
        collected: &Collected,
        tick_ns: i64,
        positions: Option<&[Position]>,
    ) -> Rtts {
        let mut of_halves: Vec<_> = collected.of_periods().iter().map(|halves| choose(halves, tick_ns)).collect();
        let positions = positions_of(&paths, &phases.changes, &of_halves, positions, tick_ns);
        less_work(&mut of_halves, &phases.changes);
        let baseline = |[far, near]: &[Chosen; 2], period: usize, handshake_ns| {
            Baseline::of_halves([far, near], positions[period], tick_ns, handshake_ns)
        };
        let handshakes_ns = handshakes_of_phases(connections, &phases);
        let mut of_periods: Vec<_> = medians_of_periods(&handshakes_ns, &phases)
            .enumerate()
            .map(|(period, median_ns)| baseline(&of_halves[period], period, median_ns))
            .collect();
        of_periods.iter_mut().zip(&of_halves).for_each(|(baseline, halves)| baseline.suspect_proxy(&halves[FAR]));
        let (mut of_phases, mut at_odds) = (Vec::with_capacity(phases.len()), Vec::new());
        for (phase, &handshake_ns) in handshakes_ns.iter().enumerate() {
            let period = phases.period[phase] as usize;
            let halves = match collected.of_periods {
                None => of_halves[period],
                Some(_) => choose(&collected.of_phases[phase], tick_ns),
            };
            let own = Own::of(baseline(&halves, period, handshake_ns), &halves);
            if own.is_at_odds(&of_periods[period]) {
                at_odds.push((period, own.baseline));
            }
            of_phases.push(own.with_siblings(&of_periods[period]));
        }
        at_odds.iter().for_each(|(period, own)| of_periods[*period].hold_range_of(own));
        if tick_ns >= MAX_TICK_NS {
            of_periods.iter_mut().chain(&mut of_phases).for_each(|baseline| *baseline = baseline.unmeasured());
        }
        let busiest = Busiest::of(&phases, &collected.round_trips);
        Rtts {
            start_ns: connections.start_ns,
            runtime_ns: connections.runtime_ns,
            paths,
            of_paths: busiest.periods.iter().map(|&period| of_periods[period]).collect(),
            of_connections: busiest.phases.iter().map(|&phase| of_phases[phase]).collect(),
            phases,
            of_periods,
            of_phases,
            ..Rtts::default()
        }
    }

    /// The RTTs with the phases of exchanges and the clean acknowledgments of the evidence that they rest on.
    fn with_rows_of(self, collected: Collected) -> Rtts {
        Rtts { of_exchanges: collected.of_exchanges, clean: collected.clean, ..self }
    }

    /// The RTTs that somebody knows: all are alike.
    fn with_given_ms(mut self, given_ms: f64) -> Rtts {
        let all = [&mut self.of_paths, &mut self.of_connections, &mut self.of_periods, &mut self.of_phases];
        all.into_iter().flatten().for_each(|baseline| *baseline = baseline.with_given_ns(given_ms * 1e6));
        self
    }

    /// Widen ranges to what responses alone show of each path: it may have become longer by so much.
    fn with_doubts_ns(mut self, of_paths: &[f64]) -> Rtts {
        let most = |baseline: &Baseline, path: u32| match of_paths[path as usize] {
            doubt_ns if doubt_ns > 0.0 => (baseline.ns + doubt_ns) * (1.0 + MEAN_EXCESS_SHARE),
            _ => f64::NAN,
        };
        let phases = &self.phases;
        let widen = |(baseline, path): (&mut Baseline, u32)| baseline.reach(most(baseline, path));
        self.of_paths.iter_mut().zip(0..).for_each(widen);
        self.of_connections.iter_mut().zip(phases.path.iter().copied()).for_each(widen);
        self.of_periods.iter_mut().zip(phases.changes.path_of_periods()).for_each(widen);
        let path_of_phases = phases.connection.iter().map(|&connection| phases.path[connection as usize]);
        self.of_phases.iter_mut().zip(path_of_phases).for_each(widen);
        self
    }
}

impl Beyond {
    /// The RTT of both networks, of which the outer one is known.
    fn added_to(&self, outer: &Baseline) -> Baseline {
        let ns = outer.ns + self.trips * self.ns;
        Baseline {
            ns,
            low_ns: outer.low_ns + self.trips * self.low_ns,
            high_ns: outer.high_ns + self.trips * self.high_ns,
            near_share: if ns > 0.0 { outer.near_ns() / ns } else { 0.0 },
            ..*outer
        }
    }
}

/// The period of each path, and the phase of each connection, with most round trips: of several the last.
pub(super) struct Busiest {
    pub periods: Vec<usize>,
    pub phases: Vec<usize>,
}

impl Busiest {
    /// By the round trips of each phase.
    pub fn of(phases: &Phases, round_trips: &[u64]) -> Busiest {
        let mut of_periods = vec![0_u64; phases.changes.periods()];
        for (&period, trips) in phases.period.iter().zip(round_trips) {
            of_periods[period as usize] += trips;
        }
        let most = |run: Range<usize>, trips: &[u64]| run.clone().max_by_key(|&each| trips[each]).unwrap_or(run.start);
        let runs = phases.opening.iter().zip(&phases.closing);
        Busiest {
            periods: (0..phases.changes.paths() as u32)
                .map(|path| most(phases.changes.of_path(path), &of_periods))
                .collect(),
            phases: runs.map(|(&first, &last)| most(first as usize..last as usize + 1, round_trips)).collect(),
        }
    }
}

fn choose(halves: &[Evidence; 2], tick_ns: i64) -> [Chosen; 2] {
    halves.each_ref().map(|half| choice::choose(half, tick_ns))
}

/// Which halves of a path, the far one and the near one, may be network: both where nothing tells.
fn may_be_network(path: &Baseline) -> [bool; 2] {
    let may_be_near = path.near_share > 0.0 || path.position == Position::Unknown;
    [path.near_share < 1.0, may_be_near].map(|may_be| may_be && path.position != Position::Loopback)
}

/// The place of the capture, of each period: as the whole path shows, or else one of its periods.
fn positions_of(
    paths: &Paths,
    changes: &Changes,
    of_halves: &[[Chosen; 2]],
    of_paths: Option<&[Position]>,
    tick_ns: i64,
) -> Vec<Position> {
    let mut of_periods = Vec::with_capacity(of_halves.len());
    for path in 0..paths.len() {
        let periods = changes.of_path(path as u32);
        let of_period = |[far, near]: &[Chosen; 2]| position_of(paths.ends(path), [far, near], tick_ns);
        let known = of_paths.map(|positions| positions[path]).filter(|&position| position != Position::Unknown);
        let shown = || of_halves[periods.clone()].iter().map(of_period).max();
        of_periods.resize(periods.end, known.or_else(shown).unwrap_or_default());
    }
    of_periods
}

/// Take off what was work of the hosts in periods of which only responses are known: another one shows how much.
fn less_work(of_halves: &mut [[Chosen; 2]], changes: &Changes) {
    for (path, half) in (0..changes.paths() as u32).flat_map(|path| [(path, FAR), (path, NEAR)]) {
        let periods = &mut of_halves[changes.of_path(path)];
        let known: Vec<Chosen> = periods.iter().map(|halves| halves[half]).collect();
        for (place, halves) in periods.iter_mut().enumerate() {
            let is_direct = |other: &&Chosen| other.method.is_direct();
            let before = known[..=place].iter().rev().find(is_direct);
            if let Some(other) = before.or_else(|| known[place..].iter().find(is_direct)) {
                halves[half] = choice::less_work(known[place], other);
            }
        }
    }
}

/// The whole handshake of each phase, which the first one of a connection has.
fn handshakes_of_phases(connections: &DatabaseConnections, phases: &Phases) -> Vec<f64> {
    let mut of_phases = vec![f64::NAN; phases.len()];
    for (connection, &opening) in connections.all.iter().zip(&phases.opening) {
        of_phases[opening as usize] = whole_handshake_ns(connection);
    }
    of_phases
}

/// SYN → ACK, as Wireshark's iRTT; NaN where it cannot be timed.
fn whole_handshake_ns(connection: &DatabaseConnection) -> f64 {
    let [Some(near), Some(far)] = connection.handshake_ns else { return f64::NAN };
    let whole = (far as f64 + near as f64).min(MAX_HANDSHAKE_NS);
    if whole < 0.0 { f64::NAN } else { whole }
}

/// The median of what the phases of each period have; NaN where they have nothing.
fn medians_of_periods(of_phases: &[f64], phases: &Phases) -> impl Iterator<Item = f64> {
    let mut of_periods = vec![Vec::new(); phases.changes.periods()];
    for (&ns, &period) in of_phases.iter().zip(&phases.period).filter(|(ns, _)| !ns.is_nan()) {
        of_periods[period as usize].push(ns);
    }
    of_periods.into_iter().map(|mut all| {
        all.sort_unstable_by(f64::total_cmp);
        all.get(all.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
    })
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
