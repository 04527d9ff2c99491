//! A small dialogue, cut in every way, damaged, and begun in the middle.

use proptest::prelude::*;

use super::*;
use crate::conversation::{Common, Dialogue};
use crate::exchange::Exchange;
use crate::sql::Statements;
use crate::stream::{Chunk, Mark};
use Side::{Client, Server};

/// A packet in the large form, as most are.
fn packet(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = (8 + body.len() as u32).to_be_bytes().to_vec();
    packet.extend([kind, 0, 0, 0]);
    packet.extend(body);
    packet
}

fn data(flags: u16, message: &[u8]) -> Vec<u8> {
    packet(6, &[&flags.to_be_bytes(), message].concat())
}

fn small(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = (8 + body.len() as u16).to_be_bytes().to_vec();
    packet.extend([0, 0, kind, 0, 0, 0]);
    packet.extend(body);
    packet
}

fn connect() -> Vec<u8> {
    let text = b"(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=orders)(CID=(PROGRAM=app)(HOST=pc)(USER=ann))))";
    let mut body = b"\x01\x3e\x01\x2c\0\0\x20\0\xff\xff\x4f\x98\0\0\0\x01".to_vec();
    body.extend([0, text.len() as u8, 0, 34]);
    body.extend([0; 6]);
    body.extend(text);
    small(1, &body)
}

fn accept() -> Vec<u8> {
    let mut body = b"\x01\x3e\0\x01\x20\0\x20\0\x01\0\0\0\0\x2d\xc5\0".to_vec();
    body.extend([0; 8]);
    body.extend(b"\0\0\x20\0\0\0\x20\0\0\0\0\0\0");
    small(2, &body)
}

fn execute(sequence: u8, sql: &str) -> Vec<u8> {
    let mut message = vec![3, 0x5e, sequence, 2, 0x80, 0x61, 0, 1, 1, sql.len() as u8, 1, 1, 13, 0, 0, 0, 1, 2];
    message.extend(b"\x04\x7f\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0");
    message.push(sql.len() as u8);
    message.extend(sql.as_bytes());
    message.extend(b"\x01\x01\0\0\0\0\0\0\x01\x01\0\x02\x80\0\0\0\0");
    data(0, &message)
}

fn end_of_call(sequence: u8, rows: u8, error: u16, kind: u8, text: &str) -> Vec<u8> {
    let number = |number: u16| match number {
        0 => vec![0],
        number => [&[2][..], &number.to_be_bytes()].concat(),
    };
    let mut end = vec![4, 1, 1, 1, 7];
    end.extend(number(rows.into()));
    end.extend(number(error));
    end.extend([0, 0, 1, 5, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, sequence, 0, 0, 0, 0, 0, 0]);
    end.extend(number(error));
    end.extend(number(rows.into()));
    if error != 0 {
        end.push(text.len() as u8);
        end.extend(text.as_bytes());
    }
    end
}

fn rows(sequence: u8, total: u8, last: bool) -> Vec<u8> {
    let error = if last { 1403 } else { 0 };
    let end = end_of_call(sequence, total, error, 3, "ORA-01403: no data found\n");
    data(0, &[b"\x06\x22\x01\x01\0\x07\x04abcd\x07\x04\x04\x01\x01\x01", &end[..]].concat())
}

const BREAK: &[u8] = b"\x01\0\x01";
const RESET: &[u8] = b"\x01\0\x02";

/// Connect, a query of 5 rows in two calls, an error with its markers, a change, commit, goodbye.
fn dialogue() -> Vec<(Side, Vec<u8>)> {
    let missing = data(0, &end_of_call(4, 0, 942, 3, "ORA-00942: table or view does not exist\n"));
    vec![
        (Client, connect()),
        (Server, accept()),
        (Client, execute(2, "select a from t")),
        (Server, rows(2, 2, false)),
        (Client, data(0, b"\x03\x05\x03\x01\x05\x01\x64")),
        (Server, rows(3, 5, true)),
        (Client, execute(4, "select a from missing")),
        (Server, [packet(12, BREAK), packet(12, RESET)].concat()),
        (Client, packet(12, RESET)),
        (Server, missing),
        (Client, execute(5, "update t set a = 1")),
        (Server, data(0, &end_of_call(5, 9, 0, 6, ""))),
        (Client, data(0, b"\x03\x0e\x06")),
        (Server, data(0, b"\x09\x01\x01\x01\x0a")),
        (Client, data(0x40, b"")),
    ]
}

fn read_cut(parts: &[(Side, Vec<u8>)], mut sizes: impl Iterator<Item = usize>) -> Vec<Exchange> {
    let first = Opening { client: &[], server: &[], first: Client, from_start: true };
    let mut dialogue = Dialogue::new("oracle", decoder(&first), false);
    let mut common = Common::new(Statements::new(true));
    let mut exchanges = Vec::new();
    let mut sent = [crate::stream::START; 2];
    for (side, bytes) in parts {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(sizes.next().unwrap_or(rest.len()).clamp(1, rest.len()));
            let offset = sent[*side as usize];
            sent[*side as usize] += now.len() as u64;
            let acknowledged = sent[side.other() as usize];
            let mark = Mark { frame: 1, time_ns: 0 };
            dialogue.read(&Chunk { side: *side, mark, acknowledged, offset, lost: 0, bytes: now, cut: 0 }, &mut common);
            dialogue.pairing.take_finished(&mut exchanges);
            rest = later;
        }
    }
    dialogue.pairing.close();
    dialogue.pairing.take_finished(&mut exchanges);
    exchanges
}

fn read(parts: &[(Side, Vec<u8>)]) -> Vec<Exchange> {
    read_cut(parts, std::iter::empty())
}

type Told = (&'static str, u32, Option<u64>, Option<u64>, Option<String>, bool);

fn told(exchanges: &[Exchange]) -> Vec<Told> {
    let tell = |exchange: &Exchange| {
        let code = exchange.error.as_ref().map(|error| error.code.clone());
        (exchange.command, exchange.round_trips, exchange.rows, exchange.affected_rows, code, exchange.complete)
    };
    exchanges.iter().map(tell).collect()
}

#[test]
fn a_dialogue_is_told_call_by_call() {
    let expected: [Told; 7] = [
        ("connect", 1, None, None, None, true),
        ("execute", 1, Some(2), None, None, true),
        ("fetch", 1, Some(3), None, None, true),
        ("execute", 2, None, None, Some("ORA-00942".into()), true),
        ("execute", 1, None, Some(9), None, true),
        ("commit", 1, None, None, None, true),
        ("disconnect", 0, None, None, None, true),
    ];
    let exchanges = read(&dialogue());
    assert_eq!(told(&exchanges), expected);
    assert_eq!(exchanges[1].sql.map(|sql| sql.text), exchanges[2].sql.map(|sql| sql.text));
}

#[test]
fn an_unknown_call_keeps_the_turns() {
    let mut parts = dialogue();
    parts.insert(12, (Client, data(0, b"\x03\xf0\x06\x99\x98")));
    parts.insert(13, (Server, data(0, b"\x63 nobody knows how this ends")));
    let told = told(&read(&parts));
    assert_eq!(told[5], ("call", 1, None, None, None, true));
    assert_eq!(told[6].0, "commit");
}

#[test]
fn a_truncated_execution_has_no_statement_but_its_turn() {
    let mut parts = dialogue();
    let cut = data(0, &execute(5, "update t set a = 1")[10..40]);
    parts[10] = (Client, cut);
    let exchanges = read(&parts);
    assert_eq!((exchanges[4].round_trips, exchanges[4].affected_rows, exchanges[4].sql), (1, Some(9), None));
    assert_eq!(exchanges.iter().map(|exchange| exchange.round_trips).sum::<u32>(), 7);
}

#[test]
fn a_lying_length_is_survived_at_the_next_request() {
    let mut parts = dialogue();
    parts[3].1[3] -= 9;
    let exchanges = read(&parts);
    assert_eq!(exchanges.iter().map(|exchange| exchange.round_trips).sum::<u32>(), 7);
    assert_eq!(told(&exchanges)[4..], told(&read(&dialogue()))[4..]);
}

#[test]
fn a_statement_in_two_packets_is_one_request() {
    let mut message = execute(2, "select a from t")[10..].to_vec();
    let rest = message.split_off(55);
    let mut parts = dialogue();
    parts[2] = (Client, [data(0, &message), data(0, &rest)].concat());
    let exchanges = read(&parts);
    assert_eq!(told(&exchanges), told(&read(&dialogue())));
    assert!(exchanges[1].sql.is_some());
}

#[test]
fn an_encrypted_session_counts_turns() {
    let mut chosen = b"\xde\xad\xbe\xef\0\x22\x13\0\0\0\0\x01\0".to_vec();
    chosen.extend(b"\0\x02\0\x02\0\0\0\0\0\x04\0\x05\x13\0\0\0\0\x01\0\x02\x11");
    let secret = |byte: u8| data(0, &[byte; 40]);
    let mut parts = dialogue()[..2].to_vec();
    parts.push((Client, data(0, b"\xde\xad\xbe\xef\0\x0d\x13\0\0\0\0\0\0")));
    parts.push((Server, data(0, &chosen)));
    for byte in 0..5 {
        parts.push((Client, secret(byte)));
        parts.push((Server, secret(byte)));
    }
    let told = told(&read(&parts));
    assert_eq!(told.iter().map(|told| told.1).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 1, 1]);
    let commands: Vec<_> = told[2..].iter().map(|told| told.0).collect();
    assert_eq!(commands, ["protocol", "data_types", "authenticate", "authenticate", "unreadable"]);
}

#[test]
fn a_response_packet_longer_than_is_kept_ends_with_its_rows() {
    let mut parts = dialogue();
    let end = end_of_call(2, 2, 0, 3, "");
    parts[3].1 = data(0, &[&[7; 300_000][..], &end].concat());
    assert_eq!(told(&read(&parts)), told(&read(&dialogue())));
}

#[test]
fn requests_of_a_pipeline_share_one_round_trip() {
    let mut parts = dialogue()[..2].to_vec();
    let mut first = execute(2, "insert into t values (1)");
    first[8] = 0x18;
    let mut second = execute(3, "insert into t values (2)");
    second[8] = 0x08;
    parts.push((Client, first));
    // The first answer is there before the next request is sent: it is not read yet.
    parts.push((Server, data(0x2000, &[&end_of_call(2, 1, 0, 2, "")[..], b"\x1d"].concat())));
    parts.push((Client, second));
    parts.push((Client, data(0, b"\x03\xc8\x04\0\0")));
    parts.push((Server, data(0x2000, &[&end_of_call(3, 1, 0, 2, "")[..], b"\x1d"].concat())));
    parts.push((Server, data(0x2000, b"\x09\x01\x01\x01\x0b\x1d")));
    parts.push((Client, data(0, b"\x03\x0e\x05\0")));
    parts.push((Server, data(0x2000, b"\x09\x01\x01\x01\x0c\x1d")));
    let told = told(&read(&parts));
    assert_eq!(
        told.iter().map(|told| (told.0, told.1, told.3)).collect::<Vec<_>>(),
        [
            ("connect", 1, None),
            ("execute", 1, Some(1)),
            ("execute", 0, Some(1)),
            ("pipeline_end", 0, None),
            ("commit", 1, None),
        ]
    );
}

proptest! {
    #[test]
    fn any_cut_tells_the_same(sizes in prop::collection::vec(1usize..40, 1..400)) {
        prop_assert_eq!(read_cut(&dialogue(), sizes.into_iter().cycle()), read(&dialogue()));
    }

    #[test]
    fn random_bytes_behind_any_beginning_never_panic(
        parts in 0usize..15,
        noise in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 1..300)), 1..20),
    ) {
        let mut dialogue = dialogue();
        dialogue.truncate(parts);
        dialogue.extend(noise.into_iter().map(|(client, bytes)| (if client { Client } else { Server }, bytes)));
        read(&dialogue);
    }

    #[test]
    fn damaged_messages_never_panic(flips in prop::collection::vec((0usize..15, any::<usize>(), any::<u8>()), 1..20)) {
        let mut dialogue = dialogue();
        for (part, at, value) in flips {
            let length = dialogue[part].1.len();
            dialogue[part].1[at % length] = value;
        }
        read(&dialogue);
    }

    #[test]
    fn random_messages_in_whole_packets_never_panic(
        messages in prop::collection::vec((any::<bool>(), any::<u16>(), prop::collection::vec(any::<u8>(), 0..400)), 1..20),
    ) {
        let parts: Vec<_> = messages
            .into_iter()
            .map(|(client, flags, message)| (if client { Client } else { Server }, data(flags, &message)))
            .collect();
        read(&parts);
    }

    #[test]
    fn random_bytes_are_not_claimed(bytes in prop::collection::vec(any::<u8>(), 8..200)) {
        let opening = Opening { client: &bytes, server: &[], first: Client, from_start: false };
        prop_assert_ne!((PROTOCOL.recognise)(&opening), crate::protocols::Verdict::Certain);
    }
}

// --- floods -----------------------------------------------------------------------------------------------------------

/// The bytes of which ends of calls, lists, texts in chunks and piggybacks are made.
fn crumbs() -> Vec<Vec<u8>> {
    let mut list = vec![4; 22];
    list[1..20].fill(0);
    list[20] = 2;
    let crumbs: [&[u8]; 9] = [
        &[4, 0],
        &[4, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0x7f, 0x7f, 0],
        &list,
        &[0xfe],
        &[0xfe, 1, b's'],
        &[1, 1, b's'],
        b"\na",
        &[0x11, 0x69, 0, 1, 2, 0x7f, 0x7f],
        &[4, 0, 0, 0, 0, 0, 0, 0],
    ];
    crumbs.map(<[u8]>::to_vec).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// [`Dialogue`] holds its reads against the bytes.
    #[test]
    fn nothing_that_looks_like_many_beginnings_costs_more_than_its_bytes(
        crumb in 0..crumbs().len(),
        first in prop_oneof![Just(4u8), Just(8), Just(11), Just(6)],
        size in prop_oneof![Just(40usize), Just(500), Just(60_000)],
        text_length in prop_oneof![Just(18usize), Just(200), Just(30_000)],
    ) {
        let repeated = crumbs()[crumb].repeat(60_000 / crumbs()[crumb].len());
        let response: Vec<u8> = repeated.chunks(size).take(400).flat_map(|part| data(0, &[&[first], part].concat())).collect();
        read_cut(&[(Client, execute(2, "select a from t")), (Server, response)], std::iter::empty());
        let called = execute(2, &"s".repeat(18));
        let length = [&[2][..], &(text_length as u16).to_be_bytes()].concat();
        let called = [&called[10..18], &length[..], &called[20..57]].concat();
        let request: Vec<u8> = [called, repeated].concat().chunks(size).take(400).flat_map(|part| data(0, part)).collect();
        read_cut(&[(Client, request)], std::iter::empty());
    }
}
