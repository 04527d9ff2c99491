//! SSH (RFC 4253), as a tunnel: its beginning is in clear, what it carries is turns.
//!
//! ```text
//! version    SSH-2.0-… CR LF                                    (§4.2; a server may say other lines before)
//! packet     length u32 | padding length u8 | message u8 | …    (§6; each side encrypts what follows its NEWKEYS)
//! ```
//!
//! Then the client asks for a service, and logs in. The last answer of the login, USERAUTH_SUCCESS, has no content
//! (RFC 4252 §5.1), so it is shorter than the answer before all others, SERVICE_ACCEPT, whatever cipher there is.

use super::Opaque;
use crate::cursor::Lost;
use crate::protocols::{Context, Decoder, Frame, Meaning, Message, Purpose, Request};
use crate::side::Side;

const VERSION: &[u8] = b"SSH-";
/// A line before the version, or the version itself (§4.2).
const LINE: usize = 255;
/// Length, padding length, message number.
const HEAD: usize = 6;
/// What every implementation takes (§6.1), and so the most that key exchange needs.
const LONGEST: u64 = 35_000;
/// Both sides send it without waiting for the other's (§7.1).
const KEXINIT: u8 = 20;
const NEWKEYS: u8 = 21;
/// Whoever has tried so many ways of logging in without a sign of success works already.
const ATTEMPTS: u32 = 8;

/// Does SSH begin here?
pub fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(VERSION)
}

/// What one side sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Lines,
    Packets,
    Sealed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    KeyExchange,
    /// The client has asked for a service; how long the answer was, once it is there, and the turns of the login so far.
    Login {
        accepted: Option<u64>,
        turns: u32,
    },
    Work,
}

#[derive(Debug)]
pub struct Ssh {
    parts: [Part; 2],
    phase: Phase,
    turns: Opaque,
}

impl Ssh {
    pub fn new() -> Ssh {
        Ssh { parts: Default::default(), phase: Phase::KeyExchange, turns: Opaque::unknown(true) }
    }

    /// How long the line or the packet is; `None` where it is neither.
    fn clear_frame(&self, side: Side, bytes: &[u8]) -> Option<Frame> {
        match self.parts[side as usize] {
            Part::Lines => {
                let end = bytes.iter().take(LINE).position(|&byte| byte == b'\n');
                match end {
                    Some(end) => Some(Frame::Message { head: VERSION.len().min(end + 1), length: end as u64 + 1 }),
                    None => (bytes.len() < LINE).then_some(Frame::Need(bytes.len() + 1)),
                }
            }
            Part::Packets => match bytes {
                [a, b, c, d, _, _, ..] => {
                    let length = u64::from(u32::from_be_bytes([*a, *b, *c, *d]));
                    (2..=LONGEST).contains(&length).then_some(Frame::Message { head: HEAD, length: 4 + length })
                }
                _ => Some(Frame::Need(HEAD)),
            },
            Part::Sealed => None,
        }
    }

    fn is_unasked(&self, message: &Message<'_>) -> bool {
        let is_packet = self.parts[message.side as usize] == Part::Packets;
        is_packet && message.side == Side::Client && message.bytes.get(HEAD - 1) == Some(&KEXINIT)
    }

    fn follow(&mut self, message: &Message<'_>) {
        let part = &mut self.parts[message.side as usize];
        match (*part, message.bytes) {
            (Part::Lines, bytes) if begins(bytes) => *part = Part::Packets,
            (Part::Packets, [_, _, _, _, _, NEWKEYS]) => {
                *part = Part::Sealed;
                if message.side == Side::Client {
                    self.phase = Phase::Login { accepted: None, turns: 0 };
                }
            }
            // No frame of either: see `clear_frame`.
            (Part::Lines | Part::Packets, [_]) if message.length > 1 => *part = Part::Sealed,
            _ => {}
        }
    }

    fn log_in(&mut self, message: &Message<'_>) {
        let Phase::Login { accepted, turns } = &mut self.phase else { return };
        match (message.side, *accepted) {
            (Side::Server, None) => *accepted = Some(message.length),
            (Side::Server, Some(accepted)) if message.length < accepted => self.phase = Phase::Work,
            (Side::Client, Some(_)) if *turns == ATTEMPTS => self.phase = Phase::Work,
            (Side::Client, Some(_)) => *turns += 1,
            _ => {}
        }
    }
}

impl Decoder for Ssh {
    fn frame(&mut self, side: Side, bytes: &[u8]) -> Result<Frame, Lost> {
        let rest = Frame::Message { head: 1, length: bytes.len() as u64 };
        Ok(self.clear_frame(side, bytes).unwrap_or(rest))
    }

    fn message(&mut self, message: &Message<'_>, _: &mut Context<'_>) -> Result<Meaning, Lost> {
        if self.is_unasked(message) {
            return Ok(Meaning::Unrelated);
        }
        let was_sealed = self.parts[message.side as usize] == Part::Sealed;
        self.follow(message);
        if was_sealed {
            self.log_in(message);
        }
        Ok(match self.turns.turn(message.side) {
            Meaning::Turn(request) if self.phase != Phase::Work => {
                Meaning::Turn(Request { command: "ssh", purpose: Purpose::Setup, ..request })
            }
            meaning => meaning,
        })
    }

    fn resumes(&self, _: &[u8]) -> bool {
        true
    }

    fn resume(&mut self) {
        *self = Ssh { parts: [Part::Sealed; 2], phase: Phase::Work, turns: Opaque::default() };
    }
}

#[cfg(test)]
#[path = "ssh_tests.rs"]
mod tests;
