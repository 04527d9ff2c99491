//! The call that a client's message makes.
//!
//! ```text
//! 03 function u8 | sequence u8 | [token] | arguments      a call
//! 11 function u8 | sequence u8 | [token] | arguments      a piggyback: rides in front of a call, has no answer of its own
//! 1A function u8 | sequence u8 | [token] | arguments      a call without an answer
//! ```
//!
//! The sequence counts 1…255 (JDBC: 1…127) and begins again at 1; go-ora always sends 0. From 23ai on a token follows it. Nothing says
//! how long a piggyback is: the next header is known by its sequence.

use super::effort::Effort;
use super::encodings::{Family, Writing};
use crate::cursor::Cursor;
use crate::protocols::Purpose;

pub const CALL: u8 = 0x03;
pub const PIGGYBACK: u8 = 0x11;
pub const ONE_WAY: u8 = 0x1a;
pub const HEADER: usize = 3;

/// Function codes that the decoder treats in a way of its own.
pub const PARSE: u8 = 3;
pub const REEXECUTE: u8 = 4;
pub const FETCH: u8 = 5;
pub const CLOSE_CURSOR: u8 = 8;
pub const PARSE_AND_EXECUTE: u8 = 39;
pub const PARSE_V7: u8 = 62;
pub const EXECUTE_V7: u8 = 71;
pub const OTHER_PARSE_V7: u8 = 74;
pub const REEXECUTE_AND_FETCH: u8 = 78;
pub const EXECUTE: u8 = 94;
pub const VERSION: u8 = 59;
pub const LOB: u8 = 96;
pub const CLOSE_CURSORS: u8 = 105;
pub const PIPELINE_BEGIN: u8 = 199;
pub const PIPELINE_END: u8 = 200;

/// A sequence may skip a few numbers (piggybacks count too).
const SEQUENCE_STEP: u8 = 16;
/// After these it begins again at 1: JDBC, all others.
const LAST_SEQUENCES: [u8; 2] = [127, 255];
/// Begins a row of bind values.
const ROW: u8 = 7;
const CLOSED_AT_ONCE: u64 = 65_535;
/// 64-bit clients leave out four bytes before the list of cursors.
const GAPS: [usize; 2] = [0, 4];

/// The name of a function's exchange, and what it is for; `None` for unknown codes.
pub fn command(function: u8) -> Option<(&'static str, Purpose)> {
    Some(match function {
        2 => ("open_cursor", Purpose::Other),
        PARSE | PARSE_V7 | OTHER_PARSE_V7 => ("parse", Purpose::Prepare),
        REEXECUTE => ("reexecute", Purpose::Execute),
        FETCH | 72 => ("fetch", Purpose::Fetch),
        CLOSE_CURSOR => ("close_cursor", Purpose::Close),
        9 => ("logoff", Purpose::Disconnect),
        10 | 43 | 98 | 119 => ("describe", Purpose::Describe),
        11 => ("define", Purpose::Other),
        12 | 13 => ("autocommit", Purpose::Transaction),
        14 => ("commit", Purpose::End),
        15 => ("rollback", Purpose::End),
        20 | 120 => ("cancel", Purpose::Cancel),
        PARSE_AND_EXECUTE | EXECUTE_V7 | EXECUTE => ("execute", Purpose::Execute),
        VERSION => ("version", Purpose::Setup),
        76 => ("procedure", Purpose::Other),
        REEXECUTE_AND_FETCH => ("reexecute_fetch", Purpose::Execute),
        1 | 81 | 82 | 115 | 118 => ("authenticate", Purpose::Setup),
        84 => ("open_session", Purpose::Other),
        LOB => ("lob", Purpose::Blob),
        103 => ("transaction_switch", Purpose::Transaction),
        104 => ("transaction_end", Purpose::Transaction),
        CLOSE_CURSORS => ("close_cursors", Purpose::Close),
        107 => ("session_switch", Purpose::Other),
        121 | 145 => ("enqueue", Purpose::Other),
        122 => ("dequeue", Purpose::Other),
        125 | 187 => ("notification", Purpose::Other),
        127..=130 => ("direct_path", Purpose::Other),
        135 | 152 | 154 | 176 | 191 | 192 | 205 => ("call", Purpose::Other),
        147 => ("ping", Purpose::Ping),
        162 => ("session_get", Purpose::Other),
        163 => ("session_release", Purpose::Other),
        PIPELINE_BEGIN => ("pipeline_begin", Purpose::Other),
        PIPELINE_END => ("pipeline_end", Purpose::Other),
        _ => return None,
    })
}

/// The header of a call, a piggyback or a one-way call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub kind: u8,
    pub function: u8,
    pub sequence: u8,
}

impl Header {
    pub fn read(bytes: &[u8]) -> Option<Header> {
        match *bytes {
            [kind @ (CALL | PIGGYBACK | ONE_WAY), function, sequence, ..] => Some(Header { kind, function, sequence }),
            _ => None,
        }
    }

    /// As `read`, for a function that is known.
    pub fn known(bytes: &[u8]) -> Option<Header> {
        Header::read(bytes).filter(|header| command(header.function).is_some())
    }

    /// May this header come soon after one with the sequence `previous`?
    pub fn follows(&self, previous: u8) -> bool {
        if self.sequence == 0 || previous == 0 {
            return self.sequence == previous;
        }
        let step = match LAST_SEQUENCES.iter().find(|&&last| self.sequence <= previous && previous <= last) {
            Some(last) => last - previous + self.sequence,
            None => self.sequence.saturating_sub(previous),
        };
        (1..=SEQUENCE_STEP).contains(&step)
    }

    fn is_next_after(&self, previous: u8) -> bool {
        match self.sequence {
            0 => previous == 0,
            1 => previous == 0 || LAST_SEQUENCES.contains(&previous),
            sequence => sequence - 1 == previous,
        }
    }
}

/// A message's call, and what rode in front of it.
#[derive(Debug, PartialEq)]
pub struct Found<'a> {
    pub header: Header,
    /// Begins at the call's header.
    pub bytes: &'a [u8],
    pub closed: Closed,
    pub begins_pipeline: bool,
}

/// The cursors that a message closes.
#[derive(Debug, PartialEq)]
pub enum Closed {
    These(Vec<u32>),
    /// Some, but which could not be read.
    Unknown,
}

impl Default for Closed {
    fn default() -> Closed {
        Closed::These(Vec::new())
    }
}

impl Closed {
    fn and(self, other: Closed) -> Closed {
        match (self, other) {
            (Closed::These(mut some), Closed::These(others)) => {
                some.extend(others);
                Closed::These(some)
            }
            _ => Closed::Unknown,
        }
    }
}

/// Walks over the piggybacks to the call. A message of piggybacks alone is named by the last of them.
pub fn find<'a>(message: &'a [u8], effort: &Effort) -> Option<Found<'a>> {
    let header = Header::read(message)?;
    let mut found = Found { header, bytes: message, closed: Closed::default(), begins_pipeline: false };
    while found.header.kind == PIGGYBACK {
        found.begins_pipeline |= found.header.function == PIPELINE_BEGIN;
        let Some((at, closed)) = after_piggyback(found.header, found.bytes, effort) else {
            break;
        };
        found.closed = found.closed.and(closed);
        found.bytes = found.bytes.get(at..)?;
        found.header = Header::read(found.bytes)?;
    }
    Some(found)
}

/// Where the header after this piggyback is, and the cursors that it closes.
fn after_piggyback(header: Header, bytes: &[u8], effort: &Effort) -> Option<(usize, Closed)> {
    let next = || (HEADER..bytes.len()).find(|&at| next_header(header, bytes, at).is_some());
    if header.function != CLOSE_CURSORS {
        return next().map(|at| (at, Closed::default()));
    }
    closing(header, bytes, effort).or_else(|| next().map(|at| (at, Closed::Unknown)))
}

fn next_header(previous: Header, bytes: &[u8], at: usize) -> Option<Header> {
    Header::known(bytes.get(at..)?).filter(|header| header.is_next_after(previous.sequence))
}

/// Close cursors, in whichever way it is written: the next header has to come right behind.
fn closing(header: Header, bytes: &[u8], effort: &Effort) -> Option<(usize, Closed)> {
    token_lengths(bytes).into_iter().find_map(|token| {
        Writing::ALL.into_iter().find_map(|writing| {
            let gaps = if writing.family == Family::Universal { &GAPS[..1] } else { &GAPS };
            gaps.iter().find_map(|&gap| {
                let (at, closed) = closed(bytes, HEADER + token, writing, gap, effort)?;
                next_header(header, bytes, at).map(|_| (at, Closed::These(closed)))
            })
        })
    })
}

fn closed(bytes: &[u8], at: usize, writing: Writing, gap: usize, effort: &Effort) -> Option<(usize, Vec<u32>)> {
    let mut cursor = Cursor::new(bytes);
    cursor.skip(at, "header").ok()?;
    writing.pointer(&mut cursor).filter(|&present| present)?;
    let count = writing.number(&mut cursor).filter(|&count| count <= CLOSED_AT_ONCE)?;
    cursor.skip(gap, "gap").ok()?;
    let mut number = || effort.spend(2).and_then(|()| writing.cursor_number(&mut cursor));
    let closed = (0..count).map(|_| number()).collect::<Option<Vec<u32>>>()?;
    Some((cursor.position(), closed))
}

/// How many bytes the token after a header may take: none, a universal number, or one of OCI's two fixed widths.
pub fn token_lengths(bytes: &[u8]) -> [usize; 5] {
    let universal = bytes.get(HEADER).map_or(1, |&count| 1 + usize::from(count & 0x0f));
    [0, universal, 2, 11, 14]
}

/// FETCH: a cursor and how many rows. That it consumes the whole message shows how it is written.
pub fn fetch(bytes: &[u8]) -> Option<(u32, u64, Family)> {
    token_lengths(bytes).into_iter().find_map(|token| {
        Writing::NUMBERS.into_iter().find_map(|writing| {
            let mut cursor = Cursor::new(bytes.get(HEADER + token..)?);
            let id = writing.cursor_number(&mut cursor).filter(|&id| id != 0)?;
            let rows = writing.number(&mut cursor)?;
            cursor.is_empty().then_some((id, rows, writing.family))
        })
    })
}

/// The cursor that a call closes or names first.
pub fn first_cursor(bytes: &[u8]) -> Option<u32> {
    token_lengths(bytes).into_iter().find_map(|token| {
        Writing::NUMBERS.into_iter().find_map(|writing| {
            let mut cursor = Cursor::new(bytes.get(HEADER + token..)?);
            let id = writing.cursor_number(&mut cursor).filter(|&id| id != 0)?;
            cursor.is_empty().then_some(id)
        })
    })
}

/// Arguments of a re-execution: the cursor, how many rows to fetch (or times to execute), and its bind values.
#[derive(Debug, PartialEq)]
pub struct Reexecution<'a> {
    pub cursor: u32,
    pub rows: u64,
    pub binds: &'a [u8],
}

pub fn reexecution(bytes: &[u8]) -> Option<Reexecution<'_>> {
    let read =
        |token| Writing::NUMBERS.into_iter().find_map(|writing| reexecution_in(bytes.get(HEADER + token..)?, writing));
    token_lengths(bytes).into_iter().find_map(read)
}

fn reexecution_in(arguments: &[u8], writing: Writing) -> Option<Reexecution<'_>> {
    let mut cursor = Cursor::new(arguments);
    let id = writing.cursor_number(&mut cursor).filter(|&id| id != 0)?;
    let rows = writing.number(&mut cursor)?;
    writing.number(&mut cursor)?;
    if writing.family == Family::Universal {
        writing.number(&mut cursor)?;
    }
    let ends_well = matches!(cursor.peek_u8(), None | Some(ROW));
    ends_well.then(|| Reexecution { cursor: id, rows, binds: cursor.rest() })
}

/// The command of a LOB operation. Those that read serve the query the locator came from.
pub fn lob(bytes: &[u8]) -> &'static str {
    let read =
        |token| Writing::ALL.into_iter().find_map(|writing| lob_operation(bytes.get(HEADER + token..)?, writing));
    token_lengths(bytes).into_iter().find_map(read).unwrap_or("lob")
}

fn lob_operation(arguments: &[u8], writing: Writing) -> Option<&'static str> {
    let mut cursor = Cursor::new(arguments);
    writing.pointer(&mut cursor)?;
    writing.number(&mut cursor)?;
    writing.pointer(&mut cursor)?;
    for _ in 0..3 {
        writing.number(&mut cursor)?;
    }
    for _ in 0..3 {
        writing.pointer(&mut cursor)?;
    }
    Some(match writing.number(&mut cursor)? {
        1 => "lob_length",
        2 => "lob_read",
        0x20 => "lob_trim",
        0x40 => "lob_write",
        0x100 | 0x200 => "lob_file_open",
        0x110 => "lob_create_temporary",
        0x111 => "lob_free_temporary",
        0x400 => "lob_is_open",
        0x800 => "lob_file_exists",
        0x4000 => "lob_chunk_size",
        0x8000 => "lob_open",
        0x1_0000 => "lob_close",
        0x1_1000 => "lob_is_open",
        0x8_0000 => "lob_array",
        _ => return None,
    })
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
