//! The byte order of the machine that wrote a file.

use crate::cursor::{Cursor, TooShort};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

impl Order {
    #[inline]
    pub fn u16(self, cursor: &mut Cursor<'_>, field: &'static str) -> Result<u16, TooShort> {
        match self {
            Self::Big => cursor.u16_be(field),
            Self::Little => cursor.u16_le(field),
        }
    }

    #[inline]
    pub fn u32(self, cursor: &mut Cursor<'_>, field: &'static str) -> Result<u32, TooShort> {
        match self {
            Self::Big => cursor.u32_be(field),
            Self::Little => cursor.u32_le(field),
        }
    }

    #[inline]
    pub fn i64(self, cursor: &mut Cursor<'_>, field: &'static str) -> Result<i64, TooShort> {
        match self {
            Self::Big => cursor.i64_be(field),
            Self::Little => cursor.i64_le(field),
        }
    }
}
