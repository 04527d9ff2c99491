//! Dialogues in bytes: what each packet means, however the stream was cut.

use proptest::prelude::*;

use super::*;
use crate::conversation::{Common, Dialogue};
use crate::protocols::Meaning::{self, Done, More, Rows, Unrelated};
use crate::protocols::pass_tests;
use crate::protocols::{Layer, Outcome, Purpose, Request, Verdict};
use crate::session::Session;
use crate::side::Side::{Client, Server};
use crate::sql::Statements;
use crate::stream::{Chunk, Mark, START};
use client::SQL_SHOWN;

// --- packets --------------------------------------------------------------------------------------------------------

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn buffer(bytes: &[u8]) -> Vec<u8> {
    let mut buffer = words(&[bytes.len() as u32]);
    buffer.extend(bytes);
    buffer.resize(buffer.len().next_multiple_of(4), 0);
    buffer
}

fn join(parts: &[Vec<u8>]) -> Vec<u8> {
    parts.concat()
}

const LAST: u32 = 0xffff_ffff;
/// integer, blob
const BLR: &[u8] = &[5, 2, 4, 0, 4, 0, 8, 0, 7, 0, 17, 0, 0, 0, 0, 7, 0, 0xff, 0x4c];

fn hello() -> Vec<u8> {
    let offer = words(&[0xffff_800f, 1, 0, 5, 2]);
    join(&[words(&[1, 19, 3, 1]), buffer(b"lab"), words(&[1]), buffer(b"\x09\x03LAB"), offer])
}

fn accept(version: u32, kind: u32) -> Vec<u8> {
    join(&[words(&[94, 0xffff_8000 | version, 1, kind]), buffer(b"salt"), buffer(b"Srp"), words(&[0]), buffer(b"")])
}

fn response(object: u32) -> Vec<u8> {
    words(&[9, object, 0, 0, 0, 1, 0, 0])
}

fn described(object: u32) -> Vec<u8> {
    join(&[words(&[9, object, 0, 0]), buffer(b"\x15\x04\0\x01\0\0\0\x01"), words(&[1, 0, 0])])
}

fn failure(code: u32) -> Vec<u8> {
    words(&[9, 0, 0, 0, 0, 1, code, 0])
}

fn attach() -> Vec<u8> {
    join(&[words(&[19, 0]), buffer(b"lab"), buffer(b"\x01\x4a\x04java")])
}

fn allocate() -> Vec<u8> {
    words(&[62, 0])
}

fn prepare(statement: u32, sql: &[u8]) -> Vec<u8> {
    join(&[words(&[68, 1, statement, 3]), buffer(sql), buffer(b"\x15\x04"), words(&[1024])])
}

fn execute(statement: u32) -> Vec<u8> {
    join(&[words(&[63, statement, 1]), buffer(b""), words(&[0, 0])])
}

fn execute_with_row(statement: u32, row: &[u8]) -> Vec<u8> {
    join(&[words(&[63, statement, 1]), buffer(BLR), words(&[0, 1]), row.to_vec()])
}

fn fetch(statement: u32, blr: &[u8]) -> Vec<u8> {
    join(&[words(&[65, statement]), buffer(blr), words(&[0, 400])])
}

/// A packed row: no nulls, the number, the blob's id.
fn packed(number: u32) -> Vec<u8> {
    words(&[0, number, 0x83, number])
}

fn row(values: Vec<u8>) -> Vec<u8> {
    join(&[words(&[66, 0, 1]), values])
}

fn cursor_ends() -> Vec<u8> {
    words(&[66, 100, 0])
}

fn close(blob: u32) -> Vec<u8> {
    words(&[39, blob])
}

/// A whole session: connect, a SELECT of two rows with its first fetch in the same write, a blob, goodbye.
fn session() -> Vec<(Side, Vec<u8>)> {
    vec![
        (Client, hello()),
        (Server, accept(15, 5)),
        (Client, attach()),
        (Server, response(0)),
        (Client, join(&[words(&[29, 0]), buffer(b"\x03\x09")])),
        (Server, response(1)),
        (Client, join(&[allocate(), prepare(LAST, b"select id, body from docs")])),
        (Server, join(&[response(2), described(4)])),
        (Client, join(&[execute(2), fetch(2, BLR)])),
        (Server, join(&[response(1), row(packed(1)), row(packed(2)), cursor_ends()])),
        (Client, words(&[35, 1, 0x83, 1])),
        (Client, join(&[words(&[36, LAST, 1024]), buffer(b"")])),
        (Server, join(&[response(3), words(&[9, 2, 0, 0]), buffer(b"\x02\0hi"), words(&[1, 0, 0])])),
        (Client, join(&[close(3), words(&[67, 2, 1]), words(&[30, 1])])),
        (Server, join(&[response(0), response(2), response(0)])),
        (Client, join(&[words(&[21, 0]), words(&[6])])),
        (Server, response(0)),
    ]
}

// --- reading --------------------------------------------------------------------------------------------------------

struct Reader {
    decoder: Firebird,
    statements: Statements,
    session: Session,
    buffers: [Vec<u8>; 2],
    switched: Option<Layer>,
    meanings: Vec<Meaning>,
}

impl Reader {
    fn new(decoder: Firebird) -> Reader {
        Reader {
            decoder,
            statements: Statements::new(true),
            session: Session::default(),
            buffers: Default::default(),
            switched: None,
            meanings: Vec::new(),
        }
    }

    /// In the middle of a connection.
    fn in_the_middle() -> Reader {
        Reader::new(Firebird { strays: STRAYS, ..Firebird::default() })
    }

    fn read(&mut self, side: Side, bytes: &[u8]) -> Result<(), Lost> {
        let mut buffer = std::mem::take(&mut self.buffers[side as usize]);
        buffer.extend(bytes);
        let mut at = 0;
        while at < buffer.len() {
            let rest = &buffer[at..];
            match self.decoder.frame(side, rest)? {
                Frame::Message { head, length } if length <= rest.len() as u64 => {
                    assert!(1 <= head && head as u64 <= length);
                    let message = Message { side, bytes: &rest[..head], length, cut: false };
                    self.message(&message)?;
                    at += length as usize;
                }
                Frame::Message { .. } | Frame::Becomes(_) => break,
                Frame::Need(need) => {
                    assert!(need > rest.len(), "asks for {need} bytes of {}", rest.len());
                    break;
                }
            }
        }
        buffer.drain(..at);
        self.buffers[side as usize] = buffer;
        Ok(())
    }

    fn message(&mut self, message: &Message<'_>) -> Result<(), Lost> {
        let (session, statements) = (&mut self.session, &mut self.statements);
        let mut context = Context { session, statements, switch: None };
        let meaning = self.decoder.message(message, &mut context)?;
        self.switched = self.switched.or(context.switch);
        self.meanings.push(meaning);
        Ok(())
    }

    fn read_all(mut self, packets: &[(Side, Vec<u8>)]) -> Reader {
        for (side, bytes) in packets {
            self.read(*side, bytes).unwrap();
        }
        self
    }

    /// The requests as `command awaits`.
    fn requests(&self) -> Vec<String> {
        let told = self.meanings.iter().filter_map(|meaning| match meaning {
            Meaning::Request(request) => Some(format!("{} {:?}", request.command, request.awaits)),
            _ => None,
        });
        told.collect()
    }

    fn rows(&self) -> u64 {
        let of = |meaning: &Meaning| match meaning {
            Rows(rows) => *rows,
            Done(outcome) => outcome.rows.unwrap_or(0),
            _ => 0,
        };
        self.meanings.iter().map(of).sum()
    }
}

fn connected(version: u32, kind: u32) -> Reader {
    let packets = [(Client, hello()), (Server, accept(version, kind)), (Client, attach()), (Server, response(0))];
    let mut reader = Reader::new(Firebird::default()).read_all(&packets);
    reader.meanings.clear();
    reader
}

fn with_rows(rows: u64) -> Meaning {
    Done(Outcome { rows: Some(rows), ..Outcome::default() })
}

fn done() -> Meaning {
    Done(Outcome::default())
}

// --- what costs a wait ----------------------------------------------------------------------------------------------

#[test]
fn a_session_is_read_from_hello_to_goodbye() {
    let reader = Reader::new(Firebird::default()).read_all(&session());
    let requests = [
        "connect Answer",
        "attach Answer",
        "transaction Answer",
        "allocate_statement Later",
        "prepare_statement Answer",
        "execute Answer",
        "open_blob Answer",
        "get_segment Shared",
        "close_blob Later",
        "free_statement Later",
        "commit Answer",
        "detach Answer",
        "disconnect Nothing",
    ];
    assert_eq!(reader.requests(), requests);
    assert_eq!(reader.rows(), 2);
    let Session { user, database, application, .. } = reader.session;
    assert_eq!([user, database, application].map(Option::unwrap), ["LAB", "lab", "java"]);
}

#[test]
fn execute_and_the_fetch_in_the_same_write_are_one_exchange() {
    let mut reader = connected(15, 5);
    reader.read(Client, &join(&[execute(2), fetch(2, BLR)])).unwrap();
    reader.read(Server, &join(&[response(1), row(packed(1)), cursor_ends()])).unwrap();
    assert_eq!(reader.meanings[1..], [More, More, Rows(1), with_rows(0)]);
}

#[test]
fn a_fetch_after_the_answer_to_execute_is_an_exchange_of_its_own() {
    let mut reader = connected(15, 5);
    reader.read(Client, &execute(2)).unwrap();
    reader.read(Server, &response(1)).unwrap();
    reader.read(Client, &fetch(2, BLR)).unwrap();
    assert_eq!(reader.requests(), ["execute Answer", "fetch Answer"]);
}

#[test]
fn an_execute_that_fails_fails_for_the_fetch_behind_it() {
    let mut reader = connected(15, 5);
    reader.read(Client, &join(&[execute(2), fetch(2, BLR)])).unwrap();
    reader.read(Server, &join(&[failure(0x1400_0001), failure(0x1400_0004)])).unwrap();
    let Some(Done(outcome)) = reader.meanings.last() else { panic!() };
    assert_eq!(outcome.error.as_ref().unwrap().code, "335544321 (22000)");
}

#[test]
fn where_nothing_was_agreed_on_laziness_everything_is_awaited() {
    let mut reader = connected(10, 3);
    reader.read(Client, &allocate()).unwrap();
    reader.read(Server, &response(2)).unwrap();
    reader.read(Client, &close(1)).unwrap();
    assert_eq!(reader.requests(), ["allocate_statement Answer", "close_blob Answer"]);
}

#[test]
fn only_the_first_use_of_a_handle_that_was_not_read_proves_it() {
    let mut reader = connected(15, 5);
    let segment = join(&[words(&[36, LAST, 1024]), buffer(b"")]);
    reader.read(Client, &words(&[35, 1, 0x83, 1])).unwrap();
    reader.read(Server, &response(3)).unwrap();
    reader.read(Client, &segment).unwrap();
    reader.read(Server, &response(1)).unwrap();
    reader.read(Client, &segment).unwrap();
    assert_eq!(reader.requests(), ["open_blob Answer", "get_segment Shared", "get_segment Answer"]);
}

#[test]
fn a_handle_is_no_part_of_a_blob() {
    let mut reader = Reader::in_the_middle();
    reader.read(Client, &join(&[words(&[36, 3, 1024]), buffer(b"")])).unwrap();
    // Answers to an open and a close that were not captured.
    reader.read(Server, &join(&[response(3), response(0)])).unwrap();
    reader.read(Server, &join(&[words(&[9, 2, 0, 0]), buffer(b"\x03\0one"), words(&[1, 0, 0])])).unwrap();
    assert_eq!(reader.meanings[1..], [Unrelated, Unrelated, Done(Outcome::default())]);
}

#[test]
fn a_cancel_is_never_answered() {
    let mut reader = connected(15, 5);
    reader.read(Client, &join(&[execute(2), fetch(2, BLR), words(&[91, 3])])).unwrap();
    reader.read(Server, &join(&[response(1), failure(0x1400_01da)])).unwrap();
    assert_eq!(reader.requests(), ["execute Answer", "cancel Nothing"]);
    assert!(matches!(reader.meanings.last(), Some(Done(Outcome { error: Some(_), .. }))));
}

#[test]
fn filler_belongs_to_no_exchange() {
    let mut reader = connected(15, 5);
    reader.read(Client, &words(&[30, 1])).unwrap();
    reader.read(Server, &join(&[words(&[71]), response(0)])).unwrap();
    assert_eq!(reader.meanings[1..], [Meaning::Unrelated, done()]);
}

// --- statements -----------------------------------------------------------------------------------------------------

#[test]
fn a_blob_belongs_to_the_statement_whose_rows_have_blobs() {
    let reader = Reader::new(Firebird::default()).read_all(&session());
    let blob_statements: Vec<_> = reader
        .meanings
        .iter()
        .filter_map(|meaning| match meaning {
            Meaning::Request(request) if request.command.contains("blob") || request.command == "get_segment" => {
                request.sql
            }
            _ => None,
        })
        .collect();
    assert_eq!(blob_statements.len(), 3);
    assert!(blob_statements.iter().all(|sql| reader.statements.text(sql.text) == "select id, body from docs"));
}

#[test]
fn other_bind_values_are_other_parameters_of_the_same_statement() {
    let mut reader = connected(15, 5);
    reader.read(Client, &join(&[allocate(), prepare(LAST, b"select ?")])).unwrap();
    reader.read(Server, &join(&[response(2), described(4)])).unwrap();
    for number in [7, 8] {
        reader.read(Client, &execute_with_row(2, &packed(number))).unwrap();
        reader.read(Server, &response(1)).unwrap();
    }
    let sqls: Vec<_> = reader
        .meanings
        .iter()
        .filter_map(|meaning| match meaning {
            Meaning::Request(request) if request.command == "execute" => request.sql,
            _ => None,
        })
        .collect();
    assert_eq!(sqls[0].fingerprint, sqls[1].fingerprint);
    assert_ne!(sqls[0].parameters, sqls[1].parameters);
}

#[test]
fn a_statement_without_end_is_shown_without_its_end() {
    let mut reader = connected(15, 5);
    let sql = [b"select ".as_slice(), &[b'1'; 100_000]].concat();
    reader.read(Client, &prepare(2, &sql)).unwrap();
    let Some(Meaning::Request(Request { sql: Some(sql), .. })) = reader.meanings.last() else { panic!() };
    assert!(reader.statements.text(sql.text).len() <= SQL_SHOWN + 3);
}

// --- versions -------------------------------------------------------------------------------------------------------

#[test]
fn each_version_ends_execute_in_its_own_way() {
    for (version, trailer) in [(15, 0), (16, 1), (17, 1), (18, 2), (19, 3), (20, 3)] {
        let mut reader = connected(version, 5);
        let packet = join(&[execute_with_row(2, &packed(7)), words(&vec![0; trailer]), words(&[30, 1])]);
        reader.read(Client, &packet).unwrap();
        assert_eq!(reader.requests(), ["execute Answer", "commit Answer"], "version {version}");
    }
}

#[test]
fn from_the_middle_the_only_version_that_fits_is_the_one() {
    for (version, trailer) in [(16, 1), (18, 2), (19, 3)] {
        let mut reader = Reader::in_the_middle();
        let packet = join(&[execute(2), words(&vec![0; trailer]), fetch(2, BLR)]);
        reader.read(Client, &packet).unwrap();
        assert_eq!(reader.decoder.version, Some(version));
        reader.read(Server, &join(&[response(1), row(packed(1)), cursor_ends()])).unwrap();
        assert_eq!(reader.rows(), 1);
    }
}

#[test]
fn from_the_middle_rows_are_read_packed_or_plain_as_they_fit() {
    let plain = words(&[42, 0, 0, 0, LAST]);
    for values in [packed(42), plain] {
        let mut reader = Reader::in_the_middle();
        reader.read(Client, &fetch(2, BLR)).unwrap();
        reader.read(Server, &join(&[row(values.clone()), row(values), cursor_ends()])).unwrap();
        assert_eq!(reader.rows(), 2);
        assert!(!reader.session.estimated_rows);
    }
}

#[test]
fn from_the_middle_answers_to_what_was_not_captured_are_passed_over() {
    let mut reader = Reader::in_the_middle();
    reader.read(Client, &join(&[allocate(), prepare(LAST, b"select 1")])).unwrap();
    // The answer to a free_statement before the capture began.
    reader.read(Server, &join(&[response(LAST), response(2), described(4)])).unwrap();
    assert_eq!(reader.meanings[2..], [Meaning::Unrelated, done(), done()]);
}

#[test]
fn rows_of_unknown_format_are_counted_by_the_headers_around_them_and_said_to_be_estimated() {
    let mut reader = Reader::in_the_middle();
    reader.read(Client, &fetch(2, b"")).unwrap();
    // The number 66 is an operation code, too.
    reader.read(Server, &join(&[row(packed(66)), row(packed(9)), row(packed(114)), cursor_ends()])).unwrap();
    assert_eq!(reader.rows(), 3);
    assert!(reader.session.estimated_rows);
}

#[test]
fn an_array_is_read_by_its_description() {
    let mut reader = connected(15, 5);
    let sdl = b"\x01\x06\x01\x08\0\x02\x01T\x04\x01P\xff";
    let ask = join(&[words(&[58, 1, 0, 7, 16]), buffer(sdl), buffer(b""), words(&[0])]);
    reader.read(Client, &join(&[ask, words(&[30, 1])])).unwrap();
    reader.read(Server, &join(&[words(&[60, 16, 16, 1, 2, 3, 4]), response(0)])).unwrap();
    assert_eq!(reader.requests(), ["get_slice Answer", "commit Answer"]);
    assert_eq!(reader.meanings[2..], [done(), done()]);
}

#[test]
fn a_ping_behind_a_blob_that_is_still_being_opened_shares_its_wait() {
    let mut reader = connected(16, 5);
    let info = join(&[words(&[43, LAST, 0]), buffer(b"\x06"), words(&[64])]);
    reader.read(Client, &join(&[words(&[35, 1, 0x83, 1]), info])).unwrap();
    reader.read(Client, &words(&[93])).unwrap();
    reader.read(Server, &join(&[response(3), response(0), response(0)])).unwrap();
    reader.read(Client, &words(&[93])).unwrap();
    assert_eq!(reader.requests().last(), Some(&"ping Answer".to_owned()));
    assert!(reader.requests().contains(&"ping Shared".to_owned()));
}

#[test]
fn blobs_of_version_19_come_with_their_rows() {
    let mut reader = connected(19, 5);
    reader.read(Client, &fetch(2, BLR)).unwrap();
    let inline = join(&[words(&[114, 1, 0x83, 1]), buffer(b"\x06\x01"), buffer(b"text")]);
    reader.read(Server, &join(&[inline, row(packed(1)), cursor_ends()])).unwrap();
    assert_eq!(reader.meanings[1..], [More, Rows(1), with_rows(0)]);
}

#[test]
fn a_batch_is_read_row_by_row_and_told_how_many_it_changed() {
    let mut reader = connected(17, 5);
    let create = join(&[words(&[99, 2]), buffer(BLR), words(&[16]), buffer(b"\x01")]);
    let rows = join(&[words(&[100, 2, 3]), packed(1), packed(2), packed(3)]);
    reader.read(Client, &join(&[create, rows, words(&[101, 2, 1])])).unwrap();
    reader.read(Server, &join(&[response(0), response(0), words(&[103, 2, 3, 3, 0, 0, 1, 1, 1])])).unwrap();
    assert_eq!(reader.requests(), ["batch_create Later", "batch_msg Later", "batch_exec Answer"]);
    let Some(Done(outcome)) = reader.meanings.last() else { panic!() };
    assert_eq!(outcome.affected_rows, Some(3));
    let mut purposes = reader.meanings.iter().filter_map(|meaning| match meaning {
        Meaning::Request(request) => Some(request.purpose),
        _ => None,
    });
    assert_eq!(purposes.next_back(), Some(Purpose::Execute));
}

#[test]
fn compression_begins_with_the_accept_that_says_so() {
    let packets = [(Client, hello()), (Server, accept(15, 0x105))];
    assert_eq!(
        Reader::new(Firebird::default()).read_all(&packets).switched,
        Some(Layer::Wrapped(crate::layers::DEFLATE))
    );
}

#[test]
fn after_crypt_nothing_can_be_read() {
    let packets = [
        (Client, hello()),
        (Server, accept(15, 5)),
        (Client, join(&[words(&[92]), buffer(b"proof"), buffer(b"Srp"), buffer(b"Srp"), buffer(b"")])),
        (Server, response(0)),
        (Client, join(&[words(&[96]), buffer(b"Arc4"), buffer(b"Symmetric")])),
    ];
    let reader = Reader::new(Firebird::default()).read_all(&packets);
    assert_eq!(reader.requests(), ["connect Answer", "authenticate Answer", "crypt Answer"]);
    assert_eq!(reader.switched, Some(Layer::Encrypted { login: &["attach"] }));
}

#[test]
fn another_salt_is_another_round_of_the_same_dialogue() {
    let proof = || join(&[words(&[92]), buffer(b"proof"), buffer(b"Srp"), buffer(b"Srp"), buffer(b"")]);
    let packets =
        [(Client, hello()), (Server, accept(15, 5)), (Client, attach()), (Server, proof()), (Client, proof())];
    let reader = Reader::new(Firebird::default()).read_all(&packets);
    assert_eq!(reader.meanings[3..], [More, More]);
}

// --- what is not Firebird -------------------------------------------------------------------------------------------

fn verdict(client: &[u8], server: &[u8], first: Side, from_start: bool) -> Verdict {
    recognise::recognise(&Opening { client, server, first, from_start })
}

#[test]
fn hello_is_known_on_any_port_and_in_any_place() {
    assert_eq!(verdict(&hello(), b"", Client, true), Verdict::Certain);
    assert_eq!(verdict(&hello()[..6], b"", Client, true), Verdict::Unsure);
    // Newer clients leave the operation unset.
    let mut newer = hello();
    newer[4..8].copy_from_slice(&[0, 3, 0, 0]);
    assert_eq!(verdict(&newer, b"", Client, true), Verdict::Certain);
}

#[test]
fn from_the_middle_whole_packets_on_both_sides_are_certain() {
    assert_eq!(verdict(&words(&[30, 1]), &response(0), Client, false), Verdict::Certain);
    assert_eq!(verdict(&words(&[30, 1]), b"", Client, false), Verdict::Unsure);
    assert_eq!(verdict(&fetch(2, BLR), b"", Client, false), Verdict::Certain);
}

#[test]
fn events_are_pushed_on_a_connection_of_their_own() {
    let event = join(&[words(&[52, 0]), buffer(b"\x01\x05order\x01\0\0\0"), words(&[0, 0, 1])]);
    for from_start in [true, false] {
        assert_eq!(verdict(b"", &event, Server, from_start), Verdict::Certain);
        let opening = Opening { client: b"", server: &event, first: Server, from_start };
        assert_eq!(recognise::layer(&opening), Some(Layer::Push));
    }
}

#[test]
fn nothing_of_other_protocols_is_claimed() {
    let others: [&[u8]; 9] = [
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
        b"\x17\x03\x03\0\x28abcdefgh",
        b"\0\0\0\x54\0\x03\0\0user\0lab\0database\0lab\0\0",
        b"Q\0\0\0\x0dselect 1\0",
        b"\x09\0\0\0\x03select 1",
        b"\0\x3a\0\0\x01\0\0\0\x01\x38\x01\x2c",
    ];
    for bytes in others {
        for from_start in [true, false] {
            assert_ne!(verdict(bytes, b"", Client, from_start), Verdict::Certain, "{bytes:?}");
            assert_ne!(verdict(bytes, bytes, Client, from_start), Verdict::Certain, "{bytes:?}");
        }
        assert_eq!(verdict(bytes, b"", Client, true), Verdict::NotThis, "{bytes:?}");
    }
}

// --- any bytes ------------------------------------------------------------------------------------------------------

fn meanings_in_parts(parts: impl Fn(usize) -> usize) -> Vec<Meaning> {
    let mut reader = Reader::new(Firebird::default());
    let mut cut = 0;
    for (side, bytes) in session() {
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (part, after) = rest.split_at(parts(cut).clamp(1, rest.len()));
            reader.read(side, part).unwrap();
            rest = after;
            cut += 1;
        }
    }
    reader.meanings
}

#[test]
fn byte_by_byte_is_the_same_as_whole() {
    assert_eq!(meanings_in_parts(|_| 1), meanings_in_parts(|_| usize::MAX));
}

proptest! {
    #[test]
    fn any_cut_is_the_same_as_whole(cuts in prop::collection::vec(1usize..80, 1..50)) {
        prop_assert_eq!(meanings_in_parts(|at| cuts[at % cuts.len()]), meanings_in_parts(|_| usize::MAX));
    }

    #[test]
    fn rows_that_are_passed_over_mean_what_they_mean_one_by_one(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..4),
        rows in 0usize..5,
    ) {
        let mut turns = session();
        let (_, fetched) = turns.iter_mut().find(|(_, bytes)| bytes.ends_with(&cursor_ends())).unwrap();
        let end = fetched.len() - cursor_ends().len();
        fetched.splice(end..end, row(packed(7)).repeat(rows));
        for (turn, place, byte) in flips {
            *place.get_mut(turn.get_mut(&mut turns).1.as_mut_slice()) = byte;
        }
        let told = |passes| pass_tests::meanings(&mut Firebird::default(), &turns, passes);
        prop_assert_eq!(told(true), told(false));
    }

    #[test]
    fn any_bytes_after_any_prefix_are_read_or_refused(
        prefix in 0usize..17,
        whole in any::<bool>(),
        bytes in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..300)), 1..8),
    ) {
        let mut reader = Reader::new(Firebird::default()).read_all(&session()[..prefix]);
        for (is_client, bytes) in bytes {
            let side = if is_client { Client } else { Server };
            // Words that are small are more like packets.
            let bytes = if whole { bytes } else { bytes.iter().flat_map(|byte| [0, 0, 0, *byte]).collect() };
            if reader.read(side, &bytes).is_err() {
                reader.buffers = Default::default();
                let _ = reader.decoder.resumes(&bytes);
                reader.decoder.resume();
            }
        }
    }

    #[test]
    fn a_message_that_was_cut_anywhere_is_read_or_refused(at in 0usize..17, kept in 0usize..200) {
        let session = session();
        let mut reader = Reader::new(Firebird::default()).read_all(&session[..at]);
        let (side, bytes) = &session[at];
        let kept = &bytes[..kept.min(bytes.len())];
        let _ = reader.message(&Message { side: *side, bytes: kept, length: bytes.len() as u64, cut: true });
    }

    #[test]
    fn random_bytes_are_not_certain(bytes in prop::collection::vec(any::<u8>(), 0..200), from_start in any::<bool>()) {
        prop_assert_ne!(verdict(&bytes, b"", Client, from_start), Verdict::Certain);
    }
}

#[test]
fn in_dialect_1_double_quotes_hold_strings() {
    for (dialect, shown) in [(1, "select ? from t"), (3, "select \"hush\" from t")] {
        let mut reader = connected(15, 5);
        let prepare =
            join(&[words(&[68, 1, LAST, dialect]), buffer(b"select \"hush\" from t"), buffer(b""), words(&[9])]);
        reader.read(Client, &join(&[allocate(), prepare])).unwrap();
        let sql = reader.meanings.iter().find_map(|meaning| match meaning {
            Meaning::Request(request) => request.sql,
            _ => None,
        });
        assert_eq!(reader.statements.text(sql.unwrap().fingerprint), shown);
    }
}

// --- floods -----------------------------------------------------------------------------------------------------------

/// Feeds what follows `connected`, in packets of so many bytes: [`Dialogue`] holds its reads against them.
fn flood(parts: &[(Side, Vec<u8>)], size: usize) -> u32 {
    let opening = Opening { client: &[], server: &[], first: Client, from_start: true };
    let mut dialogue = Dialogue::new("firebird", decoder(&opening), false);
    let mut common = Common::new(Statements::new(true));
    let begin = [(Client, hello()), (Server, accept(15, 5)), (Client, attach()), (Server, response(0))];
    let mut sent = [START; 2];
    for (side, bytes) in begin.iter().chain(parts) {
        for bytes in bytes.chunks(size) {
            let (offset, acknowledged) = (sent[*side as usize], sent[side.other() as usize]);
            sent[*side as usize] += bytes.len() as u64;
            let mark = Mark { frame: 1, time_ns: 0 };
            let chunk = Chunk { side: *side, mark, acknowledged, offset, lost: 0, bytes, cut: 0 };
            dialogue.read(&chunk, &mut common);
        }
    }
    dialogue.losses
}

/// A BLR with one message of so many such items.
fn blr_of(item: &[u8], count: u16) -> Vec<u8> {
    [&[5, 2, 4, 0][..], &count.to_le_bytes(), &item.repeat(count.into()), &[0xff, 0x4c]].concat()
}

/// A compiled request's messages.
fn messages_of(item: &[u8], count: u16, values: &[u8]) -> Vec<(Side, Vec<u8>)> {
    let compile = join(&[words(&[22, 0]), buffer(&blr_of(item, count))]);
    let message = join(&[words(&[25, 7, 0, 1, 0, 1]), values.repeat(count.into())]);
    vec![
        (Client, compile),
        (Server, response(7)),
        (Client, words(&[73, 7, 0, 1, 0, 1])),
        (Server, message.repeat(1 + 8_000 / message.len())),
    ]
}

#[test]
fn messages_whose_items_take_no_bytes_are_counted_in_one_step_each() {
    assert_eq!(flood(&messages_of(&[14, 0, 0], 20_000, &[]), 4_096), 0);
}

#[test]
fn a_blr_says_each_message_once() {
    let blr = |numbers: &[u8]| {
        let messages = numbers.iter().flat_map(|number| [4, *number, 1, 0, 8, 0]);
        [5, 2].into_iter().chain(messages).collect::<Vec<_>>()
    };
    assert_eq!(rows::messages(&blr(&[0, 1])).map(|messages| messages.len()), Some(2));
    assert_eq!(rows::messages(&blr(&[0, 1, 0])), None);
}

/// Statements with a row of so many parameters, and the rows of a fetch.
fn rows_of(item: &[u8], count: u16, value: &[u8]) -> Vec<(Side, Vec<u8>)> {
    let pair = [item, &[7, 0]].concat();
    let blr = [&[5, 2, 4, 0][..], &(2 * count).to_le_bytes(), &pair.repeat(count.into()), &[0xff, 0x4c]].concat();
    let nulls = vec![0; usize::from(count).div_ceil(8).next_multiple_of(4)];
    let values = join(&[nulls, value.repeat(count.into())]);
    let executed = join(&[words(&[63, 2, 1]), buffer(&blr), words(&[0, 1]), values.clone()]);
    vec![
        (Client, join(&[allocate(), prepare(LAST, b"insert into t")])),
        (Server, join(&[response(2), described(1)])),
        (Client, executed),
        (Server, response(1)),
        (Client, fetch(2, &blr)),
        (Server, join(&[row(values.clone()), row(values), cursor_ends()])),
    ]
}

/// The states of a batch with so many vectors, and an array of so many texts.
fn lists_of(count: u32) -> Vec<(Side, Vec<u8>)> {
    let states = join(&[words(&[103, 2, count, 0, count, 0]), words(&[1, 1, 0, 0]).repeat(count as usize)]);
    let sdl = b"\x01\x06\x01\x25\0\0\x02\x01T\x04\x01P\xff";
    vec![
        (Client, words(&[101, 2, 1])),
        (Server, states),
        (Client, join(&[words(&[58, 1, 0, 7, 2 * count]), buffer(sdl), buffer(b""), words(&[0])])),
        (Server, join(&[words(&[60, 2 * count, 2 * count]), words(&[0]).repeat(count as usize)])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn no_packet_costs_more_than_its_bytes_in_whatever_pieces(
        size in prop_oneof![Just(4usize), 1usize..64, Just(4_096)],
        count in prop_oneof![Just(1u16), Just(700), Just(3_000)],
        kind in 0usize..4,
    ) {
        let (item, value) = [
            (&[14, 0, 0][..], vec![]),
            (&[14, 1, 0], vec![0; 4]),
            (&[37, 10, 0], vec![0; 4]),
            (&[8, 0], vec![0; 4]),
        ][kind].clone();
        prop_assert_eq!(flood(&messages_of(item, count, &value), size), 0);
        prop_assert_eq!(flood(&rows_of(item, count, &value), size), 0);
        prop_assert_eq!(flood(&lists_of(count.into()), size), 0);
    }
}
