//! How far the clocks of two taps are apart: only where packets passed in both directions can that be told from how
//! long they travelled.
//!
//! One direction takes its way plus the clocks' offset, the other one its way less it. So the sum is the round trip
//! between the taps, whatever the clocks say; half of what is left is the offset, if both ways take equally long.

use super::differences::{Differences, nearest_rank};

const WINDOWS: i64 = 32;
/// With fewer in one direction a window tells nothing.
const MIN_DIFFERENCES: usize = 4;
/// Through so many windows a line can be drawn.
const MIN_WINDOWS: usize = 4;
/// What a clock's drift moves it by at least, where it is told.
const MIN_DRIFT_NS: f64 = 50_000.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// Between the taps and back.
    pub round_trip_min_ns: i64,
    pub round_trip_ns: i64,
    /// The second clock is ahead of the first by so much, if both ways take equally long.
    pub offset_ns: i64,
    /// It gains so many ns each second, where that shows.
    pub drift_ppb: Option<i64>,
}

/// A stretch of time in which packets passed both ways.
struct Window {
    time_ns: f64,
    least_ns: i64,
    median_ns: i64,
    offset_ns: i64,
}

/// How long packets took `there`, from the first tap to the second, and `back`, as their clocks say. `None` where
/// packets passed one way only.
pub fn clocks(there: &Differences, back: &Differences) -> Option<Clocks> {
    let windows = windows(there, back)?;
    let middle = |get: fn(&Window) -> i64| {
        let mut values: Vec<i64> = windows.iter().map(get).collect();
        values.sort_unstable();
        nearest_rank(&values, 50)
    };
    Some(Clocks {
        round_trip_min_ns: windows.iter().map(|window| window.least_ns).min()?,
        round_trip_ns: middle(|window| window.median_ns)?,
        offset_ns: middle(|window| window.offset_ns)?,
        drift_ppb: drift_ppb(&windows),
    })
}

/// Where too few passed at once, all of it is one.
fn windows(there: &Differences, back: &Differences) -> Option<Vec<Window>> {
    let times = || there.kept().iter().chain(back.kept()).map(|&(time_ns, _)| time_ns);
    let (begin, end) = (times().min()?, times().max()?);
    let width = (end.saturating_sub(begin) / WINDOWS).saturating_add(1);
    let place = |time_ns: i64| (time_ns.saturating_sub(begin) / width) as usize;
    let mut split: Vec<[Vec<i64>; 2]> = vec![Default::default(); WINDOWS as usize];
    for (direction, differences) in [there, back].into_iter().enumerate() {
        for &(time_ns, difference) in differences.kept() {
            split[place(time_ns)][direction].push(difference);
        }
    }
    let middle = |number: usize| begin as f64 + (number as f64 + 0.5) * width as f64;
    let known = split
        .iter_mut()
        .enumerate()
        .filter(|(_, directions)| directions.iter().all(|direction| direction.len() >= MIN_DIFFERENCES));
    let known: Vec<Window> = known.filter_map(|(number, directions)| window(middle(number), directions)).collect();
    if !known.is_empty() {
        return Some(known);
    }
    let mut all: [Vec<i64>; 2] = Default::default();
    for directions in &mut split {
        directions.iter_mut().zip(&mut all).for_each(|(direction, all)| all.append(direction));
    }
    window(begin as f64, &mut all).map(|window| vec![window])
}

fn window(time_ns: f64, directions: &mut [Vec<i64>; 2]) -> Option<Window> {
    directions.iter_mut().for_each(|direction| direction.sort_unstable());
    let least = |direction: usize| directions[direction].first().copied();
    let median = |direction: usize| nearest_rank(&directions[direction], 50);
    Some(Window {
        time_ns,
        least_ns: least(0)?.saturating_add(least(1)?),
        median_ns: median(0)?.saturating_add(median(1)?),
        // what waits in a queue tells nothing of the clocks
        offset_ns: least(0)?.saturating_sub(least(1)?) / 2,
    })
}

/// The median of all slopes (Theil and Sen), where it stands out of what else moves the offset.
fn drift_ppb(windows: &[Window]) -> Option<i64> {
    if windows.len() < MIN_WINDOWS {
        return None;
    }
    let pairs =
        windows.iter().enumerate().flat_map(|(at, one)| windows[at + 1..].iter().map(move |other| (one, other)));
    let slope = |(one, other): (&Window, &Window)| {
        other.offset_ns.saturating_sub(one.offset_ns) as f64 / (other.time_ns - one.time_ns)
    };
    let slope = median(pairs.map(slope).collect());
    let from_line = |window: &Window| window.offset_ns as f64 - slope * (window.time_ns - windows[0].time_ns);
    let level = median(windows.iter().map(from_line).collect());
    let noise = median(windows.iter().map(|window| (from_line(window) - level).abs()).collect());
    let moved_ns = (slope * (windows[windows.len() - 1].time_ns - windows[0].time_ns)).abs();
    (moved_ns > MIN_DRIFT_NS && moved_ns > 8.0 * noise).then_some((slope * 1e9).round() as i64)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
#[path = "clocks_tests.rs"]
mod tests;
