//! What types say of their values: how long these are.
//!
//! Values are passed over wherever packets end, and never held: of most only the length is looked at.

use std::borrow::Cow;

use crate::cursor::{Cursor, TooShort};

/// What the version of a connection changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Of TDS 7, or 8.
    pub minor: u8,
    /// Values may be encrypted on their own: their keys come before the columns. Unknown without the end of the login.
    pub has_keys: Option<bool>,
    /// Requests have room for a package to an enclave, before a batch's text and a call's parameters.
    pub has_packages: Option<bool>,
    /// What is told about sensitive columns has ranks.
    pub has_ranks: bool,
}

/// What all servers have spoken since 2005, where nothing was captured that says more.
impl Default for Layout {
    fn default() -> Layout {
        Layout { minor: 4, has_keys: None, has_packages: None, has_ranks: true }
    }
}

impl Layout {
    /// Counts have 8 bytes, user types 4, and requests have headers.
    pub fn is_wide(self) -> bool {
        self.minor >= 2
    }

    fn has_collations(self) -> bool {
        self.minor >= 1
    }

    /// Values may be encrypted on their own.
    pub fn seals(&mut self, version: u8) {
        const ENCLAVES: u8 = 2;
        (self.has_keys, self.has_packages) = (Some(true), Some(version >= ENCLAVES));
    }

    /// Does a package begin here? Where the login does not say it, no text begins with a zero, and no parameter has a
    /// type with the number of a short name's length.
    pub fn begins_with_package(self, cursor: Cursor<'_>, is_call: bool) -> Result<bool, TooShort> {
        if let Some(has_packages) = self.has_packages.or((!self.is_wide()).then_some(false)) {
            return Ok(has_packages);
        }
        let mut ahead = cursor;
        Ok(ahead.take(2, "package")? == [0, 0] && !(is_call && is_type(ahead.u8("length of a name")?)))
    }

    /// Do keys come before the columns that are described here? Where the login does not say it, the first column's type
    /// does, which stands two bytes later.
    pub fn begins_with_keys(self, cursor: Cursor<'_>) -> Result<bool, TooShort> {
        const TYPE: usize = 4 + 2;
        if let Some(has_keys) = self.has_keys.or((!self.is_wide()).then_some(false)) {
            return Ok(has_keys);
        }
        let mut ahead = cursor;
        let described = ahead.take(2 + TYPE + 1, "first column")?;
        Ok(described.starts_with(&[0, 0]) && !is_type(described[TYPE]) && is_type(described[2 + TYPE]))
    }
}

fn is_type(byte: u8) -> bool {
    !matches!(shape(&mut Cursor::new(&[byte]), Layout::default(), By::Client), Err(Unread::Unknown))
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// So many bytes.
    Fixed(u8),
    /// Behind their number, u8.
    Tiny,
    /// Behind their number, u16; FFFF for null.
    Short,
    /// Behind their number, u32; FFFFFFFF for null.
    Long,
    /// Behind a pointer u8 + bytes, a time of 8 bytes and their number, u32; a pointer of 0 bytes for null.
    Pointed,
    /// In chunks, each behind its length u32, up to an empty one.
    Chunks,
    /// A table: its columns and rows.
    Table,
}

impl Shape {
    /// A column whose values take none is passed with its row: a row of one byte may have thousands of them.
    pub fn takes_bytes(self) -> bool {
        self != Shape::Fixed(0)
    }
}

/// Why a type could not be read.
#[derive(Debug)]
pub enum Unread {
    /// More bytes are needed, so many in all.
    Need(usize),
    Unknown,
}

impl From<TooShort> for Unread {
    fn from(short: TooShort) -> Unread {
        Unread::Need(short.at + short.needed)
    }
}

/// Who describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Server,
    Client,
}

/// A type, as a column or a parameter has it.
pub fn shape(cursor: &mut Cursor<'_>, layout: Layout, by: By) -> Result<Shape, Unread> {
    let kind = cursor.u8("type")?;
    Ok(match kind {
        0x1f => Shape::Fixed(0),
        0x30 | 0x32 => Shape::Fixed(1),
        0x34 => Shape::Fixed(2),
        0x38 | 0x3a | 0x3b | 0x7a => Shape::Fixed(4),
        0x3c | 0x3d | 0x3e | 0x7f => Shape::Fixed(8),
        0x28 => Shape::Tiny,
        // The scale of a time; the longest of what is short.
        0x29..=0x2b | 0x24 | 0x26 | 0x68 | 0x6d..=0x6f | 0x25 | 0x27 | 0x2d | 0x2f => {
            cursor.skip(1, "scale or length")?;
            Shape::Tiny
        }
        // Length, precision, scale.
        0x37 | 0x3f | 0x6a | 0x6c => {
            cursor.skip(3, "precision")?;
            Shape::Tiny
        }
        0xa5 | 0xad => short(cursor, false)?,
        0xa7 | 0xaf | 0xe7 | 0xef => short(cursor, layout.has_collations())?,
        // Length, type of its elements.
        0xf5 => {
            cursor.skip(3, "dimensions")?;
            Shape::Short
        }
        0x22 | 0x23 | 0x63 => {
            let collation = if kind != 0x22 && layout.has_collations() { 5 } else { 0 };
            cursor.skip(4 + collation, "length and collation")?;
            if by == By::Server { Shape::Pointed } else { Shape::Long }
        }
        0x62 => {
            cursor.skip(4, "length")?;
            Shape::Long
        }
        0xf1 => {
            if cursor.u8("has schema")? != 0 {
                names(cursor, 2)?;
                long_name(cursor)?;
            }
            Shape::Chunks
        }
        0xf0 => {
            if by == By::Server {
                cursor.skip(2, "length")?;
            }
            names(cursor, 3)?;
            if by == By::Server {
                long_name(cursor)?;
            }
            Shape::Chunks
        }
        0xf4 => Shape::Chunks,
        0xf3 if by == By::Client => {
            names(cursor, 3)?;
            Shape::Table
        }
        _ => return Err(Unread::Unknown),
    })
}

fn short(cursor: &mut Cursor<'_>, collation: bool) -> Result<Shape, TooShort> {
    let longest = cursor.u16_le("length")?;
    cursor.skip(if collation { 5 } else { 0 }, "collation")?;
    Ok(if longest == u16::MAX { Shape::Chunks } else { Shape::Short })
}

/// Texts behind their number of characters, u8.
pub fn names(cursor: &mut Cursor<'_>, count: usize) -> Result<(), TooShort> {
    (0..count).try_for_each(|_| name(cursor).map(|_| ()))
}

pub fn name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], TooShort> {
    let length = cursor.u8("length of a name")?;
    cursor.take(2 * usize::from(length), "name")
}

pub fn long_name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], TooShort> {
    let length = cursor.u16_le("length of a text")?;
    cursor.take(2 * usize::from(length), "text")
}

/// User type and flags, before each type.
pub fn skip_flags(cursor: &mut Cursor<'_>, layout: Layout) -> Result<u16, TooShort> {
    cursor.skip(if layout.is_wide() { 4 } else { 2 }, "user type")?;
    cursor.u16_le("flags")
}

/// A column of a result.
pub fn column(cursor: &mut Cursor<'_>, layout: Layout) -> Result<Shape, Unread> {
    let flags = skip_flags(cursor, layout)?;
    let shape = shape(cursor, layout, By::Server)?;
    if shape == Shape::Pointed {
        let parts = if layout.is_wide() { cursor.u8("parts of the table's name")? } else { 1 };
        (0..parts).try_for_each(|_| long_name(cursor).map(|_| ()))?;
    }
    if is_encrypted(flags, layout) {
        cursor.skip(2, "number of a key")?;
        skip_encrypted(cursor, layout)?;
    }
    names(cursor, 1)?;
    Ok(shape)
}

/// The values are encrypted on their own.
pub fn is_encrypted(flags: u16, layout: Layout) -> bool {
    const ENCRYPTED: u16 = 0x0800;
    flags & ENCRYPTED != 0 && layout.has_keys != Some(false)
}

/// What a column or a parameter that comes back is beneath its encryption.
pub fn skip_encrypted(cursor: &mut Cursor<'_>, layout: Layout) -> Result<(), Unread> {
    cursor.skip(4, "user type")?;
    skip_algorithm(cursor, layout, By::Server)?;
    cursor.skip(1, "version of normalisation")?;
    Ok(())
}

/// type | algorithm u8 | its name, if it has no number | kind of encryption u8
pub fn skip_algorithm(cursor: &mut Cursor<'_>, layout: Layout, by: By) -> Result<(), Unread> {
    shape(cursor, layout, by)?;
    if cursor.u8("algorithm")? == 0 {
        name(cursor)?;
    }
    cursor.skip(1, "kind of encryption")?;
    Ok(())
}

/// Before the values of a key: how often it was encrypted itself.
pub fn skip_key(cursor: &mut Cursor<'_>) -> Result<u8, TooShort> {
    cursor.skip(4 + 4 + 4 + 8, "numbers of a key")?;
    cursor.u8("encrypted keys")
}

/// A key of encrypted columns, encrypted itself.
pub fn skip_encrypted_key(cursor: &mut Cursor<'_>) -> Result<(), TooShort> {
    let length = cursor.u16_le("length of a key")?;
    cursor.skip(length.into(), "key")?;
    name(cursor)?;
    long_name(cursor)?;
    name(cursor)?;
    Ok(())
}

/// How far a value was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Value {
    #[default]
    Begins,
    /// So many bytes of it are still to come, the last ones.
    Goes(u64),
    /// The length of a chunk comes next.
    Chunks,
    /// So many bytes of a chunk are still to come.
    Chunk(u64),
}

/// What is kept of a value, up to so many bytes.
pub struct Sink<'a> {
    pub bytes: &'a mut Vec<u8>,
    pub most: usize,
}

impl Value {
    /// Reads on; `true` when all of it has passed. Where more bytes are needed, those that are left belong to it.
    pub fn read(&mut self, shape: Shape, cursor: &mut Cursor<'_>, mut sink: Option<Sink<'_>>) -> bool {
        loop {
            match *self {
                Value::Begins => match begin(shape, cursor) {
                    Ok(next) => *self = next,
                    Err(_) => return false,
                },
                Value::Chunks => match cursor.u32_le("length of a chunk") {
                    Ok(0) => *self = Value::Goes(0),
                    Ok(length) => *self = Value::Chunk(length.into()),
                    Err(_) => return false,
                },
                Value::Goes(left) | Value::Chunk(left) => {
                    let taken = cursor.take_up_to(usize::try_from(left).unwrap_or(usize::MAX));
                    if let Some(sink) = &mut sink {
                        let room = sink.most.saturating_sub(sink.bytes.len());
                        sink.bytes.extend_from_slice(taken.get(..room).unwrap_or(taken));
                    }
                    let left = left - taken.len() as u64;
                    let is_last = matches!(self, Value::Goes(_));
                    *self = match (is_last, left) {
                        (true, 0) => {
                            *self = Value::Begins;
                            return true;
                        }
                        (true, left) => Value::Goes(left),
                        (false, 0) => Value::Chunks,
                        (false, left) => Value::Chunk(left),
                    };
                    if left > 0 {
                        return false;
                    }
                }
            }
        }
    }
}

/// What stands before a value.
#[inline]
fn begin(shape: Shape, cursor: &mut Cursor<'_>) -> Result<Value, TooShort> {
    Ok(match shape {
        Shape::Fixed(length) => Value::Goes(length.into()),
        Shape::Tiny => Value::Goes(cursor.u8("length")?.into()),
        Shape::Short => Value::Goes(match cursor.u16_le("length")? {
            u16::MAX => 0,
            length => length.into(),
        }),
        Shape::Long => Value::Goes(match cursor.u32_le("length")? {
            u32::MAX => 0,
            length => length.into(),
        }),
        Shape::Pointed => {
            let mut ahead = *cursor;
            let pointer = usize::from(ahead.u8("length of a pointer")?);
            if pointer == 0 {
                *cursor = ahead;
                return Ok(Value::Goes(0));
            }
            ahead.skip(pointer + 8, "pointer and time")?;
            let length = ahead.u32_le("length")?;
            *cursor = ahead;
            Value::Goes(length.into())
        }
        Shape::Chunks => match cursor.u64_le("length")? {
            u64::MAX => Value::Goes(0),
            _ => Value::Chunks,
        },
        // Read elsewhere.
        Shape::Table => Value::Goes(0),
    })
}

/// Bytes that came before, of a piece that was not whole, and those that follow them.
#[derive(Debug, Default)]
pub struct Carry {
    bytes: Vec<u8>,
}

impl Carry {
    pub fn join<'a>(&mut self, fresh: &'a [u8]) -> Cow<'a, [u8]> {
        if self.bytes.is_empty() {
            return Cow::Borrowed(fresh);
        }
        let mut joined = std::mem::take(&mut self.bytes);
        joined.extend_from_slice(fresh);
        Cow::Owned(joined)
    }

    /// What of `bytes` was not read is there when more comes.
    pub fn keep(&mut self, bytes: Cow<'_, [u8]>, read: usize) {
        self.bytes = match bytes {
            Cow::Owned(bytes) if read == 0 => bytes,
            bytes => bytes.get(read..).unwrap_or_default().to_vec(),
        };
    }

    pub fn clear(&mut self) {
        self.bytes = Vec::new();
    }

    pub fn kept_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}
