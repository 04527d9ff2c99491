//! Several sessions over one connection (MARS): each is asked and answers by itself.
//!
//! ```text
//! 53 | flags u8 | session u16 | length u32, counts the header | number u32 | window u32 | packet
//! flags: 1 a session begins, 2 acknowledgment, 4 its end, 8 a packet
//! ```
//!
//! Nobody waits for the beginning, the end, or an acknowledgment: these are a header alone.

use std::collections::BTreeMap;

use super::client::Requests;
use super::framing::Packet;
use super::server::Answers;
use crate::cursor::{Cursor, Lost};
use crate::protocols::{Context, Frame, Meaning, Message, Verdict};
use crate::side::Side;

pub const MARK: u8 = 0x53;
pub const HEADER: usize = 16;
const BEGINS: u8 = 1;
const ACKNOWLEDGES: u8 = 2;
const ENDS: u8 = 4;
const PACKET: u8 = 8;
/// More than any client has at once; a session beyond these is not read.
const SESSIONS_MAX: usize = 256;

#[derive(Debug, Default)]
struct Session {
    requests: Requests,
    answers: Answers,
}

#[derive(Debug, Default)]
pub struct Sessions {
    all: BTreeMap<u16, Session>,
}

impl Sessions {
    /// A packet of a session. What one has prepared (`answers` has that of the login), the others may execute; options are those of all.
    pub fn message(
        &mut self,
        message: &Message<'_>,
        login: &mut Answers,
        context: &mut Context<'_>,
    ) -> Result<Meaning, Lost> {
        let mut cursor = Cursor::new(message.bytes);
        cursor.skip(1, "mark")?;
        let (flags, number) = (cursor.u8("flags")?, cursor.u16_le("session")?);
        cursor.skip(12, "length, number and window")?;
        if flags & ENDS != 0 {
            self.all.remove(&number);
        }
        if flags & BEGINS != 0 || flags & PACKET == 0 {
            return Ok(Meaning::Unrelated);
        }
        if self.all.len() >= SESSIONS_MAX && !self.all.contains_key(&number) {
            return Err(Lost("too many sessions".into()));
        }
        let packet = Packet::behind(message, cursor.peek())?;
        if packet.length as u64 != message.length - HEADER as u64 {
            return Err(Lost("a packet is not as long as the session's says".into()));
        }
        let session = self.all.entry(number).or_default();
        session.answers.layout = login.layout;
        session.answers.quotes = login.quotes;
        session.answers.prepared = std::mem::take(&mut login.prepared);
        let meaning = match message.side {
            Side::Client => session.requests.packet(&packet, &mut session.answers, context),
            Side::Server => session.answers.packet(&packet, context),
        };
        login.quotes = session.answers.quotes;
        login.prepared = std::mem::take(&mut session.answers.prepared);
        meaning.map(|meaning| Meaning::InSession(number, Box::new(meaning)))
    }

    pub fn kept_bytes(&self) -> usize {
        let kept =
            |session: &Session| size_of::<Session>() + session.requests.kept_bytes() + session.answers.kept_bytes();
        self.all.values().map(kept).sum()
    }

    pub fn give_up(&mut self) {
        self.all.values_mut().for_each(|session| {
            session.requests.give_up();
            session.answers.give_up();
        });
    }

    pub fn resume(&mut self) {
        self.all.clear();
    }
}

/// Are they of one session among several? No packet begins so without.
pub fn is_one(bytes: &[u8]) -> bool {
    bytes.first() == Some(&MARK)
}

/// The packet of a session that begins with these bytes.
pub fn frame(bytes: &[u8]) -> Result<Frame, Lost> {
    if bytes.len() < HEADER {
        return Ok(Frame::Need(HEADER));
    }
    let mut cursor = Cursor::new(bytes);
    cursor.skip(4, "flags and session")?;
    let length = cursor.u32_le("length")? as usize;
    if !(HEADER..=HEADER + usize::from(u16::MAX)).contains(&length) {
        return Err(Lost(format!("a packet of a session cannot be {length} bytes long")));
    }
    Ok(Frame::Message { head: length, length: length as u64 })
}

/// Does a session's packet certainly begin here, which asks for something? Others may stand before it.
pub fn begins_request(bytes: &[u8]) -> bool {
    let bytes = behind_others(bytes);
    let is_packet = matches!(bytes, [MARK, PACKET, ..]);
    is_packet && bytes.get(HEADER..).is_some_and(|packet| super::framing::begins_request(packet, true))
}

/// Is it several sessions over one connection, captured from the middle on?
pub fn recognise(client: &[u8]) -> Verdict {
    let rest = behind_others(client);
    match rest {
        _ if begins_request(rest) => Verdict::Certain,
        [] => Verdict::Unsure,
        [MARK, ..] if rest.len() < HEADER => Verdict::Unsure,
        _ => Verdict::NotThis,
    }
}

/// What follows the packets that nobody waits for.
fn behind_others(mut bytes: &[u8]) -> &[u8] {
    while let [MARK, BEGINS | ACKNOWLEDGES | ENDS, _, _, 16, 0, 0, 0, ..] = bytes
        && let Some(rest) = bytes.get(HEADER..)
    {
        bytes = rest;
    }
    bytes
}
