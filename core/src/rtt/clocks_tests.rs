use proptest::prelude::*;

use super::*;

const MS: i64 = 1_000_000;
const NONE: [f64; 0] = [];
const ALWAYS: [i64; 2] = [-(1 << 62), 1 << 62];
const MOMENT: i64 = 3_000 * MS;

/// Sixty readings of a clock, 100 ms apart when they were sent; `way_ms` is how long each took to the capture.
fn readings(rate: f64, first_tick: u32, way_ms: impl Fn(i64) -> i64) -> Vec<ClockReading> {
    let reading = |at: i64| {
        let sent_ns = 100 * MS * at;
        let ticks = (sent_ns as f64 * rate / 1e9) as u32;
        let time_ns = sent_ns + way_ms(at) * MS;
        ClockReading { stream: 7, by_server: true, time_ns, ticks: first_tick.wrapping_add(ticks) }
    };
    (0..60).map(reading).collect()
}

fn moved(readings: &[ClockReading]) -> Vec<f64> {
    moved_ns(readings, [ALWAYS[0], MOMENT, ALWAYS[1]]).collect()
}

#[test]
fn a_longer_way_is_a_step_of_the_senders_clock() {
    for rate in [1_000.0, 1_000_000.0, 250.0] {
        let [step_ns] = moved(&readings(rate, u32::MAX - 500, |at| if at < 30 { 5 } else { 20 }))[..] else { panic!() };
        assert!((step_ns / 1e6 - 15.0).abs() < 2.0, "{step_ns} at {rate} Hz");
    }
}

#[test]
fn drift_late_packets_and_a_sender_that_waits_are_no_step() {
    assert_eq!(moved(&readings(1_000.0, 0, |_| 5)), NONE);
    assert_eq!(moved(&readings(1_010.0, 0, |_| 5)), NONE, "the clock is 1 % faster");
    assert_eq!(moved(&readings(1_000.0, 0, |at| if at % 9 == 8 { 60 } else { 5 })), NONE, "late packets");
    let waits: Vec<_> = readings(1_000.0, 0, |_| 5)
        .into_iter()
        .map(|of| ClockReading { time_ns: of.time_ns + 300 * MS, ticks: of.ticks + 300, ..of })
        .collect();
    assert_eq!(moved(&[&readings(1_000.0, 0, |_| 5)[..30], &waits[30..]].concat()), NONE, "a slower server");
}

#[test]
fn a_clock_that_is_unknown_or_seen_too_little_shows_nothing() {
    let step = |at| if at < 30 { 5 } else { 20 };
    assert_eq!(moved(&readings(500.0, 0, step)), NONE, "no clock in use has 500 Hz");
    assert_eq!(moved(&readings(1_000.0, 0, step)[25..45]), NONE, "5 readings before the moment");
    let at_once: Vec<_> =
        readings(1_000.0, 0, step).into_iter().map(|of| ClockReading { time_ns: MOMENT, ..of }).collect();
    assert_eq!(moved(&at_once), NONE);
    assert_eq!(moved(&[]), NONE);
}

#[test]
fn the_middle_of_several_connections_counts_for_each_side() {
    let connection = |stream, by_server, later_ms: i64| {
        let of = readings(1_000.0, 0, move |at| if at < 30 { 5 } else { 5 + later_ms });
        of.into_iter().map(move |reading| ClockReading { stream, by_server, ..reading })
    };
    let all: Vec<_> = connection(1, false, 10)
        .chain(connection(2, false, 12))
        .chain(connection(3, false, 90))
        .chain(connection(1, true, 30))
        .collect();
    let found: Vec<_> = moved(&all).into_iter().map(|ns| (ns / 1e6).round()).collect();
    assert_eq!(found, [12.0, 30.0]);
}

proptest! {
    #[test]
    fn no_readings_are_too_odd(all in prop::collection::vec((0..3_u32, any::<bool>(), any::<i64>(), any::<u32>()), 0..90),
        moment in any::<i64>()) {
        let mut readings: Vec<_> = all
            .into_iter()
            .map(|(stream, by_server, time_ns, ticks)| ClockReading { stream, by_server, time_ns, ticks })
            .collect();
        readings.sort_by_key(|of| (of.by_server, of.stream, of.time_ns));
        prop_assert!(moved(&readings).into_iter().all(f64::is_finite));
        prop_assert!(moved_ns(&readings, [i64::MIN, moment, i64::MAX]).all(f64::is_finite));
    }
}
