//! How long messages are and which of them exist: enough to distinguish PostgreSQL's bytes from any others.
//!
//! <https://www.postgresql.org/docs/current/protocol-message-formats.html>
//!
//! ```text
//! tag u8 | length u32, counts itself but not the tag | body        (all but the first client message)
//! ```
//!
//! A tag means different things by direction: `S` is Sync from the client and ParameterStatus from the server.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use crate::cursor::{Cursor, Lost};
use crate::protocols::Frame;
use crate::side::Side;

/// Tag and length.
pub const HEADER: usize = 5;
/// Statements are kept up to this length.
pub const TEXT_MAX: usize = 64 << 10;
/// Names of statements and portals; servers cut theirs at 63 bytes.
pub const NAME_MAX: usize = 256;

/// The largest message a server allocates memory for (MaxAllocSize).
const HUGE: u32 = 0x3fff_ffff;
/// No message that carries neither rows nor text comes near this.
const LARGE: u32 = 1 << 20;
const SMALL: u32 = 64 << 10;

/// How long the bytes are on which the meaning depends.
const QUERY_HEAD: usize = HEADER + TEXT_MAX + 1;
const PARSE_HEAD: usize = QUERY_HEAD + NAME_MAX;
/// Bind values are only hashed: this many bytes distinguish two executions.
const BIND_HEAD: usize = 16 << 10;
const NAMES_HEAD: usize = 2 * NAME_MAX;
const ERROR_HEAD: usize = 4 << 10;
const STATUS_HEAD: usize = 1 << 10;
const TAG_HEAD: usize = 128;
const READY_HEAD: usize = HEADER + 1;
/// Process and key: 4 bytes, and up to 256 since version 3.2.
const KEY_HEAD: usize = HEADER + 4 + 256;

/// The message that begins with these bytes.
pub fn frame(side: Side, bytes: &[u8]) -> Result<Frame, Lost> {
    let tag = bytes.first().copied().unwrap_or_default();
    let Some(allowed) = lengths(side, tag) else {
        return Err(Lost(format!("no {side:?} message begins with byte {tag:#04x}")));
    };
    if bytes.len() < HEADER {
        return Ok(Frame::Need(HEADER));
    }
    let length = length_of(bytes)?;
    if !allowed.contains(&length) {
        return Err(Lost(format!("message {:?} cannot be {length} bytes long", char::from(tag))));
    }
    let length = u64::from(length) + 1;
    let head = length.min(head_of(side, tag) as u64) as usize;
    Ok(Frame::Message { head, length })
}

/// The tag of the message that begins here, what its meaning depends on and its length, if all of it is there.
#[inline]
pub fn whole(side: Side, bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let [tag, length @ ..] = bytes.first_chunk::<HEADER>()?;
    let length = u32::from_be_bytes(*length);
    lengths(side, *tag)?.contains(&length).then_some(())?;
    let message = bytes.get(..length as usize + 1)?;
    let head = head_of(side, *tag).min(message.len());
    Some((*tag, &message[..head], message.len()))
}

fn length_of(bytes: &[u8]) -> Result<u32, Lost> {
    let mut cursor = Cursor::new(bytes);
    cursor.skip(1, "tag")?;
    Ok(cursor.u32_be("length")?)
}

/// What the length field of a message may say; `None`: there is no such message.
fn lengths(side: Side, tag: u8) -> Option<RangeInclusive<u32>> {
    Some(match side {
        Side::Client => match tag {
            b'Q' => 5..=HUGE,
            b'P' => 8..=HUGE,
            b'B' => 12..=HUGE,
            b'D' | b'C' => 6..=SMALL,
            b'E' => 9..=SMALL,
            b'S' | b'H' | b'X' | b'c' => 4..=4,
            b'F' => 14..=HUGE,
            b'd' => 4..=HUGE,
            b'f' => 5..=LARGE,
            b'p' => 4..=LARGE,
            _ => return None,
        },
        Side::Server => match tag {
            b'1' | b'2' | b'3' | b'n' | b's' | b'I' | b'c' => 4..=4,
            b'Z' => 5..=5,
            b'D' | b'T' => 6..=HUGE,
            b'd' => 4..=HUGE,
            b'C' => 5..=SMALL,
            b'E' | b'N' => 5..=LARGE,
            b'S' => 6..=LARGE,
            b't' => 6..=LARGE,
            b'R' => 8..=LARGE,
            b'K' => 12..=264,
            b'G' | b'H' | b'W' => 7..=SMALL,
            b'A' => 10..=HUGE,
            b'V' => 8..=HUGE,
            b'v' => 12..=LARGE,
            _ => return None,
        },
    })
}

fn head_of(side: Side, tag: u8) -> usize {
    match (side, tag) {
        (Side::Client, b'Q') => QUERY_HEAD,
        (Side::Client, b'P') => PARSE_HEAD,
        (Side::Client, b'B') => BIND_HEAD,
        (Side::Client, b'D' | b'C' | b'E') => NAMES_HEAD,
        (Side::Server, b'E') => ERROR_HEAD,
        (Side::Server, b'S') => STATUS_HEAD,
        (Side::Server, b'C') => TAG_HEAD,
        (Side::Server, b'Z') => READY_HEAD,
        (Side::Server, b'K' | b'R') => KEY_HEAD,
        _ => HEADER,
    }
}

/// A zero-terminated text; the end of one that is too long, or that the capture has cut, is shown as missing.
pub fn text(bytes: &[u8]) -> Cow<'_, [u8]> {
    let (text, whole) = match memchr::memchr(0, bytes) {
        Some(end) => (bytes.get(..end).unwrap_or_default(), end <= TEXT_MAX),
        None => (bytes, false),
    };
    if whole {
        return Cow::Borrowed(text);
    }
    let text = whole_characters(text.get(..TEXT_MAX).unwrap_or(text));
    Cow::Owned([text, "…".as_bytes()].concat())
}

/// Without the beginning of a character whose end was cut off.
fn whole_characters(text: &[u8]) -> &[u8] {
    match std::str::from_utf8(text) {
        Err(error) if error.error_len().is_none() => text.get(..error.valid_up_to()).unwrap_or(text),
        _ => text,
    }
}

/// Do these bytes certainly begin with a request, and is everything after it a message too?
///
/// In the middle of a pipeline the server still owes answers to what was not captured: there a packet ends with a whole
/// message that asks for no answer yet, and no request can be distinguished from those before it.
pub fn begins_request(bytes: &[u8]) -> bool {
    let Some((tag, length)) = header(Side::Client, bytes) else { return false };
    let body = bytes.get(HEADER..bytes.len().min(length)).unwrap_or_default();
    let last = last_of_chain(Side::Client, bytes);
    let whole = bytes.len() >= length;
    (whole || body.len() >= TELLING)
        && is_plain(tag, body, whole)
        && matches!(last, Some(None | Some(b'Q' | b'S' | b'H' | b'F' | b'X')))
}

/// This much text of a request that goes on distinguishes it from bytes that happen to be letters.
const TELLING: usize = 32;

/// Are these bytes nothing but whole messages (the last may go on), up to a ReadyForQuery?
pub fn ends_ready(bytes: &[u8]) -> bool {
    let ready = bytes.len().checked_sub(HEADER + 1).and_then(|start| bytes.get(start..));
    matches!(ready, Some([b'Z', 0, 0, 0, 5, b'I' | b'T' | b'E']))
        && last_of_chain(Side::Server, bytes) == Some(Some(b'Z'))
}

/// Are these bytes of the client whole messages up to their end?
pub fn are_whole(bytes: &[u8]) -> bool {
    matches!(last_of_chain(Side::Client, bytes), Some(Some(_)))
}

/// The tag of the last of these messages, `None` where it goes on; nothing at all if they are no messages.
fn last_of_chain(side: Side, bytes: &[u8]) -> Option<Option<u8>> {
    let mut rest = bytes;
    let mut last = None;
    while rest.len() >= HEADER {
        let (tag, length) = header(side, rest)?;
        last = (length <= rest.len()).then_some(tag);
        rest = rest.get(length..).unwrap_or_default();
    }
    match rest.first() {
        Some(tag) => lengths(side, *tag).map(|_| None),
        None => Some(last),
    }
}

/// Tag and whole length of the message that begins here, if one may.
fn header(side: Side, bytes: &[u8]) -> Option<(u8, usize)> {
    match frame(side, bytes) {
        Ok(Frame::Message { length, .. }) => Some((*bytes.first()?, usize::try_from(length).ok()?)),
        _ => None,
    }
}

/// Is the body what such a request has to look like, as far as it is at hand?
fn is_plain(tag: u8, body: &[u8], whole: bool) -> bool {
    let mut cursor = Cursor::new(body);
    match tag {
        b'Q' if whole => is_text(&mut cursor) && cursor.is_empty(),
        b'Q' => !body.contains(&0) && is_text(&mut cursor),
        b'P' => is_text(&mut cursor) && cursor.peek_u8() != Some(0) && is_text(&mut cursor),
        b'B' => whole && is_text(&mut cursor) && is_text(&mut cursor),
        b'D' | b'C' => matches!(cursor.u8("kind"), Ok(b'S' | b'P')) && is_text(&mut cursor) && cursor.is_empty(),
        b'E' => is_text(&mut cursor) && cursor.left() == 4,
        _ => false,
    }
}

/// A zero-terminated text without control characters, or the beginning of a longer one.
fn is_text(cursor: &mut Cursor<'_>) -> bool {
    let text = cursor.until(0, "text").unwrap_or_else(|_| cursor.rest());
    text.iter().all(|byte| *byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c))
}
