//! Measurements of one half of a path in the order of time, and what order statistics say of them.

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

/// Numbers in ascending order.
#[derive(Clone, Debug, Default)]
pub struct Ascending(Vec<f64>);

impl Ascending {
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Ascending {
        let mut all: Vec<f64> = numbers.into_iter().collect();
        all.sort_unstable_by(f64::total_cmp);
        Ascending(all)
    }

    /// How long these measurements took, in ns.
    pub fn of_series(series: &[Measurement]) -> Ascending {
        Ascending::of(series.iter().map(|measured| measured.ns as f64))
    }

    /// The middle one, or the mean of the two in the middle; NaN of none.
    pub fn median(&self) -> f64 {
        let count = self.0.len();
        match count {
            0 => f64::NAN,
            _ => (self.0[(count - 1) / 2] + self.0[count / 2]) / 2.0,
        }
    }

    /// The quantile, which between two of them is in proportion; NaN of none.
    pub fn quantile(&self, fraction: f64) -> f64 {
        let Some(last) = self.0.len().checked_sub(1) else { return f64::NAN };
        let place = last as f64 * fraction;
        let (low, high) = (self.0[place as usize], self.0[(place as usize + 1).min(last)]);
        let beyond = place - place.floor();
        // Of two formulas the one whose end is nearer: exact at both ends.
        if beyond < 0.5 { low + (high - low) * beyond } else { high - (high - low) * (1.0 - beyond) }
    }
}
