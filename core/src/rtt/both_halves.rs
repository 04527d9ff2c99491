//! Both halves of a path, added up to its baseline where they are network: a host's own turnaround is none.

use super::baseline::{Baseline, Method, Position, Reason};
use super::choice::{Chosen, MIN_UNIFORM};

/// A proxy is suspected where even the fastest of [`MIN_UNIFORM`] responses takes this many times the RTT, and
/// [`PROXY_NS`] more.
const PROXY_RATIO: f64 = 4.0;
/// A response that takes less than this beyond the RTT suggests no proxy.
const PROXY_NS: f64 = 5e6;

impl Baseline {
    /// The far half, the near one or both, as the position says. Where that is unknown, the range holds either, and both;
    /// where both were measured, the longer one counts.
    pub fn of_halves([far, near]: [&Chosen; 2], position: Position, tick_ns: i64, handshake_ns: f64) -> Baseline {
        let is_unknown = position == Position::Unknown;
        let is_either = is_unknown && [far, near].iter().all(|half| !half.is_bound_only() && !half.value.is_nan());
        let has_near =
            matches!(position, Position::Server | Position::Between) || (is_either && near.value > far.value);
        let has_far = position == Position::Between || !has_near;
        let added = |of_far: f64, of_near: f64| {
            if has_far && has_near {
                of_far + of_near
            } else if has_near {
                of_near
            } else {
                of_far
            }
        };
        let ns = added(far.value, near.value);
        let [[far_low, far_high], [near_low, near_high]] = [far, near].map(|half| half.range(tick_ns));
        let beyond = match has_far {
            _ if !is_unknown => 0.0,
            true => most_ns(near, near_high),
            false => most_ns(far, far_high),
        };
        let longer = if has_near && (!has_far || known(near.value) > known(far.value)) { near } else { far };
        let near_share = match [has_far, has_near && !is_either] {
            [_, false] => 0.0,
            [false, true] => 1.0,
            [true, true] => near.value / if ns < 1.0 { 1.0 } else { ns },
        };
        let in_stream = |which: usize| added(far.in_stream[which], near.in_stream[which]);
        Baseline {
            ns,
            low_ns: if is_either { far_low.min(near_low) } else { added(far_low, near_low) },
            high_ns: added(far_high, near_high) + beyond,
            near_share,
            method: longer.method,
            reason: longer.reason,
            position,
            handshake_ns,
            in_stream_ns: [in_stream(0), in_stream(1), in_stream(2)],
            floor_ns: far.floor + if has_near && !is_either { known(near.value) } else { 0.0 },
            samples: longer.samples,
        }
    }

    /// Say so where no response came near the RTT: something else may have answered for the server.
    pub fn suspect_proxy(&mut self, far: &Chosen) {
        let is_measured = self.method.is_direct() && self.reason != Reason::SplitSyn;
        let least = far.quickest + self.near_ns();
        let is_beyond = least > PROXY_RATIO * self.ns && least > self.ns + PROXY_NS;
        if is_measured && far.responses >= MIN_UNIFORM && is_beyond {
            self.reason = Reason::FarResponses;
        }
    }
}

/// How long a half may be that may be network or not; 0 where nothing is known of it.
fn most_ns(half: &Chosen, high_ns: f64) -> f64 {
    let is_bounded = half.is_bound_only() || half.method == Method::Unknown;
    known(if is_bounded { half.most() } else { high_ns })
}

fn known(ns: f64) -> f64 {
    if ns.is_nan() { 0.0 } else { ns }
}
