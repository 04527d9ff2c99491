//! What each sender's clock read when its data passed (the TCP timestamps option, RFC 7323 §3).
//!
//! How far two clocks are apart is not known, so one reading says nothing; but where the data of a side come later and
//! later by their own sender's clock, it is their way that became longer, and not the work of a host.

use crate::packet::Segment;

/// The first data of a connection give none: most connections are over before a path changes.
const BEGIN_NS: i64 = 50_000_000;
/// More are thinned out, evenly over the time.
const MAX_READINGS: usize = 128;

/// The sender's clock, in its own ticks, when data of it passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub time_ns: i64,
    pub ticks: u32,
}

/// The readings of one side, about evenly apart.
#[derive(Debug, Default)]
pub struct Readings {
    kept: Vec<Reading>,
    next_ns: Option<i64>,
    apart_ns: i64,
}

impl Readings {
    /// New data passed.
    #[inline]
    pub fn note(&mut self, segment: &Segment<'_>) {
        let Some(ticks) = segment.timestamp else { return };
        let time_ns = segment.time_ns;
        let Some(next_ns) = self.next_ns else {
            self.apart_ns = BEGIN_NS;
            self.next_ns = Some(time_ns.saturating_add(BEGIN_NS));
            return;
        };
        if time_ns < next_ns {
            return;
        }
        if self.kept.len() == MAX_READINGS {
            let mut odd = false;
            self.kept.retain(|_| {
                odd = !odd;
                odd
            });
            self.apart_ns = self.apart_ns.saturating_mul(2);
        }
        self.kept.push(Reading { time_ns, ticks });
        self.next_ns = Some(time_ns.saturating_add(self.apart_ns));
    }

    pub fn kept_bytes(&self) -> usize {
        self.kept.capacity() * size_of::<Reading>()
    }

    pub fn iter(&self) -> impl Iterator<Item = Reading> {
        self.kept.iter().copied()
    }
}

#[cfg(test)]
#[path = "readings_tests.rs"]
mod tests;
