//! What a Firebird client waits for, packet by packet: lazy requests and cut packets.

mod support;

use support::Sender::{Client, Server};
use support::*;

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn response(object: u32) -> Vec<u8> {
    words(&[9, object, 0, 0, 0, 1, 0, 0])
}

/// `connect`, accepted with protocol 15 and lazy sending, and `attach`.
fn attached() -> Wire {
    let mut wire = Wire::new();
    wire.handshake();
    wire.ask(&words(&[1, 19, 3, 1, 0, 1, 0, 0xffff_800f, 1, 0, 5, 2]), &words(&[94, 0x800f, 1, 5, 0, 0, 0, 0]));
    wire.ask(&words(&[19, 0, 0, 0]), &response(0));
    wire
}

fn told(wire: &Wire) -> Vec<(String, u32, Option<i64>)> {
    let seen = exchanges(wire.read()).into_iter().skip(2);
    seen.map(|seen| (seen.command, seen.round_trips, seen.waited_ns)).collect()
}

#[test]
fn a_request_behind_a_deferred_one_waits_itself() {
    let mut wire = attached();
    let acknowledged = wire.packets.last().unwrap().bytes[28..32].to_vec();
    wire.send(Client, &words(&[39, 3]));
    let acknowledged = [acknowledged, wire.packets.last().unwrap().bytes[28..32].to_vec()];
    wire.send(Server, &response(0));
    // Sent before the answer to close_blob had arrived.
    wire.send(Client, &words(&[30, 1]));
    let last = wire.packets.len() - 1;
    wire.packets[last].bytes[28..32].copy_from_slice(&acknowledged[1]);
    wire.now_ns += wire.rtt_ns;
    wire.send(Server, &response(0));
    let told = told(&wire);
    assert_eq!(told[0], ("close_blob".into(), 0, None));
    assert_eq!((told[1].0.as_str(), told[1].1), ("commit", 1));
}

#[test]
fn a_lazy_answer_kept_back_is_not_waited_for() {
    let mut wire = attached();
    wire.send(Client, &words(&[67, 2, 2]));
    wire.now_ns += 60_000_000_000;
    wire.send(Client, &words(&[30, 1]));
    wire.now_ns += wire.rtt_ns;
    wire.send(Server, &[response(0xffff), response(0)].concat());
    assert_eq!(told(&wire), [("free_statement".into(), 0, None), ("commit".into(), 1, Some(1_010_000))]);
}

#[test]
fn a_request_whose_end_was_cut_is_a_wait_even_behind_a_lazy_one() {
    let mut wire = attached();
    for _ in 0..3 {
        let prepare = [words(&[68, 1, 0xffff, 3, 400]), vec![b'x'; 400], words(&[0, 1024])].concat();
        wire.ask(&[words(&[62, 0]), prepare].concat(), &[response(2), response(4)].concat());
    }
    let tables = read_file(pcap(&wire.packets, 96));
    let round_trips: u32 = exchanges(tables).iter().map(|seen| seen.round_trips).sum();
    assert_eq!(round_trips, 2 + 3);
}
