//! What TLS records mean for whoever waits, without keys: the handshake is one exchange, then each turn is one.
//!
//! ```text
//! client  ClientHello                       …Finished | data             ‖ ClientHello                  Finished | data
//! server               ServerHello…Finished     tickets | data           ‖              ServerHello…Done   Finished | data
//!         TLS 1.3: one round trip                                          TLS 1.2: two, one with a session that goes on
//! ```
//!
//! Records count, not segments; their headers are in clear (RFC 8446 §5.1, RFC 5246 §6.2.1), and their lengths tell what
//! they hold as well as what was sealed without its tag. In TLS 1.3 the client's Finished waits for no answer, and the
//! server's tickets come unasked.

use std::ops::RangeInclusive;

use super::opaque::Opaque;
use super::{Context, Decoder, Frame, Meaning, Message, Purpose, Request, SealedLogin};
use crate::cursor::Lost;
use crate::layers::tls::hello::TLS_1_3;
use crate::layers::tls::record::{self, ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE};
use crate::layers::tls::sealed::{Overhead, PLAIN_MAX};
use crate::layers::tls::{Handshake, TlsFacts};
use crate::side::Side;

/// An alert is two bytes: no message of a database is that short, so where TLS 1.3 hides what a record is, this is its
/// good-bye (close_notify), and the other side's is not waited for.
const ALERT_LENGTH: u64 = 2;
/// A key update (RFC 8446 §4.6.3): a header and one byte.
const KEY_UPDATE_LENGTH: u64 = 5;
/// EndOfEarlyData is a bare header, a Certificate of a client that has none a header and two empty lists.
const END_OF_EARLY_DATA: u64 = 4;
const NO_CERTIFICATE: u64 = 8;
/// JSSE puts so many zeros behind each record of TLS 1.3, which its Finished shows.
const PADDING_OF_JAVA: u64 = 16;
/// A CertificateVerify is as long as the signature it brings (Ed25519, ECDSA of three curves, Ed448, RSA of four sizes),
/// with two headers of 4.
const SIGNATURES: [RangeInclusive<u64>; 8] =
    [64..=72, 96..=104, 114..=114, 132..=139, 128..=128, 256..=256, 384..=384, 512..=512];

/// Where the stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Handshake records in clear, or up to TLS 1.2 all of them.
    Handshake,
    /// The server has sent encrypted records before the client did: TLS 1.3, what the client sends next ends with its
    /// Finished.
    Flight(Flight),
    /// TLS 1.3, the Finished was sent: what the server sends now, before the client asks, are session tickets.
    Tickets,
    Data,
    /// Up to TLS 1.2: another handshake, all of it encrypted (RFC 5246 §7.4.1.1).
    Again,
}

/// How much of the client's last flight was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flight {
    Nothing,
    /// A record that is no Finished: a Certificate, or all of the flight in one.
    Certificate,
    /// Behind it one that may be a CertificateVerify.
    Signature,
}

/// One connection's records.
#[derive(Debug)]
pub struct Tls {
    phase: Phase,
    /// The exchange that the handshake belongs to is open.
    opened: bool,
    turns: Opaque,
    /// What is in clear, until data comes.
    handshake: Option<Box<Handshake>>,
    /// Known once the server has chosen.
    overhead: Option<Overhead>,
    /// What the client adds to each of its records (TLS 1.3).
    padding: u64,
    /// The client has sent ChangeCipherSpec: up to TLS 1.2 a handshake record follows, in TLS 1.3 what is encrypted.
    changed: bool,
    /// The protocol's login, until it is over.
    login: Option<&'static SealedLogin>,
    /// As long as what nobody waits for.
    asides: Option<u64>,
    /// The client has said something.
    asked: bool,
    /// The client's turn is nothing but records as long as key updates so far.
    updates: bool,
    /// Plain bytes of the server's last record.
    answered: Option<RangeInclusive<u64>>,
    /// The client's last record was full: its message goes on in the next one.
    goes_on: bool,
}

/// A record as its header shows it.
#[derive(Clone, Copy)]
struct Record {
    side: Side,
    content_type: u8,
    /// What its header says.
    length: u64,
}

impl Tls {
    /// A stream that begins with its ClientHello, or (where none is seen) in the middle. `opened`: the exchange that the
    /// handshake belongs to is open already.
    pub fn new(opened: bool, login: Option<&'static SealedLogin>) -> Tls {
        let asides = login.and_then(|login| login.asides);
        Tls { opened, login, asides, phase: Phase::Handshake, handshake: Some(Box::default()), ..Tls::running() }
    }

    /// A stream that was captured from the middle on.
    pub fn running() -> Tls {
        Tls {
            phase: Phase::Data,
            opened: true,
            turns: Opaque::default(),
            handshake: None,
            overhead: None,
            padding: 0,
            changed: false,
            login: None,
            asides: None,
            asked: false,
            updates: false,
            answered: None,
            goes_on: false,
        }
    }

    /// What a record tells in clear.
    fn read(&mut self, message: &Message<'_>, content_type: u8, facts: &mut TlsFacts) {
        let Some(handshake) = &mut self.handshake else { return };
        match content_type {
            HANDSHAKE => {
                let fragment = message.bytes.get(record::HEADER..).unwrap_or_default();
                handshake.record(message.side, fragment, facts, |_| {});
                if message.cut {
                    handshake.lose(message.side);
                }
                self.overhead = handshake.chosen().map(Overhead::of);
            }
            CHANGE_CIPHER_SPEC => handshake.change_cipher_spec(message.side, facts),
            _ => {}
        }
    }

    fn meaning(&mut self, record: Record) -> Meaning {
        match (self.phase, record.side) {
            (Phase::Handshake, Side::Client) => self.client_in_handshake(record),
            (Phase::Handshake, Side::Server) => self.server_in_handshake(record),
            (Phase::Flight(flight), side) => self.in_flight(flight, side, record),
            (Phase::Tickets, Side::Server) => Meaning::Unrelated,
            (_, _) if record.content_type == APPLICATION_DATA => self.data(record),
            (Phase::Data, Side::Client) if record.content_type == HANDSHAKE => self.again(),
            (Phase::Again, _) => Meaning::More,
            (Phase::Tickets | Phase::Data, _) => Meaning::Unrelated,
        }
    }

    // --- the handshake ------------------------------------------------------------------------------------------------

    fn client_in_handshake(&mut self, record: Record) -> Meaning {
        let changed = std::mem::replace(&mut self.changed, record.content_type == CHANGE_CIPHER_SPEC);
        match record.content_type {
            HANDSHAKE if !self.opened => {
                self.opened = true;
                Meaning::Request(handshake())
            }
            APPLICATION_DATA if self.is_early() => Meaning::MoreWithoutWait,
            // The server's part was not captured.
            APPLICATION_DATA if changed || self.is_1_3() || self.may_be_in_flight(record) => {
                self.in_flight(Flight::Nothing, Side::Client, record)
            }
            APPLICATION_DATA => self.data(record),
            _ => Meaning::More,
        }
    }

    fn server_in_handshake(&mut self, record: Record) -> Meaning {
        match record.content_type {
            APPLICATION_DATA if !self.opened || self.is_before_1_3() => self.data(record),
            APPLICATION_DATA => {
                self.phase = Phase::Flight(Flight::Nothing);
                Meaning::More
            }
            _ => Meaning::More,
        }
    }

    /// Data that comes with the ClientHello, before any answer (0-RTT): it shares the handshake's round trip.
    fn is_early(&self) -> bool {
        let hello = self.handshake.as_ref().and_then(|handshake| handshake.client_hello.as_ref());
        hello.is_some_and(|hello| hello.offers_early_data)
    }

    /// TLS 1.3: the client's Certificate and CertificateVerify, if it was asked for them, and Finished, whose length the
    /// suite tells. All may be in one record.
    fn in_flight(&mut self, flight: Flight, side: Side, record: Record) -> Meaning {
        match (side, record.content_type) {
            (Side::Server, _) => self.server_in_flight(flight),
            (Side::Client, APPLICATION_DATA) => self.client_in_flight(flight, record),
            (Side::Client, _) => Meaning::Unrelated,
        }
    }

    fn client_in_flight(&mut self, flight: Flight, record: Record) -> Meaning {
        let plain = self.plain_in_flight(record);
        let holds = |length: u64| plain == length || plain == length + PADDING_OF_JAVA;
        let is_finished = self.is_finished(plain);
        let is_signature =
            || SIGNATURES.iter().any(|lengths| (lengths.start() + 8..=lengths.end() + 8).contains(&plain));
        match flight {
            _ if is_finished => {
                self.phase = Phase::Tickets;
                self.padding = self.overhead.map_or(0, |overhead| plain.saturating_sub(overhead.finished));
                Meaning::Ended
            }
            // Data that was sent before the server had answered.
            Flight::Nothing if self.is_early() && !holds(END_OF_EARLY_DATA) => Meaning::MoreWithoutWait,
            Flight::Nothing if holds(END_OF_EARLY_DATA) || holds(NO_CERTIFICATE) => Meaning::MoreWithoutWait,
            Flight::Nothing => {
                self.phase = Phase::Flight(Flight::Certificate);
                Meaning::MoreWithoutWait
            }
            Flight::Certificate if is_signature() => {
                self.phase = Phase::Flight(Flight::Signature);
                Meaning::More
            }
            // The record before held all of it.
            Flight::Certificate | Flight::Signature => self.data(record),
        }
    }

    /// How many plain bytes a record of TLS 1.3 holds, whichever the suite.
    fn plain_in_flight(&self, record: Record) -> u64 {
        self.overhead.map_or(record.length.saturating_sub(1 + 16), |overhead| *overhead.plain(record.length).end())
    }

    fn is_finished(&self, plain: u64) -> bool {
        let of = |finished: u64| plain == finished || plain == finished + PADDING_OF_JAVA;
        self.overhead.map_or_else(|| of(4 + 32) || of(4 + 48), |overhead| of(overhead.finished))
    }

    /// Where part of the handshake is missing and nobody knows the version: a record as long as the flight's are.
    fn may_be_in_flight(&self, record: Record) -> bool {
        let plain = self.plain_in_flight(record);
        let is_lost = self.handshake.as_ref().is_some_and(|handshake| !handshake.is_whole());
        let is_empty = [NO_CERTIFICATE, NO_CERTIFICATE + PADDING_OF_JAVA].contains(&plain);
        self.overhead.is_none() && is_lost && (is_empty || self.is_finished(plain))
    }

    fn server_in_flight(&mut self, flight: Flight) -> Meaning {
        match flight {
            Flight::Nothing => Meaning::More,
            // The flight was one record, so these are tickets.
            Flight::Certificate => {
                self.phase = Phase::Tickets;
                Meaning::Ended
            }
            // What looked like a signature was the client's first request.
            Flight::Signature => {
                self.phase = Phase::Data;
                Meaning::More
            }
        }
    }

    // --- data ---------------------------------------------------------------------------------------------------------

    fn data(&mut self, record: Record) -> Meaning {
        // Of a stream that was captured from the middle on nobody knows how far it is.
        if self.phase == Phase::Handshake && !self.opened {
            self.login = None;
        }
        self.phase = Phase::Data;
        self.handshake = None;
        if self.asides.is_some_and(|length| self.plain(record) == (length..=length)) {
            return Meaning::Unrelated;
        }
        match record.side {
            Side::Client => self.client_sends(record),
            Side::Server => self.server_sends(record),
        }
    }

    fn client_sends(&mut self, record: Record) -> Meaning {
        let plain = self.plain(record);
        let continues = std::mem::replace(&mut self.goes_on, self.overhead.is_some() && plain.contains(&PLAIN_MAX));
        let meaning = self.turns.turn(Side::Client);
        let asks = meaning != Meaning::More;
        self.asked = true;
        self.updates = is_key_update(&plain) && (self.updates || (asks && !continues));
        match meaning {
            // A message that is longer than a record, whatever the server says meanwhile.
            _ if continues => Meaning::MoreWithoutWait,
            meaning if asks => self.login_or(meaning),
            meaning => meaning,
        }
    }

    /// A request, which is part of the login until that is over.
    fn login_or(&mut self, request: Meaning) -> Meaning {
        let answer = self.answered.take();
        self.login = self.login.filter(|login| answer.is_none_or(|answer| (login.goes_on)(&answer)));
        match (self.login, request) {
            (Some(_), Meaning::Turn(request)) => {
                Meaning::Turn(Request { command: "authenticate", purpose: Purpose::Setup, ..request })
            }
            (_, request) => request,
        }
    }

    fn server_sends(&mut self, record: Record) -> Meaning {
        let plain = self.plain(record);
        // Both sides change their keys; no request of 5 bytes has an answer of 5.
        if self.is_1_3() && is_key_update(&plain) && self.updates {
            return Meaning::Unrelated;
        }
        self.answered = self.asked.then_some(plain);
        self.turns.turn(Side::Server)
    }

    fn again(&mut self) -> Meaning {
        self.phase = Phase::Again;
        Meaning::Turn(handshake())
    }

    /// How many plain bytes it holds.
    fn plain(&self, record: Record) -> RangeInclusive<u64> {
        let Some(overhead) = self.overhead else { return 0..=record.length };
        let padding = if record.side == Side::Client { self.padding } else { 0 };
        overhead.plain(record.length.saturating_sub(padding))
    }

    fn is_1_3(&self) -> bool {
        self.overhead.is_some_and(|overhead| overhead.version == TLS_1_3)
    }

    fn is_before_1_3(&self) -> bool {
        self.overhead.is_some_and(|overhead| overhead.version < TLS_1_3)
    }

    /// TLS 1.3 says of everything encrypted that it is data.
    fn is_alert(&self, record: Record) -> bool {
        let hidden = match self.overhead {
            None => record.length == ALERT_LENGTH + 1 + 16,
            Some(_) => self.is_1_3() && self.plain(record) == (ALERT_LENGTH..=ALERT_LENGTH),
        };
        record.content_type == APPLICATION_DATA && hidden
    }
}

fn is_key_update(plain: &RangeInclusive<u64>) -> bool {
    *plain == (KEY_UPDATE_LENGTH..=KEY_UPDATE_LENGTH)
}

fn handshake() -> Request {
    Request { ends_previous: true, ..Request::new("tls", Purpose::Setup) }
}

impl Decoder for Tls {
    fn frame(&mut self, _: Side, bytes: &[u8]) -> Result<Frame, Lost> {
        let Some(header) = record::Header::read(bytes)? else { return Ok(Frame::Need(record::HEADER)) };
        let is_read = header.content_type == HANDSHAKE && self.handshake.is_some();
        let head = if is_read { header.record_length() } else { record::HEADER };
        Ok(Frame::Message { head, length: header.record_length() as u64 })
    }

    fn message(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        let content_type = message.bytes.first().copied().unwrap_or(APPLICATION_DATA);
        self.read(message, content_type, context.session.tls.get_or_insert_default());
        let record = Record { side: message.side, content_type, length: message.length - record::HEADER as u64 };
        let content_type = if self.is_alert(record) { ALERT } else { content_type };
        Ok(self.meaning(Record { content_type, ..record }))
    }

    fn resumes(&self, bytes: &[u8]) -> bool {
        record::is_record(bytes)
    }

    fn kept_bytes(&self) -> usize {
        self.handshake.as_ref().map_or(0, |handshake| handshake.kept_bytes())
    }

    fn give_up(&mut self) {
        if let Some(handshake) = &mut self.handshake {
            Side::BOTH.into_iter().for_each(|side| handshake.lose(side));
        }
    }

    /// The rest of a handshake that was begun is no data; how far the login is, nobody knows.
    fn resume(&mut self) {
        let Tls { overhead, padding, asides, .. } = *self;
        self.give_up();
        let handshake = self.handshake.take();
        let phase = if handshake.is_some() { Phase::Handshake } else { Phase::Data };
        *self = Tls { phase, handshake, overhead, padding, asides, ..Tls::running() };
    }
}
