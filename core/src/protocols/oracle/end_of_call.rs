//! The end of a response: status, row count, cursor and error of the call.
//!
//! ```text
//! 04 status | [end-to-end sequence] | rows | error u16 | u16 u16 | cursor u16 | position u16 | SQL type u8 | fatal u8 |
//!    flags | options u8 | UPI u8 | warning u8 | row id | OS error u32 | statement u8 | call number u8 | u16 | iterations u32 |
//!    key | batch errors: codes, offsets, messages | [error u32 | row count u64] | [SQL type u32 | checksum u32] | [message]
//! 09 status | [end-to-end sequence]                                  of calls that return nothing: commit, ping, logoff
//! ```
//!
//! No response says where its parts begin, so the end is looked for from behind: the first `04` from which all fields
//! can be read to the very last byte, and whose call number, error and row count agree with what is known. Which of the
//! optional fields are there follows no version strictly; the variant that fitted last is tried first. OCI's form, of
//! fixed width, is [`wide`]'s.

pub mod wide;

use super::effort::Effort;
use super::encodings::{Family, Order, skip_universal, string, string_with_length, universal};
use crate::cursor::Cursor;
use wide::Layout;

const END_OF_CALL: u8 = 0x04;
const STATUS: u8 = 0x09;
const SHORTEST: usize = 24;
/// Numbers of an end.
const FIELDS: usize = 24;
/// Status bits end here.
pub const HIGHEST_STATUS: u64 = 0x20_0000;
const NO_MORE_ROWS: u32 = 1403;
/// How far back the last part of a response may begin: its message may be long.
const SEARCHED: usize = 2 << 10;
/// A status message is at most this long.
const LONGEST_STATUS: usize = 9;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndOfCall<'a> {
    /// Counted since the cursor was executed last.
    pub rows: u64,
    pub error: u32,
    pub cursor: u32,
    /// The server's number of the kind of statement.
    pub sql_type: u8,
    pub message: &'a [u8],
}

impl EndOfCall<'_> {
    pub fn has_no_more_rows(&self) -> bool {
        self.error == NO_MORE_ROWS
    }
}

/// Which optional fields there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    end_to_end: bool,
    /// JDBC and go-ora agree on flags of two bytes.
    long_flags: bool,
    /// Since 12.1: error and row count once more, wide enough.
    row_count: bool,
    /// Since 20c.
    sql_type: bool,
    /// Up to 9i: options of two bytes, and nothing behind the iterations but a message.
    short: bool,
}

impl Variant {
    const SHORT: Variant =
        Variant { end_to_end: false, long_flags: true, row_count: false, sql_type: false, short: true };
    const ALL: [Variant; 16] = {
        let mut all = [Variant { row_count: true, ..Variant::SHORT }; 16];
        let mut bits = 0;
        while bits < 16 {
            all[bits] = Variant {
                end_to_end: bits & 8 == 0,
                long_flags: bits & 1 != 0,
                row_count: bits & 4 == 0,
                sql_type: bits & 2 != 0,
                short: false,
            };
            bits += 1;
        }
        all
    };
}

/// What is known of the call whose end is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    pub sequence: Option<u8>,
    /// 0 where the server has yet to give it a number.
    pub cursor: u32,
    /// Nothing more can come: the end may be recognised by less.
    pub certain: bool,
    /// A logon has none.
    pub without_cursor: bool,
}

impl Expected {
    pub fn is_call(&self, number: u8) -> bool {
        self.sequence.is_none_or(|sequence| sequence == number)
    }

    pub fn is_cursor(&self, id: u32) -> bool {
        self.cursor == 0 || id == 0 || id == self.cursor
    }
}

/// What a connection's ends look like, as far as they have been seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    variant: Option<Variant>,
    /// OCI's, once an end has shown it: it stays.
    layout: Option<Layout>,
    pub family: Option<Family>,
}

/// The end of `response`, if it is there.
pub fn find<'a>(response: &'a [u8], expected: &Expected, shape: &mut Shape, effort: &Effort) -> Option<EndOfCall<'a>> {
    if let Some(layout) = shape.layout {
        return wide::read(response, expected, layout, effort);
    }
    let thin = |shape: &mut Shape| {
        let end = strict(response, expected, shape, effort).or_else(|| loose(response, expected, shape, effort));
        let end = end.or_else(|| short(response, expected, shape, effort));
        end.or_else(|| before_message(response, expected, effort))
    };
    match shape.family {
        Some(Family::Wide(_)) => wide(response, expected, shape, effort),
        Some(Family::Universal) => thin(shape),
        None => thin(shape).or_else(|| wide(response, expected, shape, effort)),
    }
}

fn wide<'a>(response: &'a [u8], expected: &Expected, shape: &mut Shape, effort: &Effort) -> Option<EndOfCall<'a>> {
    let (end, layout) = wide::decide(response, expected, shape.family, effort)?;
    shape.layout = Some(layout);
    Some(end)
}

/// Does the response end with a bare status?
pub fn ends_with_status(response: &[u8]) -> bool {
    let from = response.len().saturating_sub(LONGEST_STATUS);
    (from..response.len()).any(|at| response[at] == STATUS && is_status(&response[at + 1..]))
}

fn is_status(bytes: &[u8]) -> bool {
    let mut cursor = Cursor::new(bytes);
    let status = universal(&mut cursor).filter(|&status| (1..HIGHEST_STATUS).contains(&status));
    let thin = status.is_some() && (cursor.is_empty() || universal(&mut cursor).is_some() && cursor.is_empty());
    thin || Order::BOTH.into_iter().any(|order| is_wide_status(bytes, order))
}

fn is_wide_status(bytes: &[u8], order: Order) -> bool {
    let mut cursor = Cursor::new(bytes);
    let status = order.u32(&mut cursor).map(u64::from);
    status.is_some_and(|status| status < HIGHEST_STATUS) && matches!(cursor.left(), 0 | 2)
}

/// Places where the last part may begin, the last one first.
pub fn candidates(response: &[u8]) -> impl Iterator<Item = usize> {
    // Without rows in it, a response is short, and lists of batch errors may make its last part long.
    let rowless = matches!(response.first(), Some(&(0x04 | 0x08 | 0x0b)));
    let from = if rowless { 0 } else { response.len().saturating_sub(SEARCHED) };
    let until = (response.len() + 1).saturating_sub(SHORTEST).max(from);
    memchr::memrchr_iter(END_OF_CALL, &response[from..until]).map(move |at| from + at)
}

fn strict<'a>(response: &'a [u8], expected: &Expected, shape: &mut Shape, effort: &Effort) -> Option<EndOfCall<'a>> {
    fitting(response, shape, effort, |fields, variant| {
        let (end, again) = (&fields.end, fields.again);
        let called = expected.is_call(fields.call_number);
        let agrees = again.is_none_or(|(error, rows)| rows == end.rows && (error == end.error || fields.error == 0));
        called && agrees && is_message(end) && (variant.row_count || expected.sequence.is_some())
    })
}

fn loose<'a>(response: &'a [u8], expected: &Expected, shape: &mut Shape, effort: &Effort) -> Option<EndOfCall<'a>> {
    expected.certain.then_some(())?;
    fitting(response, shape, effort, |fields, _| is_message(&fields.end))
}

/// Old drivers send no sequence, so that most of an end's numbers are 0: it is told by its cursor and its place. A
/// connection whose ends had other fields has none of these.
fn short<'a>(response: &'a [u8], expected: &Expected, shape: &mut Shape, effort: &Effort) -> Option<EndOfCall<'a>> {
    shape.variant.is_none_or(|variant| variant.short).then_some(())?;
    let mut tried = Shape { variant: Some(Variant::SHORT), ..*shape };
    let end = fitting(response, &mut tried, effort, |fields, variant| {
        let end = &fields.end;
        let known = end.cursor != 0 && end.sql_type != 0 && expected.is_cursor(end.cursor);
        variant.short && known && expected.is_call(fields.call_number) && is_message(end)
    })?;
    *shape = tried;
    Some(end)
}

fn fitting<'a>(
    response: &'a [u8],
    shape: &mut Shape,
    effort: &Effort,
    accepts: impl Fn(&Fields<'a>, Variant) -> bool,
) -> Option<EndOfCall<'a>> {
    let variants = || shape.variant.into_iter().chain(Variant::ALL);
    let (end, variant) = candidates(response).find_map(|at| {
        effort.spend(2)?;
        let start = Start::read(&response[at + 1..])?;
        variants().find_map(|variant| {
            effort.spend(FIELDS)?;
            let fields = start.fields(variant, effort)?;
            accepts(&fields, variant).then_some((fields.end, variant))
        })
    })?;
    *shape = Shape { variant: Some(variant), family: Some(Family::Universal), layout: None };
    Some(end)
}

/// Behind the status, which all variants share.
struct Start<'a>(Cursor<'a>);

/// All fields, and what they can be checked by.
struct Fields<'a> {
    end: EndOfCall<'a>,
    error: u32,
    call_number: u8,
    again: Option<(u32, u64)>,
}

impl<'a> Start<'a> {
    fn read(bytes: &'a [u8]) -> Option<Start<'a>> {
        let mut cursor = Cursor::new(bytes);
        let status = universal(&mut cursor)?;
        (status < HIGHEST_STATUS).then_some(Start(cursor))
    }

    /// Everything up to the cursor.
    fn head(&self, end_to_end: bool) -> Option<(EndOfCall<'a>, Cursor<'a>)> {
        let mut cursor = self.0;
        if end_to_end {
            universal(&mut cursor).filter(|&sequence| sequence <= 0xffff)?;
        }
        let rows = universal(&mut cursor)?;
        let error = universal(&mut cursor)?.try_into().ok().filter(|&error| error <= 0xffff)?;
        skip_universal(&mut cursor, 2)?;
        let id = universal(&mut cursor)?.try_into().ok().filter(|&id| id <= 0xffff)?;
        Some((EndOfCall { rows, error, cursor: id, ..EndOfCall::default() }, cursor))
    }

    fn fields(&self, variant: Variant, effort: &Effort) -> Option<Fields<'a>> {
        let (mut end, mut cursor) = self.head(variant.end_to_end)?;
        universal(&mut cursor)?;
        end.sql_type = cursor.u8("SQL type").ok()?;
        cursor.u8("fatal").ok()?;
        if variant.long_flags {
            universal(&mut cursor).map(drop)?
        } else {
            cursor.u8("flags").map(drop).ok()?
        }
        if variant.short {
            universal(&mut cursor)?;
            cursor.skip(2, "UPI and warning").ok()?;
        } else {
            cursor.skip(3, "options, UPI and warning").ok()?;
        }
        row_id(&mut cursor)?;
        universal(&mut cursor)?;
        cursor.u8("statement").ok()?;
        let call_number = cursor.u8("call number").ok()?;
        skip_universal(&mut cursor, 2)?;
        if !variant.short {
            string_with_length(&mut cursor, effort)?;
            batch_errors(&mut cursor, effort)?;
        }
        let error = end.error;
        let again = if variant.row_count { Some(error_and_rows(&mut cursor)?) } else { None };
        end.error = again.map_or(error, |(again, _)| again);
        if variant.sql_type {
            skip_universal(&mut cursor, 2)?;
        }
        if end.error != 0 && !cursor.is_empty() {
            end.message = message(&mut cursor)?;
        }
        cursor.is_empty().then_some(Fields { end, error, call_number, again })
    }
}

fn error_and_rows(cursor: &mut Cursor<'_>) -> Option<(u32, u64)> {
    Some((universal(cursor)?.try_into().ok()?, universal(cursor)?))
}

fn row_id(cursor: &mut Cursor<'_>) -> Option<()> {
    skip_universal(cursor, 2)?;
    cursor.u8("row id").ok()?;
    skip_universal(cursor, 2)
}

/// Errors of single rows of an array: codes, offsets and messages.
fn batch_errors(cursor: &mut Cursor<'_>, effort: &Effort) -> Option<()> {
    for _ in 0..2 {
        let count = universal(cursor)?;
        if count > 0 {
            numbers_in_chunks(cursor, count, effort)?;
        }
    }
    let messages = universal(cursor)?;
    if messages > 0 {
        cursor.u8("packed size").ok()?;
    }
    for _ in 0..messages {
        effort.spend(4)?;
        universal(cursor)?;
        string(cursor, effort)?;
        cursor.skip(2, "end of message").ok()?;
    }
    Some(())
}

fn numbers_in_chunks(cursor: &mut Cursor<'_>, count: u64, effort: &Effort) -> Option<()> {
    let chunked = cursor.u8("list").ok()? == 0xfe;
    for _ in 0..count {
        effort.spend(2)?;
        skip_universal(cursor, 1 + usize::from(chunked))?;
    }
    if chunked { cursor.u8("end of list").map(drop).ok() } else { Some(()) }
}

/// The error's text: the rest, in one piece.
fn message<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let length = usize::from(cursor.u8("message length").ok()?);
    if length < 0xfe {
        return cursor.take(length, "message").ok();
    }
    universal(cursor)?;
    let text = cursor.rest();
    text.strip_suffix(&[0])
}

/// The message begins with the code that the fields hold; other languages keep the prefix.
fn is_message(end: &EndOfCall<'_>) -> bool {
    end.error == 0 || end.message.strip_prefix(b"ORA-").is_some_and(|rest| begins_with_code(rest, end.error))
}

/// Do the digits of a code come first, five or as many as it has?
fn begins_with_code(text: &[u8], code: u32) -> bool {
    let digits = code.checked_ilog10().map_or(1, |log| log as usize + 1).max(5);
    let number = |digits: &[u8]| digits.iter().fold(0, |number, digit| number * 10 + u64::from(*digit - b'0'));
    text.get(..digits).is_some_and(|text| text.iter().all(u8::is_ascii_digit) && number(text) == u64::from(code))
}

/// Servers up to 10g: the fields behind the cursor differ, but an error's message ends the response.
fn before_message<'a>(response: &'a [u8], expected: &Expected, effort: &Effort) -> Option<EndOfCall<'a>> {
    expected.certain.then_some(())?;
    let from = response.len().saturating_sub(SEARCHED);
    let at = from + memchr::memmem::rfind(&response[from..], b"ORA-")?;
    let message = response.get(at..)?;
    let whole = usize::from(*response.get(at.checked_sub(1)?)?) == message.len();
    let error: u32 = std::str::from_utf8(message.get(4..9)?).ok()?.parse().ok()?;
    whole.then_some(())?;
    let head = |at: usize| {
        effort.spend(FIELDS)?;
        let start = Start::read(&response[at + 1..])?;
        let fits = |end: &EndOfCall<'_>| end.error == error && (end.cursor > 0 || expected.without_cursor);
        [false, true].into_iter().find_map(|end_to_end| start.head(end_to_end).map(|(end, _)| end).filter(fits))
    };
    let end = candidates(response).filter(|&candidate| candidate < at).find_map(head)?;
    Some(EndOfCall { message, ..end })
}

#[cfg(test)]
#[path = "end_of_call_tests.rs"]
mod tests;
