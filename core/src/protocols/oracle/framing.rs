//! TNS packets: how long they are and what they carry.
//!
//! ```text
//! small   length u16 | checksum u16 | type u8 | flags u8 | checksum u16 | body    (until ACCEPT; below version 315 for ever)
//! large   length u32                | type u8 | flags u8 | checksum u16 | body    (after an ACCEPT of version 315 or more)
//!
//! DATA             data flags u16 | TTC bytes
//! DATA DESCRIPTOR  u32 | length u32 | …    and as many raw bytes after the packet, outside its length
//! ```

use crate::cursor::{Cursor, Lost, TooShort};
use crate::layers::tls::record;
use crate::protocols::{Frame, Layer, Message};
use crate::side::Side;

pub const HEADER: usize = 8;
/// The largest session data unit there is: 2 MiB.
const LONGEST: u64 = 2 << 20;
/// A packet that connects is never longer; neither is an urgent byte with a header behind it taken for one.
const LONGEST_CONNECT: u64 = 4096;
/// Kept of one packet at a time; longer ones of the server are read in pieces.
pub const PIECE: u64 = 64 << 10;
/// The 10g client's mark in the checksum field, which is otherwise unused.
const OLD_CHECKSUM: u16 = 4;

/// The width of the length field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Small,
    Large,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Connect,
    Accept,
    Refuse,
    Redirect,
    Data,
    Abort,
    Resend,
    Marker,
    /// Raw bytes of a LOB follow it.
    Descriptor,
    /// Acknowledgements, attention, control: no part of any call.
    Other,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        Some(match byte {
            1 => Kind::Connect,
            2 => Kind::Accept,
            4 => Kind::Refuse,
            5 => Kind::Redirect,
            6 => Kind::Data,
            9 => Kind::Abort,
            11 => Kind::Resend,
            12 => Kind::Marker,
            15 => Kind::Descriptor,
            3 | 7 | 8 | 10 | 13 | 14 => Kind::Other,
            _ => return None,
        })
    }
}

/// Bits of a DATA packet's flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataFlags(pub u16);

impl DataFlags {
    pub const END_OF_FILE: u16 = 0x0040;
    /// JDBC says so in every request, others in pipelines.
    pub const END_OF_REQUEST: u16 = 0x0800;
    pub const BEGIN_PIPELINE: u16 = 0x1000;
    pub const END_OF_RESPONSE: u16 = 0x2000;

    pub fn has(self, bits: u16) -> bool {
        self.0 & bits != 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub form: Form,
    pub kind: Kind,
    pub length: u64,
}

impl Header {
    /// Reads a header in the form that is known, or in the other where that makes no sense: connecting is always done
    /// in the small form, and a lost ACCEPT shows by large packets.
    pub fn read(known: Option<Form>, bytes: &[u8]) -> Option<Header> {
        let seems = if bytes.starts_with(&[0, 0]) { Form::Large } else { Form::Small };
        let header = Header::in_form(known.unwrap_or(seems), bytes);
        match known {
            Some(Form::Large) => header.or_else(|| Header::in_form(Form::Small, bytes).filter(Header::connects)),
            _ => header.or_else(|| Header::in_form(Form::Large, bytes)),
        }
    }

    fn connects(&self) -> bool {
        match self.kind {
            Kind::Connect | Kind::Accept | Kind::Refuse | Kind::Redirect => self.length <= LONGEST_CONNECT,
            Kind::Resend => self.length == HEADER as u64,
            _ => false,
        }
    }

    fn in_form(form: Form, bytes: &[u8]) -> Option<Header> {
        let mut cursor = Cursor::new(bytes);
        let length = match form {
            Form::Large => u64::from(cursor.u32_be("length").ok()?),
            Form::Small => {
                let length = cursor.u16_be("length").ok()?;
                let checksum = cursor.u16_be("checksum").ok()?;
                (checksum == 0 || checksum == OLD_CHECKSUM).then_some(u64::from(length))?
            }
        };
        let kind = Kind::of(cursor.u8("type").ok()?)?;
        cursor.u8("flags").ok()?;
        let checksum = cursor.u16_be("header checksum").ok()?;
        let possible = checksum == 0 && (HEADER as u64..=LONGEST).contains(&length);
        possible.then_some(Header { form, kind, length })
    }
}

/// A whole packet, or what the capture kept of it.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    pub header: Header,
    pub data_flags: DataFlags,
    /// The body; of a DATA packet what follows its flags.
    pub body: &'a [u8],
    pub cut: bool,
}

/// What a message of the client or server is: almost always a packet.
#[derive(Clone, Copy, Debug)]
pub enum Unit<'a> {
    Packet(Packet<'a>),
    /// One byte between packets: the urgent byte of a break, which takes a sequence number of the TCP stream, or what a
    /// tool has left that rewrote the addresses inside a CONNECT.
    Stray,
}

impl<'a> Unit<'a> {
    pub fn read(known: Option<Form>, message: &Message<'a>) -> Unit<'a> {
        let Some(header) = Header::read(known, message.bytes) else {
            return Unit::Stray;
        };
        let mut cursor = Cursor::new(message.bytes.get(HEADER..).unwrap_or_default());
        let mut data_flags = DataFlags::default();
        if header.kind == Kind::Data {
            data_flags = DataFlags(cursor.u16_be("data flags").unwrap_or_default());
        }
        Unit::Packet(Packet { header, data_flags, body: cursor.rest(), cut: message.cut })
    }
}

/// How long is what begins here?
pub fn frame(known: Option<Form>, side: Side, bytes: &[u8]) -> Result<Frame, Lost> {
    let Some(eight) = bytes.get(..HEADER) else {
        return Ok(Frame::Need(HEADER));
    };
    match Header::read(known, eight) {
        Some(header) if header.kind == Kind::Descriptor => descriptor(header, bytes),
        Some(Header { kind: Kind::Data, length, .. }) if side == Side::Server && length > PIECE => {
            Ok(Frame::Message { head: PIECE as usize, length: PIECE })
        }
        Some(Header { length, .. }) => Ok(Frame::Message { head: length.min(PIECE) as usize, length }),
        // Inside the connection or after ACCEPT, TLS takes over.
        None if side == Side::Client && record::is_handshake(eight) => Ok(Frame::Becomes(Layer::Tls)),
        None => stray(known, bytes),
    }
}

/// Does a packet begin at the next byte?
fn stray(known: Option<Form>, bytes: &[u8]) -> Result<Frame, Lost> {
    match bytes.get(1..=HEADER) {
        None => Ok(Frame::Need(1 + HEADER)),
        Some(next) if Header::read(known, next).is_some() => Ok(Frame::Message { head: 1, length: 1 }),
        Some(_) => Err(Lost("no TNS packet begins here".into())),
    }
}

/// A data descriptor's raw bytes come after it.
fn descriptor(header: Header, bytes: &[u8]) -> Result<Frame, Lost> {
    const LENGTH_AT: usize = HEADER + 4;
    let raw_length = |bytes| -> Result<u32, TooShort> {
        let mut cursor = Cursor::new(bytes);
        cursor.skip(LENGTH_AT, "data descriptor")?;
        cursor.u32_be("data length")
    };
    match raw_length(bytes) {
        Ok(raw) => Ok(Frame::Message { head: LENGTH_AT + 4, length: header.length.max(16) + u64::from(raw) }),
        Err(_) => Ok(Frame::Need(LENGTH_AT + 4)),
    }
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
