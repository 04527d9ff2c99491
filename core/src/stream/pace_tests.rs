use super::*;

const MS: i64 = 1_000_000;

fn late(rtt_ms: i64) -> RttSample {
    RttSample { time_ns: 100 * MS, rtt_ns: rtt_ms * MS, segments: 1, in_flight: 1 }
}

fn stalled_ms(rtt_ms: i64, far_ms: i64, then_ms: i64) -> Option<i64> {
    let mut pace = Pace::default();
    pace.acknowledged(late(rtt_ms), Some(far_ms * MS));
    pace.sent_new((100 + then_ms) * MS, None).map(|stall| stall.ns / MS)
}

#[test]
fn data_that_waited_for_a_delayed_acknowledgment_was_stalled() {
    assert_eq!(stalled_ms(41, 1, 0), Some(40));
}

#[test]
fn a_long_way_is_no_delay() {
    assert_eq!(stalled_ms(51, 50, 0), None);
}

#[test]
fn data_that_comes_later_did_not_wait_for_the_acknowledgment() {
    assert_eq!(stalled_ms(41, 1, 9), None);
}

#[test]
fn an_answer_of_the_peer_ends_the_wait() {
    let mut pace = Pace::default();
    pace.acknowledged(late(41), Some(MS));
    pace.peer_sent(true);
    assert_eq!(pace.sent_new(100 * MS, None), None);
}

#[test]
fn a_silence_of_about_a_round_trip_waited_for_acknowledgments() {
    let mut pace = Pace::default();
    assert_eq!(pace.silent(0, Some(10 * MS)), None);
    pace.flies(0, true);
    pace.sent_new(0, None);
    let after = |pace: &Pace, ms: i64| {
        let silence = pace.silent(ms * MS, Some(10 * MS));
        silence.map_or(0, |silence| silence.ns / MS)
    };
    assert_eq!([4, 5, 9, 15, 16].map(|ms| after(&pace, ms)), [0, 5, 9, 15, 0]);
    assert_eq!(pace.silent(9 * MS, None), None);
    pace.peer_sent(true);
    assert_eq!(after(&pace, 9), 0, "it waited for the answer");
}

#[test]
fn who_had_filled_a_window_may_have_waited_for_acknowledgments_although_it_was_answered() {
    let mut pace = Pace::default();
    for _ in 0..10 {
        pace.flies(1, true);
        pace.sent_new(1, None);
    }
    pace.peer_sent(true);
    let silence = Signal { kind: Kind::Silent { answered: true }, ns: 9 * MS - 1 };
    assert_eq!(pace.silent(9 * MS, Some(10 * MS)), Some(silence));
}

/// What is told of the second segment of an answer, 1 ms after the first; the RTT is 10 ms.
fn kept_back_ms(is_full: bool, acknowledges_all: bool, again_ms: i64) -> i64 {
    let mut pace = Pace::default();
    pace.flies(0, true);
    pace.sent_new(0, None);
    pace.peer_sent(acknowledges_all);
    for (time_ns, is_full) in [(50 * MS, is_full), ((50 + again_ms - 1) * MS, is_full)] {
        pace.flies(time_ns, is_full);
        pace.sent_new(time_ns, None);
    }
    pace.paced((50 + again_ms) * MS, Some(10 * MS)).map_or(0, |paced| paced.ns / MS)
}

#[test]
fn what_comes_late_though_more_was_ready_and_nothing_can_have_been_acknowledged_is_paced() {
    assert_eq!(kept_back_ms(true, true, 2), 1);
    assert_eq!(kept_back_ms(false, true, 2), 0, "the application had no more");
    assert_eq!(kept_back_ms(true, false, 2), 0, "what was sent before may be acknowledged meanwhile");
    assert_eq!(kept_back_ms(true, true, 10), 0, "the first of it may be acknowledged");
}

#[test]
fn sending_again_after_a_long_silence_is_a_timeout() {
    let mut pace = Pace::default();
    pace.sent_new(0, None);
    assert_eq!(pace.sent_again(20 * MS), None);
    assert_eq!(pace.sent_again(220 * MS), Some(200 * MS));
}
