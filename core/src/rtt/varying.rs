//! A path whose RTT varies (jitter), told from measurements that a host delayed.
//!
//! A busy host makes waits longer, never shorter: they have a tail on one side. Jitter makes them shorter than the typical
//! one as well, so they spread about evenly to both sides, and handshake and acknowledgments lie somewhere within.

use super::agreement::MIN_CONSISTENT;
use super::values::{MIN_FOR_DENSITY, Values};

/// Measurements lie at least this much above the fastest response, more than hosts delay them.
const MIN_EXCESS_NS: f64 = 200e3;
/// Measurements lie above the fastest response by at least this share of its distance to the typical one.
const MIN_EXCESS_SHARE: f64 = 0.2;
/// Nine of ten responses lie at most this many times as far above the typical one as below it.
const MAX_SKEW: f64 = 2.0;
/// A quarter of the responses lies at least this share of that distance below the typical one: fast ones are no exception.
const MIN_QUARTER_SHARE: f64 = 0.25;
/// The fastest response is at most this many times as far below the typical one as a tenth of them.
const MAX_TAIL_RATIO: f64 = 3.0;
/// Measurements lie below the fastest response by at most this multiple of its distance to the typical one.
const MAX_SHORTFALL: f64 = 1.0;
/// Several measurements differ by at least this share of the responses' deviation.
const MIN_DEVIATIONS: f64 = 0.5;
/// The quartile of a normal distribution lies this many deviations from its middle.
const NORMAL_QUARTILE: f64 = 0.674;
/// The range reaches this many standard errors to each side.
const RANGE_STANDARD_ERRORS: f64 = 2.0;

/// The typical RTT of a path that varies, and its range.
#[derive(Clone, Copy, Debug)]
pub struct Varying {
    pub value: f64,
    pub range: [f64; 2],
}

/// Judge whether measurements vary, beside the waits for the responses.
///
/// The typical response is the typical RTT and some service; the mean of the measurements has no service in it, but they
/// are few. So the typical response counts, as far as they bear it out.
pub fn varying(handshakes: &Values, acks: &Values, responses: &Values, tick_ns: i64) -> Option<Varying> {
    let [fastest, tenth, quarter, middle, upper, late] =
        [0.0, 0.1, 0.25, 0.5, 0.75, 0.9].map(|fraction| responses.quantile(fraction));
    let (reach, below, lower, upper) = (middle - fastest, middle - tenth, middle - quarter, upper - middle);
    let is_even =
        late - middle <= MAX_SKEW * below && reach <= MAX_TAIL_RATIO * below && lower >= MIN_QUARTER_SHARE * below;
    if responses.count() < MIN_FOR_DENSITY || !is_even {
        return None;
    }
    let direct = Values::joined([handshakes, acks]);
    let (least, most, mean) = (direct.least()? as f64, direct.most()? as f64, direct.mean());
    let deviation = lower.max((lower + upper) / 2.0) / NORMAL_QUARTILE;
    let is_within = mean - fastest >= (MIN_EXCESS_NS + tick_ns as f64).max(MIN_EXCESS_SHARE * reach)
        && least >= (fastest - MAX_SHORTFALL * reach).max(fastest / 2.0)
        && most <= late;
    let differ = direct.count() < MIN_CONSISTENT || most - least >= MIN_DEVIATIONS * deviation;
    if !is_within || !differ {
        return None;
    }
    let error = deviation / (direct.count() as f64).sqrt();
    let value = middle.min(mean + error);
    let low = (mean.min(value) - RANGE_STANDARD_ERRORS * error).max(fastest);
    let high = middle + RANGE_STANDARD_ERRORS * deviation / (responses.count() as f64).sqrt();
    Some(Varying { value, range: [low, high] })
}
