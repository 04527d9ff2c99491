//! Dialogues, packet by packet, and what they mean.

use proptest::prelude::*;

use super::*;
use crate::session::Session;

use Side::{Client, Server};

// --- packets ---

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    packet.push(sequence);
    packet.extend(payload);
    packet
}

/// Packets numbered from `first` on.
fn packets(first: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let numbers = std::iter::successors(Some(first), |number| Some(number.wrapping_add(1)));
    numbers
        .zip(payloads)
        .flat_map(|(number, payload)| packet(number, payload))
        .collect()
}

fn command(code: u8, payload: &[u8]) -> Vec<u8> {
    packet(0, &[&[code], payload].concat())
}

fn query(sql: &str) -> Vec<u8> {
    command(0x03, sql.as_bytes())
}

fn prepare(sql: &str) -> Vec<u8> {
    command(0x16, sql.as_bytes())
}

fn execute(id: u32, flags: u8, binds: &[u8]) -> Vec<u8> {
    command(
        0x17,
        &[&id.to_le_bytes()[..], &[flags, 1, 0, 0, 0], binds].concat(),
    )
}

fn with_id(code: u8, id: u32) -> Vec<u8> {
    command(code, &id.to_le_bytes())
}

fn fetch(id: u32, rows: u32) -> Vec<u8> {
    command(0x1c, &[id.to_le_bytes(), rows.to_le_bytes()].concat())
}

const DEFINITION: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\x81\0\0\0\0";
const EOF: &[u8] = b"\xfe\0\0\x02\0";
const EOF_CURSOR: &[u8] = b"\xfe\0\0\x42\0";
const EOF_MORE: &[u8] = b"\xfe\0\0\x0a\0";
const OK: &[u8] = b"\0\0\0\x02\0\0\0";
const OK_FE: &[u8] = b"\xfe\0\0\x02\0\0\0";
const OK_FE_CURSOR: &[u8] = b"\xfe\0\0\x42\0\0\0";
const OK_3_AFFECTED: &[u8] = b"\0\x03\0\x02\0\0\0";
const OK_3_AFFECTED_MORE: &[u8] = b"\0\x03\0\x0a\0\0\0";
const DUPLICATE: &[u8] = b"\xff\x26\x04#23000Duplicate entry";
/// Statement 1 with one column and one parameter.
const PREPARED: &[u8] = b"\0\x01\0\0\0\x01\0\x01\0\0\0\0";

const BASE: u32 = login::PROTOCOL_41 | login::SECURE_CONNECTION | login::PLUGIN_AUTH;
const MODERN: u32 = BASE | login::DEPRECATE_EOF | login::QUERY_ATTRIBUTES;

fn greeting(capabilities: u32) -> Vec<u8> {
    let [a, b, c, d] = capabilities.to_le_bytes();
    let fixed = [
        &b"\x0a8.0.33\0\x07\0\0\0abcdefgh\0"[..],
        &[a, b, 45, 2, 0, c, d, 21],
        &[0; 10],
    ]
    .concat();
    packet(
        0,
        &[&fixed, &b"ijklmnopqrst\0mysql_native_password\0"[..]].concat(),
    )
}

fn login_request(sequence: u8, capabilities: u32, tail: &[u8]) -> Vec<u8> {
    packet(
        sequence,
        &[
            &capabilities.to_le_bytes()[..],
            &[0, 0, 0, 1, 45],
            &[0; 23],
            tail,
        ]
        .concat(),
    )
}

const LAB: &[u8] = b"lab\0\x06huntermysql_native_password\0";

// --- a dialogue ---

/// Drives a decoder the way the conversation does, and writes down what everything meant.
struct Talk {
    decoder: Mysql,
    session: Session,
    statements: Statements,
    sides: [(Vec<u8>, u64); 2],
    switch: Option<Layer>,
    lost: Option<String>,
    meanings: Vec<Meaning>,
}

impl Talk {
    fn new(beginning: Beginning) -> Talk {
        Talk {
            decoder: Mysql::new(beginning),
            session: Session::default(),
            statements: Statements::new(true),
            sides: Default::default(),
            switch: None,
            lost: None,
            meanings: Vec::new(),
        }
    }

    /// The capture began in mid-connection.
    fn running() -> Talk {
        Talk::new(Beginning::Commands)
    }

    fn logged_in(capabilities: u32) -> Talk {
        let mut talk = Talk::new(Beginning::Greeting);
        talk.says(Server, &greeting(capabilities))
            .says(Client, &login_request(1, capabilities, LAB));
        talk.says(Server, &packet(2, OK));
        talk.meanings.clear();
        talk
    }

    fn says(&mut self, side: Side, bytes: &[u8]) -> &mut Talk {
        let (buffer, skip) = &mut self.sides[side as usize];
        let skipped = (*skip).min(bytes.len() as u64);
        *skip -= skipped;
        buffer.extend(&bytes[skipped as usize..]);
        while let Some(length) = self.message(side) {
            let (buffer, skip) = &mut self.sides[side as usize];
            let here = length.min(buffer.len() as u64);
            buffer.drain(..here as usize);
            *skip = length - here;
        }
        self
    }

    /// Reads one message, if its head is there.
    fn message(&mut self, side: Side) -> Option<u64> {
        let bytes = &self.sides[side as usize].0;
        if bytes.is_empty() || self.lost.is_some() {
            return None;
        }
        match self.decoder.frame(side, bytes) {
            Ok(Frame::Message { head, length }) if head <= bytes.len() => {
                assert!(head >= 1 && head as u64 <= length);
                let bytes = bytes[..head].to_vec();
                self.read(&Message {
                    side,
                    bytes: &bytes,
                    length,
                    cut: false,
                });
                Some(length)
            }
            Ok(Frame::Message { head: need, .. } | Frame::Need(need)) => {
                assert!(need > bytes.len());
                None
            }
            Err(lost) => {
                self.lost = Some(lost.0);
                None
            }
        }
    }

    fn read(&mut self, message: &Message<'_>) {
        let mut context = Context {
            session: &mut self.session,
            statements: &mut self.statements,
            switch: None,
        };
        let meaning = self.decoder.message(message, &mut context);
        self.switch = context.switch.or(self.switch);
        match meaning {
            Ok(meaning) => self.meanings.push(meaning),
            Err(lost) => self.lost = Some(lost.0),
        }
    }

    /// What the capture kept of a packet.
    fn says_cut(&mut self, side: Side, bytes: &[u8], kept: usize) -> &mut Talk {
        self.read(&Message {
            side,
            bytes: &bytes[..kept],
            length: bytes.len() as u64,
            cut: true,
        });
        self
    }

    /// Asks, gets the answer, and tells what both meant.
    fn ask(&mut self, request: &[u8], response: &[u8]) -> Vec<String> {
        self.meanings.clear();
        self.says(Client, request).says(Server, response).told()
    }

    fn told(&self) -> Vec<String> {
        assert_eq!(self.lost, None);
        self.meanings
            .iter()
            .map(|meaning| self.words(meaning))
            .collect()
    }

    fn words(&self, meaning: &Meaning) -> String {
        match meaning {
            Meaning::Request(request) => {
                let sql = request
                    .sql
                    .map(|sql| format!(": {}", self.statements.text(sql.text)))
                    .unwrap_or_default();
                let awaits = if request.awaits == Awaits::Answer {
                    String::new()
                } else {
                    format!(" ({:?})", request.awaits)
                };
                format!("{}{awaits}{sql}", request.command)
            }
            Meaning::Rows(rows) => format!("row {rows}"),
            Meaning::Done(outcome) => format!("done{}", outcome_words(outcome)),
            Meaning::Greeting(outcome) => format!("greeting{}", outcome_words(outcome)),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    fn lost_to(&mut self, side: Side, bytes: &[u8]) -> String {
        self.says(side, bytes);
        self.lost.clone().unwrap_or_default()
    }
}

fn outcome_words(outcome: &Outcome) -> String {
    let rows = outcome
        .rows
        .map(|rows| format!(" rows+{rows}"))
        .unwrap_or_default();
    let affected = outcome
        .affected_rows
        .map(|rows| format!(" affected {rows}"))
        .unwrap_or_default();
    let error = outcome
        .error
        .as_ref()
        .map(|error| format!(" error {}", error.code))
        .unwrap_or_default();
    format!("{rows}{affected}{error}")
}

// --- connecting ---

#[test]
fn a_connection_begins_with_a_greeting_and_a_login() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &greeting(BASE))
        .says(Client, &login_request(1, BASE, LAB))
        .says(Server, &packet(2, OK));
    assert_eq!(talk.told(), ["greeting", "authenticate", "done"]);
    assert_eq!(talk.session.server_version.as_deref(), Some("8.0.33"));
    assert_eq!(talk.session.user.as_deref(), Some("lab"));
    assert_eq!(talk.switch, None);
}

#[test]
fn protocol_9_and_its_login_are_read() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &packet(0, b"\x093.20.32\0\x07\0\0\0abcdefgh\0"));
    talk.says(Client, &packet(1, b"\x09\0\0\0\x01bob\0scramble\0shop"))
        .says(Server, &packet(2, b"\0\0\0"));
    assert_eq!(talk.told(), ["greeting", "authenticate", "done"]);
    assert_eq!(talk.session.database.as_deref(), Some("shop"));
    assert_eq!(
        talk.ask(&query("do 1"), &packet(1, b"\0\x02\0")),
        ["query: do 1", "done affected 2"]
    );
}

#[test]
fn an_error_may_stand_in_place_of_the_greeting() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &packet(0, b"\xff\x10\x04Too many connections"));
    assert_eq!(talk.told(), ["greeting error 1040"]);
}

#[test]
fn a_wrong_password_is_an_error_of_the_authentication() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &greeting(BASE))
        .says(Client, &login_request(1, BASE, LAB));
    talk.says(
        Server,
        &packet(2, b"\xff\x15\x04#28000Access denied for user 'lab'"),
    );
    assert_eq!(
        talk.told(),
        ["greeting", "authenticate", "done error 1045 (28000)"]
    );
}

#[test]
fn a_short_login_asks_for_tls() {
    let mut talk = Talk::new(Beginning::Greeting);
    let flags = BASE | login::SSL;
    talk.says(Server, &greeting(flags))
        .says(Client, &login_request(1, flags, b""));
    assert_eq!(talk.told(), ["greeting", "tls"]);
    assert_eq!(talk.switch, Some(Layer::Tls));
    // Where the records are decrypted, the login follows, numbered on.
    talk.says(Client, &login_request(2, flags, LAB))
        .says(Server, &packet(3, OK));
    assert_eq!(talk.told(), ["greeting", "tls", "authenticate", "done"]);
}

/// The authentication of `steps`, alternating from the server on.
fn authentication(steps: &[&[u8]]) -> Vec<String> {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &greeting(BASE))
        .says(Client, &login_request(1, BASE, LAB));
    for (index, step) in steps.iter().enumerate() {
        let side = if index % 2 == 0 { Server } else { Client };
        talk.says(side, &packet(2 + index as u8, step));
    }
    talk.told().split_off(2)
}

#[test]
fn every_authentication_dialogue_is_one_exchange() {
    let switch = b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0";
    assert_eq!(
        authentication(&[switch, b"scramble", OK]),
        ["more", "more", "done"]
    );
    // The old-password request; a full authentication in clear text; one with a public key; a second factor.
    assert_eq!(
        authentication(&[b"\xfe", b"scramble\0", OK]),
        ["more", "more", "done"]
    );
    assert_eq!(
        authentication(&[b"\x01\x04", b"hunter\0", OK]),
        ["more", "more", "done"]
    );
    assert_eq!(
        authentication(&[b"\x01\x04", b"\x02", b"\x01---BEGIN", b"hunter", OK]),
        ["more", "more", "more", "more", "done"]
    );
    assert_eq!(
        authentication(&[b"\x02ed25519\0salt", b"signed", OK]),
        ["more", "more", "done"]
    );
    // An empty password.
    assert_eq!(authentication(&[switch, b"", OK]), ["more", "more", "done"]);
}

#[test]
fn a_fast_authentication_comes_with_its_ok() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &greeting(BASE))
        .says(Client, &login_request(1, BASE, LAB));
    talk.says(Server, &packets(2, &[b"\x01\x03", OK]));
    assert_eq!(talk.told(), ["greeting", "authenticate", "more", "done"]);
}

#[test]
fn passwords_are_kept_nowhere() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &greeting(BASE))
        .says(Client, &login_request(1, BASE, LAB));
    talk.says(Server, &packet(2, b"\x01\x04"))
        .says(Client, &packet(3, b"hunter\0"))
        .says(Server, &packet(4, OK));
    talk.says(
        Client,
        &command(0x11, b"amy\0\x06huntercrm\0\x2d\0mysql_native_password\0"),
    )
    .says(Server, &packet(1, OK));
    let kept = format!(
        "{:?} {:?} {:?} {:?}",
        talk.session, talk.statements, talk.decoder, talk.meanings
    );
    assert!(!kept.contains("hunter") && kept.contains("amy"), "{kept}");
}

#[test]
fn compression_begins_after_the_last_ok_where_both_can() {
    let connect = |client: u32, server: u32| {
        let mut talk = Talk::new(Beginning::Greeting);
        talk.says(Server, &greeting(BASE | server))
            .says(Client, &login_request(1, BASE | client, LAB));
        assert_eq!(talk.switch, None);
        talk.says(Server, &packet(2, OK));
        (talk.switch, talk.session.compression)
    };
    let (zlib, zstd) = (login::COMPRESS, login::ZSTD_COMPRESSION);
    assert_eq!(
        connect(zlib | zstd, zlib | zstd),
        (Some(Layer::MysqlCompression), Some("zlib"))
    );
    assert_eq!(
        connect(zlib | zstd, zstd),
        (Some(Layer::MysqlCompression), Some("zstd"))
    );
    assert_eq!(connect(zlib, zstd), (None, None));
}

#[test]
fn a_failed_login_compresses_nothing() {
    let mut talk = Talk::new(Beginning::Greeting);
    let flags = BASE | login::COMPRESS;
    talk.says(Server, &greeting(flags))
        .says(Client, &login_request(1, flags, LAB))
        .says(Server, &packet(2, DUPLICATE));
    assert_eq!(talk.switch, None);
}

#[test]
fn a_client_that_speaks_before_the_greeting_is_not_understood() {
    let mut talk = Talk::new(Beginning::Greeting);
    assert_eq!(
        talk.lost_to(Client, &query("do 1")),
        "the client speaks before the server's greeting"
    );
}

// --- commands ---

#[test]
fn commands_that_one_packet_answers() {
    let mut talk = Talk::logged_in(BASE);
    let name = b"shop".as_slice();
    let expected: [(u8, &[u8], &str); 11] = [
        (0x02, name, "init_db"),
        (0x05, name, "create_db"),
        (0x06, name, "drop_db"),
        (0x07, b"\x01", "refresh"),
        (0x08, b"\0", "shutdown"),
        (0x0c, b"\x07\0\0\0", "process_kill"),
        (0x0d, b"", "debug"),
        (0x0e, b"", "ping"),
        (
            0x15,
            b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            "register_slave",
        ),
        (0x1b, b"\0\0", "set_option"),
        (0x1f, b"", "reset_connection"),
    ];
    for (code, payload, name) in expected {
        assert_eq!(
            talk.ask(&command(code, payload), &packet(1, OK)),
            [name, "done"]
        );
        assert_eq!(
            talk.ask(&command(code, payload), &packet(1, EOF)),
            [name, "done"]
        );
        assert_eq!(
            talk.ask(&command(code, payload), &packet(1, DUPLICATE)),
            [name, "done error 1062 (23000)"]
        );
    }
}

#[test]
fn statistics_are_plain_text() {
    let mut talk = Talk::logged_in(BASE);
    assert_eq!(
        talk.ask(&command(0x09, b""), &packet(1, b"Uptime: 7  Threads: 1")),
        ["statistics", "done"]
    );
}

#[test]
fn a_list_of_fields_has_no_count() {
    let mut talk = Talk::logged_in(BASE);
    let fields = packets(1, &[DEFINITION, DEFINITION, EOF]);
    assert_eq!(
        talk.ask(&command(0x04, b"t\0"), &fields),
        ["field_list", "more", "more", "done"]
    );
    let mut talk = Talk::logged_in(MODERN);
    assert_eq!(
        talk.ask(&command(0x04, b"t\0"), &packets(1, &[DEFINITION, OK_FE])),
        ["field_list", "more", "done"]
    );
}

#[test]
fn the_process_list_is_a_result_set() {
    let mut talk = Talk::logged_in(BASE);
    let list = packets(1, &[b"\x01", DEFINITION, EOF, b"\x017", EOF]);
    assert_eq!(
        talk.ask(&command(0x0a, b""), &list),
        [
            "process_info",
            "more",
            "more",
            "more",
            "row 1",
            "done rows+0"
        ]
    );
}

#[test]
fn quit_close_and_long_data_await_nothing() {
    let mut talk = Talk::logged_in(BASE);
    let long_data = command(0x18, b"\x01\0\0\0\0\0blob");
    talk.says(
        Client,
        &[long_data, with_id(0x19, 1), command(0x01, b"")].concat(),
    );
    assert_eq!(
        talk.told(),
        [
            "stmt_send_long_data (Nothing)",
            "stmt_close (Nothing)",
            "quit (Nothing)"
        ]
    );
}

#[test]
fn a_close_glued_to_the_next_command_leaves_its_answer_alone() {
    let mut talk = Talk::logged_in(BASE);
    let asked = [with_id(0x19, 1), query("do 1")].concat();
    assert_eq!(
        talk.ask(&asked, &packet(1, OK)),
        ["stmt_close (Nothing)", "query: do 1", "done affected 0"]
    );
}

#[test]
fn a_replica_s_dump_is_a_push() {
    for (code, name) in [
        (0x12, "binlog_dump (Nothing)"),
        (0x1e, "binlog_dump_gtid (Nothing)"),
    ] {
        let mut talk = Talk::logged_in(BASE);
        talk.says(
            Client,
            &command(code, b"\x04\0\0\0\0\0\x07\0\0\0bin.000001"),
        );
        assert_eq!(talk.told(), [name]);
        assert!(talk.session.replication && talk.switch == Some(Layer::Push));
    }
}

#[test]
fn an_unknown_command_ends_when_the_client_asks_anew() {
    let mut talk = Talk::logged_in(BASE);
    assert_eq!(
        talk.ask(&command(0x20, b"clone"), &packets(1, &[b"any", b"thing"])),
        ["unknown", "more", "more"]
    );
    talk.says(Client, &query("do 1"));
    assert!(matches!(
        talk.meanings.last(),
        Some(Meaning::Request(Request {
            ends_previous: true,
            ..
        }))
    ));
    assert_eq!(talk.ask(&query("do 2"), b"")[0], "query: do 2");
}

#[test]
fn a_byte_that_no_command_has_is_a_loss() {
    assert_eq!(
        Talk::logged_in(BASE).lost_to(Client, &command(b'S', b"")),
        "there is no command 0x53"
    );
    let empty = Talk::logged_in(BASE).lost_to(Client, &packet(0, b""));
    assert_eq!(empty, "an empty packet stands where a command should be");
}

#[test]
fn query_attributes_are_no_sql() {
    let mut talk = Talk::logged_in(MODERN);
    let attributed = command(0x03, b"\x01\x01\0\x01\xfe\0\x05trace\x03abcdo 1");
    assert_eq!(talk.ask(&attributed, &packet(1, OK))[0], "query: do 1");
    assert_eq!(
        talk.ask(&command(0x03, b"\0\x01do 2"), &packet(1, OK))[0],
        "query: do 2"
    );
    assert_eq!(talk.ask(&query("do 3"), &packet(1, OK))[0], "query: do 3");
    let mut talk = Talk::running();
    assert_eq!(
        talk.ask(&command(0x03, b"\0\x01do 4"), &packet(1, OK))[0],
        "query: do 4"
    );
}

#[test]
fn a_change_of_user_is_one_exchange_with_its_authentication() {
    let mut talk = Talk::logged_in(BASE);
    let change = command(0x11, b"amy\0\x02\0\0crm\0\x2d\0mysql_native_password\0");
    talk.says(Client, &change)
        .says(Server, &packet(1, b"\xfemysql_native_password\0salt\0"));
    assert_eq!(talk.session.user.as_deref(), Some("lab"));
    talk.says(Client, &packet(2, b"scramble"))
        .says(Server, &packet(3, OK));
    assert_eq!(talk.told(), ["change_user", "more", "more", "done"]);
    assert_eq!(
        (
            talk.session.user.as_deref(),
            talk.session.database.as_deref()
        ),
        (Some("amy"), Some("crm"))
    );
}

#[test]
fn a_refused_change_of_user_changes_nothing() {
    let mut talk = Talk::logged_in(BASE);
    talk.ask(
        &command(0x11, b"amy\0\x02\0\0crm\0\x2d\0mysql_native_password\0"),
        &packet(1, DUPLICATE),
    );
    assert_eq!(talk.session.user.as_deref(), Some("lab"));
}

#[test]
fn init_db_changes_the_database_once_it_succeeds() {
    let mut talk = Talk::logged_in(BASE);
    talk.ask(&command(0x02, b"shop"), &packet(1, OK));
    talk.ask(&command(0x02, b"nosuch"), &packet(1, DUPLICATE));
    assert_eq!(talk.session.database.as_deref(), Some("shop"));
}

#[test]
fn a_tracked_schema_changes_the_database() {
    let mut talk = Talk::logged_in(BASE);
    talk.ask(
        &query("use crm"),
        &packet(1, b"\0\0\0\x02\x40\0\0\0\x06\x01\x04\x03crm"),
    );
    assert_eq!(talk.session.database.as_deref(), Some("crm"));
}

// --- results ---

#[test]
fn rows_stand_between_two_eofs() {
    let mut talk = Talk::logged_in(BASE);
    let result = packets(1, &[b"\x01", DEFINITION, EOF, b"\x011", b"\xfb", EOF]);
    let told = talk.ask(&query("select a"), &result);
    assert_eq!(
        told,
        [
            "query: select a",
            "more",
            "more",
            "more",
            "row 1",
            "row 1",
            "done rows+0"
        ]
    );
}

#[test]
fn without_eof_rows_follow_the_definitions_at_once() {
    let mut talk = Talk::logged_in(MODERN);
    let result = packets(1, &[b"\x01", DEFINITION, b"\x011", b"\xfb", OK_FE]);
    assert_eq!(
        talk.ask(&query("select a"), &result)[1..],
        ["more", "more", "row 1", "row 1", "done rows+0"]
    );
}

#[test]
fn an_empty_result_set_has_no_rows_and_a_change_has_none_to_tell_of() {
    let mut talk = Talk::logged_in(BASE);
    assert_eq!(
        talk.ask(
            &query("select a"),
            &packets(1, &[b"\x01", DEFINITION, EOF, EOF])
        )[4],
        "done rows+0"
    );
    assert_eq!(
        talk.ask(&query("delete from t"), &packet(1, OK_3_AFFECTED))[1],
        "done affected 3"
    );
    let mut talk = Talk::logged_in(MODERN);
    assert_eq!(
        talk.ask(
            &query("select a"),
            &packets(1, &[b"\x01", DEFINITION, OK_FE])
        )[3],
        "done rows+0"
    );
}

#[test]
fn binary_rows_begin_like_ok_and_are_rows() {
    let mut talk = Talk::logged_in(BASE);
    let result = packets(
        1,
        &[
            b"\x01",
            DEFINITION,
            EOF,
            b"\0\0\x02\0\0\0\0",
            b"\0\0\x02\0\0\0\0",
            EOF,
        ],
    );
    assert_eq!(
        talk.ask(&execute(1, 0, b""), &result)[4..],
        ["row 1", "row 1", "done rows+0"]
    );
}

#[test]
fn several_results_answer_one_query() {
    let mut talk = Talk::logged_in(BASE);
    let results = packets(
        1,
        &[
            b"\x01",
            DEFINITION,
            EOF,
            b"\x011",
            EOF_MORE,
            OK_3_AFFECTED_MORE,
            b"\x01",
            DEFINITION,
            EOF,
            b"\x012",
            EOF,
        ],
    );
    let told = talk.ask(&query("select 1; delete from t; select 2"), &results);
    assert_eq!(
        told[1..],
        [
            "more",
            "more",
            "more",
            "row 1",
            "more",
            "more",
            "more",
            "more",
            "more",
            "row 1",
            "done rows+0 affected 3"
        ]
    );
}

#[test]
fn a_call_ends_with_an_ok_of_its_own() {
    let mut talk = Talk::logged_in(MODERN);
    let results = packets(
        1,
        &[
            b"\x01",
            DEFINITION,
            b"\x011",
            b"\xfe\0\0\x0a\0\0\0",
            OK_3_AFFECTED,
        ],
    );
    assert_eq!(
        talk.ask(&query("call p()"), &results)[1..],
        ["more", "more", "row 1", "more", "done rows+0 affected 3"]
    );
}

#[test]
fn an_error_may_come_after_rows_and_between_results() {
    let mut talk = Talk::logged_in(BASE);
    let rows = packets(1, &[b"\x01", DEFINITION, EOF, b"\x011", DUPLICATE]);
    assert_eq!(
        talk.ask(&query("select a"), &rows)[4..],
        ["row 1", "done rows+0 error 1062 (23000)"]
    );
    let results = packets(1, &[OK_3_AFFECTED_MORE, DUPLICATE]);
    assert_eq!(
        talk.ask(&query("a; b"), &results)[1..],
        ["more", "done affected 3 error 1062 (23000)"]
    );
}

#[test]
fn progress_is_neither_an_error_nor_the_end() {
    let mut talk = Talk::logged_in(BASE);
    let progress = b"\xff\xff\xff\x01\x01\x02\x10\x27\0\x05alter";
    assert_eq!(
        talk.ask(
            &query("alter table t"),
            &packets(1, &[progress, progress, OK])
        )[1..],
        ["more", "more", "done affected 0"]
    );
}

#[test]
fn a_local_file_is_sent_inside_its_exchange() {
    let mut talk = Talk::logged_in(BASE);
    talk.says(Client, &query("load data"))
        .says(Server, &packet(1, b"\xfb/tmp/file"));
    talk.says(Client, &packets(2, &[b"1,2\n", b"3,4\n", b""]))
        .says(Server, &packet(5, OK_3_AFFECTED));
    assert_eq!(
        talk.told(),
        [
            "query: load data",
            "more",
            "more",
            "more",
            "more",
            "done affected 3"
        ]
    );
}

#[test]
fn a_local_file_that_cannot_be_opened_is_an_empty_packet_alone() {
    let mut talk = Talk::logged_in(BASE);
    talk.says(Client, &query("load data"))
        .says(Server, &packet(1, b"\xfb/tmp/file"));
    talk.says(Client, &packet(2, b""))
        .says(Server, &packet(3, DUPLICATE));
    assert_eq!(
        talk.told()[1..],
        ["more", "more", "done error 1062 (23000)"]
    );
}

#[test]
fn the_packets_of_a_long_local_file_are_numbered_around_zero() {
    let mut talk = Talk::logged_in(BASE);
    talk.says(Client, &query("load data"))
        .says(Server, &packet(1, b"\xfb/tmp/file"));
    let file: Vec<&[u8]> = vec![b"x"; 300];
    talk.says(Client, &packets(2, &file))
        .says(Client, &packet(46, b""))
        .says(Server, &packet(47, OK));
    assert_eq!(talk.told().last().unwrap(), "done affected 0");
}

#[test]
fn definitions_may_be_left_out() {
    let mut talk = Talk::logged_in(MODERN);
    // The flag before the count, as documented; behind it, as sent; MySQL's and MariaDB's alike.
    for header in [&b"\0\x02"[..], b"\x02\0"] {
        assert_eq!(
            talk.ask(
                &query("select a, b"),
                &packets(1, &[header, b"\x011\x012", OK_FE])
            )[1..],
            ["more", "row 1", "done rows+0"]
        );
    }
    for header in [&b"\x01\x01"[..], b"\x01"] {
        assert_eq!(
            talk.ask(
                &query("select a"),
                &packets(1, &[header, DEFINITION, OK_FE])
            )[1..],
            ["more", "more", "done rows+0"]
        );
    }
    for header in [&b"\x01\x02"[..], b"\x02\x01"] {
        let result = packets(1, &[header, DEFINITION, DEFINITION, OK_FE]);
        assert_eq!(
            talk.ask(&query("select a, b"), &result)[1..],
            ["more", "more", "more", "done rows+0"]
        );
    }
}

#[test]
fn mariadb_leaves_out_the_eof_with_the_definitions_and_mysql_does_not() {
    let mut talk = Talk::logged_in(BASE);
    assert_eq!(
        talk.ask(
            &execute(1, 0, b""),
            &packets(1, &[b"\x01\0", b"\0\0\x01", EOF])
        )[1..],
        ["more", "row 1", "done rows+0"]
    );
    let mut talk = Talk::logged_in(BASE | 1);
    assert_eq!(
        talk.ask(
            &query("select a"),
            &packets(1, &[b"\x01\0", EOF, b"\x011", EOF])
        )[1..],
        ["more", "more", "row 1", "done rows+0"]
    );
}

#[test]
fn more_columns_than_one_byte_counts() {
    let mut talk = Talk::logged_in(MODERN);
    let mut result = vec![&b"\xfc\x2c\x01"[..]];
    result.extend(vec![DEFINITION; 300]);
    result.extend([&b"\x011"[..], OK_FE]);
    let told = talk.ask(&query("select *"), &packets(1, &result));
    assert_eq!(told[302..], ["row 1", "done rows+0"]);
}

// --- the layout, found out by observation ---

#[test]
fn in_mid_connection_the_first_result_shows_whether_eofs_are_sent() {
    let mut talk = Talk::running();
    let result = packets(1, &[b"\x01", DEFINITION, EOF, b"\x011", EOF]);
    assert_eq!(
        talk.ask(&query("select a"), &result)[1..],
        ["more", "more", "more", "row 1", "done rows+0"]
    );
    assert_eq!(talk.decoder.layout.deprecate_eof, Some(false));
    let mut talk = Talk::running();
    let result = packets(1, &[b"\x01", DEFINITION, b"\x011", OK_FE]);
    assert_eq!(
        talk.ask(&query("select a"), &result)[1..],
        ["more", "more", "row 1", "done rows+0"]
    );
    assert_eq!(talk.decoder.layout.deprecate_eof, Some(true));
}

#[test]
fn in_mid_connection_an_empty_result_shows_it_too() {
    let mut talk = Talk::running();
    assert_eq!(
        talk.ask(
            &query("select a"),
            &packets(1, &[b"\x01", DEFINITION, OK_FE])
        )[3],
        "done rows+0"
    );
    let mut talk = Talk::running();
    assert_eq!(
        talk.ask(
            &query("select a"),
            &packets(1, &[b"\x01", DEFINITION, EOF, EOF])
        )[4],
        "done rows+0"
    );
}

#[test]
fn in_mid_connection_a_prepare_may_have_an_eof_too_many() {
    let mut talk = Talk::running();
    // No columns, one parameter: nothing but the next packet tells.
    let prepared = b"\0\x01\0\0\0\0\0\x01\0\0\0\0";
    let told = talk.ask(
        &prepare("insert into t values (?)"),
        &packets(1, &[prepared, DEFINITION, EOF]),
    );
    assert_eq!(told[1..], ["more", "done", "aside"]);
    assert_eq!(talk.decoder.layout.deprecate_eof, Some(false));
    let mut talk = Talk::running();
    talk.ask(
        &prepare("insert into t values (?)"),
        &packets(1, &[prepared, DEFINITION]),
    );
    assert_eq!(
        talk.ask(&execute(1, 0, b""), &packet(1, OK))[1],
        "done affected 0"
    );
    assert_eq!(talk.decoder.layout.deprecate_eof, Some(true));
}

#[test]
fn in_mid_connection_both_groups_of_a_prepare_show_it() {
    let mut talk = Talk::running();
    let told = talk.ask(
        &prepare("select ?"),
        &packets(1, &[PREPARED, DEFINITION, EOF, DEFINITION, EOF]),
    );
    assert_eq!(told[1..], ["more", "more", "more", "more", "done"]);
    let mut talk = Talk::running();
    let told = talk.ask(
        &prepare("select ?"),
        &packets(1, &[PREPARED, DEFINITION, DEFINITION]),
    );
    assert_eq!(told[1..], ["more", "more", "done"]);
}

// --- prepared statements ---

/// A connection with statement 1 prepared.
fn with_statement(capabilities: u32) -> Talk {
    let mut talk = Talk::logged_in(capabilities);
    let answer: &[&[u8]] = match capabilities & login::DEPRECATE_EOF {
        0 => &[PREPARED, DEFINITION, EOF, DEFINITION, EOF],
        _ => &[PREPARED, DEFINITION, DEFINITION],
    };
    let told = talk.ask(&prepare("select ?"), &packets(1, answer));
    assert_eq!(
        (told[0].as_str(), told.last().unwrap().as_str()),
        ("stmt_prepare: select ?", "done")
    );
    talk
}

#[test]
fn a_statement_without_columns_and_parameters_is_prepared_by_one_packet() {
    let mut talk = Talk::logged_in(BASE);
    let prepared = packet(1, b"\0\x01\0\0\0\0\0\0\0\0\0\0");
    assert_eq!(
        talk.ask(&prepare("commit"), &prepared),
        ["stmt_prepare: commit", "done"]
    );
}

#[test]
fn a_prepare_may_leave_its_definitions_out() {
    let mut talk = Talk::logged_in(MODERN);
    let prepared = packet(1, b"\0\x01\0\0\0\x01\0\x01\0\0\0\0\0");
    assert_eq!(talk.ask(&prepare("select ?"), &prepared)[1..], ["done"]);
}

#[test]
fn everything_done_with_a_statement_shows_its_sql() {
    let mut talk = with_statement(BASE);
    assert_eq!(
        talk.ask(&execute(1, 0, b""), &packet(1, OK))[0],
        "stmt_execute: select ?"
    );
    assert_eq!(
        talk.ask(&fetch(1, 10), &packets(1, &[EOF]))[0],
        "stmt_fetch: select ?"
    );
    assert_eq!(
        talk.ask(&with_id(0x1a, 1), &packet(1, OK))[0],
        "stmt_reset: select ?"
    );
    assert_eq!(
        talk.ask(&command(0x18, b"\x01\0\0\0\0\0x"), b"")[0],
        "stmt_send_long_data (Nothing): select ?"
    );
    assert_eq!(
        talk.ask(&with_id(0x19, 1), b"")[0],
        "stmt_close (Nothing): select ?"
    );
    assert_eq!(
        talk.ask(&execute(1, 0, b""), &packet(1, DUPLICATE))[0],
        "stmt_execute"
    );
}

#[test]
fn equal_binds_have_equal_parameters() {
    let mut talk = with_statement(BASE);
    let mut parameters = |binds: &[u8]| {
        talk.ask(&execute(1, 0, binds), &packet(1, OK));
        match &talk.meanings[0] {
            Meaning::Request(Request { sql: Some(sql), .. }) => sql.parameters,
            other => panic!("{other:?}"),
        }
    };
    let first = parameters(b"\0\x01\x08\0\x2a\0\0\0\0\0\0\0");
    assert_eq!(parameters(b"\0\0\x2a\0\0\0\0\0\0\0"), first);
    assert_ne!(parameters(b"\0\0\x2b\0\0\0\0\0\0\0"), first);
}

#[test]
fn statements_end_with_a_reset_of_the_connection_or_a_change_of_user() {
    for reset in [
        command(0x1f, b""),
        command(0x11, b"amy\0\0crm\0\x2d\0plugin\0"),
    ] {
        let mut talk = with_statement(BASE);
        talk.ask(&reset, &packet(1, OK));
        assert_eq!(
            talk.ask(&execute(1, 0, b""), &packet(1, OK))[0],
            "stmt_execute"
        );
    }
}

#[test]
fn an_execute_of_the_last_prepared_statement_waits_for_nothing_of_its_own() {
    let mut talk = Talk::logged_in(MODERN);
    let asked = [prepare("select ?"), execute(u32::MAX, 0, b"")].concat();
    let answers = [
        packets(1, &[PREPARED, DEFINITION, DEFINITION]),
        packet(1, OK),
    ]
    .concat();
    let told = talk.ask(&asked, &answers);
    assert_eq!(
        told,
        [
            "stmt_prepare: select ?",
            "stmt_execute (Shared): select ?",
            "more",
            "more",
            "done",
            "done affected 0"
        ]
    );
}

#[test]
fn a_failed_prepare_fails_the_execute_sent_with_it() {
    let mut talk = Talk::logged_in(MODERN);
    let asked = [prepare("selec ?"), execute(u32::MAX, 0, b"")].concat();
    let told = talk.ask(
        &asked,
        &[packet(1, DUPLICATE), packet(1, DUPLICATE)].concat(),
    );
    assert_eq!(
        told[2..],
        ["done error 1062 (23000)", "done error 1062 (23000)"]
    );
}

#[test]
fn a_cursor_leaves_the_rows_to_be_fetched() {
    let mut talk = with_statement(BASE);
    let opened = packets(1, &[b"\x01", DEFINITION, EOF_CURSOR]);
    assert_eq!(
        talk.ask(&execute(1, 1, b""), &opened)[1..],
        ["more", "more", "done rows+0"]
    );
    let rows = packets(1, &[b"\0\0\x01", b"\0\0\x02", EOF_CURSOR]);
    assert_eq!(
        talk.ask(&fetch(1, 2), &rows)[1..],
        ["row 1", "row 1", "done rows+0"]
    );
    assert_eq!(
        talk.ask(&fetch(1, 2), &packet(1, b"\xfe\0\0\x82\0"))[1..],
        ["done rows+0"]
    );
}

#[test]
fn a_cursor_without_eof_ends_its_definitions_with_an_ok() {
    let mut talk = with_statement(MODERN);
    let opened = packets(1, &[b"\x01", DEFINITION, OK_FE_CURSOR]);
    assert_eq!(
        talk.ask(&execute(1, 1, b""), &opened)[1..],
        ["more", "more", "done rows+0"]
    );
    assert_eq!(
        talk.ask(&fetch(1, 2), &packets(1, &[b"\0\0\x01", OK_FE]))[1..],
        ["row 1", "done rows+0"]
    );
}

#[test]
fn a_cursor_that_was_not_opened_brings_its_rows_at_once() {
    let mut talk = with_statement(BASE);
    let result = packets(1, &[b"\x01", DEFINITION, EOF, b"\0\0\x01", EOF]);
    assert_eq!(
        talk.ask(&execute(1, 1, b""), &result)[1..],
        ["more", "more", "more", "row 1", "done rows+0"]
    );
}

#[test]
fn unit_results_of_a_bulk_execute_are_no_rows() {
    let mut talk = with_statement(MODERN);
    let bulk = |flags: u8| {
        command(
            0xfa,
            &[1, 0, 0, 0, flags, 0, 8, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
        )
    };
    let units = packets(
        1,
        &[b"\x02", DEFINITION, DEFINITION, b"\0\0\x01\x01", OK_FE],
    );
    let told = talk.ask(&bulk(0xc0), &units);
    assert_eq!(
        told,
        [
            "stmt_bulk_execute: select ?",
            "more",
            "more",
            "more",
            "more",
            "done"
        ]
    );
    assert_eq!(
        talk.ask(&bulk(0x80), &packet(1, OK_3_AFFECTED))[1],
        "done affected 3"
    );
}

// --- packets of 16 MB ---

const FULL: usize = packet::FULL as usize;

#[test]
fn a_statement_of_16_mb_goes_on_in_an_empty_packet() {
    let mut talk = Talk::logged_in(BASE);
    let mut text = vec![b'x'; FULL];
    text[..11].copy_from_slice(b"\x03insert xxx");
    talk.says(Client, &packets(0, &[&text, b""]))
        .says(Server, &packet(2, OK_3_AFFECTED));
    let told = talk.told();
    assert!(
        told[0].starts_with("query: insert xxx")
            && told[0].ends_with('…')
            && told[0].len() < 70_000
    );
    assert_eq!(told[1..], ["more", "done affected 3"]);
}

#[test]
fn long_data_of_more_than_16_mb_is_still_answered_by_nobody() {
    let mut talk = Talk::logged_in(BASE);
    let mut data = vec![0; FULL];
    data[..7].copy_from_slice(b"\x18\x01\0\0\0\0\0");
    talk.says(Client, &packets(0, &[&data, b"rest"]))
        .says(Client, &query("do 1"));
    assert_eq!(
        talk.told(),
        ["stmt_send_long_data (Nothing)", "aside", "query: do 1"]
    );
}

#[test]
fn a_row_of_16_mb_counts_once() {
    let mut talk = Talk::logged_in(BASE);
    let mut row = vec![0; FULL];
    row[0] = 0xfe;
    let result = packets(
        1,
        &[
            b"\x01",
            DEFINITION,
            EOF,
            &row,
            b"\xfe\0\0\x02\0 rest",
            b"\xfb",
            EOF,
        ],
    );
    let told = talk.ask(&query("select blob"), &result);
    assert_eq!(told[4..], ["row 1", "more", "row 1", "done rows+0"]);
}

#[test]
fn a_row_is_read_by_its_first_byte_alone() {
    let mut talk = Talk::logged_in(BASE);
    talk.says(Client, &query("select a"))
        .says(Server, &packets(1, &[b"\x01", DEFINITION, EOF]));
    let row = packet(4, &[b'x'; 5000]);
    assert_eq!(
        talk.decoder.frame(Server, &row),
        Ok(Frame::Message {
            head: 5,
            length: 5004
        })
    );
}

#[test]
fn a_statement_beyond_64_kib_is_cut() {
    let mut talk = Talk::logged_in(BASE);
    let told = talk.ask(&query(&"ü".repeat(40_000)), &packet(1, OK));
    assert_eq!(
        told[0].trim_start_matches("query: ").chars().count(),
        32_767
    );
    assert!(told[0].ends_with("ü…"));
}

// --- order ---

#[test]
fn pipelined_commands_are_answered_in_order() {
    let mut talk = Talk::logged_in(BASE);
    let asked = [query("a"), query("b"), command(0x0e, b"")].concat();
    let answers = [
        packet(1, DUPLICATE),
        packets(1, &[b"\x01", DEFINITION, EOF, b"\x011", EOF]),
        packet(1, OK),
    ]
    .concat();
    let told = talk.ask(&asked, &answers);
    assert_eq!(
        told[3..],
        [
            "done error 1062 (23000)",
            "more",
            "more",
            "more",
            "row 1",
            "done rows+0",
            "done"
        ]
    );
}

#[test]
fn a_long_answer_is_numbered_around_zero() {
    let mut talk = Talk::logged_in(BASE);
    let mut result = vec![&b"\x01"[..], DEFINITION, EOF];
    result.extend(vec![&b"\x011"[..]; 600]);
    result.push(EOF);
    assert_eq!(
        talk.ask(&query("select a"), &packets(1, &result))
            .last()
            .unwrap(),
        "done rows+0"
    );
}

#[test]
fn a_number_out_of_order_is_a_loss() {
    let mut talk = Talk::logged_in(BASE);
    let lost = talk.lost_to(Client, &packet(3, b"\x03do 1"));
    assert_eq!(
        lost,
        "the client sends packet 3 where packet 0 was expected"
    );
    let mut talk = Talk::logged_in(BASE);
    talk.says(Client, &query("do 1"));
    assert_eq!(
        talk.lost_to(Server, &packet(2, OK)),
        "the server sends packet 2 where packet 1 was expected"
    );
}

#[test]
fn inside_compressed_packets_the_numbers_prove_nothing() {
    let mut talk = Talk::new(Beginning::Compressed);
    talk.says(Client, &packet(7, b"\x03do 1"))
        .says(Server, &packet(3, OK));
    assert_eq!(talk.told(), ["query: do 1", "done affected 0"]);
}

#[test]
fn what_nobody_asked_for_is_an_error_or_a_loss() {
    let mut talk = Talk::logged_in(BASE);
    talk.says(
        Server,
        &packet(
            0,
            b"\xff\xbf\x0f#HY000The client was disconnected by the server because of inactivity.",
        ),
    );
    assert_eq!(talk.told(), ["aside"]);
    assert_eq!(
        talk.lost_to(Server, &packet(1, OK)),
        "the server sends what nobody asked for"
    );
}

#[test]
fn an_error_that_crosses_a_command_answers_it() {
    let mut talk = Talk::logged_in(BASE);
    assert_eq!(
        talk.ask(&query("do 1"), &packet(0, b"\xff\xbf\x0f#HY000x"))[1],
        "done error 4031 (HY000)"
    );
}

#[test]
fn impossible_answers_are_losses() {
    type Case = (Vec<u8>, &'static [&'static [u8]], &'static str);
    let cases: [Case; 5] = [
        (
            command(0x0e, b""),
            &[b"\x01"],
            "an answer cannot begin with 0x01 here",
        ),
        (
            query("select a"),
            &[b"\x2fnonsense that is no count"],
            "an answer cannot begin with 0x2f here",
        ),
        (
            query("select a"),
            &[b"\x02", DEFINITION, EOF],
            "the definitions end while 1 are still to come",
        ),
        (
            query("select a"),
            &[b"\x01", DEFINITION, b"\x011"],
            "no EOF follows the column definitions",
        ),
        (
            query("load data"),
            &[b"\xfbfile", OK],
            "the server answers before the local file has ended",
        ),
    ];
    for (request, answer, expected) in cases {
        let mut talk = Talk::logged_in(BASE);
        talk.says(Client, &request);
        assert_eq!(talk.lost_to(Server, &packets(1, answer)), expected);
    }
}

#[test]
fn after_a_loss_a_command_is_a_place_to_go_on() {
    let mut talk = with_statement(BASE);
    talk.says(Client, &query("do 1"));
    assert!(!talk.decoder.resumes(b"in the middle of something"));
    assert!(!talk.decoder.resumes(&packet(1, b"\x03do 1")));
    assert!(talk.decoder.resumes(&execute(1, 0, b"")));
    talk.decoder.resume();
    assert_eq!(
        talk.ask(&execute(1, 0, b""), &packet(1, OK)),
        ["stmt_execute: select ?", "done affected 0"]
    );
}

// --- packets that the capture has cut ---

#[test]
fn a_cut_statement_ends_with_an_ellipsis() {
    let mut talk = Talk::logged_in(BASE);
    talk.says_cut(Client, &query("select a from t"), 13);
    assert_eq!(talk.told(), ["query: select a…"]);
}

#[test]
fn a_command_cut_to_its_header_is_unknown_and_ends_with_the_next() {
    let mut talk = Talk::logged_in(BASE);
    talk.says_cut(Client, &query("select a from t"), 4)
        .says(Server, &packet(1, OK))
        .says(Client, &query("do 1"));
    assert_eq!(talk.told(), ["unknown", "more", "query: do 1"]);
}

#[test]
fn nothing_that_is_cut_is_a_loss() {
    let opened = packets(1, &[b"\x01", DEFINITION, EOF]);
    let dialogues: [(&[u8], &[u8]); 6] = [
        (&[], b"\0\x03\0\x02\0\0\0"),
        (&[], b"\xff\x26\x04#23000Duplicate entry"),
        (&[], b"\x01"),
        (&[], b"\xfc\x2c\x01"),
        (&opened, b"\x03abc"),
        (&opened, b"\xfe\0\0\x02\0"),
    ];
    for (before, last) in dialogues {
        let last = packet(if before.is_empty() { 1 } else { 4 }, last);
        for kept in 4..last.len() {
            let mut talk = Talk::logged_in(BASE);
            talk.says(Client, &query("select a"))
                .says(Server, before)
                .says_cut(Server, &last, kept);
            talk.says(Client, &query("do 1"));
            assert!(talk.told().contains(&"query: do 1".to_owned()));
        }
    }
}

#[test]
fn cut_logins_greetings_and_commands_are_no_losses() {
    for kept in 4..greeting(BASE).len() {
        let mut talk = Talk::new(Beginning::Greeting);
        talk.says_cut(Server, &greeting(BASE), kept)
            .says(Client, &login_request(1, BASE, LAB))
            .says(Server, &packet(2, OK));
        assert_eq!(talk.told(), ["greeting", "authenticate", "done"]);
    }
    for kept in 4..login_request(1, BASE, LAB).len() {
        let mut talk = Talk::new(Beginning::Greeting);
        talk.says(Server, &greeting(BASE))
            .says_cut(Client, &login_request(1, BASE, LAB), kept)
            .says(Server, &packet(2, OK));
        assert_eq!(talk.told(), ["greeting", "authenticate", "done"]);
    }
    for request in [
        execute(1, 0, b"\0\x01\x08\0x"),
        fetch(1, 10),
        command(0xfa, &[1; 20]),
        command(0x11, b"amy\0\x02xxcrm\0"),
    ] {
        for kept in 5..request.len() {
            assert_eq!(
                Talk::logged_in(BASE)
                    .says_cut(Client, &request, kept)
                    .told()
                    .len(),
                1
            );
        }
    }
}

// --- properties ---

/// A dialogue with something of everything, turn by turn.
fn long_dialogue() -> Vec<(Side, Vec<u8>)> {
    let result = packets(
        1,
        &[
            b"\x01",
            DEFINITION,
            EOF,
            b"\x011",
            b"\xfb",
            &[b'x'; 3000],
            EOF,
        ],
    );
    let prepared = packets(1, &[PREPARED, DEFINITION, EOF, DEFINITION, EOF]);
    let rows = packets(1, &[b"\x01", DEFINITION, EOF, b"\0\0\x02\0\0\0\0", EOF]);
    let fetched = packets(1, &[b"\0\0\x01", EOF]);
    vec![
        (Server, greeting(BASE)),
        (Client, login_request(1, BASE, LAB)),
        (Server, packet(2, b"\xfecaching_sha2_password\0salt\0")),
        (Client, packet(3, b"scramble")),
        (Server, packets(4, &[b"\x01\x03", OK])),
        (Client, query("select a from t where b = 1")),
        (Server, result),
        (
            Client,
            [
                prepare("select ?"),
                execute(u32::MAX, 0, b"\0\x01\x08\0\x2a\0\0\0\0\0\0\0"),
            ]
            .concat(),
        ),
        (Server, [prepared, rows].concat()),
        (Client, execute(1, 1, b"\0\0\x2a\0\0\0\0\0\0\0")),
        (Server, packets(1, &[b"\x01", DEFINITION, EOF_CURSOR])),
        (Client, fetch(1, 10)),
        (Server, fetched),
        (
            Client,
            [with_id(0x19, 1), query("load data local infile 'x'")].concat(),
        ),
        (Server, packet(1, b"\xfbx")),
        (Client, packets(2, &[&[b'x'; 2000], b""])),
        (Server, packet(4, OK_3_AFFECTED)),
        (Client, query("a; b; c")),
        (
            Server,
            packets(
                1,
                &[
                    OK_3_AFFECTED_MORE,
                    b"\x01",
                    DEFINITION,
                    EOF,
                    EOF_MORE,
                    DUPLICATE,
                ],
            ),
        ),
        (
            Client,
            command(0x11, b"amy\0\x02xxcrm\0\x2d\0mysql_native_password\0"),
        ),
        (Server, packet(1, b"\xfemysql_native_password\0salt\0")),
        (Client, packet(2, b"scramble")),
        (Server, packet(3, OK)),
        (Client, command(0x09, b"")),
        (Server, packet(1, b"Uptime: 1")),
        (Client, command(0x01, b"")),
    ]
}

/// What the dialogue means when each turn comes in pieces of these sizes.
fn in_pieces(sizes: &[usize]) -> (Vec<String>, Session) {
    let mut talk = Talk::new(Beginning::Greeting);
    let mut sizes = sizes.iter().copied().cycle();
    for (side, bytes) in long_dialogue() {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(sizes.next().unwrap_or(1).clamp(1, rest.len()));
            talk.says(side, piece);
            rest = later;
        }
    }
    (talk.told(), talk.session)
}

#[test]
fn whole_and_byte_by_byte_mean_the_same() {
    assert_eq!(in_pieces(&[1]), in_pieces(&[usize::MAX]));
    assert_eq!(in_pieces(&[1]).0.len(), 53);
}

/// Reads on after each loss, as the conversation would.
fn survive(talk: &mut Talk, turns: &[(Side, Vec<u8>)]) {
    for (side, bytes) in turns {
        talk.says(*side, bytes);
        if talk.lost.take().is_some() {
            talk.sides = Default::default();
            talk.decoder.resumes(bytes);
            talk.decoder.resume();
        }
    }
}

fn any_side() -> impl Strategy<Value = Side> {
    any::<bool>().prop_map(|client| if client { Client } else { Server })
}

proptest! {
    #[test]
    fn any_split_means_the_same(sizes in prop::collection::vec(1usize..4000, 1..20)) {
        prop_assert_eq!(in_pieces(&sizes), in_pieces(&[usize::MAX]));
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        turns in prop::collection::vec((any_side(), prop::collection::vec(any::<u8>(), 1..60)), 1..20),
        beginning in 0u8..4,
    ) {
        let beginnings = [Beginning::Greeting, Beginning::Login, Beginning::Commands, Beginning::Compressed];
        survive(&mut Talk::new(beginnings[usize::from(beginning)]), &turns);
    }

    #[test]
    fn arbitrary_packets_never_panic(
        turns in prop::collection::vec((any_side(), 0u8..5, prop::collection::vec(any::<u8>(), 0..40)), 1..40),
    ) {
        let turns: Vec<_> = turns.iter().map(|(side, number, payload)| (*side, packet(*number, payload))).collect();
        survive(&mut Talk::new(Beginning::Compressed), &turns);
        survive(&mut Talk::new(Beginning::Commands), &turns);
    }

    #[test]
    fn damaged_dialogues_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..4),
    ) {
        let mut turns = long_dialogue();
        for (turn, place, byte) in flips {
            let bytes = turn.get_mut(&mut turns).1.as_mut_slice();
            *place.get_mut(bytes) = byte;
        }
        for (turn, place) in cuts {
            let bytes = &mut turn.get_mut(&mut turns).1;
            bytes.truncate(1 + place.index(bytes.len()));
        }
        survive(&mut Talk::new(Beginning::Greeting), &turns);
    }
}
