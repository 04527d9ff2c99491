//! Measurements counted by value: what order statistics need of them, in bounded memory.
//!
//! ```text
//! 12 ns, 15 ns, 12 ns ─► Counting ─► Values: 12 ns × 2, 15 ns × 1
//! ```
//!
//! Clocks tick in microseconds and servers answer alike, so values recur. Beyond [`MAX_DISTINCT`] of them each stands for
//! a bin that is 2⁻¹² of it wide: a quantile is off by less than its fourth digit.

use std::collections::HashMap;

const MAX_DISTINCT: usize = 1 << 16;
/// Bits of a value that are kept where values stand for bins.
const BIN_BITS: u32 = 12;
/// This many measurements show where they are dense, and their shape. Of fewer, the lower quarter has the least of the
/// hosts' delays.
pub const MIN_FOR_DENSITY: u64 = 10;
/// Rounding hides a value of which the clock's tick is a larger share; only the mean helps then.
pub const MAX_TICK_SHARE: f64 = 0.1;

/// Something that was measured so often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    pub ns: i64,
    /// The statement that was answered, [`NO_STATEMENT`] for another request; 0 of what is no response.
    pub statement: u32,
    pub times: u32,
}

pub const NO_STATEMENT: u32 = u32::MAX;

/// Measurements while they are counted.
#[derive(Debug, Default)]
pub struct Counting {
    times: HashMap<(i64, u32), u32, ahash::RandomState>,
    is_binned: bool,
}

impl Counting {
    #[inline]
    pub fn add(&mut self, ns: i64, statement: u32) {
        self.add_counted(Counted { ns, statement, times: 1 });
    }

    pub fn add_counted(&mut self, counted: Counted) {
        let ns = if self.is_binned { middle_of_bin(counted.ns) } else { counted.ns };
        let times = self.times.entry((ns, counted.statement)).or_default();
        *times = times.saturating_add(counted.times);
        if self.times.len() > MAX_DISTINCT {
            self.join_into_bins();
        }
    }

    /// Bins, where these are still too many those of all statements together.
    fn join_into_bins(&mut self) {
        let statement_of = |statement| if self.is_binned { 0 } else { statement };
        let mut joined = HashMap::<_, u32, _>::default();
        for (&(ns, statement), times) in &self.times {
            let of_bin = joined.entry((middle_of_bin(ns), statement_of(statement))).or_default();
            *of_bin = of_bin.saturating_add(*times);
        }
        (self.times, self.is_binned) = (joined, true);
    }

    /// The measurements that were counted, and from now on other ones.
    pub fn take(&mut self) -> Values {
        self.is_binned = false;
        let mut counted: Vec<_> =
            self.times.drain().map(|((ns, statement), times)| Counted { ns, statement, times }).collect();
        counted.sort_unstable();
        Values { counted: counted.into() }
    }
}

fn middle_of_bin(ns: i64) -> i64 {
    let shift = (i64::BITS - ns.max(0).leading_zeros()).saturating_sub(BIN_BITS + 1);
    if shift == 0 { ns } else { (ns >> shift << shift) + (1 << (shift - 1)) }
}

/// Measurements of one kind, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    counted: Box<[Counted]>,
}

impl Values {
    pub fn of(all: impl IntoIterator<Item = i64>) -> Values {
        Values::of_statements(all.into_iter().map(|ns| (ns, 0)))
    }

    /// Responses, each with its statement.
    pub fn of_statements(all: impl IntoIterator<Item = (i64, u32)>) -> Values {
        let mut counting = Counting::default();
        all.into_iter().for_each(|(ns, statement)| counting.add(ns, statement));
        counting.take()
    }

    /// All of several.
    pub fn joined<'a>(several: impl IntoIterator<Item = &'a Values>) -> Values {
        let mut counting = Counting::default();
        several.into_iter().flat_map(Values::all).for_each(|&counted| counting.add_counted(counted));
        counting.take()
    }

    pub fn filtered(&self, is_kept: impl Fn(&Counted) -> bool) -> Values {
        Values { counted: self.counted.iter().copied().filter(is_kept).collect() }
    }

    pub fn all(&self) -> &[Counted] {
        &self.counted
    }

    /// How many measurements there are.
    pub fn count(&self) -> u64 {
        self.counted.iter().map(|counted| u64::from(counted.times)).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.counted.is_empty()
    }

    pub fn least(&self) -> Option<i64> {
        self.counted.first().map(|counted| counted.ns)
    }

    pub fn most(&self) -> Option<i64> {
        self.counted.last().map(|counted| counted.ns)
    }

    /// The one before which there are so many.
    pub fn nth(&self, rank: u64) -> Option<i64> {
        let mut behind = 0;
        let is_there = |counted: &&Counted| {
            behind += u64::from(counted.times);
            rank < behind
        };
        self.counted.iter().find(is_there).map(|counted| counted.ns)
    }

    /// The nearest-rank quantile, which was really measured; NaN of none.
    pub fn quantile(&self, fraction: f64) -> f64 {
        let rank = (self.count() as f64 * fraction).ceil().max(1.0) as u64 - 1;
        self.nth(rank).map_or(f64::NAN, |ns| ns as f64)
    }

    /// The mean; NaN of none.
    pub fn mean(&self) -> f64 {
        let sum: i128 = self.counted.iter().map(Counted::sum).sum();
        sum as f64 / self.count() as f64
    }

    /// The typical one, NaN of none: a busy host makes measurements longer, never shorter.
    pub fn typical(&self, tick_ns: i64) -> f64 {
        let mean = self.mean();
        if mean < tick_ns as f64 / MAX_TICK_SHARE {
            return mean;
        }
        if self.count() < MIN_FOR_DENSITY { self.quantile(0.25) } else { self.densest_half() }
    }

    /// The mean of the shortest interval that holds half of all, of several the first; NaN of none.
    ///
    /// Even where jitter is symmetric, it lies in the middle; a long tail of late measurements does not move it.
    pub fn densest_half(&self) -> f64 {
        let half = self.count().div_ceil(2);
        let (mut shortest, mut found) = (i64::MAX, f64::NAN);
        let (mut times, mut sum, mut rest) = (0, 0_i128, self.counted.iter());
        let mut last = 0;
        for first in &*self.counted {
            while times < half
                && let Some(next) = rest.next()
            {
                (times, sum, last) = (times + u64::from(next.times), sum + next.sum(), next.ns);
            }
            if times < half {
                break;
            }
            let length = last.saturating_sub(first.ns);
            if length < shortest || found.is_nan() {
                let beyond = i128::from(times - half) * i128::from(last);
                (shortest, found) = (length, (sum - beyond) as f64 / half as f64);
            }
            (times, sum) = (times - u64::from(first.times), sum - first.sum());
        }
        found
    }
}

impl Counted {
    fn sum(&self) -> i128 {
        i128::from(self.ns) * i128::from(self.times)
    }
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
