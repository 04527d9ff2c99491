//! How TTC writes numbers, pointers and strings.
//!
//! ```text
//! universal    count u8 (0…8; bit 7: negative) | the bytes, big-endian               all thin clients
//! wide         2 or 4 bytes in the client's byte order                                  OCI (SQL*Plus, ODBC, Toad)
//! pointer      00 or 01; of OCI also an address of 4 or 8 bytes, which says no more
//! string       length u8 (1…252) | bytes          00 and FF: nothing
//!              FE | (length | chunk)… | 00         lengths u8, or universal from 12c on
//! ```

use std::borrow::Cow;

use super::effort::Effort;
use crate::cursor::Cursor;

pub const CHUNKED: u8 = 0xfe;
const ABSENT: u8 = 0xff;

/// The order of the bytes in a number of fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub const BOTH: [Order; 2] = [Order::Little, Order::Big];

    pub fn u16(self, cursor: &mut Cursor<'_>) -> Option<u16> {
        let read = match self {
            Order::Little => cursor.u16_le("number"),
            Order::Big => cursor.u16_be("number"),
        };
        read.ok()
    }

    pub fn u32(self, cursor: &mut Cursor<'_>) -> Option<u32> {
        let read = match self {
            Order::Little => cursor.u32_le("number"),
            Order::Big => cursor.u32_be("number"),
        };
        read.ok()
    }
}

/// How a connection writes its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Universal,
    Wide(Order),
}

/// How a call writes its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    pub family: Family,
    /// Bytes of a pointer.
    pointer: usize,
}

impl Writing {
    /// Every way that clients write; OCI's addresses have the width of its platform, or say no more than a flag.
    pub const ALL: [Writing; 7] = [
        Writing::UNIVERSAL,
        Writing::wide(Order::Little, 4),
        Writing::wide(Order::Little, 8),
        Writing::wide(Order::Little, 1),
        Writing::wide(Order::Big, 4),
        Writing::wide(Order::Big, 8),
        Writing::wide(Order::Big, 1),
    ];
    /// For calls without pointers.
    pub const NUMBERS: [Writing; 3] =
        [Writing::UNIVERSAL, Writing::wide(Order::Little, 8), Writing::wide(Order::Big, 8)];
    const UNIVERSAL: Writing = Writing { family: Family::Universal, pointer: 1 };

    const fn wide(order: Order, pointer: usize) -> Writing {
        Writing { family: Family::Wide(order), pointer }
    }

    pub fn number(self, cursor: &mut Cursor<'_>) -> Option<u64> {
        match self.family {
            Family::Universal => universal(cursor),
            Family::Wide(order) => order.u32(cursor).map(u64::from),
        }
    }

    /// Is an argument present?
    pub fn pointer(self, cursor: &mut Cursor<'_>) -> Option<bool> {
        match *cursor.take(self.pointer, "pointer").ok()? {
            [0] => Some(false),
            [1] => Some(true),
            [_] => None,
            ref address => Some(address.iter().any(|&byte| byte != 0)),
        }
    }

    /// The number of a cursor: the server counts them in 16 bits.
    pub fn cursor_number(self, cursor: &mut Cursor<'_>) -> Option<u32> {
        self.number(cursor)?.try_into().ok().filter(|&number| number <= 0xffff)
    }
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

/// A string with its length, in whichever way its chunks are written.
pub fn string<'a>(cursor: &mut Cursor<'a>, effort: &Effort) -> Option<Cow<'a, [u8]>> {
    match cursor.u8("string length").ok()? {
        0 | ABSENT => Some(Cow::Borrowed(&[])),
        CHUNKED => chunked(cursor, effort).map(Cow::Owned),
        length => cursor.take(length.into(), "string").ok().map(Cow::Borrowed),
    }
}

/// Chunks with universal lengths where that works out, otherwise with lengths of one byte.
fn chunked(cursor: &mut Cursor<'_>, effort: &Effort) -> Option<Vec<u8>> {
    let mut attempt = *cursor;
    let length = |cursor: &mut Cursor<'_>| universal(cursor).and_then(|length| length.try_into().ok());
    if let Some(text) = chunks(&mut attempt, effort, length) {
        *cursor = attempt;
        return Some(text);
    }
    chunks(cursor, effort, |cursor| cursor.u8("chunk length").ok().map(usize::from))
}

fn chunks(
    cursor: &mut Cursor<'_>,
    effort: &Effort,
    length: impl Fn(&mut Cursor<'_>) -> Option<usize>,
) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    loop {
        effort.spend(2)?;
        match length(cursor)? {
            0 => return Some(text),
            length => text.extend_from_slice(cursor.take(length, "chunk").ok()?),
        }
    }
}

/// A universal length, and a string where it is not 0.
pub fn string_with_length<'a>(cursor: &mut Cursor<'a>, effort: &Effort) -> Option<Cow<'a, [u8]>> {
    if universal(cursor)? == 0 { Some(Cow::Borrowed(&[])) } else { string(cursor, effort) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Option<Vec<u8>> {
        string(&mut Cursor::new(bytes), &Effort::default()).map(Cow::into_owned)
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
