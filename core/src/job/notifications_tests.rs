use super::super::step::NOWHERE;
use super::*;

const MS: f64 = 1e6;

/// At an RTT of 1 ms, another connection asks every 20 ms and is answered after 2; right then the server pushes,
/// and the listener asks so long after that. Every second step is the listener's.
fn notified(reacts: impl Fn(u32) -> f64) -> Vec<Span> {
    let step = |step: u32| {
        let asked = MS * 20.0 * f64::from(step / 2);
        let since_push = reacts(step);
        let span = Span { waits: true, connection: step % 2, ..NOWHERE };
        let begin = asked + if step % 2 == 1 { 2.0 * MS + since_push } else { 0.0 };
        let since_push = if step % 2 == 1 { since_push } else { 0.0 };
        Span { begin, sent: begin, end: begin + 2.0 * MS, since_push, ..span }
    };
    (0..20).map(step).collect()
}

fn pushed(mut spans: Vec<Span>) -> Vec<Start> {
    listeners(&mut spans, 2);
    let start = |span: &Span| Start::new(span.connection, span.connection, Starts::After, 7.0);
    let mut starts: Vec<Start> = spans.iter().map(start).collect();
    find(&mut starts, &spans, &[MS]);
    starts.retain(|start| start.starts() == Starts::AfterPush);
    starts
}

#[test]
fn a_listener_starts_a_round_trip_after_the_request_that_let_the_server_tell_it() {
    let starts = pushed(notified(|_| 0.5 * MS));
    assert_eq!(starts.len(), 10);
    assert!(starts.iter().all(|start| start.after() == 0 && (start.gap - 1.5 * MS).abs() < 1.0));
}

#[test]
fn what_the_server_tells_as_it_goes_counts_from_the_request_under_way() {
    let mut spans = notified(|_| 0.5 * MS);
    spans.retain(|span| span.connection == 1 || span.begin == 0.0);
    spans[0].end = 1e3 * MS;
    let starts = pushed(spans);
    let gaps: Vec<f64> = starts.iter().map(|start| (start.gap / MS).round()).collect();
    assert_eq!(gaps, (0..10).map(|step| f64::from(20 * step + 2)).collect::<Vec<f64>>());
}

#[test]
fn who_was_not_waiting_when_the_push_came_takes_its_own_time() {
    assert!(pushed(notified(|_| 12.0 * MS)).is_empty());
}

#[test]
fn a_push_whose_cause_was_not_captured_tells_nothing() {
    let mut spans = notified(|_| 0.5 * MS);
    spans.retain(|span| span.connection == 1);
    assert!(pushed(spans).is_empty());
}

#[test]
fn a_push_or_two_tell_nothing() {
    let spans = notified(|_| 0.5 * MS);
    assert!(pushed(spans[..4].to_vec()).is_empty());
}
