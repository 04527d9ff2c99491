//! The statement inside a call that executes or parses.
//!
//! ```text
//! since 8i    options | cursor | pointer | SQL length | pointer | 13 | pointer pointer | buffer | rows | longest | pointer …
//! version 7   [options] | cursor | pointer | SQL length | …                              a parse has no options
//! ```
//!
//! How much stands between these fields and the text depends on versions that are not worth knowing: the length is
//! declared, and the text is the first thing behind it that has this length and reads like text.

use std::borrow::Cow;

use super::calls::{HEADER, token_lengths};
use super::effort::Effort;
use super::encodings::{CHUNKED, Family, Writing, string};
use crate::cursor::Cursor;

/// Every version since 10g sends 13 further numbers with an execution; 9i sends 12.
const FURTHER_NUMBERS: std::ops::RangeInclusive<u64> = 12..=13;
/// The text begins within this many bytes of the fields that announce it.
const SEARCHED: usize = 320;
/// More than this of a text is not kept.
pub const KEPT: usize = 64 << 10;
const SHORTEST: usize = 4;
/// No text is longer.
const LONGEST: u64 = 64 << 20;
/// Bits of an execution's options.
const EXECUTES: u32 = 0x20;
const FETCHES: u32 = 0x40;
const OPTIONS: u32 = 0x00ff_ffff;

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
        self.options & EXECUTES != 0
    }

    pub fn fetches(&self) -> bool {
        self.options & FETCHES != 0
    }

    /// More rows of a cursor that was executed before: how 9i clients and those with LOB columns fetch.
    pub fn only_fetches(&self) -> bool {
        self.fetches() && !self.executes() && self.text_length == 0 && self.cursor != 0
    }

    /// `bytes` begin at the call's header.
    pub fn read(bytes: &[u8]) -> Option<Execution> {
        let read = |writing| token_lengths(bytes).into_iter().find_map(|token| fields(bytes, token, writing));
        Writing::ALL.into_iter().find_map(read)
    }

    /// The calls of version 7 clients, with options or (a parse) without: of the ways to read them the one by which the
    /// text is where it should be.
    pub fn read_version_7(bytes: &[u8], has_options: bool, effort: &Effort) -> Option<Execution> {
        let readings =
            || Writing::ALL.into_iter().filter_map(|writing| fields_of_version_7(bytes, writing, has_options));
        let has_text = |execution: &Execution| matches!(text(bytes, execution, effort), Text::Whole(..));
        readings().find(has_text).or_else(|| readings().next())
    }
}

fn fields(bytes: &[u8], token: usize, writing: Writing) -> Option<Execution> {
    let mut cursor = Cursor::new(bytes);
    cursor.skip(HEADER + token, "token").ok()?;
    let options = writing.number(&mut cursor)?.try_into().ok()?;
    let id = writing.cursor_number(&mut cursor)?;
    let text_length = text_length(&mut cursor, writing)?;
    writing.pointer(&mut cursor)?;
    writing.number(&mut cursor).filter(|count| FURTHER_NUMBERS.contains(count))?;
    writing.pointer(&mut cursor)?;
    writing.pointer(&mut cursor)?;
    writing.number(&mut cursor)?;
    let rows = writing.number(&mut cursor)?;
    writing.number(&mut cursor)?;
    let binds = writing.pointer(&mut cursor)?;
    let after = cursor.position();
    Some(Execution { options, cursor: id, rows, binds, family: writing.family, text_length, after })
}

/// Little is checked here: what else the call holds is not known well.
fn fields_of_version_7(bytes: &[u8], writing: Writing, has_options: bool) -> Option<Execution> {
    let mut cursor = Cursor::new(bytes);
    cursor.skip(HEADER, "header").ok()?;
    let options = if has_options { writing.number(&mut cursor)?.try_into().ok()? } else { 0 };
    let id = writing.cursor_number(&mut cursor)?;
    let text_length = text_length(&mut cursor, writing)?;
    let plausible = has_options == (options != 0) && options & !OPTIONS == 0 && (has_options || text_length > 0);
    let after = cursor.position();
    let execution =
        Execution { options, cursor: id, rows: 0, binds: false, family: writing.family, text_length, after };
    plausible.then_some(execution)
}

/// The declared length of the text, 0 where there is none.
fn text_length(cursor: &mut Cursor<'_>, writing: Writing) -> Option<usize> {
    let present = writing.pointer(cursor)?;
    let length = writing.number(cursor).filter(|&length| length <= LONGEST)?;
    Some(if present { length as usize } else { 0 })
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
pub fn text<'a>(bytes: &'a [u8], execution: &Execution, effort: &Effort) -> Text<'a> {
    let (from, length) = (execution.after, execution.text_length);
    if length == 0 {
        return Text::None;
    }
    let until = bytes.len().min(from + SEARCHED);
    let begins = beginnings(execution);
    let mut places = (from..until).filter(|&at| begins[usize::from(bytes[at])]);
    match places.find_map(|at| text_at(bytes, at, execution, effort)) {
        Some((text, end)) => Text::Whole(text, end),
        None if bytes.len() < length.saturating_add(from + SEARCHED) => Text::Partial,
        None => Text::None,
    }
}

/// As much of an incomplete text as there is: it runs to the end of the bytes.
pub fn beginning<'a>(bytes: &'a [u8], execution: &Execution, effort: &Effort) -> Option<Cow<'a, [u8]>> {
    let until = bytes.len().min(execution.after + SEARCHED);
    (execution.after.max(1)..until).find_map(|at| {
        let before = bytes[at - 1];
        let begins = !is_printable(before) || usize::from(before) == execution.text_length;
        let text = &bytes[at..bytes.len().min(at + KEPT)];
        let reads = begins && starts_a_statement(text[0]) && text.len() >= SHORTEST;
        let looks = || effort.look(text.len()).is_some() && text.iter().copied().all(is_printable);
        (reads && looks()).then_some(Cow::Borrowed(text))
    })
}

/// Which bytes may begin the text, in whichever way it is written: most places are refused by them.
fn beginnings(execution: &Execution) -> [bool; 256] {
    let declared = execution.text_length;
    let mut begins = match execution.family {
        Family::Wide(_) => return [true; 256],
        Family::Universal => STARTS,
    };
    begins[usize::from(CHUNKED)] = true;
    let third = declared / 3;
    let lengths = [declared, declared.saturating_sub(1), third, third.saturating_sub(1), declared / 4];
    for length in lengths.into_iter().filter(|&length| fits(length, declared)) {
        if let Some(begins) = begins.get_mut(length) {
            *begins = true;
        }
    }
    begins
}

/// A text as a string or bare. JDBC's bare texts may read like a shorter string (`\n` is a length, too), whose buffer
/// would have the declared length.
fn text_at<'a>(bytes: &'a [u8], at: usize, execution: &Execution, effort: &Effort) -> Option<(Cow<'a, [u8]>, usize)> {
    effort.spend(4)?;
    let as_string = string_at(bytes, at, execution, effort);
    let may_be_bare = execution.family == Family::Universal;
    let bare = may_be_bare.then(|| raw_at(bytes, at, execution.text_length, effort)).flatten();
    match (as_string, bare) {
        (Some((text, _)), Some(bare)) if Verb::of(&text) == Verb::Other || Verb::of(&bare.0) != Verb::Other => {
            Some(bare)
        }
        (as_string, bare) => as_string.or(bare),
    }
}

/// A string that reads like text and has the declared length.
fn string_at<'a>(bytes: &'a [u8], at: usize, execution: &Execution, effort: &Effort) -> Option<(Cow<'a, [u8]>, usize)> {
    let declared = execution.text_length;
    let is_wide = matches!(execution.family, Family::Wide(_));
    let right = |length| fits(length, declared) || is_wide && fits_converted(length, declared);
    let first = *bytes.get(at)?;
    if first != CHUNKED && !right(first.into()) || is_wide && is_inside_text(bytes, at) {
        return None;
    }
    let mut cursor = Cursor::new(bytes);
    cursor.skip(at, "fields").ok()?;
    let text = string(&mut cursor, effort)?;
    effort.look(text.len())?;
    let read = without_zero(&text);
    let reads = right(text.len()) && !read.is_empty() && read.iter().copied().all(is_printable);
    let sure = text.len() == declared || is_wide && fits(text.len(), declared);
    let kept = read.len();
    (reads && (sure || Verb::of(read) != Verb::Other)).then(|| (shortened(text, kept), cursor.position()))
}

/// The declared number of printable bytes, as JDBC writes them: nothing before or after.
fn raw_at<'a>(bytes: &'a [u8], at: usize, length: usize, effort: &Effort) -> Option<(Cow<'a, [u8]>, usize)> {
    if !starts_a_statement(*bytes.get(at)?) {
        return None;
    }
    let text = bytes.get(at..at.checked_add(length)?)?;
    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
    let behind = bytes.get(at + length);
    // A count of 9, 10 or 13 may stand there: a text would have to go on with more than a line's end.
    let alone = [before, behind].into_iter().flatten().all(|&byte| byte < b' ');
    let right = alone && effort.look(text.len()).is_some() && text.iter().copied().all(is_printable);
    right.then_some((Cow::Borrowed(text), at + length))
}

/// Declared is the text's length, or the buffer's: three or four bytes a character, perhaps with a zero at the end.
fn fits(length: usize, declared: usize) -> bool {
    let with_zero = length + 1;
    length > 0 && [length, 3 * length, 4 * length, with_zero, 3 * with_zero].contains(&declared)
}

/// What reads like a string may be a piece of one: the first chunk, or a blank (a length of 32) with what follows it.
fn is_inside_text(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    before.is_some_and(|before| *before == CHUNKED || (b' '..=b'~').contains(before))
}

/// OCI declares room for its own character set, and the text comes in the server's.
fn fits_converted(length: usize, declared: usize) -> bool {
    length > 0 && (length..=4 * (length + 1)).contains(&declared)
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
pub fn guess<'a>(bytes: &'a [u8], effort: &Effort) -> Option<Cow<'a, [u8]>> {
    (HEADER..bytes.len().min(HEADER + SEARCHED)).filter(|&at| bytes[at - 1] != CHUNKED).find_map(|at| {
        effort.spend(2)?;
        let mut cursor = Cursor::new(&bytes[at..]);
        let text = string(&mut cursor, effort)?;
        effort.look(text.len())?;
        let read = without_zero(&text);
        let reads = read.len() >= SHORTEST && read.iter().copied().all(is_printable) && Verb::of(read) != Verb::Other;
        let kept = read.len();
        reads.then(|| shortened(text, kept))
    })
}

fn is_printable(byte: u8) -> bool {
    byte >= 0x20 || matches!(byte, b'\t' | b'\n' | b'\r')
}

const fn starts_a_statement(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'(' | b'/' | b'-' | b' ' | b'\t' | b'\n' | b'\r')
}

/// The bytes that do.
const STARTS: [bool; 256] = {
    let mut starts = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        starts[byte] = starts_a_statement(byte as u8);
        byte += 1;
    }
    starts
};

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
#[path = "statement_tests.rs"]
mod tests;
