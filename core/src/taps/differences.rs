//! The differences of two times, many of them in little room: how many, the least and the most, and of the others some at
//! equal distances.

/// So many are kept at most.
pub const MOST: usize = 1 << 10;

#[derive(Clone, Debug, Default)]
pub struct Differences {
    pub count: u64,
    extremes: Option<(i64, i64)>,
    /// When, and what.
    kept: Vec<(i64, i64)>,
    /// Each of so many is kept, a power of two.
    doublings: u32,
}

impl Differences {
    /// What one of them takes.
    pub const EACH: usize = size_of::<(i64, i64)>();

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// One more; where there is no room for more, some of those that are kept give theirs.
    pub fn add(&mut self, time_ns: i64, difference_ns: i64, has_room: bool) {
        let (least, most) = self.extremes.unwrap_or((difference_ns, difference_ns));
        self.extremes = Some((least.min(difference_ns), most.max(difference_ns)));
        if self.kept.len() == MOST || (!has_room && self.kept.len() > 1) {
            self.thin();
        }
        if self.count & ((1 << self.doublings) - 1) == 0 {
            self.kept.push((time_ns, difference_ns));
        }
        self.count += 1;
    }

    fn thin(&mut self) {
        let mut place = 0;
        self.kept.retain(|_| {
            place += 1;
            place % 2 == 1
        });
        self.doublings = (self.doublings + 1).min(62);
    }

    pub fn kept(&self) -> &[(i64, i64)] {
        &self.kept
    }

    /// The same the other way round.
    pub fn turned(&self) -> Differences {
        let kept = self.kept.iter().map(|&(time_ns, difference_ns)| (time_ns, difference_ns.saturating_neg()));
        let extremes = self.extremes.map(|(least, most)| (most.saturating_neg(), least.saturating_neg()));
        Differences { extremes, kept: kept.collect(), ..*self }
    }

    /// The least one, the median and the 95th percentile (nearest rank).
    pub fn quantiles(&self) -> Option<Quantiles> {
        let mut kept: Vec<i64> = self.kept.iter().map(|&(_, difference)| difference).collect();
        kept.sort_unstable();
        Some(Quantiles {
            least_ns: self.extremes?.0,
            median_ns: nearest_rank(&kept, 50)?,
            p95_ns: nearest_rank(&kept, 95)?,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantiles {
    pub least_ns: i64,
    pub median_ns: i64,
    pub p95_ns: i64,
}

/// Of values that ascend.
pub fn nearest_rank(values: &[i64], percent: usize) -> Option<i64> {
    values.get((values.len() * percent).div_ceil(100).saturating_sub(1)).copied()
}

#[cfg(test)]
#[path = "differences_tests.rs"]
mod tests;
