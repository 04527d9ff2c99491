//! What is kept has limits, and a note says when one bites.

mod support;

use arrow_array::cast::AsArray;
use latpcap_core::capture::Source;
use latpcap_core::pipeline::{self, Limits, Options};
use latpcap_core::table::Tables;
use support::Sender::{Client, Server};
use support::*;

/// The capture, read with these limits.
fn read_within(limits: Limits, packets: &[Packet]) -> Tables {
    let options = Options { limits, ..Options::default() };
    pipeline::open_and_read(vec![Source::bytes("test", pcap(packets, 262_144))], &options).unwrap()
}

fn codes(tables: &Tables) -> Vec<String> {
    let notes = tables.notes().unwrap();
    notes["code"].as_string::<i32>().iter().flatten().map(str::to_owned).collect()
}

#[test]
fn connections_beyond_the_limit_are_left_out() {
    let mut wire = logged_in();
    wire.ask(&query("select 1"), &result(1, 10));
    let mut other = wire.packets.clone();
    other.iter_mut().for_each(|packet| with_client_port(packet, 50_000));
    wire.packets.extend(other);
    let tables = read_within(Limits { connections: 1, ..Limits::default() }, &wire.packets);
    assert_eq!(tables.connections.len(), 1);
    assert!(codes(&tables).contains(&"too-many-connections".to_owned()));
    assert_eq!(exchanges(tables).len(), 3);
}

/// Segments of the server, all of them behind one that was not captured.
fn behind_a_hole(segments: usize) -> Wire {
    let mut wire = logged_in();
    wire.send(Client, &query("select 1"));
    wire.send(Server, &result(segments, 1400));
    let hole = wire.packets.len() - segments;
    wire.packets.remove(hole);
    wire
}

#[test]
fn bytes_behind_holes_are_given_up_when_they_are_too_many() {
    let wire = behind_a_hole(20);
    let tables = read_within(Limits { waiting_bytes: 5_000, ..Limits::default() }, &wire.packets);
    assert!(codes(&tables).contains(&"too-many-waiting".to_owned()));
    assert!(!exchanges(tables).last().unwrap().complete);
    assert!(!codes(&read_within(Limits::default(), &wire.packets)).contains(&"too-many-waiting".to_owned()));
}

#[test]
fn unanswered_requests_are_given_up_when_they_are_too_many() {
    let mut wire = logged_in();
    for number in 0..50 {
        wire.send(Client, &query(&format!("insert {number}")));
    }
    wire.send(Server, &ok(1, 1));
    let tables = read_within(Limits { unanswered: 20, ..Limits::default() }, &wire.packets);
    assert!(codes(&tables).contains(&"too-many-unanswered".to_owned()));
    let seen: Vec<_> = exchanges(tables).into_iter().filter(|seen| seen.command == "query").collect();
    assert_eq!(seen.len(), 50);
    assert!(seen.iter().all(|seen| !seen.complete));
}

#[test]
fn distinct_errors_share_one_text_when_they_are_too_many() {
    let mut wire = logged_in();
    wire.rtt_ns = 1000;
    let mut answers = Vec::new();
    for number in 0..=100_000u32 {
        let [low, high] = (1000 + (number % 30_000) as u16).to_le_bytes();
        let state = format!("#4200{}no", number / 30_000);
        answers.push(mysql(1, &[&[0xff, low, high][..], state.as_bytes()].concat()));
    }
    // Long packets, so that the test is quick.
    wire.mss = 60_000;
    for some in answers.chunks(1000) {
        wire.send(Client, &query("select 1").repeat(some.len()));
        wire.now_ns += 1000;
        wire.send(Server, &some.concat());
    }
    let tables = wire.read();
    assert_eq!(codes(&tables), ["too-many-errors"]);
    let errors = tables.exchanges.into_batch().unwrap();
    let last = errors["error"].as_string::<i32>().iter().flatten().last().unwrap().to_owned();
    assert_eq!(last, "(too many distinct errors)");
}

#[test]
fn datagrams_in_pieces_are_given_up_when_they_are_too_many() {
    let mut wire = logged_in();
    for number in 0..1100u16 {
        let mut piece = wire.packets[0].clone();
        piece.bytes[4..6].copy_from_slice(&number.to_be_bytes());
        piece.bytes[6] = 0x20;
        wire.packets.push(piece);
    }
    assert!(codes(&wire.read()).contains(&"too-many-fragments".to_owned()));
}

fn with_client_port(packet: &mut Packet, port: u16) {
    let at = if packet.bytes[12..16] == [10, 0, 0, 1] { 20 } else { 22 };
    packet.bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
}
