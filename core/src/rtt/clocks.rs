//! By how much the way of a side's data became longer, as the clock of their sender shows (TCP timestamps, RFC 7323).
//!
//! ```text
//! time of the capture                ╱         how far it and the sender's clock are apart is not known, nor how much
//! less that of the sender    ╱     ╱           faster one of them runs; but neither jumps. So it is a line with a step
//!                          ╱   ▲ step          where the way changed. A slower server sends later, by its own clock as
//!                        ╱     ▼               well: no step
//! ```

use super::periods::MIN_FOR_LEVEL;
use crate::passes::Ascending;
use crate::recording::ClockReading;

/// A sample of 100 connections shows a step of the clock as well as all of them.
const MAX_CONNECTIONS: usize = 100;
/// Ticks a second of the clocks in use; coarser ones show nothing.
const RATES: [f64; 5] = [1_000.0, 1_000_000.0, 250.0, 300.0, 100.0];
/// A clock's rate is off by at most this share.
const MAX_RATE_ERROR: f64 = 0.02;
/// A step counts if it is at least this many of its standard errors.
const MIN_STANDARD_ERRORS: f64 = 4.0;
/// Columns whose correlation leaves less than this share of their variance are one.
const MIN_OWN_VARIANCE: f64 = 1e-12;

/// For the client's data and for the server's: the change of their way at `moment`, where their clocks show it, in ns.
///
/// The readings of a path are in the order of side, connection and time. What counts are connections that are seen well
/// on both sides of the moment, from the first time to the last.
pub fn moved_ns(readings: &[ClockReading], [begin, moment, end]: [i64; 3]) -> impl Iterator<Item = f64> {
    [false, true].into_iter().filter_map(move |by_server| {
        let connections = readings
            .chunk_by(|one, next| (one.by_server, one.stream) == (next.by_server, next.stream))
            .filter(|of| of[0].by_server == by_server)
            .map(|of| during(of, [begin, end]))
            .filter(|of| of.len() >= 2 * MIN_FOR_LEVEL);
        let steps = Ascending::of(connections.take(MAX_CONNECTIONS).filter_map(|of| step_ns(of, moment)));
        Some(steps.median()).filter(|step| !step.is_nan())
    })
}

fn during(readings: &[ClockReading], times: [i64; 2]) -> &[ClockReading] {
    let [first, end] = times.map(|time_ns| readings.partition_point(|reading| reading.time_ns < time_ns));
    &readings[first..end.max(first)]
}

/// A reading: when it was, seen from the moment, and how much longer its way was than that of the first one.
struct Point {
    offset: f64,
    /// 1 from the moment on, else 0.
    late: f64,
    way_ns: f64,
}

/// The step of one connection, in ns; `None` where it is not sure.
fn step_ns(readings: &[ClockReading], moment: i64) -> Option<f64> {
    if !shows_both_sides(readings.iter().map(|reading| reading.time_ns >= moment), MIN_FOR_LEVEL) {
        return None;
    }
    let (points, tick_ns) = points(readings, moment)?;
    let mut is_kept = vec![true; points.len()];
    let (mut step, mut spread) = (f64::NAN, f64::NAN);
    // Late packets are no news of the path.
    for _ in 0..3 {
        let line = Line::through(&points, &is_kept)?;
        let rests: Vec<f64> = points.iter().map(|point| (point.way_ns - line.way_ns(point)).abs()).collect();
        let kept = rests.iter().zip(&is_kept).filter(|&(_, &is_kept)| is_kept);
        step = line.step_ns;
        spread = 1.5 * Ascending::of(kept.map(|(&rest, _)| rest)).median() + tick_ns / 4.0;
        is_kept.iter_mut().zip(&rests).for_each(|(is_kept, &rest)| *is_kept = rest <= 3.0 * spread);
        let kept = points.iter().zip(&is_kept).filter(|&(_, &is_kept)| is_kept);
        if !shows_both_sides(kept.map(|(point, _)| point.late > 0.0), MIN_FOR_LEVEL / 2) {
            return None;
        }
    }
    let error = spread * Line::through(&points, &is_kept)?.step_variance.sqrt();
    Some(step).filter(|step| step.abs() > MIN_STANDARD_ERRORS * error)
}

/// There are so many before the moment, and as many behind it.
fn shows_both_sides(are_late: impl Iterator<Item = bool>, fewest: usize) -> bool {
    let mut counts = [0; 2];
    are_late.for_each(|is_late| counts[usize::from(is_late)] += 1);
    counts.into_iter().all(|count| count >= fewest)
}

/// The readings as points, and how long a tick of the sender's clock is; `None` for a rate that is none of the known.
fn points(readings: &[ClockReading], moment: i64) -> Option<(Vec<Point>, f64)> {
    let [first, .., last] = readings else { return None };
    let mut passed = vec![0];
    for pair in readings.windows(2) {
        let ticks = pair[1].ticks.wrapping_sub(pair[0].ticks) as i32;
        passed.push(passed[passed.len() - 1] + i64::from(ticks));
    }
    let tick_ns = tick_ns(passed[passed.len() - 1], last.time_ns.saturating_sub(first.time_ns))?;
    let farthest = [first, last].map(|reading| reading.time_ns.saturating_sub(moment).unsigned_abs());
    let scale = farthest[0].max(farthest[1]).max(1) as f64;
    let point = |(reading, ticks): (&ClockReading, i64)| Point {
        offset: reading.time_ns.saturating_sub(moment) as f64 / scale,
        late: f64::from(u8::from(reading.time_ns >= moment)),
        way_ns: reading.time_ns.saturating_sub(first.time_ns) as f64 - ticks as f64 * tick_ns,
    };
    Some((readings.iter().zip(passed).map(point).collect(), tick_ns))
}

fn tick_ns(ticks: i64, lasts_ns: i64) -> Option<f64> {
    let rate = ticks as f64 * 1e9 / lasts_ns.max(1) as f64;
    let distance = |known: &f64| (rate.max(1e-9) / known).ln().abs();
    let nearest = RATES.into_iter().min_by(|one, other| distance(one).total_cmp(&distance(other)))?;
    ((rate / nearest - 1.0).abs() <= MAX_RATE_ERROR).then_some(1e9 / nearest)
}

/// A line with a step through points, by least squares: way = mean + slope × (offset − mean) + step × (late − mean).
struct Line {
    means: [f64; 3],
    slope_ns: f64,
    step_ns: f64,
    /// The variance of the step, where that of a way is 1.
    step_variance: f64,
}

impl Line {
    /// `None` where time and moment cannot be told apart.
    fn through(points: &[Point], is_kept: &[bool]) -> Option<Line> {
        let kept = || points.iter().zip(is_kept).filter(|&(_, &is_kept)| is_kept).map(|(point, _)| point.columns());
        let count = kept().count() as f64;
        let mut means = [0.0; 3];
        kept().for_each(|columns| (0..3).for_each(|at| means[at] += columns[at] / count));
        // Products of offset, late and way, each less its mean.
        let mut sums = [[0.0; 3]; 3];
        for columns in kept() {
            let beyond: [f64; 3] = std::array::from_fn(|at| columns[at] - means[at]);
            (0..3).for_each(|one| (0..3).for_each(|other| sums[one][other] += beyond[one] * beyond[other]));
        }
        let [[time, both, time_way], [_, late, late_way], _] = sums;
        let own = time * late - both * both;
        (own > MIN_OWN_VARIANCE * time * late).then(|| Line {
            means,
            slope_ns: (time_way * late - late_way * both) / own,
            step_ns: (late_way * time - time_way * both) / own,
            step_variance: time / own,
        })
    }

    fn way_ns(&self, point: &Point) -> f64 {
        let [offset, late, way_ns] = self.means;
        way_ns + self.slope_ns * (point.offset - offset) + self.step_ns * (point.late - late)
    }
}

impl Point {
    fn columns(&self) -> [f64; 3] {
        [self.offset, self.late, self.way_ns]
    }
}

#[cfg(test)]
#[path = "clocks_tests.rs"]
mod tests;
