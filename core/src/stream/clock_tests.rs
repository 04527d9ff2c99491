use super::*;

const MS: i64 = 1_000_000;

/// What is added at each packet, in ms; times and timestamps are in ms, too, `None` for no option.
fn steps(packets: &[(i64, Option<u32>)]) -> Vec<i64> {
    let mut clocks = Clocks::default();
    let mut step = |&(ms, timestamp)| clocks.step((Side::Client, 0), ms * MS, timestamp, true).unwrap_or(0) / MS;
    packets.iter().map(&mut step).collect()
}

#[test]
fn a_long_pause_is_no_step() {
    assert_eq!(steps(&[(0, Some(5)), (100, Some(105)), (3_600_100, Some(3_600_105))]), [0; 3]);
    assert_eq!(steps(&[(0, None), (100, None), (3_600_100, None)]), [0; 3]);
}

#[test]
fn a_pause_that_the_sender_does_not_know_of_is_a_step() {
    assert_eq!(steps(&[(0, Some(5)), (100, Some(105)), (5_100, Some(110))]), [0, 0, -4_995]);
    // Before the rate is known, only a long one can be told.
    assert_eq!(steps(&[(0, Some(5)), (60_000, Some(6))]), [0, -60_000]);
}

#[test]
fn a_pause_that_a_step_hides_is_found() {
    assert_eq!(steps(&[(0, Some(5)), (100, Some(105)), (110, Some(9_105))]), [0, 0, 8_990]);
}

#[test]
fn clocks_of_any_rate_know_a_pause() {
    for rate in [100, 250, 280, 300, 1_000] {
        let ticks = |ms: i64| (5 + ms * rate / 1_000) as u32;
        let at = [0, 46, 98, 223, 307, 5_568, 5_615, 65_615, 3_665_615];
        let told: Vec<_> = at.iter().map(|&ms| (ms, Some(ticks(ms)))).collect();
        assert_eq!(steps(&told), [0; 9], "{rate}");
    }
}

#[test]
fn later_packets_must_not_be_earlier() {
    assert_eq!(steps(&[(100, None), (90, None), (105, None)]), [0, 10, 0]);
}

#[test]
fn one_step_is_found_once() {
    let mut clocks = Clocks::default();
    assert_eq!(clocks.step((Side::Client, 0), 100 * MS, None, true), None);
    assert_eq!(clocks.step((Side::Server, 0), 101 * MS, None, true), None);
    assert_eq!(clocks.step((Side::Client, 0), 50 * MS, None, true), Some(51 * MS));
    assert_eq!(clocks.step((Side::Server, 0), (51 + 51) * MS, None, true), None);
}

#[test]
fn the_clock_of_another_place_is_none_that_was_set() {
    let mut clocks = Clocks::default();
    let mut step = |place, ms| clocks.step((Side::Client, place), ms * MS, None, true).map(|by_ns| by_ns / MS);
    assert_eq!([step(0, 100), step(1, 60), step(0, 110), step(1, 70), step(0, 90)], [None, None, None, None, Some(20)]);
    assert_eq!([step(1, 5_000), step(1, 4_990)], [None, Some(10)], "the first one has ended");
}

#[test]
fn packets_that_were_captured_late_set_no_clock() {
    let mut clocks = Clocks::default();
    clocks.step((Side::Client, 0), 100 * MS, None, true);
    assert_eq!(clocks.step((Side::Client, 0), 90 * MS, None, false), None);
}
