//! ErrorResponse.
//!
//! ```text
//! (field u8 | text, ends in 0)* | 0        S severity, V the same in English (9.6+), C SQLSTATE, M message, …
//! ```

use crate::cursor::{Cursor, Lost};
use crate::protocols::{Error, Frame};
use crate::sql::Statements;

/// Errors of servers that cannot speak protocol 3 (older ones, or out of processes): a text without a length.
const OLD_TEXT_MAX: usize = 8 << 10;
/// Lengths that no error of protocol 3 has: they are the text of an old one.
const LENGTHS: std::ops::RangeInclusive<u32> = 8..=30_000;

/// The fields that matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report<'a> {
    severity: &'a [u8],
    state: &'a [u8],
    message: &'a [u8],
}

/// Read the fields, as far as they are at hand.
pub fn report(body: &[u8]) -> Report<'_> {
    let mut cursor = Cursor::new(body);
    let mut report = Report::default();
    while let Ok(field @ 1..) = cursor.u8("field") {
        let text = cursor.until(0, "text").unwrap_or_else(|_| cursor.rest());
        match field {
            b'S' if report.severity.is_empty() => report.severity = text,
            b'V' => report.severity = text,
            b'C' => report.state = text,
            b'M' => report.message = text,
            _ => {}
        }
    }
    report
}

impl Report<'_> {
    /// Does the server close the connection? The severity may be in the server's language; these states say it too.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity, b"FATAL" | b"PANIC")
            || matches!(self.state, b"57P01" | b"57P02" | b"57P03" | b"57P04" | b"57P05" | b"25P03" | b"25P04")
    }

    pub fn error(&self) -> Box<Error> {
        Box::new(Error {
            code: String::from_utf8_lossy(self.state).into_owned(),
            message: Statements::message(&String::from_utf8_lossy(self.message)),
        })
    }
}

/// Is the error that begins here one of protocol 2? Its length, if so.
pub fn old_frame(bytes: &[u8]) -> Result<Option<Frame>, Lost> {
    if bytes.len() < 5 {
        return Ok(Some(Frame::Need(5)));
    }
    let mut cursor = Cursor::new(bytes);
    cursor.skip(1, "tag")?;
    if LENGTHS.contains(&cursor.u32_be("length")?) {
        return Ok(None);
    }
    match memchr::memchr(0, bytes) {
        Some(end) => Ok(Some(Frame::Message { head: end + 1, length: end as u64 + 1 })),
        None if bytes.len() < OLD_TEXT_MAX => Ok(Some(Frame::Need(bytes.len() + 1))),
        None => Err(Lost("an error without an end".into())),
    }
}

/// An error of protocol 2, `FATAL:  text`, has no SQLSTATE.
pub fn old_error(bytes: &[u8]) -> Box<Error> {
    let text = String::from_utf8_lossy(bytes.get(1..).unwrap_or_default());
    let text = text.trim_end_matches(['\0', '\n']);
    let (code, message) = text.split_once(':').unwrap_or(("ERROR", text));
    Box::new(Error { code: code.to_owned(), message: Statements::message(message.trim_start()) })
}

/// Distinguishes the two kinds once the whole message is there.
pub fn is_old(bytes: &[u8]) -> bool {
    matches!(old_frame(bytes), Ok(Some(_)))
}
