//! The tokens of an answer, read on wherever packets end.
//!
//! What is counted are rows (ROW, NBCROW) between their columns (COLMETADATA) and their end (DONE…). A token that is not
//! known has no known length: from there on nothing is counted, and the answer ends with its last packet all the same.

use std::sync::Arc;

use super::columns::{
    By, Carry, Layout, Shape, Sink, Unread, Value, column, is_encrypted, long_name, name, shape, skip_encrypted,
    skip_encrypted_key, skip_flags, skip_key,
};
use super::{login, prelogin, text};
use crate::cursor::{Cursor, TooShort};

/// The columns of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    count: u16,
    /// The columns whose values take bytes, by their numbers.
    sized: Vec<(u16, Shape)>,
}

impl Columns {
    fn add(&mut self, shape: Shape) {
        if shape.takes_bytes() {
            self.sized.push((self.count, shape));
        }
        self.count += 1;
    }

    pub fn kept_bytes(&self) -> usize {
        self.sized.capacity() * size_of::<(u16, Shape)>()
    }
}

/// Columns that a result may have (wide tables).
const COLUMNS_MAX: u16 = 32 << 10;
/// A part of a token that is longer than this is none.
const PIECE_MAX: usize = 256 << 10;

/// What an answer tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    Done(Done),
    Error {
        number: u32,
        state: u8,
        class: u8,
        message: String,
    },
    /// The number that a parameter came back with: a handle, perhaps of a cursor with these columns.
    Handle(i32, Option<Arc<Columns>>),
    LoggedIn {
        minor: Option<u8>,
        version: String,
    },
    /// The client goes on with its login.
    GoOn,
    Database(String),
    /// Whether a transaction is open.
    Transaction(bool),
    /// Values may be encrypted on their own, in this version of the ways to do it.
    Sealed(u8),
    /// Whether what is told about sensitive columns has ranks.
    Ranks(bool),
}

/// DONE, DONEPROC, DONEINPROC: the end of a statement or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub is_call: bool,
    pub status: u16,
    /// What the statement was: 193 SELECT, 195 INSERT, …
    pub command: u16,
    pub count: u64,
    /// The rows that came since the last one, where it ends a call.
    pub rows: Option<u64>,
}

impl Done {
    const COUNT: u16 = 0x10;
    const ATTENTION: u16 = 0x20;
    const CALL_IN_BATCH: u16 = 0x80;
    const SELECT: u16 = 0xc1;

    /// It answers an attention.
    pub fn acknowledges(self) -> bool {
        self.status & Done::ATTENTION != 0
    }

    /// A call is over, and another one of the same message follows.
    pub fn ends_call(self) -> bool {
        self.is_call && self.status & Done::CALL_IN_BATCH != 0
    }

    /// How many rows it has changed.
    pub fn affected(self) -> Option<u64> {
        (self.status & Done::COUNT != 0 && self.command != Done::SELECT).then_some(self.count)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Token,
    /// So many keys of columns are still to come, then so many columns.
    Keys(u16, u16),
    /// Likewise, and before them the values of a key.
    EncryptedKeys(u8, u16, u16),
    Columns(u16),
    /// The next column of a row, among those that take bytes.
    Row(usize),
    Sensitive(Sensitive),
    /// The value of a parameter that comes back.
    Returned(Shape),
    /// Acknowledged features.
    Features,
    /// So many bytes say nothing.
    Skips(u64),
    /// Nothing more can be read.
    Unknown,
}

/// The next part of the token about sensitive columns:
/// labels u16 | (name | id)* | types u16 | (name | id)* | rank u32, if there is one | columns u16 | (properties u16 |
/// (label u16 | type u16 | rank u32, if there is one)*)*
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sensitive {
    /// The number of labels, of types.
    Labels,
    Types,
    /// The names and ids of labels that are left.
    LabelNames(u32),
    /// The names and ids of types that are left.
    TypeNames(u32),
    Columns,
    /// The properties of so many columns.
    Properties(u16),
}

/// One answer, as far as it was read.
#[derive(Debug, Default)]
pub struct Tokens {
    state: State,
    value: Value,
    carry: Carry,
    /// Of the rows that come, where they are known.
    columns: Option<Arc<Columns>>,
    described: Columns,
    /// Which columns of the row are null, where it says so at its beginning.
    nulls: Vec<u8>,
    returned: Vec<u8>,
    rows: u64,
    /// A result has come, of however many rows.
    has_result: bool,
}

impl Tokens {
    /// A new answer, whose rows may have no columns before them but these.
    pub fn begin(&mut self, columns: Option<Arc<Columns>>) {
        *self = Tokens { columns, ..Tokens::default() };
    }

    /// The answer ends here; was that the end of a token?
    pub fn is_whole(&self) -> bool {
        self.state == State::Token && self.carry.kept_bytes() == 0
    }

    /// Rows since they were last asked for, where there was a result.
    pub fn take_rows(&mut self) -> Option<u64> {
        let rows = std::mem::take(&mut self.rows);
        std::mem::take(&mut self.has_result).then_some(rows)
    }

    pub fn kept_bytes(&self) -> usize {
        let columns = self.columns.as_ref().map_or(0, |columns| columns.kept_bytes());
        self.carry.kept_bytes() + columns + self.described.kept_bytes() + self.nulls.capacity()
    }

    /// Nothing more is read of this answer.
    pub fn give_up(&mut self) {
        *self = Tokens { state: State::Unknown, ..Tokens::default() };
    }

    /// The next bytes of the answer.
    pub fn read(&mut self, fresh: &[u8], layout: Layout, told: &mut Vec<Told>) {
        let bytes = self.carry.join(fresh);
        let read = self.read_joined(&bytes, layout, told);
        if self.state != State::Unknown && read < bytes.len() {
            self.carry.keep(bytes, read);
        }
    }

    fn read_joined(&mut self, bytes: &[u8], layout: Layout, told: &mut Vec<Told>) -> usize {
        let mut cursor = Cursor::new(bytes);
        while !cursor.is_empty() && self.state != State::Unknown {
            let before = cursor;
            match self.step(&mut cursor, layout, told) {
                Ok(true) => {}
                Ok(false) => break,
                Err(Unread::Need(need)) if need <= PIECE_MAX => {
                    cursor = before;
                    break;
                }
                Err(_) => self.give_up(),
            }
        }
        cursor.position()
    }

    /// The next part of a token; `false`: it needs more bytes, and those that it has read stay read.
    fn step(&mut self, cursor: &mut Cursor<'_>, layout: Layout, told: &mut Vec<Told>) -> Result<bool, Unread> {
        match self.state {
            State::Token => self.token(cursor, layout, told).map(|()| true),
            State::Keys(0, columns) => {
                self.described(columns);
                Ok(true)
            }
            State::Keys(left, columns) => {
                self.state = State::EncryptedKeys(skip_key(cursor)?, left - 1, columns);
                Ok(true)
            }
            State::EncryptedKeys(0, keys, columns) => {
                self.state = State::Keys(keys, columns);
                Ok(true)
            }
            State::EncryptedKeys(left, keys, columns) => {
                skip_encrypted_key(cursor)?;
                self.state = State::EncryptedKeys(left - 1, keys, columns);
                Ok(true)
            }
            State::Columns(left) => {
                self.described.add(column(cursor, layout)?);
                self.described(left - 1);
                Ok(true)
            }
            State::Sensitive(part) => {
                let next = sensitive(part, cursor, layout.has_ranks)?;
                self.state = next.map_or(State::Token, State::Sensitive);
                Ok(true)
            }
            State::Row(at) => Ok(self.row(at, cursor)),
            State::Returned(shape) => Ok(self.returned(shape, cursor, told)),
            State::Features => {
                let feature = cursor.u8("feature")?;
                if feature == 0xff {
                    self.state = State::Token;
                    return Ok(true);
                }
                let length = cursor.u32_le("length of a feature")?;
                let data = cursor.take(length as usize, "feature")?;
                told.extend(acknowledged(feature, data));
                Ok(true)
            }
            State::Skips(left) => {
                let left = left - cursor.take_up_to(usize::try_from(left).unwrap_or(usize::MAX)).len() as u64;
                self.state = if left > 0 { State::Skips(left) } else { State::Token };
                Ok(left == 0)
            }
            State::Unknown => Ok(false),
        }
    }

    fn described(&mut self, left: u16) {
        self.state = State::Columns(left);
        if left == 0 {
            let mut columns = std::mem::take(&mut self.described);
            columns.sized.shrink_to_fit();
            self.columns = Some(Arc::new(columns));
            self.state = State::Token;
        }
    }

    /// Reads on in a row; `false` where it goes on in the next packet.
    fn row(&mut self, begin: usize, cursor: &mut Cursor<'_>) -> bool {
        let Some(columns) = &self.columns else { return false };
        for (at, (number, shape)) in columns.sized.iter().enumerate().skip(begin) {
            let is_null = self.nulls.get(usize::from(number / 8)).is_some_and(|byte| byte >> (number % 8) & 1 != 0);
            if !is_null && !self.value.read(*shape, cursor, None) {
                self.state = State::Row(at);
                return false;
            }
        }
        self.rows += 1;
        self.nulls.clear();
        self.state = State::Token;
        true
    }

    fn returned(&mut self, shape: Shape, cursor: &mut Cursor<'_>, told: &mut Vec<Told>) -> bool {
        let sink = Sink { bytes: &mut self.returned, most: 8 };
        if !self.value.read(shape, cursor, Some(sink)) {
            return false;
        }
        if let (Shape::Tiny | Shape::Fixed(4), Ok(number)) = (shape, self.returned.as_slice().try_into()) {
            told.push(Told::Handle(i32::from_le_bytes(number), self.columns.clone()));
        }
        self.returned.clear();
        self.state = State::Token;
        true
    }

    fn token(&mut self, cursor: &mut Cursor<'_>, layout: Layout, told: &mut Vec<Told>) -> Result<(), Unread> {
        match cursor.u8("token")? {
            ROW => self.row_begins(cursor, false)?,
            NULL_ROW => self.row_begins(cursor, true)?,
            kind @ (DONE | DONE_CALL | DONE_IN_CALL) => {
                let done = done(kind, cursor, layout)?;
                let rows = if done.is_call { self.take_rows() } else { None };
                told.push(Told::Done(Done { rows, ..done }));
            }
            COLUMNS => self.columns_begin(cursor, layout)?,
            RETURNED => {
                cursor.skip(2, "number")?;
                name(cursor)?;
                cursor.skip(1, "status")?;
                let flags = skip_flags(cursor, layout)?;
                let shape = shape(cursor, layout, By::Server)?;
                if is_encrypted(flags, layout) {
                    skip_encrypted(cursor, layout)?;
                }
                self.state = State::Returned(shape);
            }
            ERROR => told.push(error(sub(cursor)?)?),
            CHANGE => {
                let change = sub(cursor)?;
                if change.peek_u8() == Some(PROMOTED) {
                    let length = cursor.u32_le("length of a promoted transaction")?;
                    self.state = State::Skips(u64::from(length) + 1);
                }
                told.extend(changed(change)?);
            }
            LOGIN => told.push(logged_in(sub(cursor)?)?),
            SSPI => {
                sub(cursor)?;
                told.push(Told::GoOn);
            }
            ORDER | INFO | TABLES | COLUMN_INFO => drop(sub(cursor)?),
            STATUS | OFFSET => cursor.skip(4, "value")?,
            FEDERATED => {
                self.state = State::Skips(cursor.u32_le("length")?.into());
                told.push(Told::GoOn);
            }
            SESSION => self.state = State::Skips(cursor.u32_le("length")?.into()),
            FEATURES => self.state = State::Features,
            SENSITIVE => self.state = State::Sensitive(Sensitive::Labels),
            _ => return Err(Unread::Unknown),
        }
        // Nothing of it is to come.
        if self.state == State::Skips(0) {
            self.state = State::Token;
        }
        Ok(())
    }

    fn columns_begin(&mut self, cursor: &mut Cursor<'_>, layout: Layout) -> Result<(), Unread> {
        let count = cursor.u16_le("number of columns")?;
        // The client knows them from before.
        if count == u16::MAX {
            self.has_result = true;
            return Ok(());
        }
        if count > COLUMNS_MAX {
            return Err(Unread::Unknown);
        }
        let keys = if layout.begins_with_keys(*cursor)? { cursor.u16_le("number of keys")? } else { 0 };
        self.has_result |= count > 0;
        self.described = Columns::default();
        self.state = State::Keys(keys, count);
        Ok(())
    }

    fn row_begins(&mut self, cursor: &mut Cursor<'_>, has_nulls: bool) -> Result<(), Unread> {
        let columns = self.columns.as_ref().filter(|columns| columns.count > 0).ok_or(Unread::Unknown)?;
        if has_nulls {
            let nulls = cursor.take(columns.count.div_ceil(8).into(), "null columns")?;
            self.nulls.clear();
            self.nulls.extend_from_slice(nulls);
        }
        self.has_result = true;
        self.state = State::Row(0);
        Ok(())
    }
}

const OFFSET: u8 = 0x78;
const STATUS: u8 = 0x79;
const COLUMNS: u8 = 0x81;
const TABLES: u8 = 0xa4;
const COLUMN_INFO: u8 = 0xa5;
const SENSITIVE: u8 = 0xa3;
const ORDER: u8 = 0xa9;
const ERROR: u8 = 0xaa;
const INFO: u8 = 0xab;
const RETURNED: u8 = 0xac;
const LOGIN: u8 = 0xad;
const FEATURES: u8 = 0xae;
const ROW: u8 = 0xd1;
const NULL_ROW: u8 = 0xd2;
const CHANGE: u8 = 0xe3;
const SESSION: u8 = 0xe4;
const SSPI: u8 = 0xed;
const FEDERATED: u8 = 0xee;
const DONE: u8 = 0xfd;
const DONE_CALL: u8 = 0xfe;
const DONE_IN_CALL: u8 = 0xff;
/// A change of the environment, whose length leaves out what follows.
const PROMOTED: u8 = 15;

/// The rest of a token behind its length.
fn sub<'a>(cursor: &mut Cursor<'a>) -> Result<Cursor<'a>, TooShort> {
    let length = cursor.u16_le("length")?;
    cursor.sub(length.into(), "token")
}

fn done(kind: u8, cursor: &mut Cursor<'_>, layout: Layout) -> Result<Done, TooShort> {
    let (status, command) = (cursor.u16_le("status")?, cursor.u16_le("command")?);
    let count = if layout.is_wide() { cursor.u64_le("count")? } else { cursor.u32_le("count")?.into() };
    Ok(Done { is_call: kind == DONE_CALL, status, command, count, rows: None })
}

/// What is inside of a token that is whole: nothing more will come for it.
fn inside<T>(read: Result<T, TooShort>) -> Result<T, Unread> {
    read.map_err(|_| Unread::Unknown)
}

fn error(mut cursor: Cursor<'_>) -> Result<Told, Unread> {
    let mut read = || {
        let number = cursor.u32_le("number")?;
        let (state, class) = (cursor.u8("state")?, cursor.u8("class")?);
        let message = text::decode(long_name(&mut cursor)?);
        Ok(Told::Error { number, state, class, message })
    };
    inside(read())
}

fn logged_in(mut cursor: Cursor<'_>) -> Result<Told, Unread> {
    let mut read = || {
        cursor.skip(1, "interface")?;
        let minor = login::minor(cursor.array("version")?);
        name(&mut cursor)?;
        let [major, second, high, low] = cursor.array("version of the server")?;
        Ok(Told::LoggedIn { minor, version: prelogin::version(major, second, [high, low]) })
    };
    inside(read())
}

/// What a feature that the server acknowledges changes.
fn acknowledged(feature: u8, data: &[u8]) -> Option<Told> {
    match (feature, data) {
        (4, [version, ..]) => Some(Told::Sealed(*version)),
        (9, [version, ..]) => Some(Told::Ranks(*version >= 2)),
        _ => None,
    }
}

/// Read one part; what comes next.
fn sensitive(part: Sensitive, cursor: &mut Cursor<'_>, has_ranks: bool) -> Result<Option<Sensitive>, TooShort> {
    use Sensitive::*;
    let rank = if has_ranks { 4 } else { 0 };
    Ok(match part {
        Labels => Some(LabelNames(2 * u32::from(cursor.u16_le("number of labels")?))),
        LabelNames(0) => Some(Types),
        LabelNames(left) => name(cursor).map(|_| Some(LabelNames(left - 1)))?,
        Types => Some(TypeNames(2 * u32::from(cursor.u16_le("number of types")?))),
        TypeNames(0) => Some(Columns),
        TypeNames(left) => name(cursor).map(|_| Some(TypeNames(left - 1)))?,
        Columns => {
            cursor.skip(rank, "rank")?;
            columns_left(cursor.u16_le("number of columns")?)
        }
        Properties(left) => {
            let count = cursor.u16_le("number of properties")?;
            cursor.skip(usize::from(count) * (4 + rank), "properties")?;
            columns_left(left - 1)
        }
    })
}

fn columns_left(left: u16) -> Option<Sensitive> {
    (left > 0).then_some(Sensitive::Properties(left))
}

fn changed(mut cursor: Cursor<'_>) -> Result<Option<Told>, Unread> {
    let mut read = || {
        Ok(match cursor.u8("kind")? {
            1 => Some(Told::Database(text::decode(name(&mut cursor)?))),
            8 | 11 => Some(Told::Transaction(true)),
            9 | 10 | 12 | 17 => Some(Told::Transaction(false)),
            _ => None,
        })
    };
    inside(read())
}
