use super::*;

const MS: i64 = 1_000_000;

fn ack(ms: i64, segments: u32, in_flight: u32) -> RttSample {
    RttSample { time_ns: 0, rtt_ns: ms * MS, segments, in_flight }
}

/// The verdict on each acknowledgment beside all of them, the evidence of its phase and what else its path shows.
fn count_as(evidence: &Evidence, elsewhere: &Evidence, samples: &[RttSample]) -> Vec<&'static str> {
    let mut acks = [Acks::NONE; 2];
    for sample in samples {
        acks[0].add(sample);
        if is_quiet(sample) {
            acks[1].add(sample);
        }
    }
    let mut path = PathHalf::default();
    path.add(evidence, &acks);
    path.add(elsewhere, &[Acks::NONE; 2]);
    let rule = path.clean(evidence, &acks);
    let word = |sample| match (rule.ignores(sample), rule.takes(sample)) {
        (true, _) => "nothing",
        (_, true) => "clean",
        _ => "late",
    };
    samples.iter().map(word).collect()
}

fn handshakes(ms: &[i64]) -> Evidence {
    Evidence { handshakes: Values::of(ms.iter().map(|ms| ms * MS)), ..Evidence::default() }
}

fn responses(ms: &[i64]) -> Evidence {
    Evidence { responses: Values::of(ms.iter().map(|ms| ms * MS)), ..Evidence::default() }
}

#[test]
fn acknowledgments_behind_many_segments_count_where_there_are_no_others() {
    let [quiet, queued] = [ack(5, 2, 10), ack(9, 2, 11)];
    assert_eq!(count_as(&handshakes(&[5]), &Evidence::default(), &[quiet, queued]), ["clean", "nothing"]);
    assert_eq!(count_as(&handshakes(&[5]), &Evidence::default(), &[queued, queued]), ["clean", "clean"]);
}

#[test]
fn acknowledgments_much_later_than_anything_else_are_late() {
    let acks = [ack(45, 2, 1), ack(24, 2, 1), ack(10, 2, 1)];
    assert_eq!(count_as(&handshakes(&[5]), &Evidence::default(), &acks), ["late", "clean", "clean"]);
    assert_eq!(count_as(&handshakes(&[30]), &Evidence::default(), &acks), ["late", "clean", "clean"]);
    assert_eq!(count_as(&handshakes(&[30]), &responses(&[4]), &acks), ["late", "late", "clean"]);
    let answered = Evidence { answers: Values::of([4 * MS]), ..handshakes(&[30]) };
    assert_eq!(count_as(&answered, &Evidence::default(), &acks), ["late", "late", "clean"]);
}

#[test]
fn one_segment_alone_may_be_acknowledged_late_unless_something_else_took_about_as_long() {
    let alone = [ack(40, 1, 1); 4];
    assert_eq!(count_as(&responses(&[41]), &Evidence::default(), &alone), ["late"; 4]);
    assert_eq!(count_as(&handshakes(&[61]), &Evidence::default(), &alone), ["late"; 4]);
    assert_eq!(count_as(&handshakes(&[60]), &Evidence::default(), &alone), ["clean"; 4]);
    assert_eq!(count_as(&responses(&[41]), &handshakes(&[60]), &alone), ["clean"; 4]);
    assert_eq!(count_as(&responses(&[41]), &Evidence::default(), &[ack(19, 1, 1); 4]), ["clean"; 4]);
    let several = [ack(40, 1, 1), ack(40, 2, 1)];
    assert_eq!(count_as(&responses(&[41]), &Evidence::default(), &several), ["clean"; 2]);
}

#[test]
fn two_acknowledgments_are_what_is_left_of_a_connection() {
    let nothing = Evidence::default;
    assert_eq!(count_as(&nothing(), &handshakes(&[5]), &[ack(5, 2, 1); 2]), ["late"; 2]);
    assert_eq!(count_as(&nothing(), &handshakes(&[5]), &[ack(5, 2, 1); 3]), ["clean"; 3]);
    assert_eq!(count_as(&handshakes(&[5]), &nothing(), &[ack(5, 2, 1); 2]), ["clean"; 2]);
    assert_eq!(count_as(&responses(&[5]), &nothing(), &[ack(5, 2, 1); 2]), ["clean"; 2]);
}

#[test]
fn times_beyond_all_reason_are_added_to_without_harm() {
    let acks = [ack(1, 1, 1), RttSample { rtt_ns: i64::MAX, ..ack(0, 1, 1) }, ack(2, 1, 1)];
    assert_eq!(count_as(&Evidence::default(), &Evidence::default(), &acks), ["clean", "late", "clean"]);
}

#[test]
fn an_answer_bounds_only_where_it_is_faster_than_all_responses() {
    let bounds = |answer: i64, responses: &[(i64, u32)]| {
        let responses = Values::of_statements(responses.iter().copied());
        let evidence =
            Evidence { answers: Values::of([answer]), late: Values::of([9]), responses, ..Evidence::default() };
        evidence.all_bounds().all().iter().map(|bound| (bound.ns, bound.times)).collect::<Vec<_>>()
    };
    assert_eq!(bounds(7, &[(7, 1), (7, 2), (8, 1)]), [(7, 2), (8, 1), (9, 1)]);
    assert_eq!(bounds(6, &[(7, 1)]), [(6, 1), (7, 1), (9, 1)]);
    assert_eq!(bounds(6, &[]), [(6, 1), (9, 1)]);
}
