//! What the logon shows: user, program, server version. Passwords and session keys are in the same messages and are
//! passed over.
//!
//! ```text
//! request    03 76 | … | user | AUTH_TERMINAL = … | AUTH_PROGRAM_NM = … | …
//! response   08 | pairs | AUTH_VERSION_STRING = … | AUTH_VERSION_NO = 320208896 | AUTH_SC_SERVICE_NAME = … | …
//! pair       length | key | length | value | flags           lengths universal or u32, then once more in the string
//! ```

use super::effort::Effort;
use super::encodings::{string, universal};
use crate::cursor::Cursor;
use crate::protocols::versions::version_in;
use crate::session::Session;

const KEY_PREFIXES: [&[u8]; 2] = [b"AUTH_", b"SESSION_CLIENT_"];
const LONGEST_USER: usize = 128;
const LONGEST_VERSION: usize = 24;

/// The first or second half of a logon, as the client sends it.
pub fn learn_request(session: &mut Session, message: &[u8]) {
    if let Some(user) = user(message) {
        session.user.get_or_insert_with(|| user.to_owned());
    }
    if let Some(program) = value(message, b"AUTH_PROGRAM_NM") {
        session.application.get_or_insert(program);
    }
    // `python-oracledb thn : 26.1.0`
    if let Some(driver) = value(message, b"SESSION_CLIENT_DRIVER_NAME") {
        let (name, version) = driver.split_once(" : ").unwrap_or((&driver, ""));
        session.client.says(name);
        version_in(version).into_iter().for_each(|version| session.client.says_version(version));
    }
}

/// The server's answer.
pub fn learn_response(session: &mut Session, message: &[u8]) {
    let number = value(message, b"AUTH_VERSION_NO").and_then(|digits| digits.parse().ok());
    if let Some(number) = number {
        session.server_version.get_or_insert_with(|| version(number));
    }
    if let Some(key) = value(message, b"AUTH_SESSKEY") {
        session.knows_by(key.as_bytes(), false);
    }
    if let Some(service) = value(message, b"AUTH_SC_SERVICE_NAME") {
        session.database.get_or_insert(service);
    }
}

/// What the server answers to a call for its version: `Oracle Database 10g Release 10.2.0.1.0 - Production`, and since
/// 18c a line more, `Version 19.22.0.0.0`.
pub fn learn_version(session: &mut Session, message: &[u8]) {
    let behind = |word: &[u8]| {
        let at = memchr::memmem::find(message, word)? + word.len();
        let version = message.get(at..)?.iter().take(LONGEST_VERSION).take_while(|byte| b"0123456789.".contains(byte));
        let version: String = version.map(|&byte| char::from(byte)).collect();
        version.contains('.').then_some(version)
    };
    if let Some(version) = behind(b"Version ").or_else(|| behind(b"Release ")) {
        session.server_version.get_or_insert(version);
    }
}

/// Five numbers in four bytes: of 8, 4, 8, 4 and 8 bits, from 18c on of 8, 8, 4, 8 and 4.
fn version(number: u32) -> String {
    let [major, second, third, fourth] = number.to_be_bytes();
    let parts = match major {
        ..18 => [major, second >> 4, (second & 15) << 4 | third >> 4, third & 15, fourth],
        _ => [major, second, third >> 4, (third & 15) << 4 | fourth >> 4, fourth & 15],
    };
    parts.map(|part| part.to_string()).join(".")
}

/// The printable text before the first key's length.
fn user(message: &[u8]) -> Option<&str> {
    let key = KEY_PREFIXES.iter().filter_map(|prefix| memchr::memmem::find(message, prefix)).min()?;
    let before = without_length(message.get(..key)?)?;
    let start = before.iter().rposition(|byte| !byte.is_ascii_graphic()).map_or(0, |at| at + 1);
    let run = &before[start..];
    // A string's own length may be printable, too.
    let name = match run.split_first() {
        Some((&length, name)) if usize::from(length) == name.len() => name,
        _ => run,
    };
    let name = std::str::from_utf8(name).ok()?;
    (1..=LONGEST_USER).contains(&name.len()).then_some(name)
}

/// Strips a key's length: `01 0D 0D`, or `0D 00 00 00 0D`.
fn without_length(before: &[u8]) -> Option<&[u8]> {
    match before {
        [user @ .., 1, length, again] if length == again => Some(user),
        [user @ .., _, 0, 0, 0, _] => Some(user),
        _ => None,
    }
}

/// The value of a key.
fn value(message: &[u8], key: &[u8]) -> Option<String> {
    let at = memchr::memmem::find(message, key)? + key.len();
    let mut thin = Cursor::new(message.get(at..)?);
    let mut wide = thin;
    let effort = Effort::default();
    let read_thin = universal(&mut thin).filter(|&length| length > 0).and_then(|_| string(&mut thin, &effort));
    let text = match read_thin {
        Some(text) if is_text(&text) => text,
        _ => {
            wide.u32_le("length").ok().filter(|&length| length > 0)?;
            string(&mut wide, &effort).filter(|text| is_text(text))?
        }
    };
    Some(String::from_utf8_lossy(&text).trim().to_owned())
}

fn is_text(text: &[u8]) -> bool {
    !text.is_empty() && text.len() <= 256 && !text.iter().any(u8::is_ascii_control)
}

#[cfg(test)]
#[path = "logon_tests.rs"]
mod tests;
