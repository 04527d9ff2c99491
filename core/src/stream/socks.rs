//! What SOCKS does to Wireshark's numbers.
//!
//! Behind the handshake of a connection on port 1080 Wireshark reads on as if the server were on the port that was
//! asked for. That is a conversation of its own, with a `tcp.stream` of its own that no packet ever shows: from then on
//! the numbers of new connections are one higher.
//!
//! ```text
//! SOCKS 4: client  4 | command | port u16 | address u32 | name 0          server  0 | code | ...
//! SOCKS 5: client  5 | n | n methods                                      server  5 | method
//!          client  the password, where that was chosen                    server  1 | status
//!          client  5 | command | 0 | type | address | port u16            server  5 | code | ...
//! ```

use std::collections::{HashMap, HashSet};

use super::connections::Ends;
use crate::packet::{Endpoint, Flags, Segment};

const PORT: u16 = 1080;
const CONNECT: u8 = 1;
/// Methods of authentication.
const NONE: u8 = 0;
const PASSWORD: u8 = 2;
/// See [`Handshake::left`].
const STATUS: u8 = 3;
/// Of more connections on the port than this the numbers may differ.
const MAX_BYTES: usize = 1 << 16;

/// The connections on the port of SOCKS.
#[derive(Debug, Default)]
pub struct Tunnels {
    /// Without a handshake where none is under way (any more).
    all: HashMap<Ends, Option<Handshake>, ahash::RandomState>,
    /// What Wireshark takes the tunnels for.
    inside: HashSet<Ends, ahash::RandomState>,
}

impl Tunnels {
    /// How many numbers Wireshark has given to what lies inside of tunnels.
    #[inline]
    pub fn numbered(&self) -> usize {
        self.inside.len()
    }

    #[inline]
    pub fn pass(&mut self, segment: &Segment<'_>) {
        if segment.source.port == PORT || segment.destination.port == PORT {
            self.take(segment);
        }
    }

    #[cold]
    fn take(&mut self, segment: &Segment<'_>) {
        let ends = Ends::of(segment);
        if segment.flags.0 & (Flags::SYN | Flags::ACK) == Flags::SYN {
            self.all.remove(&ends);
        }
        if segment.payload.is_empty() || (self.all.len() >= MAX_BYTES && !self.all.contains_key(&ends)) {
            return;
        }
        let under_way = self.all.entry(ends).or_insert_with(|| Handshake::begun_by(segment));
        let Some(handshake) = under_way else { return };
        let to_server = segment.destination.port == handshake.server;
        if !handshake.is_new(segment, to_server) {
            return;
        }
        if handshake.left == [0, 0] {
            let on_port = |end: Endpoint| Endpoint { port: handshake.port, ..end };
            let inside = Ends::of(&match to_server {
                true => Segment { destination: on_port(segment.destination), ..*segment },
                false => Segment { source: on_port(segment.source), ..*segment },
            });
            // A tunnel to the port of SOCKS itself is what it lies in.
            if inside != ends {
                self.inside.insert(inside);
            }
            *under_way = None;
        } else if handshake.message(segment.payload, to_server).is_none() {
            *under_way = None;
        }
    }
}

#[derive(Debug)]
struct Handshake {
    version: u8,
    server: u16,
    /// The port that the client asks for.
    port: u16,
    /// What the client and the server still have to send: how many messages; but the server's last two are `STATUS` and
    /// the reply where a password was chosen.
    left: [u8; 2],
    /// Where each goes on.
    next: [Option<u32>; 2],
}

impl Handshake {
    /// Wireshark goes by the first bytes that it sees, and takes who receives them for the server.
    fn begun_by(segment: &Segment<'_>) -> Option<Handshake> {
        let version = *segment.payload.first()?;
        let left = match version {
            4 => [1, 1],
            5 => [2, 2],
            _ => return None,
        };
        Some(Handshake { version, server: segment.destination.port, port: 0, left, next: [None; 2] })
    }

    fn is_new(&mut self, segment: &Segment<'_>, to_server: bool) -> bool {
        let next = &mut self.next[usize::from(!to_server)];
        if next.is_some_and(|next| segment.sequence.wrapping_sub(next) > u32::MAX / 2) {
            return false;
        }
        *next = Some(segment.sequence.wrapping_add(segment.wire_length));
        true
    }

    /// `None` where no tunnel comes of it.
    fn message(&mut self, bytes: &[u8], from_client: bool) -> Option<()> {
        let [client, server] = self.left;
        match (self.version, from_client) {
            (4, true) if client > 0 => self.ask(*bytes.get(1)?, bytes.get(2..4)?)?,
            (5, true) if client == 2 && server == 2 => {
                // Who cannot but go without a password may send the command at once.
                let (methods, rest) = bytes.get(2..)?.split_at_checked(usize::from(*bytes.get(1)?))?;
                self.left[0] = 1;
                if !rest.is_empty() && matches!(methods, [] | [NONE]) {
                    self.command(rest)?;
                }
            }
            (5, true) if client == 1 => self.command(bytes)?,
            (5, true) if client > 1 => self.left[0] = client - 1,
            (5, false) if server == 2 => match *bytes.get(1)? {
                NONE => self.left[1] = 1,
                PASSWORD => self.left = [client + 1, STATUS],
                _ => return None,
            },
            (_, false) if server > 0 => self.left[1] = if server == STATUS { 1 } else { server - 1 },
            _ => {}
        }
        Some(())
    }

    fn command(&mut self, bytes: &[u8]) -> Option<()> {
        let length = match *bytes.get(3)? {
            1 => 4,
            3 => 1 + usize::from(*bytes.get(4)?),
            4 => 16,
            _ => return None,
        };
        self.ask(bytes[1], bytes.get(4 + length..6 + length)?)
    }

    fn ask(&mut self, command: u8, port: &[u8]) -> Option<()> {
        self.port = u16::from_be_bytes(port.try_into().ok()?);
        self.left[0] = 0;
        (command == CONNECT).then_some(())
    }
}

#[cfg(test)]
#[path = "socks_tests.rs"]
mod tests;
