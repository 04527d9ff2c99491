//! Opaque streams: TLS without keys, wire encryption, an unknown protocol.
//!
//! What is left is who speaks when. The client that speaks after the server has spoken asks anew, so each change of
//! direction is an exchange; round trips, chattiness and projection keep working, only the statements are missing.
//!
//! TLS shows a little more: its record headers (RFC 8446 §5.1, RFC 5246 §6.2.1) are in clear, so the handshake can be
//! distinguished from the data. In TLS 1.3 the client's Finished is sent without waiting for an answer, and the server's session
//! tickets come unasked.

use super::ssh::{self, Ssh};
use super::{Context, Decoder, Frame, Layer, Meaning, Message, Opening, Outcome, Purpose, Request, Start};
use crate::cursor::Lost;
use crate::layers::tls::record::{self, ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE};
use crate::layers::tls::{Handshake, TlsFacts};
use crate::side::Side;

/// What `--decode-as` calls such a stream; the second name is the old one.
pub const NAMES: [&str; 2] = ["opaque", "turns"];

/// An alert inside TLS 1.3, which hides what a record is: two bytes, the type, the tag. No database message is that
/// short, so it is close_notify, and the other side's is not waited for.
const SEALED_ALERT: u64 = record::HEADER as u64 + 2 + 1 + 16;

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
}

impl Opaque {
    /// `opened`: an exchange is open already, and the server's next bytes answer it. `login`: what the client's first turns
    /// certainly are.
    pub fn new(opened: bool, login: &'static [&'static str]) -> Opaque {
        Opaque { client_spoke: opened, login, ..Opaque::default() }
    }

    /// A stream of which nothing is known. `from_start`: its first byte is the first that was captured.
    pub fn unknown(from_start: bool) -> Opaque {
        Opaque { greets: from_start, ..Opaque::default() }
    }

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

    fn message(&mut self, message: &Message<'_>, _: &mut Context<'_>) -> Result<Meaning, Lost> {
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

/// Where the TLS handshake stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Handshake records in clear.
    Handshake,
    /// The server has sent encrypted records before the client did: TLS 1.3, the client's Finished comes next.
    FinishedNext,
    /// TLS 1.3, the Finished was sent: what the server sends now, before the client asks, are session tickets.
    Tickets,
    Data,
}

/// TLS records: the handshake is one exchange, then each turn is one.
#[derive(Debug)]
pub struct Tls {
    phase: Phase,
    opened: bool,
    turns: Opaque,
    /// What is in clear, until data comes.
    handshake: Option<Box<Handshake>>,
}

impl Tls {
    /// A stream that begins with its ClientHello, or (where none is seen) in the middle. `opened`: the exchange that the
    /// handshake belongs to is open already.
    pub fn new(opened: bool) -> Tls {
        Tls { phase: Phase::Handshake, opened, turns: Opaque::default(), handshake: Some(Box::default()) }
    }

    /// A stream that was captured from the middle on.
    pub fn running() -> Tls {
        Tls { phase: Phase::Data, opened: true, turns: Opaque::default(), handshake: None }
    }

    /// What a record tells in clear.
    fn read(&mut self, kind: u8, message: &Message<'_>, facts: &mut TlsFacts) {
        let Some(handshake) = &mut self.handshake else { return };
        match kind {
            HANDSHAKE => {
                handshake.record(message.side, message.bytes.get(record::HEADER..).unwrap_or_default(), facts, |_| {});
                if message.cut {
                    handshake.lose(message.side);
                }
            }
            CHANGE_CIPHER_SPEC => handshake.change_cipher_spec(message.side, facts),
            _ => {}
        }
    }

    fn client(&mut self, kind: u8) -> Meaning {
        match (self.phase, kind) {
            (Phase::Handshake, HANDSHAKE) if !self.opened => {
                self.opened = true;
                Meaning::Request(Request::new("tls", Purpose::Setup))
            }
            (Phase::Handshake, APPLICATION_DATA) => self.data(Side::Client),
            (Phase::Handshake, _) => Meaning::More,
            (Phase::FinishedNext, APPLICATION_DATA) => {
                self.phase = Phase::Tickets;
                Meaning::Ended
            }
            (Phase::FinishedNext, _) => Meaning::Unrelated,
            (Phase::Tickets | Phase::Data, APPLICATION_DATA) => self.data(Side::Client),
            (Phase::Tickets | Phase::Data, _) => Meaning::Unrelated,
        }
    }

    fn server(&mut self, kind: u8) -> Meaning {
        match (self.phase, kind) {
            (Phase::Handshake, APPLICATION_DATA) if !self.opened => self.data(Side::Server),
            (Phase::Handshake, APPLICATION_DATA) => {
                self.phase = Phase::FinishedNext;
                Meaning::More
            }
            (Phase::Handshake | Phase::FinishedNext, _) => Meaning::More,
            (Phase::Tickets, _) => Meaning::Unrelated,
            (Phase::Data, APPLICATION_DATA) => self.turns.turn(Side::Server),
            (Phase::Data, _) => Meaning::Unrelated,
        }
    }

    fn data(&mut self, side: Side) -> Meaning {
        self.phase = Phase::Data;
        self.handshake = None;
        self.turns.turn(side)
    }
}

impl Decoder for Tls {
    fn frame(&mut self, _: Side, bytes: &[u8]) -> Result<Frame, Lost> {
        let Some(header) = record::Header::read(bytes)? else { return Ok(Frame::Need(record::HEADER)) };
        let is_read = header.content_type == HANDSHAKE && self.handshake.is_some();
        let head = if is_read { header.record_length() } else { record::HEADER };
        Ok(Frame::Message { head, length: header.record_length() as u64 })
    }

    fn message(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        let kind = message.bytes.first().copied().unwrap_or(APPLICATION_DATA);
        self.read(kind, message, context.session.tls.get_or_insert_default());
        let kind = if kind == APPLICATION_DATA && message.length == SEALED_ALERT { ALERT } else { kind };
        Ok(match message.side {
            Side::Client => self.client(kind),
            Side::Server => self.server(kind),
        })
    }

    fn resumes(&self, bytes: &[u8]) -> bool {
        record::is_record(bytes)
    }

    fn kept_bytes(&self) -> usize {
        self.handshake.as_ref().map_or(0, |handshake| handshake.kept_bytes())
    }

    fn resume(&mut self) {
        *self = Tls::running();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;
    use crate::sql::Statements;

    /// Records as (side, type, length); what each means, in one letter: Request, More, Ended, Unrelated.
    fn meanings(decoder: &mut dyn Decoder, records: &[(Side, u8, u16)]) -> String {
        let (mut session, mut statements) = (Session::default(), Statements::new(false));
        let mut told = String::new();
        for &(side, kind, length) in records {
            let [high, low] = length.to_be_bytes();
            let bytes = [kind, 3, 3, high, low];
            let frame = decoder.frame(side, &bytes).unwrap();
            assert!(matches!(frame, Frame::Message { .. }));
            let message = Message { side, bytes: &bytes, length: 5 + u64::from(length), cut: false };
            let mut context = Context { session: &mut session, statements: &mut statements, switch: None };
            told.push(match decoder.message(&message, &mut context).unwrap() {
                Meaning::Request(_) | Meaning::Turn(_) => 'R',
                Meaning::More => 'M',
                Meaning::Ended => 'E',
                _ => 'U',
            });
        }
        told
    }

    use Side::{Client, Server};

    #[test]
    fn tls_1_3_is_one_exchange_and_its_tickets_come_unasked() {
        let records = [
            (Client, 22, 500),
            (Server, 22, 122),
            (Server, 20, 1),
            (Server, 23, 900),
            (Client, 20, 1),
            (Client, 23, 69),  // Finished
            (Server, 23, 250), // tickets
            (Client, 23, 40),  // a request
            (Server, 23, 80),
            (Client, 23, 40),
        ];
        assert_eq!(meanings(&mut Tls::new(false), &records), "RMMMUEURMR");
    }

    #[test]
    fn tls_1_2_ends_with_the_first_request() {
        let records = [
            (Client, 22, 200),
            (Server, 22, 2000),
            (Client, 22, 70),
            (Client, 20, 1),
            (Client, 22, 40),
            (Server, 20, 1),
            (Server, 22, 40),
            (Client, 23, 50),
            (Server, 23, 60),
        ];
        assert_eq!(meanings(&mut Tls::new(true), &records), "MMMMMMMRM");
    }

    #[test]
    fn a_stream_captured_from_the_middle_is_turns_at_once() {
        let records = [(Server, 23, 60), (Client, 23, 50), (Client, 23, 50), (Server, 23, 60), (Client, 23, 50)];
        assert_eq!(meanings(&mut Tls::new(false), &records), "URMMR");
    }

    #[test]
    fn what_is_no_record_is_refused() {
        assert!(Tls::new(false).frame(Client, b"GET / HTTP").is_err());
        assert!(Tls::new(false).frame(Client, &[23, 3, 3, 0xff, 0xff]).is_err());
    }
}
