//! Measurements of one half of a path in the order of time.

use crate::passes::Ascending;

/// A handshake, an acknowledgment or a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Measurement {
    pub time_ns: i64,
    /// Its place among those of the same time.
    pub place: u64,
    pub ns: i64,
    /// The statement that was answered.
    pub statement: u32,
}

/// The measurements from one time to another.
pub fn between(series: &[Measurement], [begin_ns, end_ns]: [i64; 2]) -> &[Measurement] {
    let before = |time_ns| series.partition_point(|measured| measured.time_ns < time_ns);
    let (first, end) = (before(begin_ns), before(end_ns));
    &series[first..end.max(first)]
}

/// How long these measurements took, in ns.
pub fn durations(series: &[Measurement]) -> Ascending {
    Ascending::of(series.iter().map(|measured| measured.ns as f64))
}
