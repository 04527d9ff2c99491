//! What a login says of the session.
//!
//! ```text
//! length u32 | version u32 | … | (offset u16 | length u16, in characters)*      host, user, password, application, …
//! ```

use std::ops::RangeInclusive;

use super::text;
use crate::cursor::{Cursor, TooShort};
use crate::session::Session;

/// Where the places of the texts begin.
const PLACES: usize = 36;
const SHORTEST: u32 = 86;
const LONGEST: u32 = 128 << 10;
/// The places of those that matter, among the others.
const USER: usize = 1;
const APPLICATION: usize = 3;
const LIBRARY: usize = 6;
const DATABASE: usize = 8;

/// Is it a login of TDS 7? So long is its packet's body.
pub fn is_login(body: &[u8], length: usize) -> bool {
    let mut cursor = Cursor::new(body);
    let (Ok(told), Ok(version)) = (cursor.u32_le("length"), cursor.u32_le("version")) else { return false };
    (SHORTEST..=LONGEST).contains(&told) && told as usize >= length && minor(version.to_be_bytes()).is_some()
}

/// The minor version of TDS 7 (8 for 8.0), of its four bytes with the highest first.
pub fn minor(version: [u8; 4]) -> Option<u8> {
    match version {
        [7, minor @ 0..=4, ..] => Some(minor),
        [0x70..=0x74, ..] => Some(version[0] & 0x0f),
        [8, 0, 0, 0] => Some(8),
        _ => None,
    }
}

/// The version that the client asks for; what the session is called goes to it, and nothing else is looked at.
pub fn introduce(body: &[u8], session: &mut Session) -> Option<u8> {
    let place = |number| text_at(body, number).ok().flatten().filter(|text| !text.is_empty());
    session.user = place(USER).or(session.user.take());
    session.application = named(place(APPLICATION), place(LIBRARY)).or(session.application.take());
    session.database = place(DATABASE).or(session.database.take());
    let version = Cursor::new(body.get(4..)?).u32_le("version").ok()?;
    minor(version.to_be_bytes())
}

/// What calls itself so, by this driver: `till (ODBC)`.
fn named(application: Option<String>, library: Option<String>) -> Option<String> {
    match (application, library) {
        (Some(application), Some(library)) if !application.contains(&library) => {
            Some(format!("{application} ({library})"))
        }
        (application, library) => application.or(library),
    }
}

fn text_at(body: &[u8], number: usize) -> Result<Option<String>, TooShort> {
    let mut cursor = Cursor::new(body);
    cursor.skip(PLACES + 4 * number, "places")?;
    let (at, length) = (cursor.u16_le("offset")?, cursor.u16_le("length")?);
    let bytes = body.get(usize::from(at)..).and_then(|rest| rest.get(..2 * usize::from(length)));
    Ok(bytes.map(text::decode))
}

/// An answer to a pre-login inside TLS (TDS 8.0) is short; the end of a login tells the server's name and settings.
const LOGGED_IN: u64 = 100;

/// Inside TLS, does the login go on after an answer of so many bytes?
pub fn goes_on(answer: &RangeInclusive<u64>) -> bool {
    *answer.end() < LOGGED_IN
}
