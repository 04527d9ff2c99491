use super::*;

const SECOND_NS: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;
const MOMENT: i64 = 40 * SECOND_NS;

/// Forty responses before the moment and forty after it, a second apart, of so many statements in turn.
fn responses(statements: u32, ns: impl Fn(i64) -> i64) -> Vec<Measurement> {
    let response = |at: i64| measured(at * SECOND_NS, ns(at), at as u32 % statements);
    (0..80).map(response).collect()
}

fn measured(time_ns: i64, ns: i64, statement: u32) -> Measurement {
    Measurement { time_ns, place: 0, ns, statement }
}

/// Readings of a clock in ms, 1 s apart; what is sent from the moment on takes so many ms longer.
fn clocks(longer_ms: i64) -> Vec<ClockReading> {
    let reading = |at: i64| {
        let way_ms = if at < 40 { 5 } else { 5 + longer_ms };
        let (time_ns, ticks) = (at * SECOND_NS + way_ms * MS, 1_000 * at as u32);
        ClockReading { stream: 0, by_server: false, time_ns, ticks }
    };
    (0..80).map(reading).collect()
}

fn confirmed(
    direct: &[Measurement],
    clocks: &[ClockReading],
    responses: &[Measurement],
) -> (Option<ChangeEvidence>, f64) {
    let (kept, doubt_ns) = Witness { direct, clocks }.confirm(&[MOMENT], responses);
    assert!(kept.len() < 2 && kept.iter().all(|&(time_ns, _)| time_ns == MOMENT));
    (kept.first().map(|&(_, evidence)| evidence), doubt_ns)
}

#[test]
fn a_slower_server_is_no_change_but_one_that_is_as_even_as_a_path_may_be() {
    let busy = responses(1, |at| if at < 40 { 5 } else { 30 + at % 7 } * MS);
    assert_eq!(confirmed(&[], &[], &busy), (None, 0.0));
    let even = responses(1, |at| if at < 40 { 5 } else { 30 } * MS);
    assert_eq!(confirmed(&[], &[], &even), (None, 25e6));
    let short = [measured(0, 5 * MS, 0)];
    assert_eq!(confirmed(&short, &clocks(0), &even), (None, 25e6), "all that was measured is as before");
}

#[test]
fn hosts_near_and_far_may_share_an_address() {
    let even = responses(1, |at| if at < 40 { 5 } else { 30 } * MS);
    let far = [measured(SECOND_NS, 5 * MS, 0), measured(2 * SECOND_NS, 29 * MS, 0)];
    assert_eq!(confirmed(&far, &[], &even), (None, 0.0));
}

#[test]
fn no_answer_is_faster_than_the_path_that_was_measured() {
    let faster = responses(1, |at| if at < 40 { 20 } else { 5 } * MS);
    let handshake = [measured(0, 20 * MS, 0)];
    assert_eq!(confirmed(&handshake, &[], &faster), (Some(ChangeEvidence::Answers), 0.0));
    let slower = responses(1, |at| if at < 40 { 5 } else { 20 } * MS);
    let later = [measured(60 * SECOND_NS, 20 * MS, 0)];
    assert_eq!(confirmed(&later, &[], &slower), (Some(ChangeEvidence::Answers), 0.0));
    assert_eq!(confirmed(&handshake, &[], &slower).0, None, "measured in the other period");
    let unconfirmed = responses(1, |at| if at < 40 { 40 } else { 5 } * MS);
    assert_eq!(confirmed(&handshake, &[], &unconfirmed).0, None, "its own responses take twice as long");
}

#[test]
fn the_clock_of_the_sender_shows_that_its_way_is_longer() {
    let slower = responses(1, |at| if at < 40 { 5 } else { 30 + at % 7 } * MS);
    assert_eq!(confirmed(&[], &clocks(13), &slower).0, Some(ChangeEvidence::Clocks), "half of it each way");
    assert_eq!(confirmed(&[], &clocks(25), &slower).0, Some(ChangeEvidence::Clocks), "all of it one way");
    assert_eq!(confirmed(&[], &clocks(3), &slower).0, None, "another change");
    assert_eq!(confirmed(&[], &clocks(60), &slower).0, None, "another change");
    let same = responses(1, |at| if at < 40 { 5 } else { 5 + at % 7 } * MS);
    assert_eq!(confirmed(&[], &clocks(13), &same).0, None, "the fastest responses did not move");
}

#[test]
fn no_work_is_the_same_for_three_statements() {
    let longer = |statements| responses(statements, |at| if at < 40 { 20 } else { 50 } * MS);
    assert_eq!(confirmed(&[], &[], &longer(3)), (Some(ChangeEvidence::Statements), 0.0));
    assert_eq!(confirmed(&[], &[], &longer(2)), (None, 30e6));
}

#[test]
fn each_change_has_its_evidence() {
    let levels = [20, 5, 20, 35].map(|ms| ms * MS);
    let responses: Vec<_> = (0..160).map(|at| measured(at * SECOND_NS, levels[at as usize / 40], 0)).collect();
    let direct = [measured(SECOND_NS, 20 * MS, 0), measured(81 * SECOND_NS, 20 * MS, 0)];
    let times = [40, 80, 120].map(|at| at * SECOND_NS);
    let (kept, doubt_ns) = Witness { direct: &direct, clocks: &[] }.confirm(&times, &responses);
    let answers = ChangeEvidence::Answers;
    assert_eq!((kept, doubt_ns), (vec![(times[0], answers), (times[1], answers)], 15e6));
}
