//! The evidence that tells a longer path from a slower server.
//!
//! No answer is faster than the path. So where a direct measurement that its own responses confirm is longer than those of
//! another period, the path was longer. And where the data of a side came later by their sender's own clock, their way was.

use super::choice::{AGREEMENT_SHARE, FLOOR_QUANTILE, HOST_NS, UNIFORM_SPREAD, is_no_work};
use super::clocks::moved_ns;
use super::periods::{MIN_LEVEL_NS, MIN_LEVEL_RATIO, is_apart};
use super::phases::ChangeEvidence;
use super::series::{Measurement, between, durations};
use super::values::Values;
use crate::passes::Ascending;
use crate::recording::ClockReading;

/// The part of one direction in a change of the RTT: half of it where both changed alike, all or nothing else.
const OF_THE_MOVE: [f64; 2] = [0.25, 1.15];
/// Times before and after all.
const ALWAYS: [i64; 2] = [-(1 << 62), 1 << 62];

/// All that was measured of a half of a path besides its responses: handshakes and acknowledgments, and the readings of
/// its clocks by side, connection and time.
pub struct Witness<'a> {
    pub direct: &'a [Measurement],
    pub clocks: &'a [ClockReading],
}

/// The responses of one side of a change, and its direct measurements.
struct Period<'a> {
    responses: &'a [Measurement],
    ns: Ascending,
    direct: &'a [Measurement],
}

impl Witness<'_> {
    /// Return the changes of the responses that were the path's, and the largest, in ns, of those that may have been.
    ///
    /// A server's work is hardly ever as even as a path: responses that are alike on either side may be of either.
    pub fn confirm(&self, times: &[i64], responses: &[Measurement]) -> (Vec<(i64, ChangeEvidence)>, f64) {
        let [first, last] = ALWAYS;
        let edges = [&[first], times, &[last]].concat();
        let (mut kept, mut doubt_ns) = (Vec::new(), 0.0_f64);
        for edges in edges.windows(3) {
            let &[begin, moment, end] = edges else { continue };
            let before = self.period(responses, [begin, moment]);
            let after = self.period(responses, [moment, end]);
            let (slow, fast) =
                if after.ns.median() > before.ns.median() { (&after, &before) } else { (&before, &after) };
            if slow.is_measured_longer(fast) {
                kept.push((moment, ChangeEvidence::Answers));
            } else if self.has_moved([begin, moment, end], after.ns.quantile(0.05) - before.ns.quantile(0.05)) {
                kept.push((moment, ChangeEvidence::Clocks));
            } else if is_no_work(&slow.values(), fast.ns.quantile(FLOOR_QUANTILE)) {
                kept.push((moment, ChangeEvidence::Statements));
            } else if slow.is_even() && fast.is_even() && !self.is_of_a_far_host(slow.ns.median()) {
                doubt_ns = doubt_ns.max(slow.ns.median() - fast.ns.median());
            }
        }
        (kept, doubt_ns)
    }

    fn period<'a>(&'a self, responses: &'a [Measurement], times: [i64; 2]) -> Period<'a> {
        let responses = between(responses, times);
        Period { responses, ns: durations(responses), direct: between(self.direct, times) }
    }

    /// A connection was measured to be as far: hosts near and far may share an address.
    fn is_of_a_far_host(&self, level_ns: f64) -> bool {
        self.direct.iter().any(|direct| (direct.ns as f64 - level_ns).abs() <= AGREEMENT_SHARE * level_ns)
    }

    /// The way of either side's data became longer by its part of what the responses did.
    fn has_moved(&self, times: [i64; 3], move_ns: f64) -> bool {
        let [least, most] = OF_THE_MOVE;
        let is_part = |way_ns: f64| way_ns.abs() > MIN_LEVEL_NS && (least..=most).contains(&(way_ns / move_ns));
        moved_ns(self.clocks, times).any(is_part)
    }
}

impl Period<'_> {
    /// A direct measurement of this slow period, confirmed by its responses, is longer than those of the fast one.
    fn is_measured_longer(&self, fast: &Period<'_>) -> bool {
        let (direct_ns, floor_ns) = (durations(self.direct).median(), self.ns.quantile(0.05));
        let is_confirmed = direct_ns <= MIN_LEVEL_RATIO * floor_ns && floor_ns <= MIN_LEVEL_RATIO * direct_ns;
        is_confirmed && is_apart(fast.ns.quantile(0.75), direct_ns)
    }

    /// Three of four responses are alike.
    fn is_even(&self) -> bool {
        let [fastest_ns, most_ns] = [FLOOR_QUANTILE, 0.75].map(|fraction| self.ns.quantile(fraction));
        most_ns - fastest_ns <= (UNIFORM_SPREAD * fastest_ns).max(HOST_NS)
    }

    fn values(&self) -> Values {
        Values::of_statements(self.responses.iter().map(|response| (response.ns, response.statement)))
    }
}

#[cfg(test)]
#[path = "witness_tests.rs"]
mod tests;
