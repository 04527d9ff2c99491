//! A dialogue with something of everything, cut in every way, damaged, and begun in the middle.

use proptest::prelude::*;

use super::*;
use crate::conversation::{Common, Dialogue};
use crate::drivers;
use crate::exchange::{Exchange, Wait};
use crate::protocols::{Purpose, Verdict};
use crate::session::Session;
use crate::sql::Statements;
use crate::stream::{Chunk, Mark};
use Side::{Client, Server};

// --- bytes ------------------------------------------------------------------------------------------------------------

fn packet(kind: u8, status: u8, number: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16 + 8).to_be_bytes();
    [&[kind, status, length[0], length[1], 0, 52, number, 0], body].concat()
}

/// A message in packets of so many bytes.
fn message_in(kind: u8, body: &[u8], size: usize) -> Vec<u8> {
    let parts: Vec<&[u8]> = if body.is_empty() { vec![&[]] } else { body.chunks(size).collect() };
    let last = parts.len() - 1;
    parts
        .iter()
        .enumerate()
        .flat_map(|(at, part)| packet(kind, u8::from(at == last), (at as u8).wrapping_add(1), part))
        .collect()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    message_in(kind, body, 4088)
}

fn utf_16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn short_text(text: &str) -> Vec<u8> {
    [&[text.len() as u8][..], &utf_16(text)].concat()
}

fn long_text(text: &str) -> Vec<u8> {
    [&(text.len() as u16).to_le_bytes()[..], &utf_16(text)].concat()
}

fn prelogin(encryption: u8) -> Vec<u8> {
    [&[0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff][..], &[16, 0, 4, 0, 0, 0], &[encryption]].concat()
}

fn login() -> Vec<u8> {
    let texts = ["pc", "ann", "top secret", "till", "db", "", "lib", "", "shop"];
    let (mut places, mut data, mut at) = (Vec::new(), Vec::new(), 94_u16);
    for text in texts {
        places.extend(at.to_le_bytes());
        places.extend((text.len() as u16).to_le_bytes());
        data.extend(utf_16(text));
        at += 2 * text.len() as u16;
    }
    let mut body = u32::from(at).to_le_bytes().to_vec();
    body.extend([4, 0, 0, 0x74]);
    body.resize(36, 0);
    body.extend(places);
    body.resize(94, 0);
    body.extend(data);
    body
}

fn token(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u16).to_le_bytes(), body].concat()
}

fn logged_in() -> Vec<u8> {
    let acknowledged = [&[1, 0x74, 0, 0, 4][..], &short_text("Microsoft SQL Server"), &[16, 0, 0x10, 0x27]].concat();
    let database = [&[1][..], &short_text("shop"), &short_text("master")].concat();
    let features = [&[0xae, 1][..], &4_u32.to_le_bytes(), &[0; 4], &[0xff]].concat();
    [token(0xe3, &database), token(0xad, &acknowledged), features, done(0xfd, 0, 0, 0)].concat()
}

fn done(kind: u8, status: u16, command: u16, count: u64) -> Vec<u8> {
    [&[kind][..], &status.to_le_bytes(), &command.to_le_bytes(), &count.to_le_bytes()].concat()
}

const HEADERS: &[u8] = &[22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];

fn batch(text: &str) -> Vec<u8> {
    message(1, &[HEADERS, &utf_16(text)].concat())
}

const NVARCHAR: &[u8] = &[0xe7, 0x40, 0x1f, 9, 4, 0xd0, 0, 0x34];
const NVARCHAR_MAX: &[u8] = &[0xe7, 0xff, 0xff, 9, 4, 0xd0, 0, 0x34];
const INTN: &[u8] = &[0x26, 4];

fn parameter(kind: &[u8], value: &[u8]) -> Vec<u8> {
    [&[0, 0][..], kind, value].concat()
}

fn text_parameter(text: &str) -> Vec<u8> {
    parameter(NVARCHAR, &[&(2 * text.len() as u16).to_le_bytes()[..], &utf_16(text)].concat())
}

fn number_parameter(number: i32) -> Vec<u8> {
    parameter(INTN, &[&[4][..], &number.to_le_bytes()].concat())
}

fn numbered(procedure: u8, parameters: &[Vec<u8>]) -> Vec<u8> {
    [&[0xff, 0xff, procedure, 0, 0, 0][..], &parameters.concat()].concat()
}

fn call(procedure: u8, parameters: &[Vec<u8>]) -> Vec<u8> {
    message(3, &[HEADERS, &numbered(procedure, parameters)].concat())
}

/// One column of each way in which a value is written.
fn columns() -> Vec<u8> {
    let column = |kind: &[u8], name: &str| [&[0, 0, 0, 0, 9, 0][..], kind, &short_text(name)].concat();
    let table = [&[1][..], &long_text("t")].concat();
    let text = [&[0x23, 0xff, 0xff, 0xff, 0x7f, 9, 4, 0xd0, 0, 0x34][..], &table].concat();
    let udt = [&[0xf0, 0xff, 0xff][..], &[0, 0], &short_text("geo"), &long_text("a")].concat();
    let columns = [
        column(&[0x38], "id"),
        column(INTN, "n"),
        column(NVARCHAR, "name"),
        column(NVARCHAR_MAX, "long"),
        column(&text, "old"),
        column(&[0x62, 0x49, 0x1f, 0, 0], "any"),
        column(&[0xf1, 0], "xml"),
        column(&udt, "place"),
        column(&[0x2a, 7], "at"),
        column(&[0x6a, 17, 38, 10], "price"),
    ];
    [&[0x81][..], &(columns.len() as u16).to_le_bytes(), &columns.concat()].concat()
}

fn row(long: usize) -> Vec<u8> {
    let chunk = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
    let chunks = [&(2 * long as u64).to_le_bytes()[..], &chunk(&vec![b'x'; long]), &chunk(&vec![0xd1; long])].concat();
    [
        &[0xd1, 1, 0, 0, 0][..],
        &[4, 9, 0, 0, 0],
        &[4, 0, 0xd1, 0xfd],
        &[0, 0],
        &chunks,
        &[0; 4],
        &[16][..],
        &[7; 24],
        &chunk(b"old text"),
        &chunk(b"\x38\0\x01\0\0\0"),
        &[0xff; 8],
        &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &chunk(b"point"),
        &[0; 4],
        &[8, 1, 2, 3, 4, 5, 6, 7, 8],
        &[5, 1, 9, 9, 9, 9],
    ]
    .concat()
}

/// A row whose columns are null but for the first.
fn null_row() -> Vec<u8> {
    [&[0xd2, 0xfe, 0x03][..], &[1, 0, 0, 0]].concat()
}

fn handle(number: i32) -> Vec<u8> {
    let kind = [&[0xac, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], INTN].concat();
    [&kind[..], &[4], &number.to_le_bytes()].concat()
}

fn error(number: u32, class: u8, text: &str) -> Vec<u8> {
    let body = [&number.to_le_bytes()[..], &[1, class], &long_text(text), &[0, 0], &[1, 0, 0, 0]].concat();
    token(0xaa, &body)
}

fn result(rows: &[Vec<u8>]) -> Vec<u8> {
    [columns(), rows.concat(), done(0xfd, 0x10, 0xc1, rows.len() as u64)].concat()
}

const IN_CALL: u8 = 0xff;
const OF_CALL: u8 = 0xfe;

/// Login, a result, prepared statements, a cursor, several calls at once, an error, a bulk load, a transaction, an
/// attention.
fn dialogue() -> Vec<(Side, Vec<u8>)> {
    let status = &[0x79, 0, 0, 0, 0][..];
    let over = done(OF_CALL, 0, 0xe0, 0);
    let changed = |count| done(IN_CALL, 0x11, 0xc3, count);
    let begun = token(0xe3, &[8, 8, 1, 0, 0, 0, 1, 0, 0, 0, 0]);
    let ended = token(0xe3, &[9, 0, 8, 1, 0, 0, 0, 1, 0, 0, 0]);
    let declared = "@a int";
    let insert = "insert into t values (@a)";
    let inserts =
        |flag: u8| numbered(10, &[text_parameter(insert), text_parameter(declared), number_parameter(flag.into())]);
    vec![
        (Client, message(18, &prelogin(2))),
        (Server, message(4, &prelogin(2))),
        (Client, message(16, &login())),
        (Server, message(4, &logged_in())),
        (Client, batch("select * from t where a = 1")),
        (Server, message_in(4, &result(&[row(3000), null_row(), row(5)]), 700)),
        (
            Client,
            call(13, &[parameter(INTN, &[0]), text_parameter(declared), text_parameter(insert), number_parameter(7)]),
        ),
        (Server, message(4, &[&changed(1)[..], status, &handle(1), &over].concat())),
        (Client, call(12, &[number_parameter(1), number_parameter(8)])),
        (Server, message(4, &[&changed(1)[..], status, &over].concat())),
        (Client, call(2, &[parameter(INTN, &[0]), text_parameter("select a from t"), number_parameter(16)])),
        (
            Server,
            message(4, &[&columns()[..], &done(IN_CALL, 0x11, 0xc1, 0), status, &handle(180_150_003), &over].concat()),
        ),
        (
            Client,
            call(7, &[number_parameter(180_150_003), number_parameter(2), number_parameter(0), number_parameter(2)]),
        ),
        (
            Server,
            message(
                4,
                &[&[0x81, 0xff, 0xff][..], &row(1), &null_row(), &done(IN_CALL, 0x11, 0xc1, 2), status, &over].concat(),
            ),
        ),
        (Client, call(9, &[number_parameter(180_150_003)])),
        (Server, message(4, &[status, &over].concat())),
        (Client, message(3, &[HEADERS, &inserts(1), &[0xff], &inserts(2), &[0xff], &inserts(3)].concat())),
        (
            Server,
            message(
                4,
                &[
                    &changed(1)[..],
                    status,
                    &done(OF_CALL, 0x81, 0xe0, 0),
                    &error(2627, 14, "Violation of PRIMARY KEY"),
                    status,
                    &done(OF_CALL, 0x83, 0xe0, 0),
                    &changed(2),
                    status,
                    &over,
                ]
                .concat(),
            ),
        ),
        (Client, batch("insert bulk t (a int)")),
        (Server, message(4, &done(0xfd, 0, 0, 0))),
        (Client, message_in(7, &[7; 9000], 4000)),
        (Server, message(4, &done(0xfd, 0x10, 0xf0, 900))),
        (Client, message(14, &[HEADERS, &[5, 0, 0, 0]].concat())),
        (Server, message(4, &[begun, done(0xfd, 0, 0, 0)].concat())),
        (Client, batch("waitfor delay '1:00'")),
        (Client, message(6, &[])),
        (Server, message(4, &done(0xfd, 0x20, 0, 0))),
        (Client, message(14, &[HEADERS, &[7, 0, 0, 0]].concat())),
        (Server, message(4, &[ended, done(0xfd, 0, 0, 0)].concat())),
    ]
}

// --- what it means ----------------------------------------------------------------------------------------------------

struct Talk {
    exchanges: Vec<Exchange>,
    session: crate::session::Session,
    texts: Vec<String>,
    fingerprints: Vec<String>,
    losses: u32,
}

fn talk_cut(parts: &[(Side, Vec<u8>)], mut sizes: impl Iterator<Item = usize>) -> Talk {
    let (mut client, mut server) = (Vec::new(), Vec::new());
    parts.iter().for_each(|(side, bytes)| if *side == Client { client.extend(bytes) } else { server.extend(bytes) });
    let first = Opening { client: &client, server: &server, first: Client, from_start: true };
    let mut dialogue = Dialogue::new("sqlserver", decoder(&first), false);
    let mut common = Common::new(Statements::new(true));
    let mut exchanges = Vec::new();
    let mut sent = [crate::stream::START; 2];
    for (time_ns, (side, bytes)) in (0..).zip(parts) {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(sizes.next().unwrap_or(rest.len()).clamp(1, rest.len()));
            let offset = sent[*side as usize];
            sent[*side as usize] += now.len() as u64;
            let acknowledged = sent[side.other() as usize];
            let mark = Mark { frame: 1, time_ns };
            dialogue.read(&Chunk { side: *side, mark, acknowledged, offset, lost: 0, bytes: now, cut: 0 }, &mut common);
            dialogue.pairing.take_finished(&mut exchanges);
            rest = later;
        }
    }
    dialogue.pairing.close();
    dialogue.pairing.take_finished(&mut exchanges);
    exchanges.sort_by_key(|exchange| exchange.number);
    let text = |exchange: &Exchange| exchange.sql.map_or("", |sql| common.statements.text(sql.text)).to_owned();
    let texts = exchanges.iter().map(text).collect();
    let fingerprint = |exchange: &Exchange| Some(common.statements.text(exchange.sql?.fingerprint).to_owned());
    let fingerprints = exchanges.iter().filter_map(fingerprint).collect();
    Talk { exchanges, session: dialogue.session.clone(), texts, fingerprints, losses: dialogue.losses }
}

fn talk(parts: &[(Side, Vec<u8>)]) -> Talk {
    talk_cut(parts, std::iter::empty())
}

type Told<'a> = (&'static str, u32, Option<u64>, Option<u64>, &'a str);

impl Talk {
    fn told(&self) -> Vec<Told<'_>> {
        let of = self.exchanges.iter().zip(&self.texts);
        of.map(|(one, text)| (one.command, one.round_trips, one.rows, one.affected_rows, text.as_str())).collect()
    }

    fn waits(&self) -> u32 {
        self.exchanges.iter().map(|exchange| exchange.round_trips).sum()
    }
}

#[test]
fn a_dialogue_is_told_request_by_request() {
    let insert = "insert into t values (@a)";
    let talk = talk(&dialogue());
    let expected: [Told<'_>; 17] = [
        ("prelogin", 1, None, None, ""),
        ("login", 1, None, None, ""),
        ("batch", 1, Some(3), None, "select * from t where a = 1"),
        ("sp_prepexec", 1, None, Some(1), insert),
        ("sp_execute", 1, None, Some(1), insert),
        ("sp_cursoropen", 1, Some(0), None, "select a from t"),
        ("sp_cursorfetch", 1, Some(2), None, "select a from t"),
        ("sp_cursorclose", 1, None, None, "select a from t"),
        ("sp_executesql", 1, None, Some(1), insert),
        ("sp_executesql", 0, None, None, insert),
        ("sp_executesql", 0, None, Some(2), insert),
        ("batch", 1, None, None, "insert bulk t (a int)"),
        ("bulk_load", 1, None, Some(900), "insert bulk t (a int)"),
        ("begin", 1, None, None, ""),
        ("batch", 1, None, None, "waitfor delay '1:00'"),
        ("commit", 1, None, None, ""),
        ("", 0, None, None, ""),
    ];
    assert_eq!(talk.told(), expected[..16]);
    assert!(talk.exchanges.iter().all(|exchange| exchange.complete));
    assert_eq!((talk.losses, talk.waits()), (0, 14));
    let code = |at: usize| talk.exchanges[at].error.as_ref().map(|error| error.code.as_str());
    assert_eq!((code(8), code(9), code(10)), (None, Some("2627 (class 14, state 1)"), None));
    assert_eq!(talk.exchanges[9].wait, Wait::Shared);
}

#[test]
fn a_session_is_known_by_its_login_but_for_the_password() {
    let session = talk(&dialogue()).session;
    let texts = [session.user, session.database, session.application, session.server_version];
    assert_eq!(texts.map(Option::unwrap), ["ann", "shop", "till", "16.0.4135"].map(str::to_owned));
    assert!(session.former_databases.is_empty());
}

/// The login of a client that asks for these features, each with what it says of it.
fn login_with(features: &[(u8, &[u8])]) -> Vec<u8> {
    let mut body = login();
    let at = body.len() as u16;
    body[27] |= 0x10;
    body[36 + 4 * 5..][..4].copy_from_slice(&[&at.to_le_bytes()[..], &4_u16.to_le_bytes()].concat());
    body.extend(u32::from(at + 4).to_le_bytes());
    for (feature, data) in features {
        body.extend([&[*feature][..], &(data.len() as u32).to_le_bytes(), data].concat());
    }
    body.push(0xff);
    let length = body.len() as u32;
    body[..4].copy_from_slice(&length.to_le_bytes());
    body
}

#[test]
fn the_driver_is_what_the_login_calls_its_library() {
    let driver = |login: &[u8]| {
        let mut session = Session::default();
        super::login::introduce(login, &mut session);
        let named = drivers::driver("sqlserver", &session.client, session.application.as_deref())
            .map(|known| known.name.to_owned());
        (named.unwrap_or_default(), session.client.version().unwrap_or_default().to_owned())
    };
    assert_eq!(driver(&login()), ("lib".into(), String::new()));
    let agent = utf_16("1|MS-ODBC|18.6.2.1|x86_64|Linux");
    assert_eq!(driver(&login_with(&[(10, b"\x01"), (16, &agent)])), ("lib".into(), "18.6.2.1".into()));
    // Lengths that lie.
    let mut lying = login_with(&[(16, &agent)]);
    for at in [56, 58, lying.len() - agent.len() - 2] {
        lying[at] = 0xff;
        driver(&lying);
    }
}

#[test]
fn a_prelogin_alone_tells_some_drivers() {
    let driver = |version: [u8; 6], options: &[u8]| {
        let (mut heads, mut data, mut at) = (Vec::new(), Vec::new(), 5 * options.len() as u16 + 1);
        for &option in options {
            let value: &[u8] = if option == 0 { &version } else { &[0] };
            heads.extend([&[option][..], &at.to_be_bytes(), &(value.len() as u16).to_be_bytes()].concat());
            at += value.len() as u16;
            data.extend(value);
        }
        let mut session = Session::default();
        session.client.starts(&super::prelogin::startup(&[&heads[..], &[0xff], &data].concat()));
        drivers::driver("sqlserver", &session.client, session.application.as_deref()).map(|known| known.name.to_owned())
    };
    assert_eq!(driver([12, 10, 0, 0, 0, 0], &[0, 1, 5]).as_deref(), Some("mssql-jdbc"));
    assert_eq!(driver([17, 10, 0, 1, 0, 0], &[0, 1, 2, 3, 4, 5]).as_deref(), Some("ODBC Driver for SQL Server"));
    // OLE DB and ODBC have both come to version 18; go-mssqldb and SqlClient look alike.
    assert_eq!(driver([18, 6, 0, 2, 0, 0], &[0, 1, 2, 3, 4, 5]), None);
    assert_eq!(driver([2, 0, 11, 1, 0, 0], &[0, 1, 2, 3, 4, 5]), None);
    assert_eq!(super::prelogin::startup(&[0, 0xff]), "prelogin version= options= instance= thread=0");
}

#[test]
fn transactions_are_what_the_server_says() {
    let talk = talk(&dialogue());
    let states: Vec<_> = talk.exchanges.iter().map(|exchange| exchange.transaction).collect();
    assert_eq!(states[1..3], [Some("idle"); 2]);
    assert_eq!((states[13], states[15]), (Some("open"), Some("idle")));
}

#[test]
fn values_tell_executions_apart() {
    let talk = talk(&dialogue());
    let sql = |at: usize| talk.exchanges[at].sql.unwrap();
    assert_eq!((sql(3).fingerprint, sql(8).fingerprint), (sql(4).fingerprint, sql(10).fingerprint));
    assert_ne!(sql(3).parameters, sql(4).parameters);
    assert_ne!(sql(8).parameters, sql(10).parameters);
}

/// Requests and answers behind the login.
fn after_login(more: &[(Side, Vec<u8>)]) -> Talk {
    talk(&[&dialogue()[..4], more].concat())
}

/// The statements of a session whose login has this second flag.
fn statements_after(flag: u8, batches: &[&str]) -> Vec<String> {
    let mut body = login();
    body[25] = flag;
    let mut parts = vec![(Client, message(16, &body)), (Server, message(4, &logged_in()))];
    for text in batches {
        parts.extend([(Client, batch(text)), (Server, message(4, &done(0xfd, 0, 0xc1, 1)))]);
    }
    talk(&parts).fingerprints
}

#[test]
fn double_quotes_mean_what_the_login_and_the_batches_before_say() {
    let asks = "select \"a\"";
    assert_eq!(statements_after(2, &[asks]), [asks]);
    assert_eq!(statements_after(0, &[asks]), ["select ?"]);
    let set = ["set quoted_identifier off", asks, "set quoted_identifier on", asks];
    assert_eq!(statements_after(2, &set), [set[0], "select ?", set[2], asks]);
}

#[test]
fn an_attention_in_an_answer_waits_once_more() {
    let rows = result(&[row(2000), row(2000)]);
    let talk = after_login(&[
        (Client, batch("select a")),
        (Server, packet(4, 0, 1, &rows[..2000])),
        (Client, message(6, &[])),
        (Server, packet(4, 1, 2, &[&rows[2000..], &done(0xfd, 0x20, 0, 0)].concat())),
    ]);
    assert_eq!(talk.told()[2], ("batch", 2, Some(2), None, "select a"));
}

#[test]
fn an_attention_inside_a_packet_of_the_answer_leaves_it_whole() {
    let rows = result(&[row(2000), row(2000)]);
    let (sent, rest) = (packet(4, 0, 1, &rows[..3000]), packet(4, 1, 2, &rows[3000..]));
    let acknowledged = message(4, &done(0xfd, 0x20, 0, 0));
    for cut in [1, 8, 9, 1500, 3007] {
        let talk = after_login(&[
            (Client, batch("select a")),
            (Server, sent[..cut].to_vec()),
            (Client, message(6, &[])),
            (Server, [&sent[cut..], &rest].concat()),
            (Server, acknowledged.clone()),
            (Client, batch("select b")),
            (Server, message(4, &result(&[row(1)]))),
        ]);
        assert_eq!(
            talk.told()[2..],
            [("batch", 2, Some(2), None, "select a"), ("batch", 1, Some(1), None, "select b")]
        );
        assert!(talk.exchanges.iter().all(|exchange| exchange.complete), "{cut}");
        assert_eq!(talk.losses, 0);
    }
}

#[test]
fn an_attention_may_be_acknowledged_by_a_message_of_its_own() {
    let acknowledged = message(4, &done(0xfd, 0x20, 0, 0));
    let answer = message(4, &result(&[row(1)]));
    let crossing = after_login(&[
        (Client, [batch("select a"), message(6, &[])].concat()),
        (Server, [answer.clone(), acknowledged.clone()].concat()),
        (Client, batch("select b")),
        (Server, answer.clone()),
    ]);
    assert_eq!(
        crossing.told()[2..],
        [("batch", 1, Some(1), None, "select a"), ("batch", 1, Some(1), None, "select b")]
    );
    let late = after_login(&[
        (Client, batch("select a")),
        (Server, answer),
        (Client, message(6, &[])),
        (Server, acknowledged),
    ]);
    assert_eq!(late.told()[3], ("attention", 1, None, None, ""));
    assert_eq!(late.exchanges[3].purpose, Purpose::Cancel);
}

#[test]
fn the_reset_of_a_pooled_session_is_no_round_trip_but_its_own_call_is() {
    let mut resets = batch("select a");
    resets[1] |= 8;
    let reset = message(3, &[HEADERS, &long_text("sp_reset_connection"), &[0, 0]].concat());
    let over = message(4, &done(OF_CALL, 0, 0xe0, 0));
    let talk = after_login(&[
        (Client, resets),
        (Server, message(4, &result(&[]))),
        (Client, reset),
        (Server, over.clone()),
        (Client, call(12, &[number_parameter(1)])),
        (Server, over),
    ]);
    assert_eq!(talk.told()[2..].iter().map(|told| told.1).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(talk.exchanges[3].purpose, Purpose::Session);
    assert_eq!(talk.exchanges[4].sql, None);
}

#[test]
fn a_token_that_nobody_knows_leaves_the_rows_unknown_and_the_turns_right() {
    let mut strange = result(&[row(1)]);
    strange.splice(0..0, [0xa3, 1, 2, 3]);
    let talk = after_login(&[
        (Client, batch("select a")),
        (Server, message(4, &strange)),
        (Client, batch("select b")),
        (Server, message(4, &result(&[row(1)]))),
    ]);
    assert_eq!(talk.told()[2..], [("batch", 1, None, None, "select a"), ("batch", 1, Some(1), None, "select b")]);
    assert_eq!(talk.losses, 0);
}

/// Two calls in one message, whose answer has these ends of calls without the bit by which another call follows.
fn ends_without_marks(ends: usize) -> Vec<(u32, Option<u64>, Option<u64>)> {
    let change = numbered(10, &[text_parameter("update t set a = 1")]);
    let end = |more: u16| [done(0xff, 0x11, 0xc5, 3), done(OF_CALL, more, 0xe0, 0)].concat();
    let answer = (1..=ends).map(|number| end(u16::from(number < ends))).collect::<Vec<_>>().concat();
    let both = message(3, &[HEADERS, &change, &[0xff], &change].concat());
    let talk = after_login(&[(Client, both), (Server, message(4, &answer))]);
    talk.told()[2..].iter().map(|told| (told.1, told.2, told.3)).collect()
}

#[test]
fn calls_whose_ends_are_not_marked_are_told_apart_where_there_are_as_many_ends() {
    assert_eq!(ends_without_marks(2), [(1, None, Some(3)), (0, None, Some(3))]);
    for others in [1, 3, 4, 9] {
        assert_eq!(ends_without_marks(others), [(1, None, None), (0, None, None)], "{others}");
    }
}

#[test]
fn a_statement_in_several_packets_is_one_request() {
    let text = format!("select {} a", "x".repeat(9000));
    let talk = after_login(&[(Client, batch(&text)), (Server, message(4, &result(&[])))]);
    assert_eq!(talk.told()[2], ("batch", 1, Some(0), None, text.as_str()));
    let long = format!("select {} a", "x".repeat(20_000));
    let value =
        [&(2 * long.len() as u64).to_le_bytes()[..], &(2 * long.len() as u32).to_le_bytes(), &utf_16(&long), &[0; 4]];
    let executed = call(10, &[parameter(NVARCHAR_MAX, &value.concat())]);
    let talk = after_login(&[(Client, executed), (Server, message(4, &result(&[])))]);
    assert_eq!(talk.told()[2], ("sp_executesql", 1, Some(0), None, long.as_str()));
}

#[test]
fn a_table_is_a_value() {
    let column = [&[0, 0, 0, 0, 0, 0][..], INTN, &[0]].concat();
    let defaulted = [&[0, 0, 0, 0, 0, 2][..], INTN, &[0]].concat();
    let rows = [&[1, 4, 1, 0, 0, 0][..], &[1, 0], &[0]].concat();
    let table =
        [&[0, 0, 0xf3, 0][..], &short_text("dbo"), &short_text("ids"), &[2, 0], &column, &defaulted, &[0], &rows]
            .concat();
    let procedure = [&long_text("add_all")[..], &[0, 0], &table, &number_parameter(9)].concat();
    let both = message(3, &[HEADERS, &procedure, &[0xff], &numbered(15, &[number_parameter(4)])].concat());
    let talk = after_login(&[(Client, both), (Server, message(4, &done(OF_CALL, 0, 0xe0, 0)))]);
    assert_eq!(talk.told()[2], ("rpc", 1, None, None, "EXEC add_all"));
    assert_eq!(talk.told()[3].0, "sp_unprepare");
}

#[test]
fn a_login_that_negotiates_waits_for_each_answer() {
    let challenge = message(4, &token(0xed, &[7; 200]));
    let talk = talk(&[
        (Client, message(18, &prelogin(2))),
        (Server, message(4, &prelogin(2))),
        (Client, message(16, &login())),
        (Server, challenge),
        (Client, message(17, &[7; 400])),
        (Server, message(4, &logged_in())),
    ]);
    assert_eq!(talk.told(), [("prelogin", 1, None, None, ""), ("login", 2, None, None, "")]);
}

#[test]
fn versions_before_7_2_have_no_headers_and_shorter_ends() {
    let done_4 = |count: u32| [&[0xfd, 0x10, 0, 0xc1, 0][..], &count.to_le_bytes()].concat();
    let column = [&[0x81, 1, 0, 0, 0, 9, 0][..], &[0xe7, 10, 0, 9, 4, 0xd0, 0, 0x34], &short_text("a")].concat();
    let answer = [&column[..], &[0xd1, 2, 0, b'x', 0], &[0xd1, 0xff, 0xff], &done_4(2)].concat();
    let acknowledged = [&[1, 7, 1, 0, 0][..], &short_text("Microsoft SQL Server"), &[8, 0, 1, 0]].concat();
    let talk = talk(&[
        (Client, message(16, &login())),
        (Server, message(4, &[token(0xad, &acknowledged), done_4(0)].concat())),
        (Client, message(1, &utf_16("select a"))),
        (Server, message(4, &answer)),
    ]);
    assert_eq!(talk.told(), [("login", 1, None, None, ""), ("batch", 1, Some(2), None, "select a")]);
    assert_eq!(talk.exchanges[1].transaction, None);
}

// --- columns that are encrypted on their own ---------------------------------------------------------------------------

/// The end of a login that agrees to encrypted columns, in this version.
fn agreed(version: u8) -> Vec<u8> {
    let acknowledged = [&[1, 0x74, 0, 0, 4][..], &short_text("Microsoft SQL Server"), &[16, 0, 0x10, 0x27]].concat();
    let feature = |number: u8, data: &[u8]| [&[number][..], &(data.len() as u32).to_le_bytes(), data].concat();
    let features = [&[0xae][..], &feature(4, &[version]), &feature(9, &[2, 1]), &[0xff]].concat();
    message(4, &[token(0xad, &acknowledged), features, done(0xfd, 0, 0, 0)].concat())
}

/// As a client writes its requests that has agreed to the second version: room for a package, which is empty.
fn with_package(text: &str) -> Vec<u8> {
    message(1, &[HEADERS, &[0, 0], &utf_16(text)].concat())
}

fn call_with_package(procedure: u8, parameters: &[Vec<u8>]) -> Vec<u8> {
    message(3, &[HEADERS, &[0xff, 0xff, procedure, 0, 0, 0], &[0, 0], &parameters.concat()].concat())
}

/// A result of two columns, the second of which is encrypted, or may be.
fn result_with_keys(is_encrypted: bool) -> Vec<u8> {
    let key =
        [&[7; 20][..], &[1], &[3, 0, 1, 2, 3], &short_text("store"), &long_text("path"), &short_text("RSA")].concat();
    let keys = if is_encrypted { [&[1, 0][..], &key].concat() } else { vec![0, 0] };
    let cipher = [&[0, 0][..], &[0; 4], INTN, &[2, 1, 1]].concat();
    let (flags, cipher) = if is_encrypted { (8, &cipher[..]) } else { (0, &[][..]) };
    let columns = [
        &[0, 0, 0, 0, 0x21, 0][..],
        INTN,
        &short_text("id"),
        &[0, 0, 0, 0, 9, flags, 0xa5, 40, 0],
        cipher,
        &short_text("salary"),
    ];
    let rows = [0xd1, 4, 1, 0, 0, 0, 3, 0, 1, 2, 3].repeat(2);
    let returned =
        [&[0xac, 0, 0, 0, 1, 0, 0, 0, 0, 1, flags, 0xa5, 40, 0][..], cipher.get(2..).unwrap_or_default()].concat();
    let ended = [returned, vec![3, 0, 1, 2, 3], handle(5), done(0xfd, 0x10, 0xc1, 2)].concat();
    [&[0x81, 2, 0][..], &keys, &columns.concat(), &rows, &ended].concat()
}

#[test]
fn keys_of_encrypted_columns_stand_before_the_columns_of_a_client_that_could_use_them() {
    for (version, is_encrypted) in [(1, false), (1, true), (2, false), (3, true)] {
        let prepexec =
            [parameter(INTN, &[0]), text_parameter("@a int"), text_parameter("select c"), number_parameter(7)];
        let (asks, calls, executes) = match version {
            1 => (batch("select a"), call(13, &prepexec), call(12, &[number_parameter(5)])),
            _ => (
                with_package("select a"),
                call_with_package(13, &prepexec),
                call_with_package(12, &[number_parameter(5)]),
            ),
        };
        let answer = message_in(4, &result_with_keys(is_encrypted), 50);
        let mut parts = dialogue()[..3].to_vec();
        parts.extend([
            (Server, agreed(version)),
            (Client, asks),
            (Server, answer.clone()),
            (Client, calls),
            (Server, answer.clone()),
            (Client, executes),
            (Server, answer.clone()),
        ]);
        let told = talk(&parts);
        let expected = [
            ("batch", 1, Some(2), None, "select a"),
            ("sp_prepexec", 1, Some(2), None, "select c"),
            ("sp_execute", 1, Some(2), None, "select c"),
        ];
        assert_eq!(told.told()[2..], expected, "version {version}");
        // Where the login was not captured.
        if !is_encrypted {
            let middle = talk(&parts[4..]);
            assert_eq!(middle.told(), expected, "version {version}, from the middle");
        }
    }
}

#[test]
fn a_value_that_is_encrypted_on_its_own_leaves_the_call_readable() {
    let cipher = [INTN, &[2, 1], &[7; 20], &[1]].concat();
    let sealed = [&[0, 8, 0xa5, 40, 0, 3, 0, 1, 2, 3][..], &cipher].concat();
    let calls =
        [HEADERS, &numbered(10, &[text_parameter("insert t"), sealed]), &[0xff], &numbered(15, &[number_parameter(4)])];
    let over = [done(OF_CALL, 0x80, 0, 0), done(OF_CALL, 0, 0, 0)].concat();
    let talk = after_login(&[(Client, message(3, &calls.concat())), (Server, message(4, &over))]);
    let told: Vec<_> = talk.told()[2..].iter().map(|told| (told.0, told.1, told.4)).collect();
    assert_eq!(told, [("sp_executesql", 1, "insert t"), ("sp_unprepare", 0, "")]);
}

#[test]
fn what_is_told_about_sensitive_columns_hides_no_rows() {
    let names = [&[1, 0][..], &short_text("Confidential"), &short_text("id")].concat();
    let told = |rank: &[u8]| [&[0xa3][..], &names, &names, rank, &[2, 0], &[0, 0], &[1, 0, 0, 0, 0, 0], rank].concat();
    for (version, rank) in [(1, &[][..]), (2, &[20, 0, 0, 0][..])] {
        let mut acknowledged = agreed(3);
        let at = acknowledged.windows(6).position(|bytes| bytes == [9, 2, 0, 0, 0, 2]).unwrap();
        acknowledged[at + 5] = version;
        let mut answer = result_with_keys(false);
        let at = answer.iter().position(|&byte| byte == 0xd1).unwrap();
        answer.splice(at..at, told(rank));
        let mut parts = dialogue()[..3].to_vec();
        parts.extend([
            (Server, acknowledged),
            (Client, with_package("select a")),
            (Server, message_in(4, &answer, 30)),
        ]);
        assert_eq!(talk(&parts).told()[2], ("batch", 1, Some(2), None, "select a"));
    }
}

#[test]
fn a_promoted_transaction_is_longer_than_it_says() {
    let promoted = [&[0xe3, 1, 0, 15][..], &[9, 0, 0, 0], &[0xd1; 9], &[0]].concat();
    let answer = [promoted, error(8525, 16, "Distributed transaction completed"), done(0xfd, 2, 0, 0)].concat();
    let talk = after_login(&[(Client, message(14, &[HEADERS, &[6, 0]].concat())), (Server, message(4, &answer))]);
    assert_eq!(talk.told()[2].1, 1);
    assert_eq!(talk.exchanges[2].error.as_ref().map(|error| &error.code[..4]), Some("8525"));
}

// --- several sessions -------------------------------------------------------------------------------------------------

fn of_session(flags: u8, number: u8, packets: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut rest = packets;
    loop {
        let length = rest.get(2..4).map_or(0, |length| usize::from(u16::from_be_bytes([length[0], length[1]])));
        let (packet, later) = rest.split_at(length);
        all.extend([0x53, flags, number, 0]);
        all.extend((16 + length as u32).to_le_bytes());
        all.extend([1, 0, 0, 0, 4, 0, 0, 0]);
        all.extend(packet);
        rest = later;
        if rest.is_empty() {
            return all;
        }
    }
}

fn mars(flag: u8) -> Vec<u8> {
    let options =
        [&[0, 0, 16, 0, 6, 1, 0, 22, 0, 1, 4, 0, 23, 0, 1, 0xff][..], &[16, 0, 4, 0, 0, 0], &[2, flag]].concat();
    message(18, &options)
}

/// Two sessions: an answer of one goes on while the other asks, and is answered, twice.
fn interleaved() -> Vec<(Side, Vec<u8>)> {
    let answer = message_in(4, &result(&[row(400), row(400)]), 900);
    let (begins, goes_on) = answer.split_at(908);
    let small = message(4, &result(&[row(1)]));
    vec![
        (Client, mars(1)),
        (Server, [&[4][..], &mars(1)[1..]].concat()),
        (Client, message(16, &login())),
        (Server, message(4, &logged_in())),
        (Client, [of_session(1, 0, &[]), of_session(8, 0, &batch("select a"))].concat()),
        (Server, [of_session(2, 0, &[]), of_session(8, 0, begins)].concat()),
        (Client, [of_session(1, 1, &[]), of_session(8, 1, &batch("select b"))].concat()),
        (Server, of_session(8, 1, &small)),
        (Client, of_session(8, 1, &batch("select c"))),
        (Client, of_session(2, 0, &[])),
        (Server, of_session(8, 0, goes_on)),
        (Server, of_session(8, 1, &small)),
        (Client, [of_session(4, 1, &[]), of_session(8, 0, &batch("select d"))].concat()),
        (Server, of_session(8, 0, &small)),
    ]
}

#[test]
fn each_of_several_sessions_waits_for_its_own_answers() {
    let talk = talk(&interleaved());
    let told: Vec<_> = talk.told()[2..].iter().map(|&(_, waits, rows, _, text)| (waits, rows, text)).collect();
    let expected =
        [(1, Some(2), "select a"), (1, Some(1), "select b"), (1, Some(1), "select c"), (1, Some(1), "select d")];
    assert_eq!(told, expected);
    assert!(talk.exchanges.iter().all(|exchange| exchange.complete) && talk.losses == 0);
    assert_eq!(self::talk(&interleaved()[2..]).told()[1..], talk.told()[2..], "without the pre-login");
}

#[test]
fn sessions_are_recognised_in_the_middle() {
    let parts = &interleaved()[6..];
    let opening =
        Opening { client: &of_session(8, 1, &batch("select c")), server: &[], first: Client, from_start: false };
    assert_eq!((PROTOCOL.recognise)(&opening), Verdict::Certain);
    let client = parts[2].1.clone();
    let opening = Opening { client: &client, ..opening };
    assert!(decoder(&opening).decoder.resumes(&client));
}

/// TDS 7.0 and 7.1 have no headers before what is called; Sybase's calls begin with the length of a name in ASCII.
#[test]
fn calls_without_headers_are_recognised_in_the_middle() {
    let answer = message(4, &done(0xfd, 0, 0, 0)[..9]);
    let recognised = |body: &[u8]| {
        let client = message(3, body);
        (PROTOCOL.recognise)(&Opening { client: &client, server: &answer, first: Client, from_start: false })
    };
    let named = [&[10, 0][..], &utf_16("sp_cursoro"), &[0, 0]].concat();
    assert_eq!(recognised(&numbered(2, &[number_parameter(1)])), Verdict::Certain);
    assert_eq!(recognised(&named), Verdict::Certain);
    assert_eq!(recognised(b"\x0asp_cursoro\0\0"), Verdict::Unsure);
    assert_eq!(recognised(&[10, 0, 9, 9, 9, 9, 0, 0]), Verdict::Unsure);
}

#[test]
fn acknowledgments_before_a_request_hide_it_from_nobody() {
    let acknowledged = of_session(2, 0, &[]);
    let client = [acknowledged.clone(), acknowledged.clone(), of_session(8, 1, &batch("select c"))].concat();
    let opening = Opening { client: &client, server: &[], first: Client, from_start: false };
    assert_eq!((PROTOCOL.recognise)(&opening), Verdict::Certain);
    assert!(decoder(&opening).decoder.resumes(&client));
    for cut in 8..acknowledged.len() {
        let opening = Opening { client: &acknowledged[..cut], ..opening };
        assert_eq!((PROTOCOL.recognise)(&opening), Verdict::Unsure);
    }
}

/// As a client numbers them that counts its packets from one message to the next.
#[test]
fn a_request_begins_with_its_headers_whatever_its_number() {
    let mut later = [batch("select c"), call(12, &[number_parameter(1)]), message(6, &[]), message(7, &[0x81, 1, 0])];
    for client in &mut later {
        client[6] = 77;
        let opening = Opening { client, server: &[], first: Client, from_start: false };
        assert!(decoder(&opening).decoder.resumes(client));
    }
    let mut goes_on = message(3, &[9; 100]);
    goes_on[6] = 1;
    let opening = Opening { client: &goes_on, server: &[], first: Client, from_start: false };
    assert!(!decoder(&opening).decoder.resumes(&goes_on));
    let long = batch(&"select ".repeat(400));
    assert!(decoder(&opening).decoder.resumes(&long[..1448]), "the first segment of a packet");
}

#[test]
fn an_attention_whose_acknowledgment_was_cut_ends_when_the_client_asks_again() {
    let mut talk_of = Vec::new();
    for cut in [0, 40] {
        let (mut requests, mut answers, mut session) =
            (client::Requests::default(), Answers::default(), Default::default());
        let mut statements = Statements::new(true);
        let mut context = Context { session: &mut session, statements: &mut statements, switch: None };
        let answer = message(4, &[result(&[row(10)]), done(0xfd, 0x20, 0, 0)].concat());
        let mut meanings = Vec::new();
        for (side, bytes) in
            [(Client, batch("select a")), (Client, message(6, &[])), (Server, answer), (Client, batch("select b"))]
        {
            let is_cut = side == Server && cut > 0;
            let bytes = if is_cut { &bytes[..cut] } else { &bytes[..] };
            let message = Message { side, bytes, length: bytes.len() as u64, cut: is_cut };
            let packet = Packet::read(&message).unwrap();
            meanings.push(match side {
                Client => requests.packet(&packet, &mut answers, &mut context).unwrap(),
                Server => answers.packet(&packet, &mut context).unwrap(),
            });
        }
        talk_of.push(meanings);
    }
    let ends = |meanings: &[Meaning]| matches!(&meanings[3], Meaning::Request(request) if request.ends_previous);
    assert!(!ends(&talk_of[0]) && ends(&talk_of[1]));
}

// --- encryption -------------------------------------------------------------------------------------------------------

fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind, 3, 3][..], &(body.len() as u16).to_be_bytes(), body].concat()
}

/// Of TLS 1.2, around its records the packets of a pre-login.
fn sealed(encryption: u8, rest: Vec<(Side, Vec<u8>)>) -> Talk {
    let flight = |records: &[Vec<u8>]| message_in(18, &records.concat(), 100);
    let mut parts = vec![
        (Client, message(18, &prelogin(encryption))),
        (Server, message(4, &prelogin(encryption))),
        (Client, flight(&[record(22, &[1; 150])])),
        (Server, flight(&[record(22, &[2; 90]), record(22, &[11; 500]), record(22, &[14; 4])])),
        (Client, flight(&[record(22, &[16; 66]), record(20, &[1]), record(22, &[9; 40])])),
        (Server, flight(&[record(20, &[1]), record(22, &[9; 40])])),
    ];
    parts.extend(rest);
    talk(&parts)
}

#[test]
fn tls_may_cover_the_login_alone() {
    let talk = sealed(
        0,
        vec![
            (Client, [record(23, &[9; 24]), record(23, &[9; 400])].concat()),
            (Server, message(4, &logged_in())),
            (Client, batch("select a")),
            (Server, message(4, &result(&[row(2)]))),
        ],
    );
    let expected = [
        ("prelogin", 1, None, None, ""),
        ("tls", 2, None, None, ""),
        ("login", 1, None, None, ""),
        ("batch", 1, Some(1), None, "select a"),
    ];
    assert_eq!(talk.told(), expected);
    assert_eq!((talk.session.encryption, talk.losses), (None, 0));
    assert!(talk.exchanges.iter().all(|exchange| exchange.complete));
}

#[test]
fn tls_may_cover_all_that_is_said() {
    let data = |length: usize| record(23, &vec![9; length]);
    let talk = sealed(
        1,
        vec![
            (Client, data(400)),
            (Server, data(500)),
            (Client, data(100)),
            (Server, data(60)),
            (Client, data(100)),
            (Server, [data(4000), data(100)].concat()),
        ],
    );
    let told: Vec<_> = talk.told().iter().map(|told| (told.0, told.1)).collect();
    let expected = [("prelogin", 1), ("tls", 2), ("authenticate", 1), ("unreadable", 1), ("unreadable", 1)];
    assert_eq!(told, expected);
    assert_eq!((talk.session.encryption, talk.losses), (Some("tls"), 0));
}

// --- whatever comes ---------------------------------------------------------------------------------------------------

/// `sized`: of as many bytes, too.
fn same(one: &Talk, other: &Talk, sized: bool) -> bool {
    let alike = if sized { one.exchanges == other.exchanges } else { one.told() == other.told() };
    alike && one.texts == other.texts && one.session == other.session
}

#[test]
fn whole_and_byte_by_byte_mean_the_same() {
    assert!(same(&talk_cut(&dialogue(), std::iter::repeat(1)), &talk(&dialogue()), true));
}

proptest! {
    #[test]
    fn sessions_that_are_cut_anywhere_tell_the_same(sizes in prop::collection::vec(1usize..600, 1..100)) {
        prop_assert!(same(&talk_cut(&interleaved(), sizes.into_iter().cycle()), &talk(&interleaved()), true));
    }

    #[test]
    fn any_cut_tells_the_same(sizes in prop::collection::vec(1usize..600, 1..100)) {
        prop_assert!(same(&talk_cut(&dialogue(), sizes.into_iter().cycle()), &talk(&dialogue()), true));
    }

    #[test]
    fn however_an_answer_falls_into_packets_it_means_the_same(size in 1usize..400, rows in 0usize..6) {
        let rows: Vec<Vec<u8>> = (0..rows).map(|at| row(at * 90)).collect();
        let answer = |size| after_login(&[(Client, batch("select a")), (Server, message_in(4, &result(&rows), size))]);
        prop_assert!(same(&answer(size), &answer(4088), false));
    }

    #[test]
    fn however_calls_fall_into_packets_they_mean_the_same(size in 1usize..200) {
        let insert = |number| numbered(10, &[text_parameter("insert t"), text_parameter("@a int"), number_parameter(number)]);
        let calls = [HEADERS, &insert(1), &[0xff], &insert(2), &[0xff], &insert(3)].concat();
        let over = [done(OF_CALL, 0x81, 0, 0), done(OF_CALL, 0x81, 0, 0), done(OF_CALL, 0, 0, 0)].concat();
        let asked = |size| after_login(&[(Client, message_in(3, &calls, size)), (Server, message(4, &over))]);
        prop_assert!(same(&asked(size.max(30)), &asked(4088), false));
    }

    #[test]
    fn random_bytes_behind_any_beginning_never_panic(
        parts in 0usize..29,
        noise in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 1..300)), 1..20),
    ) {
        let mut dialogue = dialogue();
        dialogue.truncate(parts);
        dialogue.extend(noise.into_iter().map(|(client, bytes)| (if client { Client } else { Server }, bytes)));
        talk(&dialogue);
    }

    #[test]
    fn damaged_messages_never_panic(flips in prop::collection::vec((0usize..29, any::<usize>(), any::<u8>()), 1..20)) {
        let mut dialogue = dialogue();
        for (part, at, value) in flips {
            let length = dialogue[part].1.len();
            dialogue[part].1[at % length] = value;
        }
        talk(&dialogue);
    }

    #[test]
    fn random_messages_in_whole_packets_never_panic(
        messages in prop::collection::vec(
            (any::<bool>(), prop::sample::select(&[1_u8, 3, 6, 7, 8, 14, 16, 17, 18][..]), any::<u8>(),
             prop::collection::vec(any::<u8>(), 0..400)),
            1..20,
        ),
    ) {
        let parts: Vec<_> = messages
            .into_iter()
            .map(|(client, kind, status, body)| match client {
                true => (Client, packet(kind, status, 1, &body)),
                false => (Server, packet(4, status, 1, &body)),
            })
            .collect();
        talk(&[&dialogue()[..4], &parts].concat());
    }

    #[test]
    fn random_bytes_are_not_claimed(bytes in prop::collection::vec(any::<u8>(), 8..200)) {
        let opening = Opening { client: &bytes, server: &[], first: Client, from_start: false };
        prop_assert_ne!((PROTOCOL.recognise)(&opening), Verdict::Certain);
    }
}

// --- floods -----------------------------------------------------------------------------------------------------------

/// A column of each type, also of those that take no bytes.
fn kinds() -> Vec<Vec<u8>> {
    let mut kinds = vec![vec![0x1f], vec![0x30], vec![0x38], vec![0x28], INTN.to_vec(), vec![0x6c, 5, 9, 0]];
    kinds.extend([NVARCHAR.to_vec(), NVARCHAR_MAX.to_vec(), vec![0xf1, 0], vec![0xf4], vec![0x62, 0, 0, 0, 0]]);
    kinds
}

fn described(kind: &[u8], count: u16) -> Vec<u8> {
    let column = [&[0, 0, 0, 0, 9, 0][..], kind, &[0]].concat();
    [&[0x81][..], &count.to_le_bytes(), &column.repeat(count.into())].concat()
}

/// Labels, types and columns of a token about sensitive columns, so many of each.
fn sensitive(count: u16) -> Vec<u8> {
    let names = [&count.to_le_bytes()[..], &[0, 0].repeat(count.into())].concat();
    [&[0xa3][..], &names, &names, &[0; 4], &count.to_le_bytes(), &[0, 0].repeat(count.into())].concat()
}

fn keys(count: u16, values: u8) -> Vec<u8> {
    let key = [&[0; 20][..], &[values], &[0; 6].repeat(values.into())].concat();
    [&[0x81, 1, 0][..], &count.to_le_bytes(), &key.repeat(count.into()), &[0, 0, 0, 0, 9, 0, 0x38, 0]].concat()
}

fn with_table(kind: &[u8], count: u16, rows: &[u8]) -> Vec<u8> {
    let column = [&[0, 0, 0, 0, 0, 0][..], kind, &[0]].concat();
    let columns = [&count.to_le_bytes()[..], &column.repeat(count.into()), &[0]].concat();
    [HEADERS, &long_text("add_all"), &[0, 0, 0, 0, 0xf3, 0, 0, 0], &columns, rows, &[0]].concat()
}

#[test]
fn rows_whose_columns_take_no_bytes_are_counted_in_one_step_each() {
    let answer = [described(&[0x1f], 32_768), vec![0xd1; 40_000], done(0xfd, 0x10, 0xc1, 40_000)].concat();
    let talk = after_login(&[(Client, batch("select null")), (Server, message(4, &answer))]);
    assert_eq!(talk.told()[2], ("batch", 1, Some(40_000), None, "select null"));
    let table = message(3, &with_table(&[0x1f], 1_024, &[1; 200_000]));
    let talk = after_login(&[(Client, table), (Server, message(4, &done(OF_CALL, 0, 0xe0, 0)))]);
    assert_eq!(talk.told()[2], ("rpc", 1, None, None, "EXEC add_all"));
}

#[test]
fn a_row_that_says_which_are_null_counts_all_columns() {
    let columns = [&[0x81, 3, 0][..], &described(&[0x1f], 2)[3..], &described(&[0x30], 1)[3..]].concat();
    let rows = [&[0xd2, 0b000, 7][..], &[0xd2, 0b100], &[0xd2, 0b011, 7], &done(0xfd, 0x10, 0xc1, 3)].concat();
    let talk = after_login(&[(Client, batch("select")), (Server, message(4, &[columns, rows].concat()))]);
    assert_eq!(talk.told()[2].2, Some(3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// [`Dialogue`] holds its reads against the bytes.
    #[test]
    fn no_answer_costs_more_than_its_bytes(
        kind in 0..kinds().len(),
        count in prop_oneof![Just(1u16), Just(1_024), Just(8_192)],
        byte in any::<u8>(),
        size in prop_oneof![Just(1usize), 2usize..300, Just(4_088)],
    ) {
        let nulls = [&[0xd2][..], &vec![byte; usize::from(count).div_ceil(8)]].concat();
        for tokens in [vec![0xd1], vec![0xd1, byte], nulls, sensitive(count), keys(20, 255), vec![byte; 300]] {
            let rest = tokens.repeat(1 + 5_000 / tokens.len());
            let answer = [described(&kinds()[kind], count), rest, done(0xfd, 0, 0, 0)].concat();
            after_login(&[(Client, batch("select")), (Server, message_in(4, &answer, size))]);
        }
        let rows = [&[1][..], &vec![byte; usize::from(count.min(3))]].concat().repeat(2_000);
        let table = with_table(&kinds()[kind], count.min(1_024), &rows);
        after_login(&[(Client, message_in(3, &table, size))]);
    }
}
