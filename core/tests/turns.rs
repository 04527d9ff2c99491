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

/// The exchanges of what is forced to be read as MySQL: command and round trips.
fn forced(wire: &Wire) -> Vec<(String, u32)> {
    let protocol = latpcap_core::protocols::protocol_named("mysql").unwrap();
    let options = Options { decode_as: [(3306, Forced::Protocol(protocol))].into(), ..Options::default() };
    let source = Source::bytes("test", pcap(&wire.packets, 262_144));
    let seen = exchanges(pipeline::open_and_read(vec![source], &options).unwrap());
    seen.into_iter().map(|seen| (seen.command, seen.round_trips)).collect()
}

/// A TLS record of this type.
fn record(content_type: u8, length: usize) -> Vec<u8> {
    let [high, low] = (length as u16).to_be_bytes();
    [&[content_type, 3, 3, high, low][..], &vec![7; length]].concat()
}

#[test]
fn a_forced_protocol_may_speak_tls_from_its_first_byte() {
    let mut wire = connected();
    wire.ask(&record(22, 300), &record(22, 2_000));
    let keys = [record(22, 70), record(20, 1), record(22, 40)].concat();
    wire.ask(&keys, &[record(20, 1), record(22, 40)].concat());
    wire.ask(&record(23, 200), &record(23, 40)).ask(&record(23, 50), &record(23, 90));
    let told = forced(&wire);
    let told: Vec<_> = told.iter().map(|(command, round_trips)| (command.as_str(), *round_trips)).collect();
    assert_eq!(told, [("tls", 2), ("authenticate", 1), ("unreadable", 1)]);
}

#[test]
fn a_forced_protocol_may_speak_tls_since_before_the_capture_began() {
    let mut wire = Wire::new();
    wire.ask(&record(23, 50), &record(23, 90)).ask(&record(23, 50), &record(23, 90));
    assert_eq!(forced(&wire), [("unreadable".to_owned(), 1), ("unreadable".to_owned(), 1)]);
}

#[test]
fn records_count_however_they_are_cut_into_packets() {
    let told = |piece: usize| {
        let mut wire = connected();
        let keys = [record(22, 70), record(20, 1), record(22, 40)].concat();
        let end = [record(20, 1), record(22, 40)].concat();
        let turns = [
            (record(22, 300), record(22, 2_000)),
            (keys, end),
            (record(23, 200), record(23, 40)),
            ([record(23, 20), record(23, 3_000)].concat(), [record(23, 90), record(23, 16_400)].concat()),
            (record(23, 50), record(23, 90)),
        ];
        for (request, answer) in turns {
            for part in request.chunks(piece) {
                wire.send(Client, part);
            }
            wire.now_ns += 1_000_000;
            for part in answer.chunks(piece) {
                wire.send(Server, part);
            }
        }
        forced(&wire)
    };
    let whole = told(usize::MAX);
    assert_eq!(whole.iter().map(|(_, round_trips)| *round_trips).collect::<Vec<_>>(), [2, 1, 1, 1]);
    for piece in [1, 4, 7, 100, 1_448] {
        assert_eq!(told(piece), whole, "pieces of {piece}");
    }
}

#[test]
fn what_a_client_sends_before_its_good_bye_was_no_request() {
    let mut wire = connected();
    wire.ask(&record(22, 300), &record(22, 2_000));
    let keys = [record(22, 70), record(20, 1), record(22, 40)].concat();
    wire.ask(&keys, &[record(20, 1), record(22, 40)].concat());
    wire.ask(&record(23, 200), &record(23, 40));
    wire.send(Client, &record(23, 29)).send(Server, &record(21, 26)).send(Client, &record(21, 26));
    let protocol = latpcap_core::protocols::protocol_named("mysql").unwrap();
    let options = Options { decode_as: [(3306, Forced::Protocol(protocol))].into(), ..Options::default() };
    let source = Source::bytes("test", pcap(&wire.packets, 262_144));
    let seen = exchanges(pipeline::open_and_read(vec![source], &options).unwrap());
    let last = seen.last().unwrap();
    assert_eq!((last.round_trips, last.complete), (0, true));
}
