//! The RTTs that handshakes and clean acknowledgments measured, interval by interval.
//!
//! ```text
//! measured half + the other half, as the baseline of its phase has it ─► the interval in which it was measured
//! ```

use std::io;

use super::baseline::Baseline;
use super::evidence::{Clean, each_sample};
use super::phases::Phases;
use super::values::Countings;
use super::{FAR, NEAR};
use crate::recording::{DatabaseConnection, DatabaseConnections, Recording};

/// Intervals of one width; the first begins then, in ns since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    pub first_ns: i64,
    pub width_ns: i64,
    pub count: usize,
}

/// The RTTs measured in one interval; ns, NaN where there are none.
#[derive(Clone, Copy, Debug)]
pub struct IntervalRtts {
    pub count: u64,
    pub least_ns: f64,
    pub median_ns: f64,
}

impl Intervals {
    /// The interval of a time, or the nearest one.
    fn at(&self, time_ns: i64) -> usize {
        let number = time_ns.saturating_sub(self.first_ns).div_euclid(self.width_ns.max(1));
        (number.max(0) as usize).min(self.count.saturating_sub(1))
    }
}

/// The RTTs measured in each interval. `clean` and `baselines` are those of phases.
pub fn of_intervals(
    recording: &Recording,
    connections: &DatabaseConnections,
    phases: &Phases,
    clean: &[[Clean; 2]],
    baselines: &[Baseline],
    intervals: &Intervals,
) -> io::Result<Vec<IntervalRtts>> {
    if intervals.count == 0 {
        return Ok(Vec::new());
    }
    let of_window = recording.period_ns.map(|_| 0..=connections.runtime_ns);
    let is_inside = |time_ns: i64| of_window.as_ref().is_none_or(|window| window.contains(&time_ns));
    let mut countings = Countings::of(intervals.count);
    let mut add = |phase: usize, half: usize, time_ns: i64, ns: i64| {
        if let Some(other_ns) = other_half_ns(&baselines[phase], half).filter(|_| is_inside(time_ns)) {
            let interval = intervals.at(connections.start_ns.saturating_add(time_ns));
            countings.add(interval, ns.saturating_add(other_ns), 0);
        }
    };
    for (number, connection) in connections.all.iter().enumerate() {
        let [client, server] = connection.handshake_ns;
        for (half, ns) in [(FAR, server), (NEAR, client)] {
            if let Some(ns) = ns.filter(|_| of_window.is_none() || began_inside(connection)) {
                add(phases.opening[number] as usize, half, connection.start_ns, ns);
            }
        }
    }
    each_sample(recording, connections, phases, |phase, half, sample| {
        if clean[phase][half].takes(sample) {
            add(phase, half, sample.time_ns.wrapping_sub(connections.start_ns), sample.rtt_ns);
        }
    })?;
    let measured = countings.take().map(|values| IntervalRtts {
        count: values.count(),
        least_ns: values.quantile(0.0),
        median_ns: values.quantile(0.5),
    });
    Ok(measured.collect())
}

/// The half that was not measured; `None` where the one that was is no part of the RTT.
fn other_half_ns(baseline: &Baseline, measured: usize) -> Option<i64> {
    let share = if measured == NEAR { baseline.near_share } else { 1.0 - baseline.near_share };
    let other_ns = (1.0 - share) * baseline.ns;
    (share > 0.0).then(|| other_ns.round_ties_even() as i64)
}

/// A window keeps what is known of a connection that began before it, and lets that begin with the window.
fn began_inside(connection: &DatabaseConnection) -> bool {
    connection.start_ns > 0 || connection.syn_ack_ns.is_some()
}
