use super::*;

fn sample(acknowledged: Option<Acknowledged>) -> RttSample {
    match acknowledged {
        Some(Acknowledged::Sample(sample)) => sample,
        other => panic!("{other:?} is no sample"),
    }
}

fn by(offset: u64, time_ns: i64, pure: bool) -> Acknowledging {
    Acknowledging { offset, time_ns, pure, echo: None }
}

#[test]
fn an_acknowledgment_that_echoes_an_older_timestamp_answers_a_copy_sent_before() {
    for (echo, timed) in [(6, false), (7, true), (8, true)] {
        let mut flight = InFlight::default();
        flight.sent(100, 1_000, Some(7));
        flight.sent(200, 1_500, Some(8));
        let acknowledged = flight.acknowledged(Acknowledging { echo: Some(echo), ..by(200, 5_000, true) });
        assert_eq!(acknowledged.is_some(), timed);
    }
}

#[test]
fn a_pure_acknowledgment_gives_a_sample() {
    let mut flight = InFlight::default();
    flight.sent(100, 1_000, None);
    let sample = sample(flight.acknowledged(by(100, 5_000, true)));
    assert_eq!((sample.rtt_ns, sample.segments), (4_000, 1));
}

#[test]
fn an_answer_that_carries_the_acknowledgment_is_a_bound_only() {
    let mut flight = InFlight::default();
    flight.sent(100, 1_000, None);
    assert_eq!(flight.acknowledged(by(100, 5_000, false)), Some(Acknowledged::Bound(4_000)));
    assert_eq!(flight.acknowledged(by(100, 6_000, true)), None);
}

#[test]
fn what_was_sent_twice_gives_none() {
    let mut flight = InFlight::default();
    flight.sent(100, 1_000, None);
    flight.sent(200, 1_500, None);
    flight.resent(100);
    assert_eq!(flight.acknowledged(by(200, 9_000, true)), None);
}

#[test]
fn one_acknowledgment_of_two_segments_is_timed_from_the_newer() {
    let mut flight = InFlight::default();
    flight.sent(100, 1_000, None);
    flight.sent(200, 1_500, None);
    let sample = sample(flight.acknowledged(by(200, 2_000, true)));
    assert_eq!((sample.rtt_ns, sample.segments), (500, 2));
}

#[test]
fn a_sample_tells_how_many_segments_were_under_way() {
    let mut flight = InFlight::default();
    flight.sent(100, 1_000, None);
    flight.sent(200, 1_500, None);
    assert_eq!(sample(flight.acknowledged(by(100, 2_000, true))).in_flight, 1);
    flight.sent(300, 2_500, None);
    assert_eq!(sample(flight.acknowledged(by(300, 3_000, true))).in_flight, 2);
}
