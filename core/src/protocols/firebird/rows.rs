//! Row formats: BLR says what a row is made of, and a row says nothing itself.
//!
//! ```text
//! 05 02 | 04 message u8, items u16le, item… | FF 4C       each column: its value and `07 00`, the null indicator
//! ```
//!
//! Until protocol 12 every value is sent, each followed by its null indicator; from 13 on a row begins with a bitmap of
//! the nulls, and only what is not null follows. Blob and array columns are 8-byte ids.

use std::cell::RefCell;
use std::sync::Arc;

use super::progress::Progress;
use super::wire::{Stop, Wire, lost};
use crate::cursor::Cursor;

/// How long a value is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Fixed(u16),
    /// Its length comes first; never more bytes than this.
    Varying(u16),
}

/// The columns of a row, or the items of a request's message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    shapes: Vec<Shape>,
    /// A column holds blob ids.
    pub has_blobs: bool,
}

/// The messages of a compiled request by their number.
pub type Messages = Vec<(u8, Format)>;

/// The format that a packet describes which is not whole yet, by where its row begins.
#[derive(Debug, Default)]
pub struct Described(RefCell<Option<(usize, Arc<Format>)>>);

impl Described {
    /// The format of the row that begins here.
    pub fn format(&self, begin: usize, read: impl FnOnce() -> Option<Format>) -> Option<Arc<Format>> {
        let mut kept = self.0.borrow_mut();
        match &*kept {
            Some((known, format)) if *known == begin => Some(format.clone()),
            _ => {
                let format = Arc::new(read()?);
                *kept = Some((begin, format.clone()));
                Some(format)
            }
        }
    }

    /// The packet has been taken in.
    pub fn reset(&self) {
        self.0.take();
    }
}

impl Format {
    /// The format of rows, from the BLR that comes with a statement. `None` if it cannot be read.
    pub fn of_rows(blr: &[u8]) -> Option<Format> {
        let (_, items) = described(blr)?.into_iter().next()?;
        let pairs = items.shapes.chunks_exact(2);
        let whole = pairs.remainder().is_empty();
        let shapes = pairs.map(|pair| pair[0]).collect();
        whole.then_some(Format { shapes, has_blobs: items.has_blobs })
    }

    /// How much memory it takes, in values.
    pub fn size(&self) -> usize {
        self.shapes.len()
    }

    /// Pass one row.
    pub fn row(&self, packed: bool, wire: &mut Wire<'_>, progress: &Progress) -> Result<(), Stop> {
        if packed { self.packed_row(wire, progress) } else { self.plain_row(wire, progress) }
    }

    fn packed_row(&self, wire: &mut Wire<'_>, progress: &Progress) -> Result<(), Stop> {
        let nulls = wire.opaque(self.shapes.len().div_ceil(8), "null bitmap")?;
        progress.each(true, self.shapes.len(), wire, |column, wire| {
            let bits = nulls.get(column / 8).copied().unwrap_or(0);
            if bits >> (column % 8) & 1 == 0 { self.shapes[column].pass(wire) } else { Ok(()) }
        })
    }

    fn plain_row(&self, wire: &mut Wire<'_>, progress: &Progress) -> Result<(), Stop> {
        progress.each(false, self.shapes.len(), wire, |column, wire| {
            self.shapes[column].pass(wire)?;
            match wire.number("null indicator")? {
                0 | 0xffff_ffff | 0xffff => Ok(()),
                other => lost(format!("a null indicator is {other:#x}")),
            }
        })
    }

    /// Pass one message of a request: every item, whatever the protocol version.
    pub fn message(&self, wire: &mut Wire<'_>, progress: &Progress) -> Result<(), Stop> {
        progress.each(false, self.shapes.len(), wire, |item, wire| self.shapes[item].pass(wire))
    }
}

impl Shape {
    fn pass(self, wire: &mut Wire<'_>) -> Result<(), Stop> {
        let length = match self {
            Shape::Fixed(length) => length,
            Shape::Varying(limit) => wire.short("length of a value")?.min(limit),
        };
        wire.opaque(length.into(), "value").map(|_| ())
    }
}

/// All messages that a BLR begins with, without the items that take no bytes.
pub fn messages(blr: &[u8]) -> Option<Messages> {
    let mut messages = described(blr)?;
    messages.iter_mut().for_each(|(_, format)| format.shapes.retain(|shape| *shape != Shape::Fixed(0)));
    Some(messages)
}

/// The messages with all their items; each has a number of its own.
fn described(blr: &[u8]) -> Option<Messages> {
    const VERSIONS: [u8; 2] = [4, 5];
    const BEGIN: u8 = 2;
    const MESSAGE: u8 = 4;
    let mut cursor = Cursor::new(blr);
    let version = cursor.u8("version").ok()?;
    if !VERSIONS.contains(&version) || cursor.u8("begin").ok()? != BEGIN {
        return None;
    }
    let mut messages = Messages::new();
    while cursor.peek_u8() == Some(MESSAGE) {
        cursor.u8("message").ok()?;
        let number = cursor.u8("message number").ok()?;
        let is_new = messages.iter().all(|(other, _)| *other != number);
        messages.push((number, is_new.then(|| items(&mut cursor))??));
    }
    Some(messages)
}

fn items(cursor: &mut Cursor<'_>) -> Option<Format> {
    let count = cursor.u16_le("items").ok()?;
    let mut format = Format::default();
    for _ in 0..count {
        let (shape, is_blob) = item(cursor)?;
        format.shapes.push(shape);
        format.has_blobs |= is_blob;
    }
    Some(format)
}

/// One item and whether it is a blob id.
fn item(cursor: &mut Cursor<'_>) -> Option<(Shape, bool)> {
    let kind = cursor.u8("type").ok()?;
    let shape = match kind {
        // text, with or without a character set
        14 => Shape::Fixed(cursor.u16_le("length").ok()?),
        15 => Shape::Fixed(after_charset(cursor)?),
        // varying and C strings
        37 | 40 => Shape::Varying(cursor.u16_le("length").ok()?),
        38 | 41 => Shape::Varying(after_charset(cursor)?),
        // numbers with a scale: short, long, quad, int64, int128
        7 | 8 => scaled(cursor, 4)?,
        9 | 16 => scaled(cursor, 8)?,
        26 => scaled(cursor, 16)?,
        // float; double, d_float; decfloat
        10 => Shape::Fixed(4),
        27 | 11 | 24 => Shape::Fixed(8),
        25 => Shape::Fixed(16),
        // blob
        17 => {
            cursor.u32_le("subtype and character set").ok()?;
            Shape::Fixed(8)
        }
        // date, time; timestamp, time with zone; timestamp with zone and their extended forms
        12 | 13 => Shape::Fixed(4),
        35 | 28 => Shape::Fixed(8),
        29 | 30 => Shape::Fixed(12),
        31 => Shape::Fixed(16),
        // boolean
        23 => Shape::Fixed(1),
        _ => return None,
    };
    Some((shape, matches!(kind, 9 | 17)))
}

fn after_charset(cursor: &mut Cursor<'_>) -> Option<u16> {
    cursor.u16_le("character set").ok()?;
    cursor.u16_le("length").ok()
}

fn scaled(cursor: &mut Cursor<'_>, length: u16) -> Option<Shape> {
    cursor.u8("scale").ok()?;
    Some(Shape::Fixed(length))
}

/// The elements of an array: `bytes` of them in memory, as the SDL describes one.
pub fn slice(sdl: &[u8], bytes: usize, wire: &mut Wire<'_>, progress: &Progress) -> Result<(), Stop> {
    if bytes == 0 {
        return Ok(());
    }
    let Some((shape, in_memory)) = element(sdl) else {
        return lost("an array whose elements are not described");
    };
    let count = bytes / in_memory.max(1);
    match shape {
        Shape::Fixed(length) => {
            let length = usize::from(length).next_multiple_of(4).saturating_mul(count);
            wire.opaque(length, "array").map(|_| ())
        }
        Shape::Varying(_) => progress.each(false, count, wire, |_, wire| shape.pass(wire)),
    }
}

/// An array's element: its shape on the wire and its size in memory. SDL: `01 | 06 01 type | …`.
fn element(sdl: &[u8]) -> Option<(Shape, usize)> {
    const VERSION: u8 = 1;
    const STRUCT: u8 = 6;
    let [VERSION, STRUCT, 1, rest @ ..] = sdl else {
        return None;
    };
    let (shape, _) = item(&mut Cursor::new(rest))?;
    let in_memory = match (rest.first()?, shape) {
        (7, _) => 2,
        // A varying text keeps its 16-bit length before it.
        (37 | 38, Shape::Varying(length)) => usize::from(length) + 2,
        (_, Shape::Varying(length) | Shape::Fixed(length)) => usize::from(length),
    };
    Some((shape, in_memory))
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
