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
#[path = "recognise_tests.rs"]
mod tests;
