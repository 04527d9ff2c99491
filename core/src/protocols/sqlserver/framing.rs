//! Packets: how long they are, and which of them exist.

use crate::cursor::{Cursor, Lost};
use crate::layers::tls::record;
use crate::protocols::{Frame, Message};
use crate::side::Side;

pub const HEADER: usize = 8;

/// Bits of the status.
const LAST: u8 = 0x01;
const RESETS: u8 = 0x08 | 0x10;
/// All that there are.
const STATUS_BITS: u8 = 0x1f;
/// With what a bulk load begins.
const COLUMNS: u8 = 0x81;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Batch = 1,
    Call = 3,
    Answer = 4,
    Attention = 6,
    Bulk = 7,
    Token = 8,
    Transaction = 14,
    Login = 16,
    Sspi = 17,
    Prelogin = 18,
}

impl Kind {
    pub fn of(byte: u8) -> Option<Kind> {
        Some(match byte {
            1 => Kind::Batch,
            3 => Kind::Call,
            4 => Kind::Answer,
            6 => Kind::Attention,
            7 => Kind::Bulk,
            8 => Kind::Token,
            14 => Kind::Transaction,
            16 => Kind::Login,
            17 => Kind::Sspi,
            18 => Kind::Prelogin,
            _ => return None,
        })
    }

    fn is_of(self, side: Side) -> bool {
        match side {
            Side::Client => self != Kind::Answer,
            Side::Server => matches!(self, Kind::Answer | Kind::Prelogin),
        }
    }

    /// Asks for something once the client has logged in.
    pub fn asks(self) -> bool {
        matches!(self, Kind::Batch | Kind::Call | Kind::Bulk | Kind::Transaction)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    pub kind: Kind,
    status: u8,
    pub number: u8,
    pub length: usize,
    pub body: &'a [u8],
    /// The capture has not all of it.
    pub is_cut: bool,
}

impl<'a> Packet<'a> {
    pub fn read(message: &Message<'a>) -> Result<Packet<'a>, Lost> {
        Packet::behind(message, message.bytes)
    }

    /// The one that `bytes` are, in this message.
    pub fn behind(message: &Message<'_>, bytes: &'a [u8]) -> Result<Packet<'a>, Lost> {
        Ok(Packet { is_cut: message.cut, ..Packet::header(bytes)? })
    }

    /// The packet that begins here, with as much of its body as there is.
    pub fn header(bytes: &'a [u8]) -> Result<Packet<'a>, Lost> {
        let mut cursor = Cursor::new(bytes);
        let kind = cursor.u8("kind")?;
        let kind = Kind::of(kind).ok_or_else(|| Lost(format!("no packet is of kind {kind}")))?;
        let status = cursor.u8("status")?;
        let length = usize::from(cursor.u16_be("length")?);
        cursor.skip(2, "process")?;
        let number = cursor.u8("number")?;
        cursor.skip(1, "window")?;
        if length < HEADER {
            return Err(Lost(format!("a packet cannot be {length} bytes long")));
        }
        let body = cursor.take_up_to(length - HEADER);
        Ok(Packet { kind, status, number, length, body, is_cut: false })
    }

    pub fn is_last(&self) -> bool {
        self.status & LAST != 0
    }

    /// The session is to be as after its login before this is done; nobody waits for that.
    pub fn resets(&self) -> bool {
        self.status & RESETS != 0
    }

    /// Nothing is set that does not exist.
    fn is_plausible(&self, bytes: &[u8]) -> bool {
        self.status & !STATUS_BITS == 0 && bytes.get(7) == Some(&0)
    }
}

/// The packet that begins with these bytes, all of which is read.
pub fn frame(side: Side, bytes: &[u8]) -> Result<Frame, Lost> {
    let kind = bytes.first().copied().unwrap_or_default();
    if !Kind::of(kind).is_some_and(|kind| kind.is_of(side)) {
        return Err(Lost(format!("no {side:?} packet is of kind {kind}")));
    }
    if bytes.len() < HEADER {
        return Ok(Frame::Need(HEADER));
    }
    let length = Packet::header(bytes)?.length;
    Ok(Frame::Message { head: length, length: length as u64 })
}

/// Headers u32 | header u32 | type u16 …: of TDS 7.2 and later.
pub fn has_headers(body: &[u8]) -> bool {
    let [a, b, c, d, e, f, g, h, kind, 0, ..] = *body else { return false };
    let (all, first) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    (10..=0xffff).contains(&all) && (6..=all - 4).contains(&first) && (1..=3).contains(&kind)
}

/// A pre-login packet that holds TLS.
pub fn is_handshake(bytes: &[u8]) -> bool {
    bytes.first() == Some(&(Kind::Prelogin as u8)) && record::is_record(bytes.get(HEADER..).unwrap_or_default())
}

/// Are these bytes one message, up to its last packet?
pub fn is_whole_message(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Ok(packet) = Packet::header(rest)
        && let Some(behind) = rest.get(packet.length..)
    {
        if packet.is_last() {
            return behind.is_empty();
        }
        rest = behind;
    }
    false
}

/// Does a message certainly begin here, which the client sends when it has logged in? Few clients number the packets of
/// each message anew, but what is asked has headers: since TDS 7.2, `always`.
pub fn begins_request(bytes: &[u8], always: bool) -> bool {
    let Ok(packet) = Packet::header(bytes) else { return false };
    let (body, has_headers) = (packet.body, has_headers(packet.body));
    let fits = body.len() == packet.length - HEADER || !packet.is_last() || has_headers;
    let is_first = match packet.kind {
        Kind::Attention => packet.length == HEADER && packet.is_last(),
        Kind::Bulk => body.first() == Some(&COLUMNS),
        kind => kind.asks() && (has_headers || !always && packet.number <= 1 && !body.is_empty()),
    };
    is_first && fits && packet.is_plausible(bytes)
}
