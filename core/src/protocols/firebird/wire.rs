//! XDR as Firebird writes it: big-endian words, everything padded to 4 bytes.
//!
//! ```text
//! number   4 bytes
//! short    a 16-bit value as 4 bytes; some clients extend its sign, some do not
//! quad     8 bytes (blob id, array id)
//! buffer   length u32 | bytes | 0-3 bytes of padding
//! opaque   bytes | padding          (the length is known from elsewhere)
//! ```

use crate::cursor::{Cursor, Lost, TooShort};

/// Handles are 16-bit numbers below this one; 0xFFFF stands for the object created last.
const HANDLE_MAX: u16 = 65_000;
/// "The object that I have just asked you to create": its handle has not been read yet.
pub const LAST_OBJECT: u16 = 0xffff;
/// DPBs, BLR, info items and the like.
pub const BUFFER_MAX: usize = 1 << 20;

/// Why a packet cannot be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At least this many bytes of the packet are needed.
    Need(usize),
    /// No packet looks like this.
    Lost(String),
}

impl From<TooShort> for Stop {
    fn from(error: TooShort) -> Stop {
        Stop::Need(error.at.saturating_add(error.needed))
    }
}

impl From<Stop> for Lost {
    fn from(stop: Stop) -> Lost {
        match stop {
            Stop::Need(bytes) => Lost(format!("a packet ends before its byte {bytes}")),
            Stop::Lost(reason) => Lost(reason),
        }
    }
}

pub fn lost<T>(reason: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Lost(reason.into()))
}

/// A checked reader of one packet, from its operation code on.
#[derive(Clone, Copy, Debug)]
pub struct Wire<'a>(Cursor<'a>);

impl<'a> Wire<'a> {
    pub fn new(bytes: &'a [u8]) -> Wire<'a> {
        Wire(Cursor::new(bytes))
    }

    pub fn position(&self) -> usize {
        self.0.position()
    }

    pub fn peek(&self) -> &'a [u8] {
        self.0.peek()
    }

    /// Stand at a byte that was reached before.
    pub fn forward(&mut self, position: usize) -> Result<(), Stop> {
        Ok(self.0.skip(position.saturating_sub(self.position()), "what was read before")?)
    }

    pub fn number(&mut self, field: &'static str) -> Result<u32, Stop> {
        Ok(self.0.u32_be(field)?)
    }

    /// A short: the upper half is only the extended sign.
    pub fn short(&mut self, field: &'static str) -> Result<u16, Stop> {
        let number = self.number(field)?;
        match number >> 16 {
            0 | 0xffff => Ok(number as u16),
            _ => lost(format!("{field} is no 16-bit number: {number:#x}")),
        }
    }

    pub fn handle(&mut self, field: &'static str) -> Result<u16, Stop> {
        match self.short(field)? {
            handle if handle <= HANDLE_MAX || handle == LAST_OBJECT => Ok(handle),
            handle => lost(format!("{field} is no handle: {handle}")),
        }
    }

    pub fn quad(&mut self, field: &'static str) -> Result<u64, Stop> {
        Ok(self.0.u64_be(field)?)
    }

    /// A buffer of at most `limit` bytes.
    pub fn buffer(&mut self, limit: usize, field: &'static str) -> Result<&'a [u8], Stop> {
        let told = self.number(field)?;
        // Old senders extend the sign of a 16-bit length.
        let length = if told >> 16 == 0xffff { told & 0xffff } else { told } as usize;
        if length > limit {
            return lost(format!("{field} claims {length} bytes"));
        }
        self.opaque(length, field)
    }

    /// `length` bytes and the padding after them.
    pub fn opaque(&mut self, length: usize, field: &'static str) -> Result<&'a [u8], Stop> {
        let padded = length.next_multiple_of(4);
        Ok(&self.0.take(padded, field)?[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_may_come_with_its_sign_extended_or_not() {
        for bytes in [[0, 0, 0x80, 0x0d], [0xff, 0xff, 0x80, 0x0d]] {
            assert_eq!(Wire::new(&bytes).short("version"), Ok(0x800d));
        }
        assert!(matches!(Wire::new(&[0, 1, 0, 0]).short("version"), Err(Stop::Lost(_))));
    }

    #[test]
    fn a_buffer_is_padded_and_says_how_much_of_it_is_missing() {
        let bytes = [0, 0, 0, 5, b'h', b'e', b'l', b'l', b'o', 0, 0, 0];
        assert_eq!(Wire::new(&bytes).buffer(100, "name"), Ok(&b"hello"[..]));
        assert_eq!(Wire::new(&bytes[..6]).buffer(100, "name"), Err(Stop::Need(12)));
        assert!(matches!(Wire::new(&bytes).buffer(4, "name"), Err(Stop::Lost(_))));
    }
}
