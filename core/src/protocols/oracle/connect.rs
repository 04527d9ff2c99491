//! CONNECT and its answers.
//!
//! ```text
//! CONNECT   8 version u16 | 10 lowest version u16 | … | 24 data length u16 | 26 data offset u16 | … | data
//! ACCEPT    8 version u16 | 10 options u16 | 12 SDU u16 | … | 32 SDU u32 (version ≥ 315) | …
//! REFUSE    8 reasons u8 u8 | 10 length u16 | (DESCRIPTION=…(ERR=12514)…)
//! REDIRECT  8 length u16 | (ADDRESS=…) [00 connect data]
//! ```
//!
//! Offsets count from the packet's first byte. The data of CONNECT, REFUSE and REDIRECT may come in a DATA packet of
//! its own.

use super::framing::{Form, HEADER};
use crate::cursor::{Cursor, TooShort};
use crate::protocols::Error;
use crate::session::Session;

/// From this version on lengths have four bytes after ACCEPT.
const LARGE_FORM_VERSION: u16 = 315;
/// TNS versions in use: 8i has 308, 23ai 319.
const VERSIONS: std::ops::RangeInclusive<u16> = 300..=340;

/// What a CONNECT says of itself: how long its data is, and where it is.
pub struct Connect<'a> {
    pub versions: (u16, u16),
    /// Empty where it comes in the next packet.
    pub data: &'a [u8],
    data_length: usize,
    data_offset: usize,
}

impl<'a> Connect<'a> {
    /// `body` begins after the packet header.
    pub fn read(body: &'a [u8]) -> Result<Connect<'a>, TooShort> {
        let mut cursor = Cursor::new(body);
        let versions = (cursor.u16_be("version")?, cursor.u16_be("lowest version")?);
        cursor.skip(12, "service options")?;
        let data_length = usize::from(cursor.u16_be("connect data length")?);
        let data_offset = usize::from(cursor.u16_be("connect data offset")?);
        let data = body.get(data_offset.saturating_sub(HEADER)..).unwrap_or_default();
        Ok(Connect { versions, data: data.get(..data_length).unwrap_or(data), data_length, data_offset })
    }

    /// Does the data come in a packet of its own, after this one of `length` bytes?
    pub fn data_follows(&self, length: u64) -> bool {
        self.data_length > 0 && length <= self.data_offset as u64
    }

    pub fn is_plausible(&self) -> bool {
        let (wanted, lowest) = self.versions;
        VERSIONS.contains(&wanted) && lowest <= wanted && (self.data.is_empty() || self.data.contains(&b'('))
    }
}

/// What matters of an ACCEPT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept {
    pub form: Form,
    pub session_data_unit: u32,
}

impl Accept {
    pub fn read(body: &[u8]) -> Result<Accept, TooShort> {
        let mut cursor = Cursor::new(body);
        let version = cursor.u16_be("version")?;
        cursor.skip(2, "service options")?;
        let small = u32::from(cursor.u16_be("session data unit")?);
        if version < LARGE_FORM_VERSION {
            return Ok(Accept { form: Form::Small, session_data_unit: small });
        }
        let large = cursor.skip(18, "reserved").and_then(|()| cursor.u32_be("session data unit"));
        Ok(Accept { form: Form::Large, session_data_unit: large.unwrap_or(small) })
    }
}

/// The text of REFUSE or REDIRECT, or `None` where it comes in the next packet. `reasons`: bytes before its length.
pub fn text(body: &[u8], reasons: usize) -> Option<&[u8]> {
    let mut cursor = Cursor::new(body);
    cursor.skip(reasons, "reasons").ok()?;
    let length = cursor.u16_be("text length").ok()?;
    let text = cursor.rest();
    (length == 0 || !text.is_empty()).then_some(text)
}

/// Why the listener refused; `None` for an answer to a ping of the listener.
pub fn refusal(text: &[u8]) -> Option<Box<Error>> {
    let number: u32 = value(&String::from_utf8_lossy(text), "ERR").and_then(|number| number.parse().ok()).unwrap_or(0);
    let error = || Error { code: format!("ORA-{number:05}"), message: "the listener refused the connection".into() };
    (number != 0).then(|| Box::new(error()))
}

/// Who connects to what, as the connect data says.
pub fn learn(session: &mut Session, data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let service = value(&text, "SERVICE_NAME").or_else(|| value(&text, "SID"));
    let client = text.to_ascii_uppercase().find("CID").and_then(|at| text.get(at..)).unwrap_or_default();
    if let Some(service) = service {
        session.database.get_or_insert_with(|| service.to_owned());
    }
    if let Some(program) = value(client, "PROGRAM") {
        session.application.get_or_insert_with(|| program.to_owned());
    }
}

/// The value of `(KEY = value)`, the first of that name.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('(') {
        rest = after;
        let Some((name, assigned)) = after.split_once('=') else {
            break;
        };
        if name.trim().eq_ignore_ascii_case(key) {
            let value = assigned.split([')', '(']).next().unwrap_or_default().trim();
            return (!value.is_empty()).then_some(value);
        }
    }
    None
}

#[cfg(test)]
#[path = "connect_tests.rs"]
mod tests;
