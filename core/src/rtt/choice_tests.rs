use proptest::prelude::*;

use super::*;
use crate::rtt::agreement::MIN_CONSISTENT;

const TICK_NS: i64 = 1_000;
const QUERIES: [f64; 20] = [11.0; 20];
/// Waits for responses over 15 ms and 2 ms of jitter each way, and a little service.
const EVEN: [f64; 16] =
    [11.3, 12.2, 12.9, 13.5, 14.0, 14.5, 14.8, 15.1, 15.4, 15.7, 16.0, 16.4, 16.9, 17.5, 18.2, 19.0];
const ONE_SIDED: [f64; 16] =
    [14.6, 14.7, 14.7, 14.8, 14.8, 14.9, 14.9, 15.0, 15.1, 15.2, 15.6, 16.4, 17.5, 18.2, 19.0, 21.0];

fn ns(ms: f64) -> i64 {
    (ms * 1e6).round() as i64
}

fn values(all_ms: &[f64]) -> Values {
    Values::of(all_ms.iter().copied().map(ns))
}

/// Measurements in ms, and waits for responses to so many statements in turn.
fn half(handshakes: &[f64], acks: &[f64], waits: &[f64], statements: usize) -> Evidence {
    let responses = waits.iter().enumerate().map(|(at, &wait)| (ns(wait), (at % statements) as u32));
    bounded(Evidence {
        handshakes: values(handshakes),
        acks: values(acks),
        responses: Values::of_statements(responses),
        ..Evidence::default()
    })
}

/// With the bounds that follow.
fn bounded(evidence: Evidence) -> Evidence {
    let Evidence { responses, answers, late, .. } = &evidence;
    let faster = Values::of_counted(
        answers.all().iter().copied().filter(|answer| responses.least().is_none_or(|least| answer.ns < least)),
    );
    Evidence { bounds: Values::joined([responses, &faster, late]), ..evidence }
}

fn with_answer(answer_ms: f64, evidence: Evidence) -> Evidence {
    bounded(Evidence { answers: values(&[answer_ms]), ..evidence })
}

fn with_late(late_ms: &[f64], evidence: Evidence) -> Evidence {
    bounded(Evidence { late: values(late_ms), ..evidence })
}

#[track_caller]
fn assert_chosen(evidence: &Evidence, ms: f64, method: Method, reason: Reason) -> Chosen {
    let chosen = choose(evidence, TICK_NS);
    assert_eq!((chosen.method, chosen.reason), (method, reason), "{chosen:?}");
    assert!((chosen.value - ms * 1e6).abs() <= 0.005 * ms * 1e6, "{} for {ms} ms", chosen.value);
    let [low, high] = chosen.range(TICK_NS);
    assert!(low <= chosen.value && chosen.value <= high, "{low} to {high}");
    chosen
}

#[track_caller]
fn assert_range_holds(chosen: &Chosen, least_ms: f64, most_ms: f64) {
    let [low, high] = chosen.range(TICK_NS);
    assert!(low <= least_ms * 1e6 && most_ms * 1e6 <= high, "{low} to {high}");
}

// --- measurements -----------------------------------------------------------------------------------------------------

#[test]
fn a_handshake_is_believed_when_nothing_speaks_against_it() {
    assert_chosen(&half(&[10.0], &[], &[], 1), 10.0, Method::Handshake, Reason::Alone);
    assert_chosen(&half(&[10.0], &[], &QUERIES, 1), 10.0, Method::Handshake, Reason::Confirmed);
    assert_chosen(&half(&[10.0], &[10.01, 10.02, 19.0, 24.0], &QUERIES, 1), 10.0, Method::Both, Reason::Agree);
    assert_chosen(&half(&[0.162], &[0.1], &[30.0], 1), 0.1, Method::Both, Reason::Near);
}

#[test]
fn a_lone_handshake_may_be_longer_by_a_busy_hosts_accept_and_data_by_a_tenth() {
    let alone = choose(&half(&[10.0], &[], &[], 1), TICK_NS);
    assert_eq!(alone.range(TICK_NS), [10e6 - 200e3 - 1e3, 11e6]);
    let data = choose(&half(&[], &[10.0], &[], 1), TICK_NS);
    assert_eq!(data.range(TICK_NS), [10e6 - 100e3 - 1e3, 10e6 + 200e3 + 25e3 + 1e3]);
}

#[test]
fn responses_and_acknowledgments_refute_a_slow_handshake() {
    assert_chosen(&half(&[1.16], &[], &[0.7; 20], 1), 0.7, Method::Floor, Reason::Steady);
    assert_chosen(&half(&[1.16], &[0.61; 5], &[0.7; 20], 1), 0.61, Method::InStream, Reason::SlowHandshake);
    assert_chosen(&half(&[1.2], &[0.7; 12], &[5.7; 20], 1), 0.7, Method::InStream, Reason::SlowHandshake);
    assert_chosen(&half(&[448.0], &[50.1], &[50.3; 22], 1), 50.1, Method::InStream, Reason::SlowHandshake);
}

#[test]
fn hosts_on_the_way_that_answer_for_the_server_do_not_decide() {
    assert_chosen(&half(&[12.9], &[14.7; 5], &[15.7; 20], 1), 14.7, Method::InStream, Reason::SlowData);
    assert_chosen(&half(&[0.3], &[14.1; 4], &[15.0; 20], 1), 14.1, Method::InStream, Reason::SynAnswered);
    assert_chosen(&half(&[34.0], &[50.1], &[50.3; 22], 1), 50.1, Method::InStream, Reason::SlowData);
    assert_chosen(&half(&[14.8], &[0.3; 20], &[15.0; 20], 1), 14.8, Method::Handshake, Reason::Middlebox);
    assert_chosen(&half(&[10.0], &[40.0], &QUERIES, 1), 10.0, Method::Handshake, Reason::LateData);
}

#[test]
fn of_two_measurements_as_heavy_the_range_holds_both() {
    let chosen = assert_chosen(&half(&[1.2], &[0.713; 2], &[5.7; 20], 1), 0.713, Method::InStream, Reason::Split);
    assert_eq!((chosen.rival, chosen.most()), (1.2e6, 1.2e6));
    assert_range_holds(&chosen, 0.713, 1.2);
}

#[test]
fn of_one_and_one_the_shorter_counts_and_of_several_that_of_data() {
    assert_chosen(&half(&[10.0], &[5.0], &[], 1), 5.0, Method::InStream, Reason::Split);
    assert_chosen(&half(&[5.0], &[10.0], &[], 1), 5.0, Method::Handshake, Reason::Split);
    assert_chosen(&half(&[5.0; 3], &[10.0; 3], &[], 1), 10.0, Method::InStream, Reason::Split);
    assert_chosen(&half(&[5.0], &[5.8], &[5.5; 9], 1), 5.0, Method::Handshake, Reason::LateData);
}

#[test]
fn a_syn_that_was_sent_again_changes_the_reason_only() {
    let data = half(&[], &[10.2], &QUERIES, 1);
    assert_chosen(&data, 10.2, Method::InStream, Reason::Data);
    assert_chosen(&Evidence { is_syn_resent: true, ..data }, 10.2, Method::InStream, Reason::Resent);
}

// --- responses and answers --------------------------------------------------------------------------------------------

#[test]
fn where_nothing_is_measured_the_fastest_response_or_answer_bounds_it() {
    let chosen = assert_chosen(&half(&[], &[], &QUERIES[..5], 1), 11.0, Method::Floor, Reason::Floor);
    assert!(chosen.is_bound_only() && chosen.range(TICK_NS)[0] == 0.0);
    let waits = [14.6, 0.103, 16.0, 18.0];
    let chosen = assert_chosen(&half(&[], &[], &waits, 1), 0.103, Method::Floor, Reason::Floor);
    assert!(chosen.range(TICK_NS)[1] <= 0.104e6);
    let early = [&[3.0][..], &[11.0; 8]].concat();
    let chosen = assert_chosen(&half(&[], &[], &early, 1), 3.0, Method::Floor, Reason::Floor);
    assert!(chosen.range(TICK_NS)[1] <= 3.001e6, "no answer is faster than the RTT");
    let answered = with_answer(7.0, half(&[], &[], &[], 1));
    assert_chosen(&answered, 7.0, Method::Floor, Reason::Floor);
    let unknown = choose(&Evidence::default(), TICK_NS);
    assert!(unknown.value.is_nan() && unknown.method == Method::Unknown && unknown.reason == Reason::None);
}

#[test]
fn responses_that_are_many_or_of_several_statements_measure_it() {
    for (count, statements, reason) in
        [(9, 2, Reason::Floor), (9, 3, Reason::Steady), (4, 4, Reason::Floor), (20, 1, Reason::Steady)]
    {
        let chosen = assert_chosen(&half(&[], &[], &QUERIES[..count], statements), 11.0, Method::Floor, reason);
        assert_eq!(chosen.range(TICK_NS)[0] >= 0.85 * 11e6 - 0.15e6, reason == Reason::Steady);
    }
    let mostly_one = [(11_000_000, 0); 8].into_iter().chain([(60_000_000, 1), (80_000_000, 2)].repeat(2));
    let slower = Evidence { responses: Values::of_statements(mostly_one), ..Evidence::default() };
    assert_chosen(&bounded(slower), 11.0, Method::Floor, Reason::Floor);
    let other = Evidence { responses: Values::of_statements([(11_000_000, NO_STATEMENT); 9]), ..Evidence::default() };
    assert_chosen(&bounded(other), 11.0, Method::Floor, Reason::Floor);
}

#[test]
fn late_acknowledgments_show_that_their_sender_took_the_time() {
    let polls = half(&[], &[], &[1000.0; 30], 1);
    assert!(choose(&polls, TICK_NS).steady);
    assert!(!choose(&with_late(&[40.1; 30], polls), TICK_NS).steady);
    let handshake = half(&[1.0], &[1.0], &[1000.0; 30], 3);
    assert_eq!(choose(&handshake, TICK_NS).reason, Reason::SplitSyn);
    assert_eq!(choose(&with_late(&[40.1; 30], handshake), TICK_NS).reason, Reason::Agree);
}

#[test]
fn two_odd_responses_refute_nothing_that_agrees_and_several_do() {
    let odd = half(&[12.0], &[12.06], &[2.5, 4.5, 12.3, 12.3], 1);
    assert_chosen(&odd, 12.03, Method::Both, Reason::Agree);
    let late = half(&[16.6], &[16.26], &[15.8, 15.9, 16.0, 16.1, 16.4].repeat(20), 1);
    assert_chosen(&late, 15.8, Method::Floor, Reason::Steady);
}

#[test]
fn what_a_quarter_of_the_responses_bears_out_or_many_measured_is_not_refuted() {
    let near = [&[8.0, 8.2, 8.5, 10.0, 10.0][..], &[10.5; 11]].concat();
    assert_chosen(&half(&[10.0], &[], &near, 1), 10.0, Method::Handshake, Reason::Confirmed);
    let many = assert_chosen(&half(&[], &[10.0; 12], &[7.0; 4], 1), 10.0, Method::InStream, Reason::Data);
    assert_eq!(many.range(TICK_NS)[0], 7e6, "the bound");
    let lowered = assert_chosen(&half(&[10.0], &[], &[9.5; 2], 1), 9.5, Method::Handshake, Reason::Alone);
    assert_eq!(lowered.range(TICK_NS)[0], 9e6, "as far below as the measurement was above");
}

#[test]
fn responses_count_where_they_are_faster_than_all_that_was_measured() {
    let near = assert_chosen(&half(&[], &[10.0; 12], &[9.5; 6], 1), 9.5, Method::Floor, Reason::SlowDirect);
    assert!(!near.is_bound_only() && near.range(TICK_NS)[0] > 0.8 * 9.5e6);
    let far = assert_chosen(&half(&[30.0], &[], &[9.5; 6], 1), 9.5, Method::Floor, Reason::SlowDirect);
    assert!(far.is_bound_only() && far.range(TICK_NS)[0] == 0.0);
}

#[test]
fn a_fast_answer_moves_a_measurement_where_they_agree_and_else_the_range() {
    let slow = [55.0; 100];
    let far = assert_chosen(&with_answer(0.3, half(&[5.0], &[], &slow, 1)), 5.0, Method::Handshake, Reason::SplitSyn);
    assert_eq!(far.range(TICK_NS)[0], 0.3e6);
    assert_chosen(&with_answer(4.9, half(&[5.0], &[], &[6.0; 20], 1)), 4.9, Method::Handshake, Reason::Confirmed);
    assert_chosen(&with_answer(4.6, half(&[5.0], &[], &[6.0; 20], 1)), 4.9, Method::Handshake, Reason::Confirmed);
    let many =
        assert_chosen(&with_answer(4.85, half(&[], &[5.0; 12], &[5.1; 20], 1)), 5.0, Method::InStream, Reason::Data);
    assert_eq!(many.range(TICK_NS)[0], 4.85e6);
    let early = with_answer(3.0, half(&[5.0], &[], &[5.1; 20], 1));
    assert!(assert_chosen(&early, 5.0, Method::Handshake, Reason::Confirmed).range(TICK_NS)[0] > 4.7e6);
}

#[test]
fn statements_that_all_take_as_long_are_the_path() {
    for (statements, waits_ms, ms, reason) in [
        (3, 40.0, 40.0, Reason::SplitSyn),
        (3, 7.0, 7.0, Reason::SplitSyn),
        (2, 40.0, 2.0, Reason::Agree),
        (2, 7.0, 2.0, Reason::Agree),
    ] {
        let chosen = choose(&half(&[2.0], &[2.02; 12], &[waits_ms; 30], statements), TICK_NS);
        assert!((chosen.value - ms * 1e6).abs() < 0.02 * ms * 1e6 && chosen.reason == reason, "{chosen:?}");
        assert!(chosen.range(TICK_NS)[0] < 2e6);
    }
    let firewall = assert_chosen(&half(&[15.0], &[], &[50.3; 22], 1), 15.0, Method::Handshake, Reason::SplitSyn);
    assert_range_holds(&firewall, 15.0, 50.3);
}

#[test]
fn responses_faster_than_the_value_lower_its_low_end() {
    let [one, other] = [QUERIES.to_vec(), [&QUERIES[..], &[8.0; 4]].concat()]
        .map(|waits| choose(&half(&[10.0], &[10.0; 40], &waits, 1), TICK_NS));
    assert_eq!((one.value, other.value, one.deficit), (10e6, 10e6, 0.0));
    assert_eq!(other.deficit, 2e6 * 4.0 / 24.0);
    assert!(other.range(TICK_NS)[0] < one.range(TICK_NS)[0]);
    let early = [&[0.5; 2][..], &[10.5; 10]].concat();
    let few = choose(&half(&[], &[10.0; 12], &early, 1), TICK_NS);
    assert_eq!((few.value, few.range(TICK_NS)[0]), (10e6, 10e6 - few.deficit));
}

#[test]
fn responses_to_several_statements_that_are_clearly_longer_are_no_work() {
    let of = |waits_ms: f64, statements| half(&[], &[], &[waits_ms; 12], statements).responses;
    assert!(is_no_work(&of(40.0, 3), 20e6));
    assert!(!is_no_work(&of(40.0, 2), 20e6), "two statements may take as long");
    assert!(!is_no_work(&of(21.0, 3), 20e6), "a little longer");
    let one_early = [5.0, 40.0, 40.0, 40.0, 40.0, 40.0, 40.0, 40.0, 40.0];
    assert!(is_no_work(&half(&[], &[], &one_early, 3).responses, 20e6), "no single one decides");
}

#[test]
fn work_of_another_time_is_taken_off_responses_only() {
    let other = choose(&half(&[10.0], &[10.0; 12], &QUERIES, 1), TICK_NS);
    let only = choose(&half(&[], &[], &[31.0; 20], 1), TICK_NS);
    let chosen = less_work(only, &other);
    assert_eq!((chosen.value, chosen.work, chosen.reason), (30e6, 1e6, Reason::Changed));
    assert_eq!(chosen.range(TICK_NS), [29e6, 31e6]);
    assert_eq!(less_work(other, &other).reason, other.reason);
    let near = choose(&half(&[], &[], &[1.2; 20], 1), TICK_NS);
    assert_eq!(less_work(near, &other).value, near.value, "hardly anything would be left");
}

// --- a path that varies, clocks ---------------------------------------------------------------------------------------

#[test]
fn the_fastest_of_responses_that_spread_evenly_does_not_outvote_the_measurements() {
    for acks in [&[][..], &[14.2], &[13.6, 16.9]] {
        let chosen = choose(&with_answer(11.3, half(&[15.6], acks, &EVEN, 1)), TICK_NS);
        assert!((chosen.value - 15e6).abs() < 0.03 * 15e6 && chosen.reason == Reason::Varies, "{chosen:?}");
        assert_range_holds(&chosen, 15.0, 15.0);
    }
}

#[test]
fn what_a_constant_path_shows_as_well_is_no_jitter() {
    let lone_fast = [&EVEN[1..], &[3.0]].concat();
    for (handshake, acks, waits) in [
        (15.6, &[][..], &ONE_SIDED[..]),
        (25.0, &[], &EVEN),
        (15.6, &[], &lone_fast),
        (15.6, &[], &[11.3, 13.5, 14.8, 15.7, 16.9, 19.0]),
        (15.6, &[15.6; 5], &EVEN),
        (11.35, &[], &EVEN),
    ] {
        assert_ne!(choose(&half(&[handshake], acks, waits, 1), TICK_NS).reason, Reason::Varies);
    }
    let near = EVEN.map(|wait| wait - 7.3);
    for (ack, varies) in [(1.9, false), (2.1, true)] {
        let chosen = choose(&half(&[9.0], &[ack], &near, 1), TICK_NS);
        assert_eq!(chosen.reason == Reason::Varies, varies, "{ack}: half of the fastest response");
    }
}

#[test]
fn a_coarse_clock_refutes_nothing_within_a_tick() {
    let chosen = choose(&half(&[10.0], &[10.0], &[0.0, 10.0, 10.0], 1), 10_000_000);
    assert_eq!((chosen.value, chosen.method), (10e6, Method::Both));
    let longer = choose(&half(&[20.0], &[], &[10.0; 3], 1), 10_000_000);
    assert_eq!((longer.value, longer.method), (20e6, Method::Handshake));
    let many = [[0.0; 12].as_slice(), &[10.0; 8]].concat();
    let steady = choose(&half(&[], &[], &many, 1), 10_000_000);
    assert_eq!((steady.value, steady.reason), (4e6, Reason::Steady), "the mean");
    let responses = choose(&half(&[], &[], &[0.0, 0.0, 0.0, 10.0], 1), 10_000_000);
    assert_eq!((responses.value, responses.reason), (0.0, Reason::Floor));
}

#[test]
fn measurements_without_a_capture_are_weighed_alike() {
    let chosen = of_measurements(&[10_000_000; 5], &[10_100_000; 3], &[10_300_000; 4], TICK_NS);
    assert_eq!((chosen.method, chosen.reason, chosen.samples), (Method::Both, Reason::Agree, 8));
    assert_eq!(of_measurements(&[], &[1_000_000], &[], TICK_NS).reason, Reason::Resent);
}

// --- of any evidence --------------------------------------------------------------------------------------------------

fn some(most: usize) -> impl Strategy<Value = Vec<i64>> {
    let ns = prop_oneof![
        4 => 9_000_000..12_000_000_i64,
        2 => 9_900_000..10_100_000_i64,
        1 => 0..50_i64,
        1 => 0..1_000_000_000_i64,
        1 => 0..1_i64 << 62,
    ];
    prop::collection::vec(ns, 0..=most)
}

prop_compose! {
    fn anything()(
        handshakes in some(12),
        acks in some(14),
        responses in prop::collection::vec((some(1), prop_oneof![0..4_u32, Just(NO_STATEMENT)]), 0..40),
        answers in some(2),
        late in some(4),
        is_syn_resent: bool,
    ) -> Evidence {
        let responses = responses.into_iter().flat_map(|(ns, statement)| ns.into_iter().map(move |ns| (ns, statement)));
        bounded(Evidence {
            handshakes: Values::of(handshakes),
            acks: Values::of(acks),
            responses: Values::of_statements(responses),
            answers: Values::of(answers),
            late: Values::of(late),
            bounds: Values::default(),
            is_syn_resent,
        })
    }
}

fn ticks() -> impl Strategy<Value = i64> {
    prop_oneof![Just(1), Just(1_000), Just(1_000_000), Just(1_000_000_000)]
}

fn facts(chosen: &Chosen, tick_ns: i64) -> [u64; 6] {
    let [low, high] = chosen.range(tick_ns);
    [chosen.value, chosen.measured, chosen.rival, chosen.weight, low, high].map(f64::to_bits)
}

proptest! {
    #[test]
    fn the_value_lies_within_its_range_and_within_the_evidence(evidence in anything(), tick_ns in ticks()) {
        let chosen = choose(&evidence, tick_ns);
        let Evidence { handshakes, acks, bounds, answers, .. } = &evidence;
        let all = Values::joined([handshakes, acks, bounds, answers]);
        prop_assert_eq!(chosen.value.is_nan(), chosen.method == Method::Unknown);
        prop_assert_eq!(chosen.method == Method::Unknown, chosen.reason == Reason::None);
        prop_assert!(chosen.value.is_nan() || chosen.samples > 0 || !answers.is_empty());
        if !chosen.value.is_nan() {
            let [low, high] = chosen.range(tick_ns);
            prop_assert!(low <= chosen.value && chosen.value <= high, "{low} {} {high}", chosen.value);
            prop_assert!(low >= 0.0 || low >= chosen.value - chosen.deficit);
            let [least, most] = [all.least(), all.most()].map(|ns| ns.unwrap_or(0) as f64);
            prop_assert!(least <= chosen.value && chosen.value <= most, "{least} {} {most}", chosen.value);
            prop_assert!(chosen.most() <= chosen.bound || chosen.bound.is_nan());
        }
    }

    #[test]
    fn numbers_of_statements_and_a_syn_sent_again_change_no_figure(evidence in anything(), tick_ns in ticks()) {
        let named = |statement: u32| if statement == NO_STATEMENT { NO_STATEMENT } else { 1_000 - statement };
        let all = evidence.responses.all().iter();
        let each = all.flat_map(|each| (0..each.times).map(|_| (each.ns, named(each.statement))));
        let other = Evidence {
            responses: Values::of_statements(each),
            is_syn_resent: !evidence.is_syn_resent,
            ..evidence.clone()
        };
        let [one, other] = [&evidence, &other].map(|evidence| choose(evidence, tick_ns));
        prop_assert_eq!((one.method, facts(&one, tick_ns)), (other.method, facts(&other, tick_ns)));
    }

    #[test]
    fn no_single_bound_decides_and_a_faster_one_never_raises_it(all in some(40), fast in 0..1_i64 << 62) {
        let before = Values::of(all.iter().copied());
        let bound = of_several(&before, 1);
        let fast = before.most().map_or(fast, |_| fast.min(bound as i64));
        let after = Values::of(all.iter().copied().chain([fast]));
        prop_assert!(of_several(&after, 1) <= bound || before.is_empty());
        if after.count() >= MIN_CONSISTENT {
            prop_assert!(of_several(&after, 1) >= before.least().unwrap_or(0) as f64);
        }
    }
}
