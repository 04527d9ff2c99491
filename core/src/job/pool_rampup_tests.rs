use super::*;
use crate::job::step::NOWHERE;

/// A pool of four: each connection is set up in 40, so long after the one before as told, and goes on to work.
fn filled(gaps: [f64; 3]) -> (Vec<Start>, Vec<Span>) {
    let mut spans = Vec::new();
    let mut begin = 0.0;
    for connection in 0..4_u32 {
        let step = Span { connection, waits: true, ..NOWHERE };
        spans.push(Span { begin, end: begin + 40.0, setup: true, ..step });
        spans.push(Span { begin: begin + 41.0, end: begin + 90.0, ..step });
        begin += 40.0 + gaps.get(connection as usize).copied().unwrap_or(0.0);
    }
    spans.sort_by(|a, b| a.begin.total_cmp(&b.begin));
    let starts = spans.iter().map(|span| match span.setup {
        true => Start::new(span.connection, span.connection, Starts::AtFirst, span.begin),
        false => Start::new(span.connection, span.connection, Starts::After, 1.0),
    });
    (starts.collect(), spans)
}

#[test]
fn a_pool_that_is_filled_while_it_works_opens_each_when_the_one_before_is_set_up() {
    let (mut starts, spans) = filled([3.0, 4.0, 5.0]);
    find(&mut starts, &spans, 4, Waiting::Evidence);
    for connection in 1..4 {
        let of = |connection: u32, setup: bool| {
            spans.iter().position(|span| span.connection == connection && span.setup == setup).unwrap()
        };
        let [before, opened, worked] = [of(connection - 1, true), of(connection, true), of(connection - 1, false)];
        assert_eq!([starts[opened].after(), starts[worked].after()], [starts[before].worker; 2]);
        assert_eq!(starts[opened].gap, spans[opened].begin - spans[before].end);
        assert_eq!(starts[worked].worker, connection - 1, "it works on its own lane");
    }
}

#[test]
fn connections_that_are_opened_whenever_it_may_be_follow_none() {
    for (gaps, waiting) in [
        ([3.0, 15.0, 5.0], Waiting::Evidence),
        ([3.0, -1.0, 4.0], Waiting::Evidence),
        ([3.0, 4.0, 5.0], Waiting::Independent),
    ] {
        let (mut starts, spans) = filled(gaps);
        let before = starts.clone();
        find(&mut starts, &spans, 4, waiting);
        assert_eq!(starts, before);
    }
}
