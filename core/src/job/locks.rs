//! Who waited for whose lock: a statement that was answered right after another connection had ended its transaction.
//!
//! A transaction of several round trips holds its locks for as long as these take, so what others wait for them grows
//! with the RTT too. The capture shows no locks, only that waits end where transactions end, far more often than by
//! chance (docs/model.md C.5).

use super::step::Span;
use super::step_body::{Bodies, Body};

/// One wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lock {
    /// The step that ended the transaction, and the one that waited for that.
    pub holder: u32,
    pub waiter: u32,
    /// From the answer of the one to the answer of the other, ns.
    pub lag: f64,
}

/// A server goes on with a waiting statement within this time after the transaction that held it up.
const USUAL_LAG_NS: f64 = 2e5;
/// Processors that sleep wake up late: a server goes on within this time where a coincidence is unlikely.
const MAX_LAG_NS: f64 = 1e6;
/// A coincidence is unlikely if its probability is below this.
const MAX_CHANCE: f64 = 0.05;
/// Shorter service is no wait for a lock.
const MIN_WAIT_NS: f64 = 2.0 * USUAL_LAG_NS;
/// Waits for locks are believed if at least this many end with a transaction.
const MIN_WAITS: f64 = 10.0;
/// Waits for locks are believed if at least this many times as many end with a transaction as would by chance.
const MIN_CHANCE_RATIO: f64 = 3.0;
/// Waits of this length and more are counted by themselves: transactions hardly end just before them by chance.
const LONG_WAIT_NS: f64 = 10.0 * USUAL_LAG_NS;

/// At most this many ends of transactions within one lag are examined.
const MAX_ENDS: usize = 64;

/// Waits that may be for locks, and how many of them chance would explain.
#[derive(Default)]
struct Found {
    locks: Vec<Lock>,
    by_chance: f64,
}

impl Found {
    fn believed(self) -> Option<Vec<Lock>> {
        let found = self.locks.len() as f64;
        (found >= MIN_WAITS && found >= MIN_CHANCE_RATIO * self.by_chance).then_some(self.locks)
    }
}

/// The waits for locks among steps in the order in which they began, by holder; none where chance explains them. Where
/// it explains the short ones, the long ones are left.
pub fn locks(steps: &Bodies, spans: &[Span]) -> Vec<Lock> {
    let ends = transaction_ends(steps, spans);
    if ends.is_empty() {
        return Vec::new();
    }
    let (mut all, mut long) = (Found::default(), Found::default());
    for (waiter, (step, span)) in (0..).zip(steps.iter().zip(spans)).filter(|(_, (step, span))| may_wait(step, span)) {
        let answered = span.end - step.response;
        let before = &ends[..ends.partition_point(|&(end, _)| end <= answered)];
        let earlier = before.partition_point(|&(end, _)| end <= answered - step.service);
        let per_ns = (before.len() - earlier) as f64 / step.service;
        let lag = (MAX_CHANCE / per_ns).clamp(USUAL_LAG_NS, MAX_LAG_NS);
        let by_chance = (per_ns * lag).min(1.0);
        let just_before = before.iter().rev().take(MAX_ENDS).take_while(|(end, _)| *end > answered - lag);
        let mut of_others = just_before.filter(|&&(_, holder)| steps.of(holder).connection != step.connection);
        let lock = of_others.next().map(|&(end, holder)| Lock { holder, waiter, lag: answered - end });
        for found in [&mut all].into_iter().chain((step.service >= LONG_WAIT_NS).then_some(&mut long)) {
            found.by_chance += by_chance;
            found.locks.extend(lock);
        }
    }
    let mut locks = all.believed().or_else(|| long.believed()).unwrap_or_default();
    locks.sort_unstable_by_key(|lock| lock.holder);
    locks
}

/// Commits that wait for each other wait for the disk.
fn may_wait(step: &Body, span: &Span) -> bool {
    step.service >= MIN_WAIT_NS
        && step.answered
        && !step.whole
        && !span.ends_transaction
        && !span.setup
        && !span.follows_own
}

/// When transactions were over, and the steps that ended them, in the order of time.
fn transaction_ends(steps: &Bodies, spans: &[Span]) -> Vec<(f64, u32)> {
    let ending = (0..).zip(spans).filter(|(_, span)| span.ends_transaction);
    let answered = ending.map(|(number, span)| (number, span, steps.of(number))).filter(|(_, _, step)| step.answered);
    let mut ends: Vec<(f64, u32)> = answered.map(|(number, span, step)| (span.end - step.response, number)).collect();
    ends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    ends
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;
