//! The baseline of a connection that has few measurements of its own: that of its path.
//!
//! But not where its own evidence is a mass and plainly apart: one address may stand for hosts that are near and far. The
//! path's range holds both then.

use super::baseline::{Baseline, Position, Reason};
use super::choice::{AGREEMENT_SHARE, CLEAR_NS, Chosen, STRONG_WEIGHT};
use super::values::MIN_FOR_DENSITY;

/// The baseline of one phase by its own evidence, and how much of that there is.
pub struct Own {
    pub baseline: Baseline,
    /// Handshakes and acknowledgments, and the weight of all evidence: of two halves that matter, the fewer.
    direct: u64,
    weight: f64,
}

impl Own {
    pub fn of(baseline: Baseline, [far, near]: &[Chosen; 2]) -> Own {
        let (direct, weight) = match baseline.position {
            Position::Server => (near.direct, near.weight),
            Position::Between => (far.direct.min(near.direct), far.weight.min(near.weight)),
            _ => (far.direct, far.weight),
        };
        Own { baseline, direct, weight }
    }

    /// Its evidence is plainly apart from that of the path.
    pub fn is_at_odds(&self, path: &Baseline) -> bool {
        let own = &self.baseline;
        let is_apart = (own.ns - path.ns).abs() > CLEAR_NS.max(AGREEMENT_SHARE * own.ns);
        let are_ranges_apart = own.high_ns < path.low_ns || own.low_ns > path.high_ns;
        is_apart && are_ranges_apart && self.weight >= STRONG_WEIGHT && own.method.is_direct()
    }

    /// The path's where there are few measurements of its own.
    pub fn with_siblings(self, path: &Baseline) -> Baseline {
        let own = self.baseline;
        if self.direct >= MIN_FOR_DENSITY || self.is_at_odds(path) {
            return own;
        }
        let is_own_inside = self.direct > 0 && path.low_ns <= own.ns && own.ns <= path.high_ns;
        let is_lent = !is_own_inside && path.method.is_direct();
        let first_known = |own: f64, other: f64| if own.is_nan() { other } else { own };
        let in_stream = |which: usize| first_known(own.in_stream_ns[which], path.in_stream_ns[which]);
        Baseline {
            reason: if is_lent { Reason::Siblings } else { path.reason },
            position: own.position,
            handshake_ns: own.handshake_ns,
            in_stream_ns: [in_stream(0), in_stream(1), in_stream(2)],
            floor_ns: first_known(own.floor_ns, path.floor_ns),
            ..*path
        }
    }
}
