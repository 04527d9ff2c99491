use proptest::prelude::*;

use super::super::compression::tests::{stored, zlib_packet};
use super::*;

const GREETING: &[u8] =
    b"\x34\0\0\0\x0a8.0.33\0\x07\0\0\0abcdefgh\0\xff\xff\x2d\x02\0\xff\xc1\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0";
const PING: &[u8] = b"\x01\0\0\0\x0e";
const OK_1: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";

fn opening<'a>(client: &'a [u8], server: &'a [u8], first: Side, from_start: bool) -> Opening<'a> {
    Opening { client, server, first, from_start }
}

fn of_server(server: &[u8]) -> Verdict {
    look(&opening(b"", server, Side::Server, true)).0
}

fn of_middle(client: &[u8], server: &[u8]) -> (Verdict, Beginning) {
    look(&opening(client, server, Side::Client, false))
}

fn query(sql: &[u8]) -> Vec<u8> {
    [&[sql.len() as u8 + 1, 0, 0, 0, 3], sql].concat()
}

#[test]
fn a_greeting_is_certain_once_it_is_whole() {
    assert_eq!(of_server(GREETING), Verdict::Certain);
    for length in 0..GREETING.len() {
        assert_eq!(of_server(&GREETING[..length]), Verdict::Unsure);
    }
    assert_eq!(look(&opening(b"", GREETING, Side::Server, false)), (Verdict::Certain, Beginning::Greeting));
}

#[test]
fn a_version_of_control_characters_needs_the_reserved_zeros() {
    let mut greeting = GREETING.to_vec();
    greeting[5..8].copy_from_slice(b"\x1b[2");
    assert_eq!(of_server(&greeting), Verdict::Certain);
    greeting[35] = 1;
    assert_eq!(of_server(&greeting), Verdict::NotThis);
}

#[test]
fn a_greeting_of_protocol_9_is_certain() {
    assert_eq!(of_server(b"\x16\0\0\0\x093.20.32\0\x07\0\0\0abcdefgh\0"), Verdict::Certain);
}

#[test]
fn an_error_in_place_of_the_greeting_is_certain() {
    assert_eq!(of_server(b"\x17\0\0\0\xff\x10\x04Too many connections"), Verdict::Certain);
    assert_eq!(of_server(b"\x17\0\0\0\xff\x69\x04Host 'x' is blocked!"), Verdict::Certain);
    assert_eq!(of_server(b"\x17\0\0\0\xff\x10\0Too many connections"), Verdict::NotThis);
}

#[test]
fn other_servers_that_speak_first_are_not_taken_for_mysql() {
    let x_protocol = b"\x05\0\0\0\x0b\x08\x05\x1a\0";
    for server in [&b"220 mail ESMTP\r\n"[..], b"SSH-2.0-OpenSSH_9.2\r\n", b"+OK POP3 ready\r\n", x_protocol] {
        assert_eq!(of_server(server), Verdict::NotThis);
    }
}

#[test]
fn a_command_and_its_answer_are_certain() {
    let result = b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\x81\0\0\0\0";
    assert_eq!(of_middle(PING, OK_1), (Verdict::Certain, Beginning::Commands));
    assert_eq!(of_middle(&query(b"select a"), result).0, Verdict::Certain);
    assert_eq!(of_middle(&query(b"(select a)"), b"\x0a\0\0\x01\xff\x28\x04#42000x").0, Verdict::Certain);
    assert_eq!(of_middle(b"\x09\0\0\0\x1c\x01\0\0\0\x0a\0\0\0", b"\x03\0\0\x01\0\0\x01").0, Verdict::Certain);
    let execute = b"\x0a\0\0\0\x17\x01\0\0\0\0\x01\0\0\0";
    assert_eq!(of_middle(execute, result).0, Verdict::Certain);
    assert_eq!(of_middle(&[b"\x05\0\0\0\x19\x01\0\0\0", PING].concat(), OK_1).0, Verdict::Certain);
}

#[test]
fn without_an_answer_only_whole_sql_is_certain() {
    assert_eq!(of_middle(&query(b"select a"), b"").0, Verdict::Certain);
    assert_eq!(of_middle(&query(b"SET NAMES utf8mb4"), b"").0, Verdict::Certain);
    assert_eq!(of_middle(&query(b"\0\x01insert into t"), b"").0, Verdict::Certain);
    assert_eq!(of_middle(&query(b"select a")[..10], b"").0, Verdict::Unsure);
    assert_eq!(of_middle(&query(b"hello"), b"").0, Verdict::Unsure);
    assert_eq!(of_middle(PING, b"").0, Verdict::Unsure);
    assert_eq!(of_middle(b"\x01\0\0\0\x01", b"").0, Verdict::Unsure);
}

#[test]
fn an_answer_that_does_not_fit_decides_against_it() {
    assert_eq!(of_middle(PING, b"\x07\0\0\x02\0\0\0\x02\0\0\0").0, Verdict::NotThis);
    assert_eq!(of_middle(PING, b"\x07\0\0\x01\x05hello!").0, Verdict::NotThis);
    assert_eq!(of_middle(&query(b"select a"), b"HTTP/1.1 400 Bad Request\r\n").0, Verdict::NotThis);
    assert_eq!(of_middle(b"\x01\0\0\0\x01", OK_1).0, Verdict::NotThis);
}

#[test]
fn a_result_set_in_progress_is_not_enough() {
    let definition = b"\x17\0\0\x02\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\x81\0\0\0\0";
    assert_eq!(look(&opening(b"", definition, Side::Server, false)).0, Verdict::NotThis);
}

#[test]
fn a_binary_log_is_certain_from_its_first_whole_event_on() {
    for semi_sync in [false, true] {
        let events = [binlog::event(7, 30, &[9; 40], semi_sync), binlog::event(8, 162, &[0; 5], semi_sync)].concat();
        for begin in 0..50 {
            let verdict = look(&opening(b"", &events[begin..], Side::Server, false));
            assert_eq!(verdict, (Verdict::Certain, Beginning::Binlog), "{begin}");
        }
        assert_eq!(of_server(&events), Verdict::NotThis);
    }
}

#[test]
fn a_header_written_on_its_own_begins_a_command() {
    assert!(begins_command(&PING[..4]) && begins_command(PING));
    assert!(!begins_command(&OK_1[..4]) && !begins_command(b"\0\0\0\0") && !begins_command(b"abc"));
}

#[test]
fn a_login_without_its_greeting_is_certain() {
    let login = [b"\x24\0\0\x01\x05\xa6\x0f\0\0\0\0\x01\x2d", &[0; 23][..], b"bob\0"].concat();
    assert_eq!(of_middle(&login, b""), (Verdict::Certain, Beginning::Login));
    assert_eq!(of_middle(&login[..30], b""), (Verdict::Unsure, Beginning::Login));
}

#[test]
fn compressed_packets_are_certain_by_what_they_hold() {
    let select = query(b"select a from t where a in (1, 1, 1, 1, 1, 1)");
    for client in [stored(0, PING), zlib_packet(0, PING)] {
        let verdict = of_middle(&client, &stored(1, OK_1));
        assert_eq!(verdict, (Verdict::Certain, Beginning::Compressed));
    }
    assert_eq!(of_middle(&zlib_packet(0, &select), b""), (Verdict::Certain, Beginning::Compressed));
    assert_eq!(of_middle(&zlib_packet(0, &select)[..20], b""), (Verdict::Unsure, Beginning::Compressed));
    assert_eq!(of_middle(&stored(0, b"nothing of MySQL"), b"").0, Verdict::NotThis);
}

/// First words of clients that speak something else.
fn foreign() -> Vec<&'static [u8]> {
    vec![
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /select HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        // PostgreSQL: startup, SSL request, query, parse and bind.
        b"\0\0\0\x29\0\x03\0\0user\0postgres\0database\0shop\0\0",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"Q\0\0\0\x0dselect 1\0",
        b"Q\0\0\0\x16select 1 from tab\0",
        b"P\0\0\0\x16\0select $1::int8\0\0\0B\0\0\0\x0e\0\0\0\0\0\0\0\0\0\x01\0\x01E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04",
        // TNS: connect and data.
        b"\0\x3a\0\0\x01\0\0\0\x01\x38\x01\x2c\0\0\x08\0\x7f\xff\x86\x0e\0\0\x01\0",
        b"\0\0\0\x1c\x06\0\0\0\0\0\x03\x5e\x08\x02\x80\x21\0\x01\x02\x01\x0e\x01\x01\x01\x0d\0\0\0",
        b"\x01\x1c\0\0\x06\0\0\0\0\0\x03\x5e\x08\x02\x80\x21\0\x01",
        // Firebird: connect, attach, prepare.
        b"\0\0\0\x01\0\0\0\x13\0\0\0\x03\0\0\0\x24\0\0\0\x0b/data/x.fdb\0",
        b"\0\0\0\x44\0\0\0\x01\0\0\0\x02\0\0\0\x03",
        // TLS: ClientHello and data.
        b"\x16\x03\x01\0\xfa\x01\0\0\xf6\x03\x03abcdefghijklmnopqrstuvwxyz012345",
        b"\x17\x03\x03\0\x18abcdefghijklmnopqrstuvwx",
        b"\x17\x03\x03\0\x16abcdefghijklmnopqrstuv",
        b"*1\r\n$4\r\nPING\r\n",
        b"SELECT 1\r\n",
        // MongoDB.
        b"\x30\0\0\0\x03\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\x1b\0\0\0\x01hello\0\0\0\0\0\0\0\xf0\x3f\0",
        // MySQL's own X protocol.
        b"\x01\0\0\0\x01",
        b"\x0b\0\0\0\x0c\x12\x06\x0a\x08select 1",
    ]
}

#[test]
fn other_protocols_are_not_taken_for_mysql() {
    for client in foreign() {
        assert_eq!(look(&opening(client, b"", Side::Client, true)).0, Verdict::NotThis, "{client:?}");
        assert_ne!(of_middle(client, b"").0, Verdict::Certain, "{client:?}");
        for server in foreign() {
            assert_ne!(of_middle(client, server).0, Verdict::Certain, "{client:?} {server:?}");
        }
    }
}

#[test]
fn answers_of_other_protocols_do_not_make_them_mysql() {
    let answers = [
        &b"HTTP/1.1 200 OK\r\n\r\n"[..],
        b"S",
        b"1\0\0\0\x042\0\0\0\x04D\0\0\0\x0b\0\x01\0\0\0\x011",
        b"T\0\0\x01\x18\0\x01?column?\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0",
        b"\0\x20\0\0\x02\0\0\0\x01\x39\0\0\x20\0\x7f\xff\x01\0\0\0\0\x20\x61\0\0\0\0\0\0\0\0\0",
        b"\0\0\0\x09\0\0\0\0\0\0\0\0",
        b"+PONG\r\n",
        b"\x05\0\0\0\x0b\x08\x05\x1a\0",
    ];
    for client in foreign() {
        for server in answers {
            assert_ne!(of_middle(client, server).0, Verdict::Certain, "{client:?} {server:?}");
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_are_not_taken_for_mysql(
        client in prop::collection::vec(any::<u8>(), 0..200),
        server in prop::collection::vec(any::<u8>(), 0..200),
        first_is_client in any::<bool>(),
        from_start in any::<bool>(),
    ) {
        let first = if first_is_client { Side::Client } else { Side::Server };
        prop_assert_ne!(look(&opening(&client, &server, first, from_start)).0, Verdict::Certain);
        begins_command(&client);
    }

    #[test]
    fn nothing_that_resembles_a_packet_panics(payload in prop::collection::vec(any::<u8>(), 1..60), code in 0u8..0x21) {
        let packet = [&[payload.len() as u8, 0, 0, 0, code], &payload[1..]].concat();
        of_middle(&packet, &[&[payload.len() as u8, 0, 0, 1], &payload[..]].concat());
        of_server(&packet);
    }
}
