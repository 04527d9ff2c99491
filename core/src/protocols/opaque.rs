//! Opaque streams: wire encryption, an unknown protocol, what TLS holds.
//!
//! What is left is who speaks when. The client that speaks after the server has spoken asks anew, so each change of
//! direction is an exchange; round trips, chattiness and projection keep working, only the statements are missing.
//!
//! TLS shows a little more: [`super::tls`].

mod ssh;

use super::{Context, Decoder, Frame, Layer, Meaning, Message, Opening, Outcome, Purpose, Request, Start};
use crate::cursor::Lost;
use crate::layers::tls::record;
use crate::side::Side;
use ssh::Ssh;

/// What `--decode-as` calls such a stream; the second name is the old one.
pub const NAMES: [&str; 2] = ["opaque", "turns"];

/// Encryption of the database's own, below no TLS.
pub const WIRE_ENCRYPTION: &str = "wire encryption";

/// A stream of which nothing is known but what its first bytes show.
pub fn start(opening: &Opening<'_>) -> Start {
    let layer = record::is_handshake(opening.client).then_some(Layer::Tls);
    let decoder: Box<dyn Decoder> = match ssh::begins(opening.client) || ssh::begins(opening.server) {
        true if opening.from_start => Box::new(Ssh::new()),
        _ => Box::new(Opaque::unknown(opening.from_start)),
    };
    Start { decoder, layer: layer.filter(|_| opening.from_start) }
}

/// A change of direction is a new exchange.
#[derive(Debug, Default)]
pub struct Opaque {
    server_spoke: bool,
    client_spoke: bool,
    /// What the server says before the client does is a greeting.
    greets: bool,
    /// The exchanges of the login that are still to come.
    login: &'static [&'static str],
    /// The client has asked for encryption, and nobody has said anything since.
    asked: bool,
}

impl Opaque {
    /// `opened`: an exchange is open already, and the server's next bytes answer it. `login`: what the client's first turns
    /// certainly are.
    pub fn new(opened: bool, login: &'static [&'static str]) -> Opaque {
        Opaque { client_spoke: opened, login, ..Opaque::default() }
    }

    /// As `new`; `asked`: nobody has agreed to the encryption yet. A server that refuses it hangs up.
    pub fn encrypted(asked: bool, login: &'static [&'static str]) -> Opaque {
        Opaque { asked, ..Opaque::new(asked, login) }
    }

    /// A stream of which nothing is known. `from_start`: its first byte is the first that was captured.
    pub fn unknown(from_start: bool) -> Opaque {
        Opaque { greets: from_start, ..Opaque::default() }
    }

    /// This side speaks.
    pub fn turn(&mut self, side: Side) -> Meaning {
        match side {
            Side::Server => {
                self.server_spoke = true;
                match std::mem::take(&mut self.greets) {
                    true if !self.client_spoke => Meaning::Greeting(Outcome::default()),
                    _ if self.client_spoke => Meaning::More,
                    _ => Meaning::Unrelated,
                }
            }
            Side::Client => {
                let asks = self.server_spoke || !self.client_spoke;
                self.server_spoke = false;
                self.client_spoke = true;
                if asks { Meaning::Turn(self.request()) } else { Meaning::More }
            }
        }
    }

    fn request(&mut self) -> Request {
        let (command, purpose) = match self.login.split_first() {
            Some((command, left)) => {
                self.login = left;
                (*command, Purpose::Setup)
            }
            None => ("unreadable", Purpose::Unreadable),
        };
        Request { ends_previous: true, ..Request::new(command, purpose) }
    }
}

impl Decoder for Opaque {
    fn frame(&mut self, _: Side, bytes: &[u8]) -> Result<Frame, Lost> {
        Ok(Frame::Message { head: 1, length: bytes.len() as u64 })
    }

    fn message(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        if std::mem::take(&mut self.asked) {
            context.session.encryption = Some(WIRE_ENCRYPTION);
        }
        Ok(self.turn(message.side))
    }

    fn reads_nothing(&self) -> bool {
        true
    }

    fn resumes(&self, _: &[u8]) -> bool {
        true
    }

    fn resume(&mut self) {
        *self = Opaque::default();
    }
}

/// A stream that is no dialogue, such as replication: nothing in it is counted.
#[derive(Debug, Default)]
pub struct Push;

impl Decoder for Push {
    fn frame(&mut self, _: Side, bytes: &[u8]) -> Result<Frame, Lost> {
        Ok(Frame::Message { head: 1, length: bytes.len() as u64 })
    }

    fn message(&mut self, _: &Message<'_>, _: &mut Context<'_>) -> Result<Meaning, Lost> {
        Ok(Meaning::Unrelated)
    }

    fn resumes(&self, _: &[u8]) -> bool {
        true
    }

    fn resume(&mut self) {}
}
