//! Packets, and the three that can end a response: OK, EOF and ERR.
//!
//! ```text
//! length u24 | sequence u8 | payload                            every packet
//! 00 | affected lenenc | insert id lenenc | status u16 | …      OK (FE in its place: the end of rows)
//! FE | warnings u16 | status u16                                EOF, which newer servers no longer send; FE alone before 4.1
//! FF | code u16 | '#' state [5] | message                       ERR (before the login without '#' and state)
//! FF | FF FF | stage | stages | progress u24 | text             MariaDB reports its progress; no error and no end
//! ```

use crate::cursor::{Cursor, TooShort};
use crate::protocols::Error;
use crate::sql::Statements;

pub const HEADER: usize = 4;
/// A payload of this length goes on in the next packet, which may be empty.
pub const FULL: u32 = 0xff_ffff;

pub const OK: u8 = 0x00;
pub const EOF: u8 = 0xfe;
pub const ERR: u8 = 0xff;
const EOF_LENGTH: u32 = 5;
const BARE_EOF_LENGTH: u32 = 1;
const PROGRESS: u16 = 0xffff;

/// Bits of the server status in OK and EOF.
///
/// A transaction of several statements is under way: begun by `BEGIN`, or with autocommit off by the first statement that
/// needs one.
const IN_TRANSACTION: u16 = 0x0001;
pub const MORE_RESULTS_EXIST: u16 = 0x0008;
pub const CURSOR_EXISTS: u16 = 0x0040;
/// The session's sql_mode says that `\\` in a string is a backslash and nothing more.
const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
const SESSION_STATE_CHANGED: u16 = 0x4000;
/// The session state that names a new default database.
const TRACK_SCHEMA: u8 = 1;

/// One packet, or as much of it as is at hand.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    pub sequence: u8,
    /// The payload's length, as the header says; `payload` may hold less.
    pub length: u32,
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// The packet that `bytes` begin with.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Result<Packet<'a>, TooShort> {
        let mut cursor = Cursor::new(bytes);
        let length = cursor.u24_le("packet length")?;
        let sequence = cursor.u8("sequence number")?;
        let payload = cursor.take_up_to(length as usize);
        Ok(Packet { sequence, length, payload })
    }

    /// The same, if all of it is there, and what stands behind it.
    #[inline]
    pub fn split(bytes: &'a [u8]) -> Option<(Packet<'a>, &'a [u8])> {
        let (&[low, middle, high, sequence], rest) = bytes.split_first_chunk()?;
        let length = u32::from_le_bytes([low, middle, high, 0]);
        let (payload, behind) = rest.split_at_checked(length as usize)?;
        Some((Packet { sequence, length, payload }, behind))
    }

    pub fn first(&self) -> Option<u8> {
        self.payload.first().copied()
    }

    pub fn is_whole(&self) -> bool {
        self.payload.len() == self.length as usize
    }

    pub fn continues(&self) -> bool {
        self.length == FULL
    }

    pub fn is_error(&self) -> bool {
        self.first() == Some(ERR)
    }

    /// The five-byte EOF, which OK packets replace where DEPRECATE_EOF was agreed (those have seven bytes or more). Before
    /// 4.1, and to clients from before it, it is a bare byte.
    pub fn is_eof(&self) -> bool {
        self.first() == Some(EOF) && matches!(self.length, EOF_LENGTH | BARE_EOF_LENGTH)
    }

    /// A row that begins with FE has a first column of 16 MB or more, so it does not fit in its first packet.
    pub fn ends_rows(&self) -> bool {
        self.first() == Some(EOF) && self.length < FULL
    }

    pub fn is_progress(&self) -> bool {
        self.is_error() && self.error_code() == Some(PROGRESS)
    }

    pub fn error_code(&self) -> Option<u16> {
        let mut cursor = Cursor::new(self.payload);
        cursor.skip(1, "ERR header").ok()?;
        cursor.u16_le("error code").ok()
    }

    /// What an ERR packet says.
    pub fn error(&self) -> Box<Error> {
        let mut cursor = Cursor::new(self.payload.get(1..).unwrap_or_default());
        let number = cursor.u16_le("error code").map_or_else(|_| "?".into(), |code| code.to_string());
        let state = (cursor.peek_u8() == Some(b'#')).then(|| text(&cursor.take_up_to(6)[1..]));
        let code = state.map_or_else(|| number.clone(), |state| format!("{number} ({state})"));
        Box::new(Error { code, message: Statements::message(&text(cursor.rest())) })
    }
}

/// What an OK or EOF packet says. What a cut packet does not show counts as nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    pub affected_rows: u64,
    pub status: u16,
    /// Whether a transaction is open; `None` where the status is not at hand.
    pub transaction: Option<&'static str>,
    /// The default database is another one now.
    pub database: Option<String>,
}

impl Completion {
    pub fn read(packet: &Packet<'_>) -> Completion {
        let mut completion = Completion::default();
        let read = if packet.is_eof() { Completion::eof } else { Completion::ok };
        // Too short for a field: the packet was cut, or it is of MySQL 4.0, which had neither status nor warnings.
        let _ = read(&mut completion, &mut Cursor::new(packet.payload));
        completion
    }

    fn eof(&mut self, cursor: &mut Cursor<'_>) -> Result<(), TooShort> {
        cursor.skip(1, "EOF header")?;
        cursor.u16_le("warnings")?;
        self.says(cursor.u16_le("status")?);
        Ok(())
    }

    fn ok(&mut self, cursor: &mut Cursor<'_>) -> Result<(), TooShort> {
        cursor.skip(1, "OK header")?;
        self.affected_rows = lenenc(cursor, "affected rows")?;
        lenenc(cursor, "last insert id")?;
        let status = cursor.u16_le("status")?;
        cursor.u16_le("warnings")?;
        self.says(status);
        if status & SESSION_STATE_CHANGED != 0 {
            lenenc_bytes(cursor, "info")?;
            self.session_state(&mut Cursor::new(lenenc_bytes(cursor, "session state")?))?;
        }
        Ok(())
    }

    fn says(&mut self, status: u16) {
        self.status = status;
        self.transaction = Some(if self.has(IN_TRANSACTION) { "open" } else { "idle" });
    }

    fn session_state(&mut self, cursor: &mut Cursor<'_>) -> Result<(), TooShort> {
        while !cursor.is_empty() {
            let kind = cursor.u8("kind of session state")?;
            let mut change = Cursor::new(lenenc_bytes(cursor, "change of session state")?);
            if kind == TRACK_SCHEMA {
                self.database = Some(text(lenenc_bytes(&mut change, "schema")?));
            }
        }
        Ok(())
    }

    /// Does a backslash escape what follows it? A status of 0 may be of a packet that was cut.
    pub fn escapes(&self) -> Option<bool> {
        (self.status != 0).then_some(!self.has(NO_BACKSLASH_ESCAPES))
    }

    pub fn has(&self, status: u16) -> bool {
        self.status & status != 0
    }
}

/// An integer of 1, 3, 4 or 9 bytes, as its first byte says.
pub fn lenenc(cursor: &mut Cursor<'_>, field: &'static str) -> Result<u64, TooShort> {
    Ok(match cursor.u8(field)? {
        0xfc => cursor.u16_le(field)?.into(),
        0xfd => cursor.u24_le(field)?.into(),
        0xfe => cursor.u64_le(field)?,
        small => small.into(),
    })
}

/// Bytes behind their own length.
pub fn lenenc_bytes<'a>(cursor: &mut Cursor<'a>, field: &'static str) -> Result<&'a [u8], TooShort> {
    let length = lenenc(cursor, field)?;
    cursor.take(usize::try_from(length).unwrap_or(usize::MAX), field)
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A name; an empty one says nothing.
pub fn name(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| text(bytes))
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
