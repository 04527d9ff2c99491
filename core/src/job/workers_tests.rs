use super::*;
use crate::job::step::NOWHERE;

/// Two connections at work at the same time, and their closes.
fn closed(closes: [f64; 2], waiting: Waiting) -> Vec<u32> {
    let step = |connection: u32, begin: f64, end: f64| Span { connection, begin, end, waits: end > begin, ..NOWHERE };
    let mut spans = vec![step(0, 0.0, 10.0), step(1, 1.0, 12.0), step(0, 11.0, 20.0), step(1, 13.0, 40.0)];
    spans.extend([0, 1].map(|connection| step(connection, closes[connection as usize], closes[connection as usize])));
    spans.sort_by(|a, b| a.begin.total_cmp(&b.begin));
    let starts: Vec<Start> = assign(&spans, 2, Usage::of(&spans, 2).as_ref(), waiting).collect();
    let closes = spans.iter().zip(&starts).filter(|(span, _)| !span.waits);
    closes.map(|(span, start)| start.after().abs_diff(starts[span.connection as usize].worker)).collect()
}

#[test]
fn a_connection_continues_the_lane_that_was_left_last() {
    assert_eq!(of_connections(&[0, 1, 5, 6], &[4, 3, 7, 8]), [0, 1, 0, 1]);
    assert_eq!(of_connections(&[3, 3, 9], &[5, 4, 9]), [0, 1, 0], "those that begin together are side by side");
}

#[test]
fn connections_that_are_closed_when_all_work_is_over_wait_for_the_slowest() {
    assert_eq!(closed([41.0, 42.0], Waiting::Evidence), [1, 1], "one after the other");
    assert_eq!(closed([41.0, 42.0], Waiting::Independent), [0, 0], "but that is not proven");
}

#[test]
fn who_closes_its_connection_while_others_work_waits_for_nobody() {
    assert_eq!(closed([21.0, 42.0], Waiting::Evidence), [0, 0]);
}
