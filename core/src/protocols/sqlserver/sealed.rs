//! TLS: its handshake travels in pre-login packets, and its records then with none around them.
//!
//! Where it covers all that is said, the packets are taken off ([`SLEEVES`]) and it is TLS as in any other protocol. Where
//! it covers the login alone, its handshake is counted here, the login is what its records are, and the answer is in clear.

use super::framing::{HEADER, Kind};
use super::server::Answers;
use crate::cursor::Lost;
use crate::layers::tls::record::{self, Header};
use crate::layers::{Unwrap, Wrapping};
use crate::protocols::tls::Tls;
use crate::protocols::{Context, Decoder, Frame, Meaning, Message, Purpose, Request};
use crate::side::Side;

/// Takes off the packets around the records of a handshake.
pub const SLEEVES: Wrapping = Wrapping { name: "", begin: || Box::new(Sleeve::default()) };

#[derive(Debug, Default)]
struct Sleeve {
    /// The header that has begun.
    header: Vec<u8>,
    /// Bytes of the packet that are still to come.
    left: usize,
    /// Records have no packets around them any more.
    is_off: bool,
}

impl Unwrap for Sleeve {
    fn unwrap(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), Lost> {
        while !bytes.is_empty() {
            let begins = self.left == 0 && self.header.is_empty();
            self.is_off |= begins && !matches!(Kind::of(bytes[0]), Some(Kind::Prelogin | Kind::Answer));
            if self.is_off {
                plain.extend_from_slice(bytes);
                return Ok(());
            }
            let wanted = if self.left > 0 { self.left } else { HEADER - self.header.len() };
            let (part, rest) = bytes.split_at(wanted.min(bytes.len()));
            bytes = rest;
            if self.left > 0 {
                plain.extend_from_slice(part);
                self.left -= part.len();
                continue;
            }
            self.header.extend_from_slice(part);
            if let [_, _, high, low, ..] = self.header[..]
                && self.header.len() == HEADER
            {
                self.left = usize::from(u16::from_be_bytes([high, low])).saturating_sub(HEADER);
                self.header.clear();
            }
        }
        Ok(())
    }

    fn reset(&mut self) {
        *self = Sleeve::default();
    }

    fn kept_bytes(&self) -> usize {
        self.header.capacity()
    }
}

/// TLS that covers the login alone.
pub struct Sealed {
    tls: Tls,
    records: [Vec<u8>; 2],
    is_over: bool,
}

impl std::fmt::Debug for Sealed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sealed").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

impl Default for Sealed {
    fn default() -> Sealed {
        Sealed { tls: Tls::new(false, None), records: Default::default(), is_over: false }
    }
}

impl Sealed {
    pub fn is_open(&self) -> bool {
        !self.is_over
    }

    /// A record of this side goes on in the next packet.
    pub fn goes_on(&self, side: Side) -> bool {
        !self.records[side as usize].is_empty()
    }

    /// The server speaks in clear again.
    pub fn close(&mut self) {
        self.is_over = true;
        self.records = Default::default();
    }

    pub fn kept_bytes(&self) -> usize {
        self.records.iter().map(Vec::capacity).sum::<usize>() + self.tls.kept_bytes()
    }

    /// A packet of the handshake.
    pub fn packet(&mut self, message: &Message<'_>, body: &[u8], context: &mut Context<'_>) -> Result<Meaning, Lost> {
        context.session.tls.get_or_insert_default();
        let side = message.side;
        let mut records = std::mem::take(&mut self.records[side as usize]);
        records.extend_from_slice(body);
        let (mut meanings, mut at) = (Vec::new(), 0);
        while let Some(header) =
            Header::read(&records[at..])?.filter(|header| header.record_length() <= records.len() - at)
        {
            let bytes = &records[at..at + header.record_length()];
            let record = Message { side, bytes, length: bytes.len() as u64, cut: false };
            meanings.push(self.tls.message(&record, context)?);
            at += bytes.len();
        }
        records.drain(..at);
        self.records[side as usize] = records;
        Ok(match meanings.len() {
            0 => Meaning::More,
            1 => meanings.remove(0),
            _ => Meaning::Several(meanings),
        })
    }
}

/// A record without a packet around it.
pub fn frame(bytes: &[u8]) -> Result<Frame, Lost> {
    match Header::read(bytes)? {
        None => Ok(Frame::Need(record::HEADER)),
        Some(header) => Ok(Frame::Message { head: record::HEADER, length: header.record_length() as u64 }),
    }
}

/// The client's are its login, which needs no more than the first packet of it.
pub fn record(side: Side, answers: &mut Answers) -> Meaning {
    match side {
        Side::Server => Meaning::Unrelated,
        Side::Client if answers.is_login() => Meaning::MoreWithoutWait,
        Side::Client => {
            answers.login();
            Meaning::Request(Request { ends_previous: true, ..Request::new("login", Purpose::Setup) })
        }
    }
}
