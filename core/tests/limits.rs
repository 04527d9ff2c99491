//! What is kept has limits, and a note says when one bites.

mod support;

use arrow_array::cast::AsArray;
use latpcap_core::capture::Source;
use latpcap_core::pipeline::{self, Limits, Options};
use latpcap_core::recording::Tables;
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
    let tables = read_within(Limits { connections: 3_000, ..Limits::default() }, &wire.packets);
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
    let tables = read_within(Limits { buffers: 20_000, ..Limits::default() }, &wire.packets);
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
    let tables = read_within(Limits { requests: 10_000, ..Limits::default() }, &wire.packets);
    assert!(codes(&tables).contains(&"too-many-unanswered".to_owned()));
    let seen: Vec<_> = exchanges(tables).into_iter().filter(|seen| seen.command == "query").collect();
    assert_eq!(seen.len(), 50);
    assert!(seen.iter().all(|seen| !seen.complete));
}

#[test]
fn distinct_errors_share_one_text_when_they_are_too_many() {
    let mut wire = logged_in();
    for number in b'0'..=b'9' {
        wire.ask(&query("select 1"), &mysql(1, &[b"\xff\x28\x04#42", &[number; 3][..], b"no"].concat()));
    }
    let tables = read_within(Limits { errors: 500, ..Limits::default() }, &wire.packets);
    assert_eq!(codes(&tables), ["too-many-errors"]);
    let errors = tables.exchanges.batch().unwrap();
    let last = errors["error"].as_string::<i32>().iter().flatten().last().unwrap().to_owned();
    assert_eq!(last, "(too many distinct errors)");
}

#[test]
fn an_error_keeps_its_code_where_there_is_no_room_for_its_text() {
    let mut wire = logged_in();
    for number in 1..100 {
        let near = "near ".repeat(number);
        wire.ask(&query("select 1"), &mysql(1, &[b"\xff\x28\x04#42000", near.as_bytes()].concat()));
    }
    let tables = read_within(Limits { errors: 2_000, ..Limits::default() }, &wire.packets);
    let errors = tables.exchanges.batch().unwrap();
    let last = |name: &str| errors[name].as_string::<i32>().iter().flatten().last().unwrap().to_owned();
    assert_eq!((last("error").as_str(), last("error_code").as_str()), ("(too many distinct errors)", "1064 (42000)"));
}

#[test]
fn reading_ends_when_the_memory_is_full_of_exchanges() {
    let mut wire = logged_in();
    for number in 0..100 {
        wire.ask(&query(&format!("select {number}")), &result(1, 10));
    }
    let memory = Limits::default().files + Limits::default().fragments + 36_000;
    let tables = read_within(Limits { memory, ..Limits::default() }, &wire.packets);
    assert!(codes(&tables).contains(&"too-many-exchanges".to_owned()));
    let seen = exchanges(tables);
    assert!((20..90).contains(&seen.len()), "{}", seen.len());
    assert!(seen.iter().rev().skip(1).all(|seen| seen.complete));
}

#[test]
fn an_exchange_takes_less_than_a_hundred_bytes_with_its_rtt_samples() {
    const SAMPLE_BYTES: usize = 32;
    let mut wire = logged_in();
    // Whole chunks of rows: the newest one, less than a megabyte, is not packed yet.
    for number in 0..6 * 4096 {
        (wire.rtt_ns, wire.now_ns) = (1_000_000 + number * 7_919 % 500_000, wire.now_ns + number * 104_729 % 700_000);
        let rows = (number % 300) as usize;
        wire.ask(&query(&format!("select {number} from t where id = {}", number * 7)), &result(1, rows));
        wire.segment(Client, ACK, b"");
    }
    let tables = wire.read();
    let samples = tables.rtt_samples().unwrap().num_rows();
    let (count, bytes) = (tables.exchanges.len(), tables.exchanges.bytes() + samples * SAMPLE_BYTES);
    assert!(samples > count / 2, "{samples}");
    assert!(bytes < 100 * count, "{} bytes each", bytes / count);
}

#[test]
fn streams_that_are_not_recognised_give_up_when_they_are_too_many() {
    let mut wire = logged_in();
    for port in 50_000..50_020 {
        let mut foreign = Wire::new();
        foreign.handshake();
        foreign.send(Client, &[0; 2_000]);
        foreign.packets.iter_mut().for_each(|packet| with_client_port(packet, port));
        wire.packets.extend(foreign.packets);
    }
    wire.ask(&query("select 1"), &result(1, 10));
    let tables = read_within(Limits { buffers: 20_000, ..Limits::default() }, &wire.packets);
    assert!(codes(&tables).contains(&"too-many-unrecognised".to_owned()));
    assert!(exchanges(tables).iter().filter(|seen| seen.command == "query").all(|seen| seen.complete));
}

#[test]
fn messages_of_which_a_part_arrived_are_given_up_when_they_are_too_many() {
    let mut wire = logged_in();
    let half = query(&"x".repeat(30_000));
    wire.send(Client, &half[..20_000]);
    let tables = read_within(Limits { buffers: 10_000, ..Limits::default() }, &wire.packets);
    assert!(codes(&tables).contains(&"too-many-unfinished".to_owned()));
}

#[test]
fn rtt_samples_beyond_the_limit_are_left_out() {
    let mut wire = logged_in();
    for number in 0..20 {
        wire.ask(&query(&format!("select {number}")), &result(1, 10));
        wire.segment(Client, ACK, b"");
    }
    let all = wire.read().rtt_samples().unwrap().num_rows();
    let tables = read_within(Limits { samples: 160, ..Limits::default() }, &wire.packets);
    assert!(all > 4, "{all}");
    assert!(codes(&tables).contains(&"too-many-samples".to_owned()));
    assert!(tables.rtt_samples().unwrap().num_rows() <= 5);
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
