//! A checked reader over untrusted bytes: decoders read through it and through nothing else.
//!
//! Every read names what it reads, so that an error says which field is missing, where, and by how much.
//!
//! ```
//! use latpcap_core::cursor::Cursor;
//!
//! let mut cursor = Cursor::new(b"Q\0\0\0\x0cselect 1");
//! assert_eq!(cursor.u8("tag")?, b'Q');
//! assert_eq!(cursor.u32_be("length")?, 12);
//! assert_eq!(cursor.rest(), b"select 1");
//! # Ok::<(), latpcap_core::cursor::TooShort>(())
//! ```

/// A field that is longer than what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} at byte {at} needs {needed} bytes, {left} left")]
pub struct TooShort {
    pub field: &'static str,
    pub at: usize,
    pub needed: usize,
    pub left: usize,
}

/// The bytes are not what the protocol says: skip to where the client begins its next request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Lost(pub String);

impl From<TooShort> for Lost {
    fn from(error: TooShort) -> Lost {
        Lost(error.to_string())
    }
}

/// The reads of this thread. Only builds for tests count them: work must be bounded by the bytes that are read.
#[cfg(debug_assertions)]
pub mod reads {
    use std::cell::Cell;

    thread_local!(static READS: Cell<u64> = const { Cell::new(0) });

    pub fn add(reads: u64) {
        READS.set(READS.get() + reads);
    }

    pub fn count() -> u64 {
        READS.get()
    }
}

/// One more read, or so many.
#[inline(always)]
fn count_reads(_reads: usize) {
    #[cfg(debug_assertions)]
    reads::add(_reads as u64);
}

/// A place in a slice of bytes. A failed read does not move it.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

/// Bytes that are searched in the time of a read.
const BYTES_PER_READ: usize = 16;

/// One method per integer: the name says width and byte order. Always inlined, as all that they are made of: where the
/// compiler knows how many bytes there are, the check goes, and with it the error.
macro_rules! integers {
    ($($name:ident: $integer:ty = $from:ident;)*) => {$(
        #[inline(always)]
        pub fn $name(&mut self, field: &'static str) -> Result<$integer, TooShort> {
            Ok(<$integer>::$from(self.array(field)?))
        }
    )*};
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// How many bytes have been read.
    #[inline(always)]
    pub fn position(&self) -> usize {
        self.position
    }

    /// How many bytes are left.
    #[inline(always)]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.position
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// What is left, without reading it.
    #[inline(always)]
    pub fn peek(&self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    /// The next byte, without reading it.
    #[inline]
    pub fn peek_u8(&self) -> Option<u8> {
        self.peek().first().copied()
    }

    /// Everything that is left.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.peek();
        self.position = self.bytes.len();
        rest
    }

    #[inline(always)]
    pub fn take(&mut self, length: usize, field: &'static str) -> Result<&'a [u8], TooShort> {
        count_reads(1);
        match self.peek().split_at_checked(length) {
            Some((taken, _)) => {
                self.position += length;
                Ok(taken)
            }
            None => Err(self.too_short(length, field)),
        }
    }

    /// As many as `length` bytes, fewer where fewer are left.
    #[inline]
    pub fn take_up_to(&mut self, length: usize) -> &'a [u8] {
        count_reads(1);
        let rest = self.peek();
        let taken = rest.get(..length).unwrap_or(rest);
        self.position += taken.len();
        taken
    }

    #[inline(always)]
    pub fn skip(&mut self, length: usize, field: &'static str) -> Result<(), TooShort> {
        self.take(length, field).map(|_| ())
    }

    /// A cursor of its own over the next `length` bytes.
    #[inline]
    pub fn sub(&mut self, length: usize, field: &'static str) -> Result<Cursor<'a>, TooShort> {
        self.take(length, field).map(Cursor::new)
    }

    #[inline(always)]
    pub fn array<const LENGTH: usize>(&mut self, field: &'static str) -> Result<[u8; LENGTH], TooShort> {
        count_reads(1);
        match self.peek().first_chunk::<LENGTH>() {
            Some(array) => {
                self.position += LENGTH;
                Ok(*array)
            }
            None => Err(self.too_short(LENGTH, field)),
        }
    }

    /// The bytes before the next `end`, which is read too but not returned.
    pub fn until(&mut self, end: u8, field: &'static str) -> Result<&'a [u8], TooShort> {
        let rest = self.peek();
        // Many are empty: a search costs more than a look.
        let length = if rest.first() == Some(&end) { Some(0) } else { memchr::memchr(end, rest) };
        count_reads(1 + length.unwrap_or(rest.len()) / BYTES_PER_READ);
        match length {
            Some(length) => {
                self.position += length + 1;
                Ok(rest.get(..length).unwrap_or_default())
            }
            None => Err(self.too_short(rest.len() + 1, field)),
        }
    }

    integers! {
        u8: u8 = from_be_bytes;
        u16_be: u16 = from_be_bytes;
        u16_le: u16 = from_le_bytes;
        u32_be: u32 = from_be_bytes;
        u32_le: u32 = from_le_bytes;
        u64_be: u64 = from_be_bytes;
        u64_le: u64 = from_le_bytes;
        i8: i8 = from_be_bytes;
        i16_be: i16 = from_be_bytes;
        i16_le: i16 = from_le_bytes;
        i32_be: i32 = from_be_bytes;
        i32_le: i32 = from_le_bytes;
        i64_be: i64 = from_be_bytes;
        i64_le: i64 = from_le_bytes;
    }

    #[inline]
    pub fn u24_be(&mut self, field: &'static str) -> Result<u32, TooShort> {
        let [high, middle, low] = self.array(field)?;
        Ok(u32::from_be_bytes([0, high, middle, low]))
    }

    #[inline]
    pub fn u24_le(&mut self, field: &'static str) -> Result<u32, TooShort> {
        let [low, middle, high] = self.array(field)?;
        Ok(u32::from_le_bytes([low, middle, high, 0]))
    }

    #[cold]
    fn too_short(&self, needed: usize, field: &'static str) -> TooShort {
        TooShort { field, at: self.position, needed, left: self.left() }
    }
}

/// What is read of the fixed part of a header.
pub trait Header: Sized {
    /// Reads its fields, one after the other: to be inlined, always.
    fn read(cursor: Cursor<'_>) -> Result<Self, TooShort>;
}

/// A header whose fixed part has `LENGTH` bytes. Where all of them are there, which the compiler then knows, no field
/// costs a check of its own; where they are not, the error names the field that is missing.
#[inline(always)]
pub fn header<const LENGTH: usize, H: Header>(bytes: &[u8]) -> Result<H, TooShort> {
    match bytes.first_chunk::<LENGTH>() {
        Some(fixed) => H::read(Cursor::new(fixed)),
        None => cut_header(bytes),
    }
}

#[cold]
fn cut_header<H: Header>(bytes: &[u8]) -> Result<H, TooShort> {
    H::read(Cursor::new(bytes))
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
