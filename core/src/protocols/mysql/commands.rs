//! What a client can ask for: the commands, how each is answered, and what is inside those that carry a statement.
//!
//! ```text
//! 03 | [parameters lenenc | 01 | nulls | 01 | type u16, name … | values] | SQL          query (attributes since 8.0.23)
//! 16 | SQL                                                                              prepare
//! 17 | statement u32 | flags u8 | iterations u32 | [parameters lenenc] | nulls | new u8 | types | values       execute
//! FA | statement u32 | flags u16 | types | rows                                         bulk execute (MariaDB)
//! 18 | statement u32 | parameter u16 | data                                             long data
//! ```

use std::ops::RangeInclusive;

use super::framing::{FULL, lenenc, lenenc_bytes};
use crate::cursor::{Cursor, TooShort};
use crate::protocols::Purpose;

pub const QUIT: u8 = 0x01;
pub const INIT_DB: u8 = 0x02;
pub const QUERY: u8 = 0x03;
pub const FIELD_LIST: u8 = 0x04;
pub const CREATE_DB: u8 = 0x05;
pub const DROP_DB: u8 = 0x06;
pub const CHANGE_USER: u8 = 0x11;
pub const PREPARE: u8 = 0x16;
pub const EXECUTE: u8 = 0x17;
pub const LONG_DATA: u8 = 0x18;
pub const CLOSE: u8 = 0x19;
pub const RESET: u8 = 0x1a;
pub const FETCH: u8 = 0x1c;
pub const RESET_CONNECTION: u8 = 0x1f;
pub const BULK_EXECUTE: u8 = 0xfa;

/// The statement id that means the one prepared last, so that its answer need not be awaited (MariaDB).
pub const LAST_PREPARED: u32 = u32::MAX;

/// How a command is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    /// OK, EOF or ERR.
    Verdict,
    /// A packet of plain text.
    Text,
    /// OK, ERR, a request for a local file, or result sets.
    Results,
    Prepared,
    /// Column definitions without a count, then EOF.
    Fields,
    /// Rows, then EOF.
    Rows,
    /// The dialogue of the login.
    Authentication,
    /// Events without end.
    Stream,
    /// Not known.
    Unknown,
}

/// A command of the protocol.
#[derive(Debug)]
pub struct Command {
    pub code: u8,
    pub name: &'static str,
    pub purpose: Purpose,
    pub answer: Answer,
    /// Lengths that its packet can have.
    pub lengths: RangeInclusive<u32>,
}

const fn command(
    code: u8,
    name: &'static str,
    purpose: Purpose,
    answer: Answer,
    lengths: RangeInclusive<u32>,
) -> Command {
    Command { code, name, purpose, answer, lengths }
}

const COMMANDS: &[Command] = &[
    command(QUIT, "quit", Purpose::Disconnect, Answer::Nothing, 1..=1),
    command(INIT_DB, "init_db", Purpose::Session, Answer::Verdict, 1..=1024),
    command(QUERY, "query", Purpose::Execute, Answer::Results, 1..=FULL),
    command(FIELD_LIST, "field_list", Purpose::Other, Answer::Fields, 2..=1024),
    command(CREATE_DB, "create_db", Purpose::Other, Answer::Verdict, 2..=1024),
    command(DROP_DB, "drop_db", Purpose::Other, Answer::Verdict, 2..=1024),
    command(0x07, "refresh", Purpose::Other, Answer::Verdict, 2..=9),
    command(0x08, "shutdown", Purpose::Other, Answer::Verdict, 1..=9),
    command(0x09, "statistics", Purpose::Ping, Answer::Text, 1..=1),
    command(0x0a, "process_info", Purpose::Other, Answer::Results, 1..=1),
    command(0x0c, "process_kill", Purpose::Other, Answer::Verdict, 5..=9),
    command(0x0d, "debug", Purpose::Other, Answer::Verdict, 1..=1),
    command(0x0e, "ping", Purpose::Ping, Answer::Verdict, 1..=1),
    command(CHANGE_USER, "change_user", Purpose::Session, Answer::Authentication, 4..=FULL - 1),
    command(0x12, "binlog_dump", Purpose::Other, Answer::Stream, 11..=1024),
    command(0x15, "register_slave", Purpose::Other, Answer::Verdict, 18..=1024),
    command(PREPARE, "stmt_prepare", Purpose::Prepare, Answer::Prepared, 1..=FULL),
    command(EXECUTE, "stmt_execute", Purpose::Execute, Answer::Results, 10..=FULL),
    command(LONG_DATA, "stmt_send_long_data", Purpose::Other, Answer::Nothing, 7..=FULL),
    command(CLOSE, "stmt_close", Purpose::Close, Answer::Nothing, 5..=5),
    command(RESET, "stmt_reset", Purpose::Other, Answer::Verdict, 5..=5),
    command(0x1b, "set_option", Purpose::Session, Answer::Verdict, 3..=3),
    command(FETCH, "stmt_fetch", Purpose::Fetch, Answer::Rows, 9..=9),
    command(0x1e, "binlog_dump_gtid", Purpose::Other, Answer::Stream, 11..=FULL - 1),
    command(RESET_CONNECTION, "reset_connection", Purpose::Session, Answer::Verdict, 1..=1),
    command(BULK_EXECUTE, "stmt_bulk_execute", Purpose::Execute, Answer::Results, 7..=FULL),
];

/// Where each code stands in the list.
static PLACES: [u8; 256] = {
    let mut places = [u8::MAX; 256];
    let mut place = 0;
    while place < COMMANDS.len() {
        places[COMMANDS[place].code as usize] = place as u8;
        place += 1;
    }
    places
};

static UNKNOWN: Command = command(0, "unknown", Purpose::Unreadable, Answer::Unknown, 1..=FULL);

impl Command {
    pub fn known(code: u8) -> Option<&'static Command> {
        COMMANDS.get(usize::from(PLACES[usize::from(code)]))
    }

    /// The command with this code, if the packet that was cut shows one at all.
    pub fn of(code: Option<u8>) -> &'static Command {
        code.and_then(Command::known).unwrap_or(&UNKNOWN)
    }
}

/// The SQL of a query: its attributes, which may stand before it, are passed over.
///
/// `attributes`: agreed on; where that was not seen, or they turn out not to be any, the bytes decide.
pub fn query_text(payload: &[u8], attributes: Option<bool>) -> &[u8] {
    if attributes == Some(false) {
        return payload;
    }
    match behind_attributes(payload) {
        Ok(Some(text)) => text,
        Ok(None) | Err(_) => payload,
    }
}

fn behind_attributes(payload: &[u8]) -> Result<Option<&[u8]>, TooShort> {
    let mut cursor = Cursor::new(payload);
    let parameters = lenenc(&mut cursor, "number of attributes")?;
    let sets = lenenc(&mut cursor, "sets of attributes")?;
    if sets != 1 || parameters > payload.len() as u64 {
        return Ok(None);
    }
    if parameters > 0 {
        let parameters = parameters as usize;
        let nulls = cursor.take(parameters.div_ceil(8), "null bitmap of the attributes")?;
        if cursor.u8("flag of new attributes")? != 1 {
            return Ok(None);
        }
        let kinds = attribute_kinds(&mut cursor, parameters)?;
        for (index, kind) in kinds.into_iter().enumerate() {
            let is_null = nulls.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1);
            if !is_null && !skip_value(&mut cursor, kind)? {
                return Ok(None);
            }
        }
    }
    Ok(Some(cursor.rest()))
}

fn attribute_kinds(cursor: &mut Cursor<'_>, parameters: usize) -> Result<Vec<u8>, TooShort> {
    let mut kinds = Vec::new();
    for _ in 0..parameters {
        kinds.push(cursor.u8("attribute type")?);
        cursor.skip(1, "attribute sign")?;
        lenenc_bytes(cursor, "attribute name")?;
    }
    Ok(kinds)
}

/// Pass over a value of the binary protocol; `false` for a type that does not exist.
fn skip_value(cursor: &mut Cursor<'_>, kind: u8) -> Result<bool, TooShort> {
    let length = match kind {
        // tiny, boolean · short, year · long, int24, float · longlong, double · null
        1 | 244 => 1,
        2 | 13 => 2,
        3 | 9 | 4 => 4,
        8 | 5 => 8,
        6 => 0,
        // timestamp, date, time, datetime
        7 | 10 | 11 | 12 => cursor.u8("length of a time")?.into(),
        0 | 15 | 16 | 242 | 245..=255 => {
            lenenc_bytes(cursor, "attribute value")?;
            0
        }
        _ => return Ok(false),
    };
    cursor.skip(length, "attribute value")?;
    Ok(true)
}

/// The flag of an execute that the number of parameters is written before them.
const PARAMETER_COUNT_AVAILABLE: u8 = 8;
const CURSOR_FLAGS: u8 = 1 | 2 | 4;
/// MariaDB answers a bulk execute with an insert id and a count for each row sent, in the form of a result set.
const UNIT_RESULTS: u16 = 64;

/// What an execute, plain or bulk, asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Execute<'a> {
    pub statement: u32,
    /// The rows may stay at the server until they are fetched.
    pub cursor: bool,
    /// What comes back in the form of rows is no data.
    pub unit_results: bool,
    /// The bind values, in the pieces that distinguish them.
    pub binds: [&'a [u8]; 2],
}

/// Read an execute behind its command byte. `parameters`: as many as the statement was prepared with, if that was seen.
pub fn execute(payload: &[u8], parameters: Option<u16>) -> Result<Execute<'_>, TooShort> {
    let mut cursor = Cursor::new(payload);
    let statement = cursor.u32_le("statement id")?;
    let mut execute = Execute { statement, ..Execute::default() };
    let Ok(flags) = cursor.u8("execute flags") else {
        return Ok(execute);
    };
    execute.cursor = flags & CURSOR_FLAGS != 0;
    if cursor.skip(4, "iterations").is_ok() {
        execute.binds = binds(cursor, parameters, flags & PARAMETER_COUNT_AVAILABLE != 0);
    }
    Ok(execute)
}

/// Without the types, which are only sent the first time: equal values are to look equal each time.
fn binds(cursor: Cursor<'_>, parameters: Option<u16>, counted: bool) -> [&[u8]; 2] {
    let whole = [cursor.peek(), &[]];
    match parameters {
        None if !counted => whole,
        _ => without_types(cursor, parameters.unwrap_or(0), counted).unwrap_or(whole),
    }
}

fn without_types(mut cursor: Cursor<'_>, mut parameters: u16, counted: bool) -> Result<[&[u8]; 2], TooShort> {
    if counted {
        parameters = u16::try_from(lenenc(&mut cursor, "number of parameters")?).unwrap_or(u16::MAX);
    }
    if parameters == 0 {
        return Ok([&[], &[]]);
    }
    let nulls = cursor.take(usize::from(parameters).div_ceil(8), "null bitmap")?;
    if cursor.u8("flag of new types")? == 1 {
        for _ in 0..parameters {
            cursor.skip(2, "parameter type")?;
            if counted {
                lenenc_bytes(&mut cursor, "parameter name")?;
            }
        }
    }
    Ok([nulls, cursor.rest()])
}

/// Read a bulk execute behind its command byte.
pub fn bulk_execute(payload: &[u8]) -> Result<Execute<'_>, TooShort> {
    let mut cursor = Cursor::new(payload);
    let statement = cursor.u32_le("statement id")?;
    let flags = cursor.u16_le("bulk flags").unwrap_or(0);
    let unit_results = flags & UNIT_RESULTS != 0;
    Ok(Execute { statement, unit_results, binds: [cursor.rest(), &[]], ..Execute::default() })
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
