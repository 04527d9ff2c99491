//! When a path's RTT changed for good: a fail-over, a VPN, a congestion that stayed (docs/baseline.md).
//!
//! ```text
//! RTT                      ────────────            what was measured directly (handshakes, ACKs) splits a path by itself;
//!      ───────────┐        responses alone do not: a slower server looks the same. They need a witness, either
//!                 └──────  a direct measurement in the slower period that they confirm, or the senders' clocks
//! ```

use std::io;

use super::evidence::Collected;
use super::halves::{Half, paths};
use super::periods;
use super::phases::{Change, ChangeEvidence, Changes, Phases};
use super::witness::Witness;

use crate::recording::{ClockReading, DatabaseConnections, Recording};

/// Changes of both halves within a second are one change.
const SAME_CHANGE_NS: i64 = 1_000_000_000;

/// The changes of each path, and by how much it may have changed where nothing tells (ns, else 0).
///
/// `phases` are those of a recording without changes; `relevant` are the paths of which the far half, and the near one,
/// may be network.
pub fn find(
    recording: &Recording,
    connections: &DatabaseConnections,
    phases: &Phases,
    collected: &Collected,
    relevant: &[[bool; 2]],
) -> io::Result<(Changes, Vec<f64>)> {
    let (mut all, mut doubts_ns) = (Vec::new(), Vec::new());
    for (path, of) in (0..).zip(paths(recording, connections, phases, collected, relevant)?) {
        let [far, near] = of.halves.each_ref().map(|half| of_half(half, &of.clocks));
        doubts_ns.push(far.1.max(near.1));
        let change = |(time_ns, shown_by)| Change { path, time_ns, shown_by };
        all.extend(once([far.0, near.0].concat()).into_iter().map(change));
    }
    Ok((Changes::of(all, doubts_ns.len()), doubts_ns))
}

/// When a half changed and what shows it; and by how much it may have changed where nothing tells.
fn of_half(half: &Half, clocks: &[ClockReading]) -> (Vec<(i64, ChangeEvidence)>, f64) {
    if half.may_direct_change {
        let times = periods::changes(&half.direct, &half.responses);
        if !times.is_empty() {
            return (times.into_iter().map(|time_ns| (time_ns, ChangeEvidence::Measured)).collect(), 0.0);
        }
    }
    if !half.may_responses_change {
        return (Vec::new(), 0.0);
    }
    let times = periods::changes(&half.responses, &half.responses);
    Witness { direct: &half.direct, clocks }.confirm(&times, &half.responses)
}

/// Both halves show one change at about the same time: the first of them.
fn once(mut changes: Vec<(i64, ChangeEvidence)>) -> Vec<(i64, ChangeEvidence)> {
    changes.sort_unstable();
    changes.dedup_by(|next, last| next.0.saturating_sub(last.0) < SAME_CHANGE_NS);
    changes
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
