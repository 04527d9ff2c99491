//! Measurements counted by value: what order statistics need of them, in bounded memory.
//!
//! ```text
//! 12 ns, 15 ns, 12 ns ─► Counting ─► Values: 12 ns × 2, 15 ns × 1
//! ```
//!
//! Clocks tick in microseconds and servers answer alike, so values recur. Where there are more different ones than room,
//! each stands for a bin that is 2⁻¹² of it wide: a quantile is off by less than its fourth digit.

use std::sync::Arc;

/// Different values of one counting, and of many together.
const MAX_DISTINCT: usize = 1 << 16;
const MAX_TOGETHER: usize = 1 << 21;
/// Counted values are sorted when there are this many new ones, at least.
const MIN_NEW: usize = 32;
/// Bits of a value that are kept where values stand for bins; fewer where these are still too many.
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
#[derive(Clone, Debug, Default)]
pub struct Counting {
    /// The sorted ones, each once, and behind them the new ones.
    counted: Vec<Counted>,
    sorted: usize,
    coarseness: u32,
}

impl Counting {
    /// The coarseness at which nothing is joined any more: a bin an octave.
    const MAX_COARSENESS: u32 = BIN_BITS + 2;

    #[inline]
    pub fn add(&mut self, ns: i64, statement: u32) {
        self.add_counted(Counted { ns, statement, times: 1 });
    }

    #[inline]
    pub fn add_counted(&mut self, counted: Counted) {
        self.counted.push(counted.joined(self.coarseness));
        if self.counted.len() >= 2 * self.sorted + MIN_NEW {
            self.sort();
            while self.counted.len() > MAX_DISTINCT {
                self.coarsen();
            }
        }
    }

    /// Each value once, ascending.
    fn sort(&mut self) {
        self.counted.sort();
        self.counted.dedup_by(|one, kept| {
            let is_same = (one.ns, one.statement) == (kept.ns, kept.statement);
            if is_same {
                kept.times = kept.times.saturating_add(one.times);
            }
            is_same
        });
        self.sorted = self.counted.len();
    }

    fn coarsen(&mut self) {
        self.coarseness = (self.coarseness + 1).min(Counting::MAX_COARSENESS);
        self.counted.iter_mut().for_each(|counted| *counted = counted.joined(self.coarseness));
        self.sort();
    }

    /// The measurements that were counted, and from now on other ones.
    pub fn take(&mut self) -> Values {
        let mut all = std::mem::take(self);
        if all.counted.is_empty() {
            return Values::default();
        }
        all.sort();
        Values { counted: all.counted.into() }
    }
}

/// Several countings that share their room: where it is full, all go on with coarser values.
#[derive(Debug)]
pub struct Countings {
    all: Vec<Counting>,
    len: usize,
    most: usize,
}

impl Countings {
    pub fn of(count: usize) -> Countings {
        Countings { all: vec![Counting::default(); count], len: 0, most: MAX_TOGETHER }
    }

    #[inline]
    pub fn add(&mut self, number: usize, ns: i64, statement: u32) {
        let counting = &mut self.all[number];
        let before = counting.counted.len();
        counting.add(ns, statement);
        self.len = self.len + counting.counted.len() - before;
        if self.len > self.most {
            self.make_room();
        }
    }

    /// Room for as many as there are: where that takes coarser values than there can be, there is more room.
    fn make_room(&mut self) {
        self.all.iter_mut().for_each(Counting::sort);
        let len = |all: &[Counting]| all.iter().map(|counting| counting.counted.len()).sum();
        self.len = len(&self.all);
        while 2 * self.len > self.most && self.all.iter().any(|all| all.coarseness < Counting::MAX_COARSENESS) {
            self.all.iter_mut().for_each(Counting::coarsen);
            self.len = len(&self.all);
        }
        self.most = self.most.max(2 * self.len);
    }

    /// The measurements of each.
    pub fn take(self) -> impl Iterator<Item = Values> {
        self.all.into_iter().map(|mut counting| counting.take())
    }
}

fn middle_of_bin(ns: i64, bits: u32) -> i64 {
    let shift = (i64::BITS - ns.max(0).leading_zeros()).saturating_sub(bits + 1);
    if shift == 0 { ns } else { (ns >> shift << shift) + (1 << (shift - 1)) }
}

/// Measurements of one kind, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    counted: Arc<[Counted]>,
}

impl Values {
    pub fn of(all: impl IntoIterator<Item = i64>) -> Values {
        Values::of_statements(all.into_iter().map(|ns| (ns, 0)))
    }

    /// Responses, each with its statement.
    pub fn of_statements(all: impl IntoIterator<Item = (i64, u32)>) -> Values {
        Values::of_counted(all.into_iter().map(|(ns, statement)| Counted { ns, statement, times: 1 }))
    }

    pub fn of_counted(all: impl IntoIterator<Item = Counted>) -> Values {
        let mut counting = Counting::default();
        all.into_iter().for_each(|counted| counting.add_counted(counted));
        counting.take()
    }

    /// All of several.
    pub fn joined<'a>(several: impl IntoIterator<Item = &'a Values>) -> Values {
        Values::of_counted(several.into_iter().flat_map(Values::all).copied())
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
    /// The value that stands for it: first for those of its bin, then also for those of other statements, then for those
    /// of bins that are wider by a bit each.
    fn joined(self, coarseness: u32) -> Counted {
        match coarseness {
            0 => self,
            1 => Counted { ns: middle_of_bin(self.ns, BIN_BITS), ..self },
            _ => Counted { ns: middle_of_bin(self.ns, BIN_BITS + 2 - coarseness), statement: 0, ..self },
        }
    }

    fn sum(&self) -> i128 {
        i128::from(self.ns) * i128::from(self.times)
    }
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
