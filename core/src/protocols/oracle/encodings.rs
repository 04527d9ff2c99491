//! How TTC writes numbers and strings.
//!
//! ```text
//! universal    count u8 (0…8; bit 7: negative) | the bytes, big-endian               all thin clients
//! wide         2, 4 or 8 bytes, little-endian                                           OCI of the same byte order
//! string       length u8 (1…252) | bytes          00 and FF: nothing
//!              FE | (length | chunk)… | 00         lengths u8, or universal from 12c on
//! ```

use std::borrow::Cow;

use crate::cursor::Cursor;

const CHUNKED: u8 = 0xfe;
const ABSENT: u8 = 0xff;

/// How a connection writes its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Universal,
    Wide,
}

/// A universal number; its sign does not matter to anyone here.
pub fn universal(cursor: &mut Cursor<'_>) -> Option<u64> {
    let count = usize::from(cursor.u8("count").ok()? & 0x7f);
    let bytes = (count <= 8).then(|| cursor.take(count, "number").ok())??;
    Some(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// `count` universal numbers, passed over.
pub fn skip_universal(cursor: &mut Cursor<'_>, count: usize) -> Option<()> {
    (0..count).try_for_each(|_| universal(cursor).map(|_| ()))
}

/// Is an argument present? Thin clients send 0 or 1.
pub fn pointer(cursor: &mut Cursor<'_>) -> Option<bool> {
    match cursor.u8("pointer").ok()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// A string with its length, in whichever way its chunks are written.
pub fn string<'a>(cursor: &mut Cursor<'a>) -> Option<Cow<'a, [u8]>> {
    match cursor.u8("string length").ok()? {
        0 | ABSENT => Some(Cow::Borrowed(&[])),
        CHUNKED => chunked(cursor).map(Cow::Owned),
        length => cursor.take(length.into(), "string").ok().map(Cow::Borrowed),
    }
}

/// Chunks with universal lengths where that works out, otherwise with lengths of one byte.
fn chunked(cursor: &mut Cursor<'_>) -> Option<Vec<u8>> {
    let mut attempt = *cursor;
    if let Some(text) = chunks(&mut attempt, |cursor| universal(cursor).and_then(|length| length.try_into().ok())) {
        *cursor = attempt;
        return Some(text);
    }
    chunks(cursor, |cursor| cursor.u8("chunk length").ok().map(usize::from))
}

fn chunks(cursor: &mut Cursor<'_>, length: impl Fn(&mut Cursor<'_>) -> Option<usize>) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    loop {
        match length(cursor)? {
            0 => return Some(text),
            length => text.extend_from_slice(cursor.take(length, "chunk").ok()?),
        }
    }
}

/// A universal length, and a string where it is not 0.
pub fn string_with_length<'a>(cursor: &mut Cursor<'a>) -> Option<Cow<'a, [u8]>> {
    if universal(cursor)? == 0 { Some(Cow::Borrowed(&[])) } else { string(cursor) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Option<Vec<u8>> {
        string(&mut Cursor::new(bytes)).map(Cow::into_owned)
    }

    #[test]
    fn a_universal_number_says_its_own_width() {
        let mut cursor = Cursor::new(b"\0\x01\x64\x02\x80\x61\x81\x05");
        let numbers: Vec<_> = std::iter::from_fn(|| universal(&mut cursor)).collect();
        assert_eq!(numbers, [0, 100, 0x8061, 5]);
    }

    #[test]
    fn a_number_wider_than_eight_bytes_is_none() {
        assert_eq!(universal(&mut Cursor::new(&[9; 20])), None);
    }

    #[test]
    fn strings_come_short_absent_and_in_chunks_of_both_kinds() {
        assert_eq!(text(b"\x04dual"), Some(b"dual".to_vec()));
        assert_eq!(text(b"\xff"), Some(Vec::new()));
        assert_eq!(text(b"\xfe\x02du\x02al\0"), Some(b"dual".to_vec()));
        assert_eq!(text(b"\xfe\x01\x02du\x01\x02al\0"), Some(b"dual".to_vec()));
        assert_eq!(text(b"\xfe\x02\x4e\x39select"), None);
    }
}
