//! What an instant counts for each of those that share it.

/// F(t) = ∫ dt / k(t) over the instants in which k(t) > 0 stretches go on: one from a to b is worth F(b) − F(a).
pub struct SharedTime {
    /// When k changes, ascending.
    times: Vec<i64>,
    /// F at each of them.
    shared: Vec<f64>,
    /// How long nothing went on, each time.
    pub gaps: Vec<i64>,
}

impl SharedTime {
    /// Of stretches, by when they begin and when they end: both ascending, and as many of either.
    pub fn of(begins: &[i64], ends: &[i64]) -> SharedTime {
        let mut found = SharedTime { times: Vec::new(), shared: Vec::new(), gaps: Vec::new() };
        found.times.reserve_exact(2 * ends.len());
        found.shared.reserve_exact(2 * ends.len());
        let (mut begun, mut total) = (0, 0.0);
        for (ended, &end) in ends.iter().enumerate() {
            while let Some(&begin) = begins.get(begun).filter(|&&begin| begin <= end) {
                total = found.until(begin, begun.saturating_sub(ended), total);
                begun += 1;
            }
            total = found.until(end, begun.saturating_sub(ended), total);
        }
        found
    }

    /// F at the next time, up to which `busy` stretches went on.
    fn until(&mut self, time: i64, busy: usize, mut total: f64) -> f64 {
        if let Some(&before) = self.times.last() {
            match busy {
                0 => self.gaps.push(time - before),
                _ => total += (time - before) as f64 / busy as f64,
            }
        }
        self.times.push(time);
        self.shared.push(total);
        total
    }

    /// What stretches are worth that begin then and are so long.
    pub fn worth(&self, begins: &[i64], lengths: &[i64]) -> Vec<f64> {
        let mut place = 0;
        let worth = |(&begin, &length): (&i64, &i64)| {
            let end = begin.wrapping_add(length);
            place = self.place(begin, place);
            (self.at(end, self.place(end, place)) - self.at(begin, place)).max(0.0)
        };
        begins.iter().zip(lengths).map(worth).collect()
    }

    /// How many changes there were up to a time. Few are looked at where the time is not far from the one of `near`:
    /// the stretches of a connection follow each other.
    fn place(&self, time: i64, near: usize) -> usize {
        let (mut low, mut high, mut step) = (near, near, 1);
        while self.times.get(high).is_some_and(|&there| there <= time) {
            low = high + 1;
            high = (low + step).min(self.times.len());
            step *= 2;
        }
        while low > 0 && self.times[low - 1] > time {
            high = low - 1;
            low = high.saturating_sub(step);
            step *= 2;
        }
        low + self.times[low..high].partition_point(|&there| there <= time)
    }

    /// F at a time, up to which there were so many changes: in a straight line between two of them.
    fn at(&self, time: i64, place: usize) -> f64 {
        let Some(before) = place.checked_sub(1) else { return 0.0 };
        let passed = time.wrapping_sub(self.times[before]);
        if place == self.times.len() || passed == 0 {
            return self.shared[before];
        }
        let slope = (self.shared[place] - self.shared[before]) / (self.times[place] - self.times[before]) as f64;
        slope * passed as f64 + self.shared[before]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_side_by_side_share_each_instant() {
        let shared = SharedTime::of(&[0, 4, 20], &[10, 10, 30]);
        assert_eq!(shared.worth(&[0, 4, 20, 6], &[10, 6, 10, 2]), [7.0, 3.0, 10.0, 1.0]);
        assert_eq!(shared.gaps, [10]);
    }

    #[test]
    fn without_stretches_nothing_is_worth_anything() {
        assert_eq!(SharedTime::of(&[], &[]).worth(&[3], &[5]), [0.0]);
    }

    proptest! {
        #[test]
        fn all_together_are_worth_the_time_in_which_any_went_on(
            stretches in prop::collection::vec((0..1000_i64, 0..50_i64), 1..40),
        ) {
            let (begins, lengths): (Vec<_>, Vec<_>) = stretches.into_iter().unzip();
            let mut ends: Vec<_> = begins.iter().zip(&lengths).map(|(begin, length)| begin + length).collect();
            let busy = (0..2000).filter(|&at| begins.iter().zip(&ends).any(|(&begin, &end)| begin <= at && at < end));
            let busy = busy.count();
            let mut sorted = begins.clone();
            sorted.sort_unstable();
            ends.sort_unstable();
            let worth: f64 = SharedTime::of(&sorted, &ends).worth(&begins, &lengths).iter().sum();
            prop_assert!((worth - busy as f64).abs() < 1e-6, "{worth} {busy}");
        }
    }
}
