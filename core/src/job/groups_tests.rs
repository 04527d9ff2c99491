use super::*;
use crate::job::step::NOWHERE;

const MS: f64 = 1e6;

/// Each lane's steps follow its own, as lanes alone explain them.
fn job(mut spans: Vec<Span>) -> (Vec<Start>, Vec<Span>) {
    spans.sort_by(|a, b| a.begin.total_cmp(&b.begin));
    let mut over = [None; 4];
    let mut starts = Vec::new();
    for span in &spans {
        let before = over[span.connection as usize].replace(span.end);
        let (starts_at, gap) = before.map_or((Starts::AtFirst, span.begin), |over| (Starts::After, span.begin - over));
        starts.push(Start::new(span.connection, span.connection, starts_at, gap));
    }
    (starts, spans)
}

fn step(connection: u32, begin: f64, takes: f64) -> Span {
    Span { connection, begin, end: begin + takes, waits: true, statement: 1, ..NOWHERE }
}

/// A query, two beside it that need its answer, and so on.
fn fanned_out() -> Vec<Span> {
    let mut spans = Vec::new();
    for round in 0..40 {
        let begin = f64::from(round) * 42.5 * MS;
        let takes = MS * f64::from(15 + round * 7 % 11);
        spans.push(step(0, begin, takes));
        spans.push(step(1, begin + takes + 0.2 * MS, 15.0 * MS));
        spans.push(step(2, begin + takes + 0.3 * MS, 42.2 * MS - takes - 0.3 * MS));
    }
    spans
}

#[test]
fn who_begins_soon_after_the_answers_of_others_waits_for_them() {
    let (mut starts, spans) = job(fanned_out());
    find(&mut starts, &spans, 3, Waiting::Evidence);
    let last = &starts[starts.len() - 3..];
    assert_eq!(last[1].after(), last[0].worker);
    assert_eq!(last[2].after(), last[0].worker);
    assert!((last[2].gap - 0.3 * MS).abs() < 1.0);
    assert_eq!(last[0].after(), starts[starts.len() - 4].worker, "and goes on after the slowest of them");
}

/// One task that takes the connections of a pool in turn; how long it lets pass after an answer strays a lot.
fn in_turn() -> Vec<Span> {
    let (mut spans, mut begin) = (Vec::new(), 0.0);
    for round in 0..60_u32 {
        spans.push(step(round % 3, begin, 15.0 * MS));
        begin += 15.0 * MS + 0.02 * MS * f64::from(1 << (round * 5 % 7));
    }
    spans
}

#[test]
fn who_begins_sooner_after_the_answers_of_others_than_by_chance_may_wait_for_them() {
    let (mut starts, spans) = job(in_turn());
    let before = starts.clone();
    find(&mut starts, &spans, 3, Waiting::Evidence);
    assert_eq!(starts, before, "reactions that stray so far prove nothing");
    find(&mut starts, &spans, 3, Waiting::Joined);
    let [one, next] = [&starts[starts.len() - 2], &starts[starts.len() - 1]];
    assert_eq!(next.after(), one.worker);
    assert!(next.gap < 2.0 * MS);
}

#[test]
fn who_fans_out_opens_a_connection_upon_the_newest_answer() {
    let mut spans = fanned_out();
    let last = spans.iter().map(|span| span.end).fold(0.0, f64::max);
    for late in [1.0, 30.0] {
        let opened = Span { setup: true, ..step(3, last + late * MS, 60.0 * MS) };
        spans.push(opened);
        let (mut starts, spans_) = job(spans.clone());
        find(&mut starts, &spans_, 4, Waiting::Evidence);
        let found = starts[spans_.len() - 1].starts();
        assert_eq!(found, if late < 10.0 { Starts::AfterOther } else { Starts::AtFirst });
        spans.pop();
    }
}

#[test]
fn who_begins_at_any_time_after_the_answers_of_others_does_not() {
    let mut spans = Vec::new();
    for connection in 0..3_u32 {
        let mut begin = f64::from(connection) * 3.0 * MS;
        for number in 0..80_u32 {
            spans.push(step(connection, begin, 4.0 * MS));
            let number = number + 101 * connection;
            begin += 4.0 * MS + MS * f64::from(1 + number * number * 37 % 211) / 11.0;
        }
    }
    let (mut starts, spans) = job(spans);
    let before = starts.clone();
    for waiting in [Waiting::Evidence, Waiting::Joined] {
        find(&mut starts, &spans, 3, waiting);
        assert_eq!(starts, before);
    }
}
