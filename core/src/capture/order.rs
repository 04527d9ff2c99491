//! The byte order of the machine that wrote a file.

use crate::cursor::{Cursor, TooShort};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

impl Order {
    #[inline(always)]
    pub fn u16(self, cursor: &mut Cursor<'_>, field: &'static str) -> Result<u16, TooShort> {
        match self {
            Self::Big => cursor.u16_be(field),
            Self::Little => cursor.u16_le(field),
        }
    }

    #[inline(always)]
    pub fn u32(self, cursor: &mut Cursor<'_>, field: &'static str) -> Result<u32, TooShort> {
        match self {
            Self::Big => cursor.u32_be(field),
            Self::Little => cursor.u32_le(field),
        }
    }

    pub fn bytes_u16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Big => value.to_be_bytes(),
            Self::Little => value.to_le_bytes(),
        }
    }

    pub fn bytes_u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Big => value.to_be_bytes(),
            Self::Little => value.to_le_bytes(),
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
