//! Sessions of OCI clients (SQL*Plus, Toad, ODBC), written by hand as the servers of each version have them.

use proptest::prelude::*;

use super::calls::{EXECUTE, EXECUTE_V7, PARSE};
use super::encodings::Order;
use super::end_of_call::wide::Layout;
use super::end_of_call::wide::tests::{
    NO_MORE_ROWS, ORACLE_9I, ORACLE_10G, ORACLE_10G_32_BIT, ORACLE_10G_BIG_ENDIAN, ORACLE_11G_32_BIT, Written,
};
use super::*;
use crate::conversation::{Common, Dialogue};
use crate::exchange::Exchange;
use crate::session::Session;
use crate::sql::Statements;
use crate::stream::{Chunk, Mark, START};
use Side::{Client, Server};

const QUERY: &str = "select owner, name from stock";

/// How a client of some version writes.
#[derive(Clone, Copy)]
struct Version {
    layout: Layout,
    order: Order,
    pointer: &'static [u8],
    further_numbers: u32,
    /// 64-bit clients leave out four bytes before a list of cursors.
    gap: usize,
}

const VERSIONS: [Version; 5] = [
    Version { layout: ORACLE_9I, order: Order::Little, pointer: b"\xc0\xcc\xfc\0", further_numbers: 12, gap: 0 },
    Version {
        layout: ORACLE_10G_32_BIT,
        order: Order::Little,
        pointer: b"\x10\xeb\x1a\0",
        further_numbers: 13,
        gap: 0,
    },
    Version {
        layout: ORACLE_10G,
        order: Order::Little,
        pointer: b"\xfe\xff\xff\xff\xff\xff\xff\xff",
        further_numbers: 13,
        gap: 4,
    },
    Version { layout: ORACLE_11G_32_BIT, order: Order::Little, pointer: b"\x01", further_numbers: 13, gap: 0 },
    Version {
        layout: ORACLE_10G_BIG_ENDIAN,
        order: Order::Big,
        pointer: b"\x60\0\0\0\x04\x96\xf2\xb0",
        further_numbers: 13,
        gap: 4,
    },
];

type Parts = Vec<(Side, Vec<u8>)>;

impl Version {
    fn numbers(&self, numbers: &[u32]) -> Vec<u8> {
        let write = |&number: &u32| match self.order {
            Order::Little => number.to_le_bytes(),
            Order::Big => number.to_be_bytes(),
        };
        numbers.iter().flat_map(write).collect()
    }

    fn execute(&self, sequence: u8, sql: &str) -> Vec<u8> {
        let mut call = vec![3, EXECUTE, sequence];
        call.extend(self.numbers(&[0x8061, 0]));
        call.extend(self.pointer);
        call.extend(self.numbers(&[3 * sql.len() as u32]));
        call.extend(self.pointer);
        call.extend(self.numbers(&[self.further_numbers]));
        call.extend(vec![0; self.pointer.len()]);
        call.extend(self.pointer);
        call.extend(self.numbers(&[0, 1, 0]));
        call.extend(vec![0; self.pointer.len()]);
        call.extend([0; 60]);
        call.push(sql.len() as u8);
        call.extend(sql.as_bytes());
        call.extend(self.numbers(&[1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]));
        data(&call)
    }

    fn fetch(&self, sequence: u8, rows: u32) -> Vec<u8> {
        data(&[&[3, 5, sequence][..], &self.numbers(&[3, rows])].concat())
    }

    fn close(&self, sequence: u8) -> Vec<u8> {
        let mut call = vec![0x11, 0x69, sequence];
        call.extend(self.pointer);
        call.extend(self.numbers(&[1]));
        call.extend(vec![0; self.gap]);
        call.extend(self.numbers(&[3]));
        call
    }

    fn answer(&self, sequence: u8, rows: u32, is_last: bool) -> Vec<u8> {
        let end = Written {
            layout: self.layout,
            rows,
            error: if is_last { 1403 } else { 0 },
            cursor: 3,
            sql_type: 3,
            call_number: sequence,
            message: NO_MORE_ROWS,
        };
        let row = b"\x07\x03SYS\x04ICOL";
        data(&[b"\x06\x02\x01\0\0\0\0\0\x0f", &row.repeat(15)[..], &end.bytes()].concat())
    }

    /// A query of 33 rows: one with the execution, 15 with each full fetch.
    fn query(&self) -> Parts {
        vec![
            (Client, self.execute(2, QUERY)),
            (Server, self.answer(2, 1, false)),
            (Client, self.fetch(3, 15)),
            (Server, self.answer(3, 16, false)),
            (Client, self.fetch(4, 15)),
            (Server, self.answer(4, 31, false)),
            (Client, self.fetch(5, 15)),
            (Server, self.answer(5, 33, true)),
        ]
    }
}

fn data(message: &[u8]) -> Vec<u8> {
    let mut packet = (10 + message.len() as u16).to_be_bytes().to_vec();
    packet.extend([0, 0, 6, 0, 0, 0, 0, 0]);
    packet.extend(message);
    packet
}

struct Read {
    exchanges: Vec<Exchange>,
    session: Session,
    statements: Statements,
}

impl Read {
    fn rows(&self) -> Vec<Option<u64>> {
        self.exchanges.iter().map(|exchange| exchange.rows).collect()
    }

    fn text(&self, exchange: &Exchange) -> Option<&str> {
        exchange.sql.map(|sql| self.statements.text(sql.text))
    }

    /// The statement of the exchange that began with this packet.
    fn text_at(&self, frame: Option<u64>) -> Option<&str> {
        let is_there = |exchange: &&Exchange| exchange.request.map(|request| request.first.frame) == frame;
        self.exchanges.iter().find(is_there).and_then(|exchange| self.text(exchange))
    }
}

/// Reads all parts but the one that was `lost`.
fn read_without(lost: Option<usize>, parts: &[(Side, Vec<u8>)]) -> Read {
    let opening = Opening { client: &[], server: &[], first: Client, from_start: true };
    let mut dialogue = Dialogue::new("oracle", decoder(&opening), false);
    let mut common = Common::new(Statements::new(true));
    let mut sent = [START; 2];
    let mut missing = [0; 2];
    for (at, (side, bytes)) in parts.iter().enumerate() {
        let offset = sent[*side as usize];
        sent[*side as usize] += bytes.len() as u64;
        if lost == Some(at) {
            missing[*side as usize] = bytes.len() as u64;
            continue;
        }
        let lost = std::mem::take(&mut missing[*side as usize]);
        let mark = Mark { frame: 1 + at as u64, time_ns: 0 };
        let acknowledged = sent[side.other() as usize];
        dialogue.read(&Chunk { side: *side, mark, acknowledged, offset, lost, bytes, cut: 0 }, &mut common);
    }
    dialogue.pairing.close();
    let mut exchanges = Vec::new();
    dialogue.pairing.take_finished(&mut exchanges);
    Read { exchanges, session: dialogue.session, statements: common.statements }
}

fn read(parts: &[(Side, Vec<u8>)]) -> Read {
    read_without(None, parts)
}

#[test]
fn every_version_counts_its_rows_and_names_its_statement() {
    for version in VERSIONS {
        let read = read(&version.query());
        assert_eq!(read.rows(), [Some(1), Some(15), Some(15), Some(2)]);
        for exchange in &read.exchanges {
            assert_eq!(read.text(exchange), Some(QUERY));
            assert!(exchange.request_bytes > 0);
        }
        assert!(!read.session.implausible_rows);
    }
}

#[test]
fn an_answer_in_another_layout_leaves_its_rows_unknown() {
    let [_, _, ours, other, _] = VERSIONS;
    let mut parts = ours.query();
    parts[5] = (Server, other.answer(4, 31, false));
    assert_eq!(read(&parts).rows(), [Some(1), Some(15), None, None]);
}

#[test]
fn rows_that_were_not_asked_for_are_left_out_with_a_note() {
    let [.., version, _] = VERSIONS;
    let mut parts = version.query();
    parts[3] = (Server, version.answer(3, 983_041, false));
    let read = read(&parts);
    assert_eq!(read.rows(), [Some(1), None, Some(15), Some(2)]);
    assert!(read.session.implausible_rows);
}

#[test]
fn a_9i_client_parses_executes_and_fetches_with_calls_of_their_own() {
    let [version, ..] = VERSIONS;
    let text = "SELECT USER FROM DUAL";
    let mut parse = vec![3, PARSE, 8];
    parse.extend(version.numbers(&[3]));
    parse.extend(version.pointer);
    parse.extend(version.numbers(&[1 + text.len() as u32]));
    parse.push(1 + text.len() as u8);
    parse.extend(text.as_bytes());
    parse.push(0);
    let mut execute = vec![3, EXECUTE_V7, 9];
    execute.extend(version.numbers(&[0x8030, 3, 0, 0, 0, 0]));
    execute.extend([0; 90]);
    let read = read(&[
        (Client, data(&parse)),
        (Server, version.answer(8, 0, false)),
        (Client, data(&execute)),
        (Server, version.answer(9, 0, false)),
        (Client, version.fetch(10, 1)),
        (Server, version.answer(10, 1, false)),
        (Client, data(&[&[3, 8, 11][..], &version.numbers(&[3])].concat())),
        (Server, data(b"\x09\0\0\0\0")),
        (Client, version.fetch(12, 1)),
    ]);
    let told: Vec<_> = read.exchanges.iter().map(|one| (one.command, one.rows, one.sql.is_some())).collect();
    assert_eq!(
        told,
        [
            ("parse", None, true),
            ("execute", Some(0), true),
            ("fetch", Some(1), true),
            ("close_cursor", None, false),
            ("fetch", None, false)
        ]
    );
}

#[test]
fn a_version_7_call_in_universal_form_shows_its_statement() {
    let text = "UPDATE stock SET amount = :v0 WHERE id = :v1";
    let mut call = b"\x03\x47\0\x02\x81\x29\x01\x02\x01\x01".to_vec();
    call.push(text.len() as u8);
    call.extend(b"\0\0\x01\x01\x07\x01\x01\x02\0\0\0\x01\x01\x0d");
    call.extend(text.as_bytes());
    call.extend(b"\x01\x01\x01\x01\0\0\0\0\0");
    let end = b"\x04\x02\x19\x67\x01\x01\0\0\0\x01\x02\0\x06\0\0\x01\x08\0\0\x02\xff\xb8\x01\x56\0\x02\xb8\xce\x01\x01\0\0\0\0\x01\x01";
    let read = read(&[(Client, data(&call)), (Server, data(end)), (Client, data(b"\x03\x0e\0"))]);
    assert_eq!(read.exchanges[0].affected_rows, Some(1));
    assert_eq!(read.text(&read.exchanges[0]), Some(text));
}

#[test]
fn a_fetch_right_after_an_execution_belongs_to_it_where_its_cursor_was_not_read() {
    let [.., version] = VERSIONS;
    let mut parts = version.query();
    parts[1] = (Server, data(b"\x10\x17 in a form that nobody knows"));
    let read = read(&parts);
    assert_eq!(read.text(&read.exchanges[1]), Some(QUERY));
}

/// Two queries, one after the other, on a cursor of the same number.
fn recycled(version: Version) -> Parts {
    let mut second = version.close(6);
    second.extend(&version.execute(7, "select price from offers")[10..]);
    let mut parts = version.query();
    parts.extend([
        (Client, data(&second)),
        (Server, version.answer(7, 1, false)),
        (Client, version.fetch(8, 15)),
        (Server, version.answer(8, 16, false)),
        (Client, version.fetch(9, 15)),
        (Server, version.answer(9, 17, true)),
    ]);
    parts
}

#[test]
fn a_statement_that_may_be_anothers_is_unknown_whichever_packet_is_lost() {
    for version in VERSIONS {
        let parts = recycled(version);
        let whole = read(&parts);
        for lost in 0..parts.len() {
            let read = read_without(Some(lost), &parts);
            for exchange in &read.exchanges {
                let frame = exchange.request.map(|request| request.first.frame);
                let told = read.text(exchange);
                assert!(told.is_none() || told == whole.text_at(frame), "without {lost}: frame {frame:?}");
            }
        }
        assert_eq!(whole.text_at(Some(3)), Some(QUERY));
        assert_eq!(whole.text_at(Some(11)), Some("select price from offers"));
    }
}

#[test]
fn a_lost_fetch_takes_no_statement_away() {
    for version in VERSIONS {
        let mut parts = version.query();
        parts.extend([(Client, version.fetch(6, 15)), (Server, version.answer(6, 33, true))]);
        let read = read_without(Some(4), &parts);
        assert_eq!(read.text_at(Some(9)), Some(QUERY));
        assert_eq!(read.exchanges.last().and_then(|last| last.rows), None);
    }
}

proptest! {
    #[test]
    fn damaged_sessions_never_panic(
        version in 0usize..VERSIONS.len(),
        lost in prop::option::of(0usize..14),
        flips in prop::collection::vec((0usize..14, any::<usize>(), any::<u8>()), 1..20),
    ) {
        let mut parts = recycled(VERSIONS[version]);
        for (part, at, value) in flips {
            let length = parts[part].1.len();
            parts[part].1[at % length] = value;
        }
        read_without(lost, &parts);
    }
}
