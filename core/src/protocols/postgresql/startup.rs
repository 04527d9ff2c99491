//! The first messages of a connection, the only ones without a tag.
//!
//! ```text
//! length u32, counts itself | code u32 | body
//! ```
//!
//! | code | message | body | answer |
//! |---|---|---|---|
//! | 80877103 | SSLRequest | – | one bare byte: `S` or `N` |
//! | 80877104 | GSSENCRequest | – | one bare byte: `G` or `N` |
//! | 80877102 | CancelRequest | process u32, key of 4 to 256 bytes | none |
//! | 3 << 16 \| minor | StartupMessage | (key, value)*, each ends in 0; 0 | authentication |
//! | 2 << 16 | StartupPacket of protocol 2.0 | fixed fields, 296 bytes in all | messages without a length |

use std::ops::RangeInclusive;

use crate::cursor::{Cursor, Lost};
use crate::protocols::{Frame, Verdict};
use crate::session::Session;

/// Length and code.
const HEADER: usize = 8;
/// Servers refuse longer ones.
const LONGEST: u32 = 10_000;
const CANCEL_MIN: u32 = 16;
const CANCEL_MAX: u32 = 12 + 256;
const VERSION_2_LENGTH: u32 = 296;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    Tls,
    Gss,
    Cancel,
    Startup,
    Version2,
}

/// The message that begins with these bytes; its whole body is read.
pub fn frame(bytes: &[u8]) -> Result<Frame, Lost> {
    if bytes.len() < HEADER {
        return Ok(Frame::Need(HEADER));
    }
    let (first, length) = first(bytes)?;
    if first == First::Startup && ends_early(bytes, length) {
        return Err(Lost("the startup message ends before its length says".into()));
    }
    Ok(Frame::Message { head: length, length: length as u64 })
}

/// Which first message begins here, and how long it says it is.
pub fn first(bytes: &[u8]) -> Result<(First, usize), Lost> {
    let mut cursor = Cursor::new(bytes);
    let length = cursor.u32_be("startup length")?;
    let code = cursor.u32_be("startup code")?;
    let first = match (code, length) {
        (80_877_103, 8) => First::Tls,
        (80_877_104, 8) => First::Gss,
        (80_877_102, CANCEL_MIN..=CANCEL_MAX) => First::Cancel,
        (0x0002_0000..=0x0002_ffff, VERSION_2_LENGTH) => First::Version2,
        (0x0003_0000..=0x0003_ffff, 9..=LONGEST) => First::Startup,
        _ => return Err(Lost(format!("no connection begins with {length} bytes of code {code:#010x}"))),
    };
    Ok((first, length as usize))
}

/// An empty name ends the list of parameters, and with it the message.
fn ends_early(bytes: &[u8], length: usize) -> bool {
    let mut cursor = Cursor::new(bytes);
    if cursor.skip(HEADER, "header").is_err() {
        return false;
    }
    while let Ok(name) = cursor.until(0, "name") {
        if name.is_empty() {
            return cursor.position() < length;
        }
        if cursor.until(0, "value").is_err() {
            return false;
        }
    }
    false
}

/// Names and values of a StartupMessage.
fn parameters(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut cursor = Cursor::new(bytes.get(HEADER..).unwrap_or_default());
    std::iter::from_fn(move || {
        let name = cursor.until(0, "name").ok().filter(|name| !name.is_empty())?;
        Some((name, cursor.until(0, "value").ok()?))
    })
}

/// What a StartupMessage says about the session.
pub fn introduce(bytes: &[u8], asked_for_tls: bool, session: &mut Session) {
    let mut startup = Vec::from_iter(asked_for_tls.then(|| "SSLRequest".to_owned()));
    for (name, value) in parameters(bytes) {
        let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value).into_owned());
        let is_own = OWN_PARAMETERS.contains(&&*name);
        startup.push(if is_own { name.clone().into_owned() } else { format!("{name}={value}") });
        match &*name {
            "user" => session.user = Some(value),
            "database" => session.database = Some(value),
            "application_name" => session.application = Some(value),
            _ => {}
        }
    }
    session.client.starts(&startup.join(" "));
    if session.database.is_none() {
        session.database.clone_from(&session.user);
    }
}

/// The application's own parameters: their values tell nothing of the driver.
const OWN_PARAMETERS: [&str; 6] = ["user", "database", "application_name", "TimeZone", "options", "search_path"];

/// Does a connection of this protocol begin with these bytes?
pub fn recognise(bytes: &[u8]) -> Verdict {
    if bytes.len() < HEADER {
        // Every length is below 10,001.
        return if matches!(bytes, [] | [0] | [0, 0, ..]) { Verdict::Unsure } else { Verdict::NotThis };
    }
    match first(bytes) {
        Ok((First::Startup, _)) if !has_names(bytes) => Verdict::NotThis,
        Ok(_) => Verdict::Certain,
        Err(_) if is_mistaken(bytes) => Verdict::Unsure,
        Err(_) => Verdict::NotThis,
    }
}

/// Kafka's first request may have the same code; what follows distinguishes them.
fn has_names(bytes: &[u8]) -> bool {
    let mut body = Cursor::new(bytes.get(HEADER..).unwrap_or_default());
    let name = body.until(0, "name").unwrap_or_else(|_| body.rest());
    name.iter().all(|byte| byte.is_ascii_graphic()) && (!name.is_empty() || body.is_empty())
}

/// Not what a client should say, but framed like a first message: its code or its length is right.
fn is_mistaken(bytes: &[u8]) -> bool {
    let mut cursor = Cursor::new(bytes);
    let (length, code) = (cursor.u32_be("length").unwrap_or(0), cursor.u32_be("code").unwrap_or(0));
    let right_length = length <= LONGEST && length as usize == bytes.len();
    let right_code = code == 0x0003_0000 && has_names(bytes);
    right_length || right_code
}

/// Requests for a password, of SASL and its first answer (9 to 100 bytes) are shorter than the end of a login, which
/// tells the session's parameters (250 and more, of a connection pooler a little less).
const SESSION_BEGINS: u64 = 150;

/// Inside TLS, does the login go on after an answer of so many bytes?
pub fn goes_on(answer: &RangeInclusive<u64>) -> bool {
    *answer.end() < SESSION_BEGINS
}

/// The name by which TLS from the first byte on says what is inside (ALPN, RFC 7301): `postgresql`, its length before it.
pub fn asks_for_postgresql(hello: &[u8]) -> bool {
    memchr::memmem::find(hello, b"\x0apostgresql").is_some()
}
