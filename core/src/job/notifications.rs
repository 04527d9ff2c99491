//! Steps that wait for what the server pushes: a notification (LISTEN/NOTIFY).
//!
//! Between its last answer and such a step a client did not take its own time: it waited until the server had something
//! to tell. What that was came from another connection, whose request let the server speak (a NOTIFY, its commit, a
//! procedure that notifies as it goes): the push reaches the client a round trip after that request was sent, half of
//! it up with the request and half of it down with the push, and what the server took (docs/model.md C.5).

use super::step::{Span, Start, Starts};

/// A connection waits for notifications if at least this many of its steps follow a push.
const MIN_PUSHED_STEPS: u32 = 3;
/// A connection waited for a push that came after at least this share of the time since its last answer.
const MIN_WAITED_SHARE: f64 = 0.5;
/// A push belongs to an answer that comes at most this long before or after it.
const MAX_ANSWER_DISTANCE_NS: f64 = 2e6;
/// A push comes at least this share of a round trip after its cause, since RTTs vary.
const MIN_ROUND_TRIP_SHARE: f64 = 0.75;
/// At most this many connections that asked last are candidates for the cause.
const MAX_CANDIDATES: usize = 64;

/// What a connection's steps tell of whether it waits for pushes.
#[derive(Clone, Copy, Default)]
struct Notification {
    over: f64,
    steps: u32,
    /// Since its last answers, and since the pushes.
    gaps: f64,
    since_push: f64,
}

/// Mark the steps of connections that wait for pushes.
pub fn listeners(spans: &mut [Span], connections: usize) {
    if spans.iter().all(|span| span.since_push == 0.0) {
        return;
    }
    let mut heard = vec![Notification::default(); connections];
    for span in &*spans {
        let heard = &mut heard[span.connection as usize];
        if span.since_push > 0.0 {
            heard.steps += 1;
            heard.gaps += span.begin - heard.over;
            heard.since_push += span.since_push;
        }
        heard.over = heard.over.max(span.end);
    }
    let waits = |heard: &Notification| {
        heard.steps >= MIN_PUSHED_STEPS && heard.since_push <= (1.0 - MIN_WAITED_SHARE) * heard.gaps
    };
    for span in spans {
        span.listens = waits(&heard[span.connection as usize]);
    }
}

/// Let steps that wait for a push start so long after the request that caused it, where that was captured.
pub fn find(starts: &mut [Start], spans: &[Span], baseline_ns: &[f64]) {
    if spans.iter().all(|span| !span.listens) {
        return;
    }
    let mut newest: Vec<&Span> = Vec::new();
    for (start, span) in starts.iter_mut().zip(spans) {
        let rtt = baseline_ns[span.phase as usize];
        let waited = span.listens && span.since_push > 0.0 && start.starts() == Starts::After;
        if let Some(cause) = waited.then(|| cause(&newest, span, rtt)).flatten() {
            *start = Start::new(start.worker, cause.connection, Starts::AfterPush, span.begin - cause.sent - rtt);
        }
        if span.waits && !span.setup {
            newest.retain(|other| other.connection != span.connection);
            if newest.len() == MAX_CANDIDATES {
                newest.remove(0);
            }
            newest.push(span);
        }
    }
}

/// The newest request of another connection that was answered as the push came; else one that was under way then.
fn cause<'a>(newest: &[&'a Span], step: &Span, rtt: f64) -> Option<&'a Span> {
    let pushed = step.begin - step.since_push;
    let may = |span: &&&Span| span.connection != step.connection && span.sent + MIN_ROUND_TRIP_SHARE * rtt <= pushed;
    let apart = |span: &Span| (span.end - pushed).abs();
    let others = || newest.iter().filter(may);
    let nearest =
        others().min_by(|a, b| apart(a).total_cmp(&apart(b))).filter(|span| apart(span) <= MAX_ANSWER_DISTANCE_NS);
    nearest.or_else(|| others().rfind(|span| span.end > pushed)).copied()
}

#[cfg(test)]
mod tests {
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
}
