use super::*;
use crate::job::step::NOWHERE;
use crate::job::step_body::EMPTY;

const MS: f64 = 1e6;

/// Twenty commits of connection 0 every 10 ms, and statements of connection 1 that are answered so long after them.
fn pairs(lag: impl Fn(u32) -> f64) -> Vec<(Body, Span)> {
    let pair = |number: u32| {
        let begin = 10.0 * MS * f64::from(number);
        let step = Body { answered: true, round_trips: 1, ..EMPTY };
        let statement = Body { connection: 1, service: 5.0 * MS, ..step };
        let asked = Span { connection: 1, begin, end: begin + 6.0 * MS + lag(number), ..NOWHERE };
        let commit = Span { begin: begin + 5.0 * MS, end: begin + 6.0 * MS, ends_transaction: true, ..NOWHERE };
        [(statement, asked), (step, commit)]
    };
    (0..20).flat_map(pair).collect()
}

fn found(pairs: &[(Body, Span)]) -> Vec<Lock> {
    let mut steps = Bodies::default();
    pairs.iter().for_each(|&(step, _)| steps.push(step));
    locks(&steps, &pairs.iter().map(|&(_, span)| span).collect::<Vec<Span>>())
}

#[test]
fn statements_that_end_with_a_transaction_waited_for_it() {
    let found = found(&pairs(|_| 0.05 * MS));
    assert_eq!(found.len(), 20);
    assert_eq!((found[3].holder, found[3].waiter), (7, 6));
    assert!((found[3].lag - 0.05 * MS).abs() < 1.0);
}

#[test]
fn a_server_that_wakes_up_late_goes_on_later_after_long_waits() {
    assert_eq!(found(&pairs(|_| 0.3 * MS)).len(), 0);
    let mut late = pairs(|_| 0.3 * MS);
    late.iter_mut().for_each(|(step, _)| step.service *= 1.4);
    assert_eq!(found(&late).len(), 20);
}

#[test]
fn statements_that_end_at_any_time_waited_for_no_lock() {
    assert_eq!(found(&pairs(|number| f64::from(number) * 0.15 * MS)), []);
}

#[test]
fn long_waits_are_believed_among_short_ones_that_chance_explains() {
    let mut waits = pairs(|_| 0.05 * MS);
    let short = |number: u32| {
        let end = 10.0 * MS * f64::from(number) + 6.0 * MS + f64::from(number % 10) * 0.04 * MS;
        let step = Body { connection: 2, answered: true, round_trips: 1, service: 0.45 * MS, ..EMPTY };
        (step, Span { connection: 2, begin: end - 0.5 * MS, end, ..NOWHERE })
    };
    waits.extend((0..200).map(|number| short(number % 20)));
    let found = found(&waits);
    assert_eq!(found.len(), 20);
    assert!(found.iter().all(|lock| lock.waiter % 2 == 0 && lock.waiter < 40));
}

#[test]
fn a_few_are_a_coincidence() {
    assert_eq!(found(&pairs(|_| 0.05 * MS)[..18]), []);
}
