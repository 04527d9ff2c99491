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
mod tests {
    use super::*;
    use crate::session::Session;
    use crate::sql::Statements;
    use Side::{Client, Server};

    fn packet(message: u8, length: usize) -> Vec<u8> {
        let mut bytes = ((length - 4) as u32).to_be_bytes().to_vec();
        bytes.extend([6, message]);
        bytes.resize(length, 0);
        bytes
    }

    /// What a stream's turns are, told by the command of each; `greeting` where the server speaks first.
    fn turns(parts: &[(Side, Vec<u8>)]) -> Vec<&'static str> {
        let (mut ssh, mut told) = (Ssh::new(), Vec::new());
        let (mut session, mut statements) = (Session::default(), Statements::new(false));
        for (side, bytes) in parts {
            let mut at = 0;
            while at < bytes.len() {
                let Frame::Message { head, length } = ssh.frame(*side, &bytes[at..]).unwrap() else { break };
                assert!(1 <= head && head as u64 <= length);
                let kept = &bytes[at..bytes.len().min(at + head)];
                let message = Message { side: *side, bytes: kept, length, cut: kept.len() < head };
                let mut context = Context { session: &mut session, statements: &mut statements, switch: None };
                match ssh.message(&message, &mut context).unwrap() {
                    Meaning::Turn(request) => told.push(request.command),
                    Meaning::Greeting(_) => told.push("greeting"),
                    _ => {}
                }
                at += length as usize;
            }
        }
        told
    }

    fn dialogue() -> Vec<(Side, Vec<u8>)> {
        vec![
            (Client, b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec()),
            (Server, [b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec(), packet(20, 1080)].concat()),
            (Client, [packet(20, 1500), packet(30, 1208)].concat()),
            (Server, [packet(31, 1500), packet(NEWKEYS, 16), vec![9; 300]].concat()),
            (Client, [packet(NEWKEYS, 16), vec![9; 44]].concat()),
            (Server, vec![9; 44]), // SERVICE_ACCEPT
            (Client, vec![9; 60]),
            (Server, vec![9; 76]), // USERAUTH_FAILURE
            (Client, vec![9; 308]),
            (Server, vec![9; 28]), // USERAUTH_SUCCESS
            (Client, vec![9; 92]),
            (Server, vec![9; 44]),
        ]
    }

    #[test]
    fn key_exchange_and_login_are_set_up() {
        assert_eq!(turns(&dialogue()), ["ssh", "ssh", "ssh", "ssh", "ssh", "unreadable"]);
    }

    #[test]
    fn a_server_may_speak_first_and_say_other_lines() {
        let parts = vec![(Server, b"welcome\r\nSSH-2.0-x\r\n".to_vec()), (Client, b"SSH-2.0-y\r\n".to_vec())];
        assert_eq!(turns(&parts), ["greeting", "ssh"]);
    }

    #[test]
    fn a_login_without_a_sign_of_success_does_not_go_on_for_ever() {
        let mut parts = dialogue();
        parts.truncate(6);
        (0..20).for_each(|_| parts.extend([(Client, vec![9; 60]), (Server, vec![9; 76])]));
        let told = turns(&parts);
        assert_eq!(told.iter().filter(|command| **command == "ssh").count(), 3 + ATTEMPTS as usize);
        assert_eq!(told.last(), Some(&"unreadable"));
    }

    proptest::proptest! {
        #[test]
        fn whatever_comes_has_a_length(parts in proptest::collection::vec(
            (proptest::bool::ANY, proptest::collection::vec(proptest::num::u8::ANY, 1..40)), 0..20)
        ) {
            let side = |client| if client { Client } else { Server };
            let mut dialogue: Vec<_> = dialogue().into_iter().take(parts.len() % 6).collect();
            dialogue.extend(parts.iter().map(|(client, bytes)| (side(*client), bytes.clone())));
            turns(&dialogue);
        }
    }

    #[test]
    fn what_only_begins_like_ssh_is_turns() {
        let parts = vec![
            (Client, b"SSH-2.0-x\n".to_vec()),
            (Server, vec![b'x'; 4_000]),
            (Client, vec![0xff; 60]),
            (Server, vec![7; 60]),
            (Client, vec![0xff; 60]),
        ];
        assert_eq!(turns(&parts), ["ssh", "ssh", "ssh"]);
    }
}
