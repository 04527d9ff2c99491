use super::*;
use crate::exchange::{SendDelays, Wait};
use crate::protocols::Purpose;

fn open(number: u32) -> Open {
    let exchange = Exchange {
        connection: 0,
        number,
        command: "query",
        purpose: Purpose::Execute,
        sql: None,
        request: None,
        response: None,
        request_bytes: 0,
        response_bytes: 0,
        request_wire_bytes: 0,
        response_wire_bytes: 0,
        streamed_bytes: 0,
        round_trips: 1,
        wait: Wait::Own,
        waited_ns: None,
        rows: None,
        affected_rows: None,
        error: None,
        delta_ns: None,
        client_ns: None,
        retransmissions: 0,
        stalled_ns: 0,
        send_delays: SendDelays::default(),
        since_push_ns: 0,
        transaction: None,
        complete: true,
    };
    Open {
        exchange,
        awaits: Awaits::Answer,
        asked: 0,
        had_received: 0,
        waiting_since: None,
        continued: 0,
        answered: false,
        ends_with_next: false,
        turned: false,
        session: None,
        is_left: false,
    }
}

fn queue(numbers: std::ops::Range<u32>) -> Queue {
    let mut queue = Queue::default();
    numbers.for_each(|number| queue.push(open(number)));
    queue
}

fn taken(queue: &mut Queue, is_known: bool) -> Vec<u32> {
    let mut all = Vec::new();
    queue.take_over(&mut all, is_known);
    all.iter().map(|exchange| exchange.number).collect()
}

#[test]
fn what_is_over_waits_until_all_is_known_of_it() {
    let mut queue = queue(0..3);
    queue.end_oldest();
    assert!(queue.has_newly_over() && !queue.holds());
    assert!(taken(&mut queue, false).is_empty());
    assert!(!queue.has_newly_over() && queue.holds() && queue.newly_over_mut().is_none());
    queue.end_oldest();
    assert_eq!(queue.newly_over_mut().map(|open| open.exchange.number), Some(1));
    assert_eq!(taken(&mut queue, true), [0, 1]);
    assert_eq!((queue.len(), queue.oldest().map(|open| open.exchange.number)), (1, Some(2)));
}

#[test]
fn what_is_over_at_once_is_so_before_those_under_way() {
    let mut queue = queue(0..2);
    queue.push_oldest(open(2));
    queue.end_oldest();
    assert_eq!(taken(&mut queue, true), [2]);
    assert_eq!(queue.newest_mut().map(|open| open.exchange.number), Some(1));
}

#[test]
fn those_since_a_number_are_over_or_under_way() {
    let mut queue = queue(0..6);
    (0..3).for_each(|_| queue.end_oldest());
    let mut since = Vec::new();
    queue.each_since(2, |open| since.push(open.exchange.number));
    assert_eq!(since, [2, 3, 4, 5]);
    since.clear();
    queue.each_since(5, |open| since.push(open.exchange.number));
    assert_eq!(since, [5]);
}

#[test]
fn a_session_finds_its_own_among_those_under_way() {
    let mut queue = Queue::default();
    for (number, session) in [(0, 7), (1, 8), (2, 7), (3, 8)] {
        queue.push(Open { session: Some(session), ..open(number) });
    }
    assert!(queue.turn_to(8, Side::Server) && queue.turn_to(7, Side::Client) && !queue.turn_to(9, Side::Server));
    assert_eq!(queue.iter().map(|open| open.exchange.number).collect::<Vec<_>>(), [1, 0, 3, 2]);
}

#[test]
fn room_beyond_the_usual_is_kept_only_while_it_is_needed() {
    let mut queue = queue(0..1_000);
    assert!(queue.kept_bytes() >= 999 * size_of::<Open>());
    (0..1_000).for_each(|_| queue.end_oldest());
    taken(&mut queue, true);
    queue.shrink(true);
    assert_eq!(queue.kept_bytes(), 0);
    queue.push(open(1_000));
    assert_eq!(queue.kept_bytes(), 0);
}
