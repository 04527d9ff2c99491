//! The statement inside a call that executes or parses.
//!
//! ```text
//! universal   options | cursor | present u8 | SQL length | present u8 | 13 | present u8 u8 | buffer | rows | longest | binds …
//! wide        options u32 | cursor u32 | pointer | SQL length u32 | pointer | 13 u32 | pointer pointer | buffer u32 | rows u32 …
//! version 7   options u32 | cursor u32 | pointer u32 | SQL length u32 | …
//! ```
//!
//! How much stands between these fields and the text depends on versions that are not worth knowing: the length is
//! declared, and the text is the first thing behind it that has this length and reads like text.

use std::borrow::Cow;

use super::calls::{HEADER, token_lengths};
use super::encodings::{Family, pointer, string, universal};
use crate::cursor::Cursor;

/// Every version sends 13 further numbers with an execution.
const FURTHER_NUMBERS: u64 = 13;
/// The text begins within this many bytes of the fields that announce it.
const SEARCHED: usize = 320;
/// More than this of a text is not kept.
pub const KEPT: usize = 64 << 10;
const SHORTEST: usize = 4;
const OCI_NULL: [u8; 8] = [0; 8];
const OCI_PRESENT: [u8; 8] = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

/// What an execution says before its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    options: u32,
    pub cursor: u32,
    pub rows: u64,
    pub binds: bool,
    pub family: Family,
    /// As declared; OCI declares the size of its buffer.
    pub text_length: usize,
    /// Offset behind the fields.
    pub after: usize,
}

impl Execution {
    pub fn executes(&self) -> bool {
        self.options & 0x20 != 0
    }

    pub fn fetches(&self) -> bool {
        self.options & 0x40 != 0
    }

    /// `bytes` begin at the call's header.
    pub fn read(bytes: &[u8]) -> Option<Execution> {
        let tokens = token_lengths(bytes).into_iter();
        tokens
            .clone()
            .find_map(|token| universal_fields(bytes, token))
            .or_else(|| tokens.clone().find_map(|token| wide_fields(bytes, token)))
    }

    /// The calls of version 7 clients.
    pub fn read_version_7(bytes: &[u8]) -> Option<Execution> {
        let mut cursor = Cursor::new(bytes);
        cursor.skip(HEADER, "header").ok()?;
        let options = cursor.u32_le("options").ok()?;
        let id = cursor.u32_le("cursor").ok()?;
        let present = cursor.u32_le("SQL pointer").ok()? != 0;
        let length = cursor.u32_le("SQL length").ok()? as usize;
        Some(Execution {
            options,
            cursor: id,
            rows: 0,
            binds: false,
            family: Family::Wide,
            text_length: if present { length } else { 0 },
            after: cursor.position(),
        })
    }
}

fn universal_fields(bytes: &[u8], token: usize) -> Option<Execution> {
    let mut cursor = Cursor::new(bytes);
    cursor.skip(HEADER + token, "token").ok()?;
    let options = universal(&mut cursor)?.try_into().ok()?;
    let id = universal(&mut cursor)?.try_into().ok()?;
    let present = pointer(&mut cursor)?;
    let length: usize = universal(&mut cursor)?.try_into().ok()?;
    pointer(&mut cursor)?;
    if universal(&mut cursor)? != FURTHER_NUMBERS {
        return None;
    }
    pointer(&mut cursor)?;
    pointer(&mut cursor)?;
    universal(&mut cursor)?;
    let rows = universal(&mut cursor)?;
    universal(&mut cursor)?;
    let binds = pointer(&mut cursor)?;
    let text_length = if present { length } else { 0 };
    Some(Execution {
        options,
        cursor: id,
        rows,
        binds,
        family: Family::Universal,
        text_length,
        after: cursor.position(),
    })
}

fn wide_fields(bytes: &[u8], token: usize) -> Option<Execution> {
    let mut cursor = Cursor::new(bytes);
    cursor.skip(HEADER + token, "token").ok()?;
    let options = cursor.u32_le("options").ok()?;
    let id = cursor.u32_le("cursor").ok()?;
    let present = wide_pointer(&mut cursor)?;
    let length = cursor.u32_le("SQL length").ok()? as usize;
    wide_pointer(&mut cursor)?;
    if u64::from(cursor.u32_le("further numbers").ok()?) != FURTHER_NUMBERS {
        return None;
    }
    wide_pointer(&mut cursor)?;
    wide_pointer(&mut cursor)?;
    cursor.u32_le("buffer").ok()?;
    let rows = cursor.u32_le("rows").ok()?.into();
    cursor.u32_le("longest").ok()?;
    let binds = wide_pointer(&mut cursor)?;
    let text_length = if present { length } else { 0 };
    Some(Execution { options, cursor: id, rows, binds, family: Family::Wide, text_length, after: cursor.position() })
}

fn wide_pointer(cursor: &mut Cursor<'_>) -> Option<bool> {
    match cursor.array::<8>("pointer").ok()? {
        OCI_NULL => Some(false),
        OCI_PRESENT => Some(true),
        _ => None,
    }
}

/// What was found of a text.
#[derive(Debug, PartialEq)]
pub enum Text<'a> {
    /// The text, and where the bytes after it begin.
    Whole(Cow<'a, [u8]>, usize),
    /// Its end is in a packet that is still to come.
    Partial,
    None,
}

/// Looks for the text of `length` bytes behind the fields that announced it.
pub fn text<'a>(bytes: &'a [u8], execution: &Execution) -> Text<'a> {
    let (from, length) = (execution.after, execution.text_length);
    if length == 0 {
        return Text::None;
    }
    let until = bytes.len().min(from + SEARCHED);
    let found = (from..until).find_map(|at| string_at(bytes, at, length).or_else(|| raw_at(bytes, at, length)));
    match found {
        Some((text, end)) => Text::Whole(text, end),
        None if bytes.len() < length.saturating_add(from + SEARCHED) => Text::Partial,
        None => Text::None,
    }
}

/// As much of an incomplete text as there is: it runs to the end of the bytes.
pub fn beginning<'a>(bytes: &'a [u8], execution: &Execution) -> Option<Cow<'a, [u8]>> {
    let until = bytes.len().min(execution.after + SEARCHED);
    (execution.after.max(1)..until).find_map(|at| {
        let before = bytes[at - 1];
        let begins = !is_printable(before) || usize::from(before) == execution.text_length;
        let text = &bytes[at..bytes.len().min(at + KEPT)];
        let reads = begins && starts_a_statement(text[0]) && text.len() >= SHORTEST;
        (reads && text.iter().copied().all(is_printable)).then_some(Cow::Borrowed(text))
    })
}

/// A string that reads like text and has the declared length.
fn string_at(bytes: &[u8], at: usize, length: usize) -> Option<(Cow<'_, [u8]>, usize)> {
    let mut cursor = Cursor::new(bytes);
    cursor.skip(at, "fields").ok()?;
    let first = cursor.peek_u8()?;
    // Most places are refused by their first byte.
    if first != 0xfe && !fits(first.into(), length) {
        return None;
    }
    let text = string(&mut cursor)?;
    let read = without_zero(&text);
    let right = fits(text.len(), length) && !read.is_empty() && read.iter().copied().all(is_printable);
    let kept = read.len();
    right.then(|| (shortened(text, kept), cursor.position()))
}

/// The declared number of printable bytes, as JDBC writes them: nothing before or after.
fn raw_at(bytes: &[u8], at: usize, length: usize) -> Option<(Cow<'_, [u8]>, usize)> {
    let text = bytes.get(at..at.checked_add(length)?)?;
    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
    let behind = bytes.get(at + length);
    let alone = [before, behind].into_iter().flatten().all(|&byte| !is_printable(byte));
    let right = alone && starts_a_statement(text[0]) && text.iter().copied().all(is_printable);
    right.then_some((Cow::Borrowed(text), at + length))
}

/// Declared is the text's length, or the buffer's: three or four bytes a character, perhaps with a zero at the end.
fn fits(length: usize, declared: usize) -> bool {
    let with_zero = length + 1;
    length > 0 && [length, 3 * length, 4 * length, with_zero, 3 * with_zero].contains(&declared)
}

fn shortened(text: Cow<'_, [u8]>, length: usize) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..length]),
        Cow::Owned(mut text) => {
            text.truncate(length);
            Cow::Owned(text)
        }
    }
}

fn without_zero(text: &[u8]) -> &[u8] {
    text.strip_suffix(&[0]).unwrap_or(text)
}

/// For unknown layouts: the first string that begins with a word of SQL.
pub fn guess(bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
    (HEADER..bytes.len().min(HEADER + SEARCHED)).find_map(|at| {
        let mut cursor = Cursor::new(&bytes[at..]);
        let text = string(&mut cursor)?;
        let read = without_zero(&text);
        let reads = read.len() >= SHORTEST && read.iter().copied().all(is_printable) && Verb::of(read) != Verb::Other;
        let kept = read.len();
        reads.then(|| shortened(text, kept))
    })
}

fn is_printable(byte: u8) -> bool {
    byte >= 0x20 || matches!(byte, b'\t' | b'\n' | b'\r')
}

fn starts_a_statement(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'(' | b'/' | b'-' | b' ' | b'\t' | b'\n' | b'\r')
}

/// What a statement does, as far as its answer differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verb {
    Query,
    Change,
    /// PL/SQL.
    Block,
    /// DDL and the rest.
    Definition,
    #[default]
    Other,
}

impl Verb {
    pub fn of(text: &[u8]) -> Verb {
        let word = first_word(text);
        let is = |words: &[&str]| words.iter().any(|other| word.eq_ignore_ascii_case(other.as_bytes()));
        if is(&["select", "with"]) {
            Verb::Query
        } else if is(&["insert", "update", "delete", "merge"]) {
            Verb::Change
        } else if is(&["begin", "declare", "call"]) {
            Verb::Block
        } else if is(&["create", "alter", "drop", "truncate", "grant", "revoke", "comment", "set", "lock", "explain"]) {
            Verb::Definition
        } else {
            Verb::Other
        }
    }

    /// The command number of the server (`V$SQLCOMMAND`).
    pub fn of_number(number: u8) -> Verb {
        match number {
            3 => Verb::Query,
            2 | 6 | 7 | 189 => Verb::Change,
            47 => Verb::Block,
            _ => Verb::Other,
        }
    }
}

/// The first word behind blanks, comments and parentheses.
fn first_word(text: &[u8]) -> &[u8] {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        let comment_end = match rest {
            [b'(', ..] => Some(1),
            [b'-', b'-', ..] => Some(memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1)),
            [b'/', b'*', ..] => Some(memchr::memmem::find(rest, b"*/").map_or(rest.len(), |at| at + 2)),
            _ => None,
        };
        match comment_end {
            Some(end) => rest = &rest[end..],
            None => break,
        }
    }
    let end = rest.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(rest.len());
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// python-oracledb: the text is a string.
    const THIN: &[u8] =
        b"\x03\x5e\x03\x02\x80\x61\x00\x01\x01\x12\x01\x01\x0d\0\0\0\x01\x02\x04\x7f\xff\xff\xff\0\0\0\0\0\0\
        \0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\x12select 1 from dual\x01\x01\0\0\0\0\0\0\x01\x01\0\x02\x80\0\0\0\0";
    /// JDBC: the text is bare.
    const JDBC: &[u8] = b"\x03\x5e\x04\x02\x80\x21\x00\x01\x01\x12\x01\x01\x0d\0\0\x04\xff\xff\xff\xff\x01\x0a\x04\x7f\xff\
        \xff\xff\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0select 1 from dual\x01\x01\0\0\0\0\0\0\x01\x01\0\x02\x80\0";

    fn text_of(bytes: &[u8]) -> Option<Vec<u8>> {
        match text(bytes, &Execution::read(bytes)?) {
            Text::Whole(text, _) => Some(text.into_owned()),
            _ => None,
        }
    }

    #[test]
    fn the_text_is_found_as_a_string_and_bare() {
        assert_eq!(text_of(THIN).unwrap(), b"select 1 from dual");
        assert_eq!(text_of(JDBC).unwrap(), b"select 1 from dual");
    }

    #[test]
    fn options_and_rows_asked_for_are_read() {
        let execution = Execution::read(THIN).unwrap();
        assert!(execution.executes() && execution.fetches());
        assert_eq!((execution.cursor, execution.rows, execution.family), (0, 2, Family::Universal));
    }

    #[test]
    fn a_token_before_the_fields_changes_nothing() {
        let mut bytes = THIN.to_vec();
        bytes.splice(3..3, *b"\x01\x05");
        assert_eq!(text_of(&bytes).unwrap(), b"select 1 from dual");
    }

    #[test]
    fn oci_declares_its_buffer_and_writes_little_endian() {
        let mut bytes = b"\x03\x5e\x05\x61\x80\0\0\0\0\0\0".to_vec();
        bytes.extend(OCI_PRESENT);
        bytes.extend(54u32.to_le_bytes());
        bytes.extend(OCI_PRESENT);
        bytes.extend(13u32.to_le_bytes());
        bytes.extend([OCI_PRESENT, OCI_PRESENT].concat());
        bytes.extend([0, 0, 0, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f]);
        bytes.extend(OCI_NULL);
        bytes.extend([0; 100]);
        bytes.extend(b"\x12select 1 from dual");
        bytes.extend([1; 52]);
        assert_eq!(text_of(&bytes).unwrap(), b"select 1 from dual");
    }

    #[test]
    fn a_text_whose_end_has_not_come_is_partial() {
        let half = &THIN[..60];
        assert_eq!(text(half, &Execution::read(half).unwrap()), Text::Partial);
        assert_eq!(beginning(half, &Execution::read(half).unwrap()).unwrap(), &b"select 1 fr"[..]);
    }

    #[test]
    fn a_lie_about_the_length_finds_nothing() {
        let mut bytes = THIN.to_vec();
        bytes[9] = 0x11;
        bytes.extend([0; 400]);
        assert_eq!(text_of(&bytes), None);
    }

    #[test]
    fn a_statement_is_known_by_its_first_word() {
        assert_eq!(Verb::of(b" /* by app */ -- x\n (SELECT 1)"), Verb::Query);
        assert_eq!(Verb::of(b"merge into t"), Verb::Change);
        assert_eq!(Verb::of(b"BEGIN null; END;"), Verb::Block);
        assert_eq!(Verb::of(b"/* never closed"), Verb::Other);
    }
}
