//! Is it MySQL, and where does it begin?
//!
//! The server's greeting says so. In mid-connection it takes more: a client packet numbered 0 whose length, command and
//! contents fit each other, and an answer numbered 1 that fits the command. Without an answer only plain SQL is certain.

use super::binlog;
use super::commands::{self, Answer, Command};
use super::compression::{self, MysqlCompression, ZSTD_MAGIC};
use super::framing::{EOF, ERR, HEADER, OK, Packet, lenenc};
use super::login::{self, PROTOCOL_41};
use super::response::ResultHeader;
use crate::cursor::{Cursor, TooShort};
use crate::layers::Unwrap;
use crate::protocols::{Opening, Verdict};
use crate::side::Side;

/// Where in a connection the bytes begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    Greeting,
    Login,
    Commands,
    Compressed,
    /// A binary log that the server has been sending since before the capture.
    Binlog,
}

/// The verdict on the first bytes, and what the connection begins with if it is MySQL.
pub fn look(opening: &Opening<'_>) -> (Verdict, Beginning) {
    let Opening { client, server, first, from_start } = *opening;
    match (first, from_start) {
        (Side::Server, true) => (greeting(server), Beginning::Greeting),
        (_, false) if binlog::holds_event(server) => (Verdict::Certain, Beginning::Binlog),
        (Side::Server, false) => match greeting(server) {
            Verdict::NotThis => (Verdict::NotThis, Beginning::Commands),
            verdict => (verdict, Beginning::Greeting),
        },
        (Side::Client, true) => (Verdict::NotThis, Beginning::Greeting),
        (Side::Client, false) => middle(client, server),
    }
}

/// Does the client certainly begin a command here? Some clients write the header on its own.
pub fn begins_command(bytes: &[u8]) -> bool {
    match Packet::read(bytes) {
        Ok(header) if bytes.len() == HEADER => header.sequence == 0 && header.length > 0,
        _ => Asked::read(bytes).is_some(),
    }
}

/// Is each of these packets there to its last byte, and needs none before it?
pub fn are_whole(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some((packet, behind)) = Packet::split(rest) {
        if executes_last_prepared(&packet) {
            return false;
        }
        rest = behind;
    }
    rest.is_empty()
}

/// It executes what was prepared in a packet before it, whose answer the client does not have yet.
fn executes_last_prepared(packet: &Packet<'_>) -> bool {
    let id = packet.payload.get(1..5);
    matches!(packet.first(), Some(commands::EXECUTE | commands::BULK_EXECUTE))
        && id == Some(&commands::LAST_PREPARED.to_le_bytes())
}

fn middle(client: &[u8], server: &[u8]) -> (Verdict, Beginning) {
    let candidates = [
        (commands(client, server, Numbering::Strict), Beginning::Commands),
        (login(client), Beginning::Login),
        (compressed(client, server), Beginning::Compressed),
    ];
    let by = |verdict| candidates.into_iter().find(|candidate| candidate.0 == verdict);
    by(Verdict::Certain).or(by(Verdict::Unsure)).unwrap_or((Verdict::NotThis, Beginning::Commands))
}

// --- the beginning ---

const LONGEST_GREETING: u32 = 2048;
const LONGEST_VERSION: usize = 128;
/// Error codes of the server begin here.
const FIRST_ERROR: u16 = 1000;

/// The server's greeting, or an error in its place.
fn greeting(bytes: &[u8]) -> Verdict {
    let Ok(packet) = Packet::read(bytes) else {
        return Verdict::Unsure;
    };
    if packet.sequence != 0 || !(9..=LONGEST_GREETING).contains(&packet.length) {
        return Verdict::NotThis;
    }
    let fits = match packet.first() {
        None => return Verdict::Unsure,
        Some(9 | 10) => greeting_fits(&packet),
        Some(ERR) => Ok(error_fits(&packet)),
        Some(_) => Ok(false),
    };
    match fits {
        Ok(true) if packet.is_whole() => Verdict::Certain,
        Ok(false) => Verdict::NotThis,
        Err(_) if packet.is_whole() => Verdict::NotThis,
        Ok(true) | Err(_) => Verdict::Unsure,
    }
}

fn greeting_fits(packet: &Packet<'_>) -> Result<bool, TooShort> {
    let mut cursor = Cursor::new(packet.payload);
    let protocol = cursor.u8("protocol version")?;
    let version = cursor.peek().split(|byte| *byte == 0).next().unwrap_or_default();
    if version.len() > LONGEST_VERSION {
        return Ok(false);
    }
    let printable = is_printable(version);
    let version_is_empty = version.is_empty();
    cursor.until(0, "server version")?;
    cursor.skip(4 + 8, "thread id and salt")?;
    let filler = cursor.u8("end of the salt")?;
    let ends = protocol == 10 || cursor.is_empty();
    Ok(!version_is_empty && filler == 0 && ends && (printable || reserved_fits(cursor)?))
}

/// A version of control characters is a prank or an attack: then the six zeros before MariaDB's own capabilities prove
/// the greeting.
fn reserved_fits(mut cursor: Cursor<'_>) -> Result<bool, TooShort> {
    cursor.skip(2 + 1 + 2 + 2 + 1, "capabilities, character set, status and salt length")?;
    Ok(cursor.array::<6>("reserved")? == [0; 6])
}

fn error_fits(packet: &Packet<'_>) -> bool {
    let text = packet.payload.get(3..).unwrap_or_default();
    packet.error_code().is_none_or(|code| code >= FIRST_ERROR) && is_printable(text)
}

/// A login whose greeting was not captured: between its fixed fields and the user's name lie 19 zeros.
fn login(bytes: &[u8]) -> Verdict {
    let Ok(packet) = Packet::read(bytes) else {
        return Verdict::NotThis;
    };
    if packet.sequence != 1 || packet.length < 32 {
        return Verdict::NotThis;
    }
    match login_fits(&packet) {
        Ok(true) => Verdict::Certain,
        Ok(false) => Verdict::NotThis,
        Err(_) => Verdict::Unsure,
    }
}

fn login_fits(packet: &Packet<'_>) -> Result<bool, TooShort> {
    let mut cursor = Cursor::new(packet.payload);
    let capabilities = cursor.u32_le("capabilities")?;
    cursor.skip(4 + 1, "max packet and charset")?;
    let zeros = cursor.array::<19>("reserved")?;
    if capabilities & PROTOCOL_41 == 0 || zeros != [0; 19] {
        return Ok(false);
    }
    cursor.skip(4, "capabilities of MariaDB")?;
    Ok(login::asks_for_tls(packet) || is_printable(cursor.until(0, "user")?))
}

// --- commands ---

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbering {
    Strict,
    /// Inside compressed packets.
    Loose,
}

fn commands(client: &[u8], server: &[u8], numbering: Numbering) -> Verdict {
    let Some(asked) = Asked::read(client) else {
        return Verdict::NotThis;
    };
    let answer = match asked.awaited {
        Some(command) => answer(command.answer, server, numbering),
        None if server.is_empty() => Verdict::Unsure,
        None => Verdict::NotThis,
    };
    match answer {
        Verdict::Unsure if asked.plain_sql => Verdict::Certain,
        answer => answer,
    }
}

/// The commands that the client's bytes begin with.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    /// The first one that is answered.
    awaited: Option<&'static Command>,
    /// One is a whole statement that begins with a word of SQL.
    plain_sql: bool,
}

impl Asked {
    /// `None` if any of the packets cannot be a command.
    fn read(bytes: &[u8]) -> Option<Asked> {
        let mut asked = Asked::default();
        let mut rest = bytes;
        loop {
            let packet = Packet::read(rest).ok()?;
            let command = fitting_command(&packet)?;
            let answered = command.answer != Answer::Nothing;
            asked.awaited = asked.awaited.or(answered.then_some(command));
            asked.plain_sql |= packet.is_whole() && begins_with_sql_word(&packet);
            rest = rest.get(HEADER + packet.length as usize..).unwrap_or_default();
            if rest.len() <= HEADER {
                return Some(asked);
            }
        }
    }
}

/// The command of this packet, if its length and contents are what the command needs.
fn fitting_command(packet: &Packet<'_>) -> Option<&'static Command> {
    let (code, payload) = packet.payload.split_first()?;
    let command = Command::known(*code)?;
    let fits = packet.sequence == 0 && command.lengths.contains(&packet.length) && contents_fit(*code, payload);
    fits.then_some(command)
}

fn contents_fit(code: u8, payload: &[u8]) -> bool {
    let mut cursor = Cursor::new(payload);
    match code {
        commands::QUERY | commands::PREPARE => looks_like_sql(statement(payload)),
        commands::INIT_DB | commands::CREATE_DB | commands::DROP_DB => is_printable(payload),
        commands::CHANGE_USER | commands::FIELD_LIST => cursor.until(0, "name").is_ok_and(is_printable),
        commands::EXECUTE => execute_fits(&mut cursor).unwrap_or(true),
        commands::BULK_EXECUTE => bulk_execute_fits(&mut cursor).unwrap_or(true),
        _ => true,
    }
}

/// Flags that exist, and one iteration.
fn execute_fits(cursor: &mut Cursor<'_>) -> Result<bool, TooShort> {
    cursor.skip(4, "statement id")?;
    let flags = cursor.u8("execute flags")?;
    Ok(flags <= 0x0f && cursor.u32_le("iterations")? == 1)
}

fn bulk_execute_fits(cursor: &mut Cursor<'_>) -> Result<bool, TooShort> {
    cursor.skip(4, "statement id")?;
    Ok(cursor.u16_le("bulk flags")? & !0xc0 == 0)
}

/// Words that statements begin with.
const SQL_WORDS: &str = "select insert update delete replace set show begin start commit rollback \
    call create alter drop use with explain describe desc load lock unlock truncate prepare execute \
    deallocate do grant revoke kill analyze optimize table values savepoint release xa flush rename \
    handler";
/// Characters at the beginning of a statement that are looked at: later ones may be binary data.
const LOOKED_AT: usize = 16;

/// The text of a query or prepare, without attributes and leading space.
fn statement(payload: &[u8]) -> &[u8] {
    commands::query_text(payload, None).trim_ascii_start()
}

fn looks_like_sql(text: &[u8]) -> bool {
    let beginning = text.get(..LOOKED_AT).unwrap_or(text);
    let is_text = |byte: &u8| *byte >= b' ' && *byte != 0x7f || byte.is_ascii_whitespace();
    let begins = |byte: &u8| byte.is_ascii_alphabetic() || b"/(-#@`{;".contains(byte);
    beginning.first().is_some_and(begins) && beginning.iter().all(is_text)
}

fn begins_with_sql_word(packet: &Packet<'_>) -> bool {
    let Some((&(commands::QUERY | commands::PREPARE), payload)) = packet.payload.split_first() else {
        return false;
    };
    let text = statement(payload);
    let word = text.split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    SQL_WORDS.split(' ').any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

fn is_printable(text: &[u8]) -> bool {
    text.iter().all(|byte| *byte >= b' ' && *byte != 0x7f)
}

// --- answers ---

/// Do the server's bytes begin with an answer of this kind?
fn answer(answer: Answer, server: &[u8], numbering: Numbering) -> Verdict {
    let Ok(packet) = Packet::read(server) else {
        return Verdict::Unsure;
    };
    if numbering == Numbering::Strict && !is_numbered(server) {
        return Verdict::NotThis;
    }
    let rest = server.get(HEADER + packet.length as usize..).unwrap_or_default();
    match packet.first() {
        None => Verdict::Unsure,
        Some(first) if answer_fits(answer, first, &packet, rest) => Verdict::Certain,
        Some(_) => Verdict::NotThis,
    }
}

/// From 1 upwards; the next command's answer begins with 1 anew.
fn is_numbered(mut bytes: &[u8]) -> bool {
    let mut expected = 1u8;
    while let Ok(packet) = Packet::read(bytes) {
        if packet.sequence != expected && packet.sequence != 1 {
            return false;
        }
        expected = packet.sequence.wrapping_add(1);
        bytes = bytes.get(HEADER + packet.length as usize..).unwrap_or_default();
    }
    true
}

fn answer_fits(answer: Answer, first: u8, packet: &Packet<'_>, rest: &[u8]) -> bool {
    match (answer, first) {
        (_, ERR) => packet.is_progress() || packet.error_code().is_none_or(|code| code >= FIRST_ERROR),
        (Answer::Verdict | Answer::Fields, OK | EOF) => completion_fits(packet),
        (Answer::Fields, _) => is_definition(packet.payload),
        (Answer::Results, _) if ResultHeader::read(packet).is_some() => {
            let next = rest.get(HEADER..).unwrap_or_default();
            next.is_empty() || next.starts_with(&[EOF]) || is_definition(next) || packet.length > 1
        }
        (Answer::Results, OK) => completion_fits(packet),
        (Answer::Results, 0xfb) => is_printable(packet.payload.get(1..).unwrap_or_default()),
        (Answer::Rows, EOF) => completion_fits(packet),
        (Answer::Rows | Answer::Stream, OK) => true,
        (Answer::Prepared, OK) => matches!(packet.length, 12 | 13),
        (Answer::Text, _) => is_printable(packet.payload),
        (Answer::Authentication, OK | EOF | 1) => true,
        _ => false,
    }
}

/// EOF has five bytes; OK has two integers, a status without its highest bit, and warnings.
fn completion_fits(packet: &Packet<'_>) -> bool {
    if packet.is_eof() {
        return true;
    }
    match status_of_ok(packet.payload) {
        Ok(status) => packet.length >= 7 && status & 0x8000 == 0,
        Err(_) => !packet.is_whole(),
    }
}

fn status_of_ok(payload: &[u8]) -> Result<u16, TooShort> {
    let mut cursor = Cursor::new(payload);
    cursor.skip(1, "OK header")?;
    lenenc(&mut cursor, "affected rows")?;
    lenenc(&mut cursor, "last insert id")?;
    let status = cursor.u16_le("status")?;
    cursor.skip(2, "warnings")?;
    Ok(status)
}

/// A column definition begins with the catalog, which is always "def".
fn is_definition(payload: &[u8]) -> bool {
    let catalog = b"\x03def";
    payload.starts_with(catalog.get(..payload.len()).unwrap_or(catalog))
}

// --- the compressed protocol ---

fn compressed(client: &[u8], server: &[u8]) -> Verdict {
    if !begins_compressed(client) {
        return Verdict::NotThis;
    }
    let (Some(client), Some(server)) = (unwrapped(client), unwrapped(server)) else {
        return Verdict::NotThis;
    };
    if client.is_empty() {
        return Verdict::Unsure;
    }
    commands(&client, &server, Numbering::Loose)
}

/// A compressed packet numbered 0 that is stored, or whose data begins as zlib or zstd does.
fn begins_compressed(bytes: &[u8]) -> bool {
    let Ok(header) = compression::Header::read(bytes) else {
        return false;
    };
    let body = bytes.get(compression::HEADER..).unwrap_or_default();
    let zlib = |body: &[u8]| matches!(body, [0x78, check, ..] if (0x7800 | u16::from(*check)) % 31 == 0);
    let compressed = header.plain_length == 0 || zlib(body) || body.starts_with(&ZSTD_MAGIC);
    header.sequence == 0 && header.compressed_length > HEADER && compressed
}

/// What whole compressed packets hold.
fn unwrapped(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    MysqlCompression::default().unwrap(bytes, &mut plain).ok()?;
    Some(plain)
}

#[cfg(test)]
mod tests {
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
            let events =
                [binlog::event(7, 30, &[9; 40], semi_sync), binlog::event(8, 162, &[0; 5], semi_sync)].concat();
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
}
