//! Handshake messages (RFC 8446 §4, RFC 5246 §7.4) as long as they are in clear: cut over records anywhere, and several
//! in one.
//!
//! ```text
//! type u8 | length u24 | length bytes
//! ```

use crate::cursor::Cursor;

pub const CLIENT_HELLO: u8 = 1;
pub const SERVER_HELLO: u8 = 2;
pub const NEW_SESSION_TICKET: u8 = 4;
pub const CERTIFICATE: u8 = 11;

/// How long a message's header is.
const HEADER: usize = 4;
/// The longest message that is read: what OpenSSL takes of a chain of certificates at most.
const LENGTH_MAX: usize = 100 << 10;

/// A handshake message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeMessage<'a> {
    pub kind: u8,
    pub body: &'a [u8],
    /// Header and body, as they were sent: what a transcript is made of.
    pub raw: &'a [u8],
}

/// The handshake messages of one side.
#[derive(Debug, Default)]
pub struct HandshakeMessages {
    buffer: Vec<u8>,
    /// One is too long, or a record was not captured whole: what follows cannot be delimited.
    is_lost: bool,
}

impl HandshakeMessages {
    /// Take in what the next handshake record holds; each message that is whole with it goes to `take`.
    pub fn read(&mut self, fragment: &[u8], mut take: impl FnMut(HandshakeMessage<'_>)) {
        if self.is_lost {
            return;
        }
        // Most records hold whole messages: these are not copied.
        if self.buffer.is_empty() {
            let used = self.whole(fragment, &mut take);
            self.buffer.extend_from_slice(fragment.get(used..).unwrap_or_default());
        } else {
            self.buffer.extend_from_slice(fragment);
            let buffer = std::mem::take(&mut self.buffer);
            let used = self.whole(&buffer, &mut take);
            self.buffer = buffer;
            self.buffer.drain(..used);
        }
        if self.buffer.is_empty() || self.is_lost {
            self.buffer = Vec::new();
        }
    }

    /// Nothing more of this side can be read.
    pub fn lose(&mut self) {
        *self = HandshakeMessages { is_lost: true, ..HandshakeMessages::default() };
    }

    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// What it keeps of messages that are not whole.
    pub fn kept_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Hands on the whole messages that `bytes` begin with; how long these are together.
    fn whole(&mut self, bytes: &[u8], take: &mut impl FnMut(HandshakeMessage<'_>)) -> usize {
        let mut used = 0;
        while let Some(rest) = bytes.get(used..).filter(|rest| rest.len() >= HEADER) {
            let mut cursor = Cursor::new(rest);
            let (Ok(kind), Ok(length)) = (cursor.u8("type"), cursor.u24_be("length")) else { break };
            let length = length as usize;
            if length > LENGTH_MAX {
                self.is_lost = true;
                break;
            }
            let Some(raw) = rest.get(..HEADER + length) else { break };
            take(HandshakeMessage { kind, body: &raw[HEADER..], raw });
            used += raw.len();
        }
        used
    }
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
