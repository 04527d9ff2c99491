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
#[path = "notifications_tests.rs"]
mod tests;
