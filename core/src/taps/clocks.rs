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
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    /// Packets of 100 s both ways, the way there `there_ns`, the other clock as `clock` says.
    fn measured(there_ns: i64, back_ns: i64, clock: impl Fn(i64) -> i64) -> Clocks {
        let (mut there, mut back) = (Differences::default(), Differences::default());
        for number in 0..2_000 {
            let (time_ns, queue_ns) = (number * S / 20, number % 7 * 20_000);
            there.add(time_ns, there_ns + queue_ns + clock(time_ns), true);
            back.add(time_ns, back_ns + queue_ns - clock(time_ns), true);
        }
        clocks(&there, &back).unwrap()
    }

    #[test]
    fn the_round_trip_does_not_depend_on_the_clocks() {
        for offset_ns in [0, 40_000_000, -300_000_000] {
            let found = measured(7_500_000, 7_500_000, |_| offset_ns);
            assert_eq!((found.round_trip_min_ns, found.offset_ns), (15_000_000, offset_ns));
            assert_eq!((found.round_trip_ns, found.drift_ppb), (15_120_000, None));
        }
    }

    #[test]
    fn ways_that_take_differently_long_look_like_an_offset() {
        let found = measured(10_000_000, 5_000_000, |_| 0);
        assert_eq!((found.round_trip_min_ns, found.offset_ns), (15_000_000, 2_500_000));
    }

    #[test]
    fn a_clock_that_gains_is_told() {
        let found = measured(7_500_000, 7_500_000, |time_ns| time_ns / 50_000);
        assert!((found.drift_ppb.unwrap() - 20_000).abs() < 500, "{found:?}");
        assert!((found.round_trip_ns - 15_120_000).abs() < 60_000, "{found:?}");
    }

    #[test]
    fn one_packet_each_way_is_enough_and_one_way_is_not() {
        let (mut there, mut back) = (Differences::default(), Differences::default());
        there.add(0, 9, true);
        assert_eq!(clocks(&there, &back), None);
        back.add(5, 7, true);
        let found = Clocks { round_trip_min_ns: 16, round_trip_ns: 16, offset_ns: 1, drift_ppb: None };
        assert_eq!(clocks(&there, &back), Some(found));
    }
}
