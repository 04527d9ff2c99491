use super::*;

/// Time-outs as `(fell silent, sent again)`: how many, and how long in all.
fn timed_out(waits: &[(i64, i64)]) -> (u64, i64) {
    let mut anomalies = Anomalies::default();
    for &(from, to) in waits {
        anomalies.timed_out(1, to, to - from);
    }
    (anomalies.timeouts.count, anomalies.timeout_ns)
}

#[test]
fn what_both_sides_wait_for_counts_once() {
    assert_eq!(timed_out(&[(5, 210), (0, 215)]), (1, 215));
    assert_eq!(timed_out(&[(0, 215), (5, 220)]), (1, 220));
    assert_eq!(timed_out(&[(0, 215), (5, 210)]), (1, 215), "captured in another order");
}

/// How many of the client's packets were sent again though they had arrived; each is sent again at 200 with the
/// timestamp 200, and acknowledged by what comes back: what it echoes, and whether it says that data came twice.
fn spurious(has_arrived: &[bool], came_back: &[(u32, bool)]) -> u64 {
    let mut anomalies = Anomalies::default();
    let segment = |timestamp, echo, came_twice| Segment {
        timestamp,
        echo,
        came_twice,
        wire_length: 10,
        acknowledgment: 100,
        ..crate::stream::tests::segment(crate::packet::Flags::ACK)
    };
    for &arrived in has_arrived {
        anomalies.sent_again(Side::Client, &Segment { sequence: 90, ..segment(Some(200), None, false) }, arrived);
    }
    for &(echo, came_twice) in came_back {
        anomalies.acknowledged(Side::Client, &segment(None, Some(echo), came_twice));
    }
    anomalies.spurious[Side::Client as usize]
}

#[test]
fn a_packet_whose_first_copy_is_answered_was_sent_again_for_nothing() {
    assert_eq!(spurious(&[false], &[(100, false)]), 1);
    assert_eq!(spurious(&[false], &[(200, false)]), 0, "the second copy is");
}

#[test]
fn a_packet_that_came_twice_counts_once_however_that_is_known() {
    assert_eq!(spurious(&[false], &[(200, true)]), 1);
    assert_eq!(spurious(&[false], &[(100, false), (200, true)]), 1);
    assert_eq!(spurious(&[true], &[(200, true)]), 1);
    assert_eq!(spurious(&[true, false], &[(200, true), (200, true)]), 2);
    assert_eq!(spurious(&[false], &[(200, false), (200, true)]), 0, "nothing is left that it can be said of");
}

#[test]
fn one_after_the_other_they_add_up() {
    assert_eq!(timed_out(&[(0, 200), (200, 600)]), (2, 600));
    assert_eq!(timed_out(&[(2, 207), (0, 215), (207, 617), (215, 645)]), (2, 645), "both sides, twice");
    assert_eq!(timed_out(&[(0, 200), (1000, 1200)]), (2, 400));
}
