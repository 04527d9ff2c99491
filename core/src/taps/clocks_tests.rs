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
