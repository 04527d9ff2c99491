//! How sure the RTT of a half is: its low and its high end.

use super::agreement::{AGREEMENT_SHARE, CLEAR_NS, HANDSHAKE_NS, HOST_NS, MEAN_EXCESS_SHARE, STRONG_WEIGHT, agree};
use super::baseline::{Method, Reason};
use super::choice::{Chosen, MIN_NETWORK_SHARE};
use super::values::MIN_FOR_DENSITY;

/// The RTT that uniform responses measure is at least this share of them; hosts may work for the rest.
const UNIFORM_LOW_SHARE: f64 = 0.85;

impl Chosen {
    /// The low and the high end of the RTT.
    pub fn range(&self, tick_ns: i64) -> [f64; 2] {
        if let Some(range) = self.varying {
            return range;
        }
        let root = (self.samples.max(1) as f64).sqrt();
        let tick = tick_ns as f64 / root;
        let [low, high] = if !self.work.is_nan() {
            self.range_without_work()
        } else if self.method == Method::Floor {
            self.range_by_responses(tick)
        } else {
            self.range_by_measurements(tick, root)
        };
        let is_believed = self.weight < STRONG_WEIGHT || agree(self.value, self.fastest);
        let low = low.min(if is_believed { self.fastest } else { self.bound });
        [low.min((1.0 - MEAN_EXCESS_SHARE) * self.rival), high.max((1.0 + MEAN_EXCESS_SHARE) * self.rival)]
    }

    fn range_without_work(&self) -> [f64; 2] {
        let sure = self.work.max(HANDSHAKE_NS);
        [(self.value - sure).max(0.0), self.value + sure]
    }

    fn range_by_responses(&self, tick: f64) -> [f64; 2] {
        let Chosen { value, faster, .. } = *self;
        let is_only_bound = self.is_bound_only() && (!self.steady || value < CLEAR_NS);
        let low = if is_only_bound { 0.0 } else { (UNIFORM_LOW_SHARE * value - HOST_NS - tick).max(0.0) };
        let at_most = if self.reason == Reason::Floor {
            value // no answer is faster than the RTT
        } else if self.measured.is_nan() || self.is_bound_only() {
            value.max(faster)
        } else {
            value.max(self.measured)
        };
        [low, (at_most + tick).min(self.most_by_responses(tick))]
    }

    fn range_by_measurements(&self, tick: f64, root: f64) -> [f64; 2] {
        let Chosen { value, measured, .. } = *self;
        let is_alone = self.method == Method::Handshake;
        let [below, above] = [measured - self.tenth, self.upper - measured].map(|distance| distance.max(0.0));
        let by_host = if is_alone && self.pooled < MIN_FOR_DENSITY { HANDSHAKE_NS } else { HOST_NS };
        let down = (by_host.max(2.0 * below / root) + tick).max(measured - self.bound);
        let excess = (MEAN_EXCESS_SHARE * measured).max(self.middle - measured).max(2.0 * above / root);
        let up = (excess + HOST_NS / 4.0 + tick).max(if is_alone { AGREEMENT_SHARE * measured } else { 0.0 });
        let low = (value - down).max(value * MIN_NETWORK_SHARE).min(value - self.deficit);
        [low, (measured + up).min(self.most_by_responses(tick))]
    }

    /// No RTT is typically longer than the faster quarter of the responses.
    fn most_by_responses(&self, tick: f64) -> f64 {
        if self.faster.is_nan() { f64::INFINITY } else { self.faster.max(self.value) + tick }
    }
}
