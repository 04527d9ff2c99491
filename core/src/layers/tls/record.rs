//! TLS records (RFC 8446 §5, RFC 5246 §6.2): their headers are in clear, whatever they hold.
//!
//! ```text
//! content type u8 | version u8 u8 | length u16 | length bytes
//! ```

use crate::cursor::{Cursor, Lost};

/// What a record holds; under TLS 1.3 everything that is encrypted says [`APPLICATION_DATA`].
pub const CHANGE_CIPHER_SPEC: u8 = 20;
pub const ALERT: u8 = 21;
pub const HANDSHAKE: u8 = 22;
pub const APPLICATION_DATA: u8 = 23;

/// How long a record's header is.
pub const HEADER: usize = 5;
/// The most that a record holds: 2^14 + 2048 (RFC 5246 §6.2.3).
pub const LENGTH_MAX: usize = 16_384 + 2_048;

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub content_type: u8,
    /// The second byte of the version: 3 from TLS 1.2 on, whichever was agreed upon.
    pub minor: u8,
    /// How much the record holds.
    pub length: usize,
}

impl Header {
    /// The header that `bytes` begin with; `None` where there are too few of them.
    pub fn read(bytes: &[u8]) -> Result<Option<Header>, Lost> {
        let Some(header) = bytes.get(..HEADER) else { return Ok(None) };
        let mut cursor = Cursor::new(header);
        let content_type = cursor.u8("content type")?;
        let (major, minor) = (cursor.u8("version")?, cursor.u8("version")?);
        let length = usize::from(cursor.u16_be("length")?);
        let known = matches!(content_type, CHANGE_CIPHER_SPEC..=APPLICATION_DATA);
        if !known || major != 3 || length > LENGTH_MAX {
            return Err(Lost("no TLS record begins here".into()));
        }
        Ok(Some(Header { content_type, minor, length }))
    }

    /// The whole record, its header with it.
    pub fn record_length(&self) -> usize {
        HEADER + self.length
    }
}

/// Do these bytes begin with a TLS record?
pub fn is_record(bytes: &[u8]) -> bool {
    matches!(bytes, [CHANGE_CIPHER_SPEC..=APPLICATION_DATA, 3, 0..=4, ..])
}

/// Do these bytes begin with a handshake record, such as one with a ClientHello or ServerHello?
pub fn is_handshake(bytes: &[u8]) -> bool {
    matches!(bytes, [HANDSHAKE, 3, 0..=4, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_what_follows_and_how_much() {
        let header = Header::read(&[23, 3, 3, 1, 2, 9]).unwrap().unwrap();
        assert_eq!((header.content_type, header.length, header.record_length()), (APPLICATION_DATA, 258, 263));
        assert_eq!(Header::read(&[23, 3, 3, 1]), Ok(None));
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for bytes in [b"GET /", &[23, 3, 3, 0xff, 0xff], &[24, 3, 3, 0, 1], &[22, 2, 0, 0, 1]] {
            assert!(Header::read(bytes).is_err(), "{bytes:?}");
        }
    }
}
