//! Streams that cannot be read: which turns has the client waited for?

mod support;

use latpcap_core::capture::Source;
use latpcap_core::conversation::Forced;
use latpcap_core::pipeline::{self, Options};
use support::Sender::{Client, Server};
use support::*;

/// Round trips of each exchange; `None` where there was no answer.
fn turns(wire: &Wire) -> Vec<(u32, bool)> {
    seen(wire, 262_144).iter().map(|seen| (seen.round_trips, seen.frames[2].is_some())).collect()
}

/// The exchanges of an opaque stream, each packet cut at `snap` bytes.
fn seen(wire: &Wire, snap: usize) -> Vec<Seen> {
    let decode_as = [(3306, Forced::Opaque("opaque"))].into();
    let options = Options { decode_as, ..Options::default() };
    let source = Source::bytes("test", pcap(&wire.packets, snap));
    exchanges(pipeline::open_and_read(vec![source], &options).unwrap())
}

fn connected() -> Wire {
    let mut wire = Wire::new();
    wire.handshake();
    wire
}

/// What one side sends, having received what the other sent but for its last `missing` bytes.
fn send_without(wire: &mut Wire, from: support::Sender, payload: &[u8], missing: u32) {
    wire.send(from, payload);
    let field = &mut wire.packets.last_mut().unwrap().bytes[28..32];
    let acknowledged = u32::from_be_bytes(field.try_into().unwrap()).wrapping_sub(missing);
    field.copy_from_slice(&acknowledged.to_be_bytes());
}

#[test]
fn whoever_speaks_after_the_other_has_waited_once() {
    let mut wire = connected();
    wire.ask(&[1; 300], &[2; 5_000]).ask(&[1; 3_000], &[2; 10]).ask(&[1; 9], &[2; 10]);
    assert_eq!(turns(&wire), [(1, true), (1, true), (1, true)]);
}

#[test]
fn a_server_that_speaks_first_greets() {
    let mut wire = connected();
    wire.send(Server, &[2; 80]).ask(&[1; 300], &[2; 500]);
    assert_eq!(turns(&wire), [(0, true), (1, true)]);
}

#[test]
fn a_request_of_a_client_that_has_not_the_whole_answer_shares_the_wait() {
    let mut wire = connected();
    wire.ask(&[1; 300], &[2; 500]);
    send_without(&mut wire, Client, &[1; 300], 500);
    wire.now_ns += 1_000_000;
    wire.send(Server, &[2; 500]).ask(&[1; 300], &[2; 500]);
    assert_eq!(turns(&wire), [(1, true), (0, true), (1, true)]);
}

#[test]
fn a_request_that_a_server_had_not_when_it_went_on_with_its_answer_shares_the_wait() {
    let mut wire = connected();
    wire.ask(&[1; 300], &[2; 500]).send(Client, &[1; 300]);
    send_without(&mut wire, Server, &[2; 500], 300);
    wire.now_ns += 1_000_000;
    wire.send(Server, &[2; 500]).ask(&[1; 300], &[2; 500]);
    assert_eq!(turns(&wire), [(1, true), (0, true), (1, true)]);
}

#[test]
fn an_answer_to_half_a_turn_shows_that_it_was_several_requests() {
    let mut wire = connected();
    wire.send(Client, &[1; 1_000]).send(Client, &[1; 400]);
    send_without(&mut wire, Server, &[2; 500], 400);
    wire.send(Client, &[1; 1_000]);
    wire.now_ns += 1_000_000;
    wire.send(Server, &[2; 500]).ask(&[1; 300], &[2; 500]);
    assert_eq!(turns(&wire), [(1, true), (0, true), (1, true)]);
}

#[test]
fn what_a_client_says_while_it_receives_and_gets_no_answer_to_is_no_request() {
    let mut wire = connected();
    wire.ask(&[1; 300], &[2; 5_000]).send(Client, &[1; 36]);
    send_without(&mut wire, Server, &[2; 1_000], 36);
    wire.ask(&[1; 300], &[2; 500]);
    assert_eq!(turns(&wire), [(1, true), (0, false), (1, true)]);
}

#[test]
fn where_nothing_can_be_read_a_snap_length_takes_nothing() {
    let mut wire = connected();
    wire.ask(&[1; 300], &[2; 5_000]).ask(&[1; 3_000], &[2; 10]).ask(&[1; 9], &[2; 700]);
    let (whole, cut) = (seen(&wire, 262_144), seen(&wire, 60));
    assert!(cut.iter().all(|seen| seen.complete));
    assert_eq!(cut, whole);
}
