//! Shared time: an instant in which several connections are busy counts for each of them in equal parts.
//!
//! With k(t) intervals going on at t, F(t) = ∫ dt / k(t) over the instants with k > 0. An interval from a to b is worth
//! F(b) − F(a), and all together are worth exactly the time in which any went on. Eight workers side by side count
//! once; a pool used one connection after the other adds up.

/// What an instant counts for each of those that share it.
pub struct SharedTime {
    /// When k changes, ascending; nothing where no two intervals ever share an instant.
    times: Vec<i64>,
    /// F at each of them.
    shared: Vec<f64>,
    /// How many of them lie before each part of the time: parts of 2^`width` ns, of which there are half as many at
    /// most.
    before: Vec<u32>,
    width: u32,
    /// How long nothing went on, each time.
    gaps: Vec<i64>,
    /// From when to when anything went on at all.
    reach: Option<(i64, i64)>,
    /// What is beyond is worth nothing.
    until: i64,
}

/// A time, and F at it.
pub struct Mark {
    time: i64,
    shared: f64,
}

impl SharedTime {
    /// Of intervals, each from when to when; those of one connection do not overlap.
    pub fn of(intervals: impl Iterator<Item = (i64, i64)>, until: Option<i64>) -> SharedTime {
        let until = until.unwrap_or(i64::MAX);
        let most = intervals.size_hint().1.unwrap_or(0);
        let (mut begins, mut ends) = (Vec::with_capacity(most), Vec::with_capacity(most));
        for (begin, end) in intervals {
            begins.push(begin.min(until));
            ends.push(end.min(until));
        }
        begins.sort_unstable();
        ends.sort_unstable();
        let mut found = SharedTime {
            times: Vec::new(),
            shared: Vec::new(),
            before: Vec::new(),
            width: 0,
            gaps: Vec::new(),
            reach: None,
            until,
        };
        let (Some(&first), Some(&last)) = (begins.first(), ends.last()) else { return found };
        found.reach = Some((first, last));
        let apart = ends.iter().zip(&begins[1..]).map(|(end, next)| next - end);
        if apart.clone().all(|gap| gap >= 0) {
            found.gaps = apart.filter(|&gap| gap > 0).collect();
        } else {
            found.add_up(&begins, &ends);
        }
        found
    }

    /// Nothing ever goes on beside anything else.
    pub fn alone(&self) -> bool {
        self.times.is_empty()
    }

    /// The lengths of what lies from `begin` to `end` and in which nothing goes on.
    pub fn idle(&self, begin: i64, end: i64) -> impl Iterator<Item = i64> {
        let edges = match self.reach {
            Some((first, last)) if last > first => [first - begin, end - last],
            _ => [end - begin, 0],
        };
        self.gaps.iter().copied().chain(edges).filter(|&gap| gap > 0)
    }

    /// What an interval is worth that begins then and is so long.
    pub fn share_of(&self, begin: i64, length: i64) -> f64 {
        self.next(&mut self.mark(begin), length)
    }

    /// A time from which intervals follow each other.
    pub fn mark(&self, time: i64) -> Mark {
        Mark { time, shared: if self.alone() { 0.0 } else { self.at(time) } }
    }

    /// What the next interval is worth, which is so long.
    pub fn next(&self, mark: &mut Mark, length: i64) -> f64 {
        let (begin, end) = (mark.time, mark.time.wrapping_add(length));
        mark.time = end;
        if self.alone() {
            return end.min(self.until).wrapping_sub(begin.min(self.until)) as f64;
        }
        let before = std::mem::replace(&mut mark.shared, self.at(end));
        (mark.shared - before).max(0.0)
    }

    fn add_up(&mut self, begins: &[i64], ends: &[i64]) {
        self.times.reserve_exact(2 * ends.len());
        self.shared.reserve_exact(2 * ends.len());
        let (mut begun, mut total) = (0, 0.0);
        for (ended, &end) in ends.iter().enumerate() {
            while let Some(&begin) = begins.get(begun).filter(|&&begin| begin <= end) {
                total = self.change(begin, begun.saturating_sub(ended), total);
                begun += 1;
            }
            total = self.change(end, begun.saturating_sub(ended), total);
        }
        self.part();
    }

    /// Count the changes before each part of the time.
    fn part(&mut self) {
        let (Some(&first), Some(&last)) = (self.times.first(), self.times.last()) else { return };
        let each = last.abs_diff(first) / (self.times.len() as u64 / 2).max(1);
        self.width = (u64::BITS - each.leading_zeros()).min(u64::BITS - 1);
        self.before.reserve_exact(self.times.len() / 2 + 3);
        for (place, &time) in (0..).zip(&self.times) {
            let parts = (time.abs_diff(first) >> self.width) as usize + 1;
            self.before.resize(parts.max(self.before.len()), place);
        }
        self.before.push(self.times.len() as u32);
    }

    /// F at the next time, up to which `busy` intervals went on.
    fn change(&mut self, time: i64, busy: usize, mut total: f64) -> f64 {
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

    /// How many changes there were up to a time.
    fn place(&self, time: i64) -> usize {
        if time < self.times[0] {
            return 0;
        }
        let part = (time.abs_diff(self.times[0]) >> self.width) as usize;
        match self.before.get(part..part + 2) {
            Some(&[low, high]) => {
                let (low, high) = (low as usize, high as usize);
                low + self.times[low..high].partition_point(|&there| there <= time)
            }
            _ => self.times.len(),
        }
    }

    /// F at a time: in a straight line between two changes.
    fn at(&self, time: i64) -> f64 {
        let place = self.place(time);
        let Some(before) = place.checked_sub(1) else { return 0.0 };
        let passed = time.wrapping_sub(self.times[before]);
        if place == self.times.len() || passed == 0 {
            return self.shared[before];
        }
        let slope = (self.shared[place] - self.shared[before]) / (self.times[place] - self.times[before]) as f64;
        slope * passed as f64 + self.shared[before]
    }
}

/// An exchange runs beside others when it shares more than this of its time.
const MIN_OVERLAP_SHARE: f64 = 0.05;

/// Which of `count` connections work beside others: most of their exchanges do, of those that took any time. Of each
/// exchange its connection, its length and what that is worth. The connections of a pool that is used one query after
/// the other never overlap.
pub fn side_by_side(exchanges: impl Iterator<Item = (usize, i64, f64)>, count: usize) -> Vec<bool> {
    let mut beside = vec![0_i64; count];
    for (connection, length, worth) in exchanges.filter(|&(_, length, _)| length > 0) {
        beside[connection] += if worth < length as f64 * (1.0 - MIN_OVERLAP_SHARE) { 1 } else { -1 };
    }
    beside.into_iter().map(|more| more > 0).collect()
}

#[cfg(test)]
#[path = "shared_time_tests.rs"]
mod tests;
