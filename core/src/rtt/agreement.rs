//! When values agree, and how low several of them are: the measure that all rules of a half share.
//!
//! Hosts make measurements longer by some 0.1 ms. These are the errors that the lab's captures showed (docs/baseline.md).

use super::values::Values;

/// Two measurements agree when they differ by less than this share, or by [`HOST_NS`]. Data may take as much longer than a
/// handshake that stands alone.
pub const AGREEMENT_SHARE: f64 = 0.10;
/// One value is clearly longer than another if it is at least this multiple of it, and [`CLEAR_NS`] longer.
pub const CLEAR_RATIO: f64 = 2.0;
/// A difference beyond this is more than hosts add to a small request.
pub const CLEAR_NS: f64 = 1e6;
/// A busy host's turnaround adds up to this to a measurement.
pub const HOST_NS: f64 = 100e3;
/// A busy host adds up to this to a handshake that stands alone: accepting a connection is more work than acknowledging
/// data.
pub const HANDSHAKE_NS: f64 = 200e3;
/// The mean RTT exceeds the typical one by this share, on links as steady as the lab's.
pub const MEAN_EXCESS_SHARE: f64 = 0.02;
/// Packets that no single one overturns. Fewer ACKs of a connection that shows neither its beginning nor an answer are
/// what is left of one: they only bound, as nothing tells which copy of the data they acknowledge.
pub const MIN_CONSISTENT: u64 = 3;
/// Responses that weigh as much as several measurements; fewer weigh as one.
pub const MIN_BOUNDS: u64 = 5;
/// Evidence of this weight outweighs a single packet that contradicts it.
pub const STRONG_WEIGHT: f64 = 2.0;
/// The response floor of many waits: low, but no single outlier.
pub const FLOOR_QUANTILE: f64 = 0.05;
/// No RTT is typically longer than the faster quarter of the responses: what is, was delayed.
pub const FASTER_QUANTILE: f64 = 0.25;

/// They differ by no more than what busy hosts add.
pub fn agree(one: f64, other: f64) -> bool {
    (one - other).abs() <= (AGREEMENT_SHARE * one).max(HOST_NS)
}

/// A low value that no single one decides: of few the middle one, of many the 5 % quantile.
///
/// NaN where there are not `fewest` that are no longer.
pub fn of_several(values: &Values, fewest: u64) -> f64 {
    values.nth(rank_of_several(values.count(), fewest)).map_or(f64::NAN, |ns| ns as f64)
}

/// How many of `count` are before that one.
pub fn rank_of_several(count: u64, fewest: u64) -> u64 {
    let few = count.div_ceil(2).min(MIN_CONSISTENT).max(fewest);
    few.max((FLOOR_QUANTILE * count as f64).ceil() as u64) - 1
}
