//! PostgreSQL frontend/backend protocol 3.x.
//!
//! <https://www.postgresql.org/docs/current/protocol.html>
//!
//! ```text
//! length u32 | code u32 | body                                    (the client's first messages)
//! tag u8 | length u32, counts itself but not the tag | body       (all others)
//! ```
//!
//! [`framing`] says where a message ends, [`startup`] reads the first ones, [`client`] what the client asks,
//! [`server`] what the server answers.

mod recognise;
mod framing;
mod client;
mod server;

mod error;
mod names;
mod startup;
#[cfg(test)]
mod tests;

use super::opaque::Opaque;
use super::{
    Awaits, Context, Decoder, Frame, Layer, Meaning, Message, Opening, Outcome, Passed, Protocol, Purpose, Request,
    SealedLogin, Start, Verdict,
};
use crate::cursor::Lost;
use crate::layers::tls::record;
use crate::session::hash;
use crate::side::Side;
use crate::sql::{Dialect, DoubleQuotes, HashSign};
use client::Requests;
use server::Answers;
use startup::First;

pub const PROTOCOL: Protocol = Protocol {
    name: "postgresql",
    ports: &[5432, 5433, 6432],
    dialect: DIALECT,
    alpn: Some("postgresql"),
    greets: false,
    sealed_login: Some(SealedLogin { goes_on: startup::goes_on, asides: None }),
    recognise: recognise::recognise,
    decoder,
};

pub const DIALECT: Dialect = Dialect {
    escapes_with_backslash: false,
    backslash_is_known: false,
    nests_comments: true,
    dashes_need_blank: false,
    hash: HashSign::Operator,
    double_quotes: DoubleQuotes::Name,
    is_transact: false,
};

fn decoder(opening: &Opening<'_>) -> Start {
    let begins = startup::recognise(opening.client) == Verdict::Certain;
    let phase = if opening.from_start || begins { Phase::Startup } else { Phase::Session };
    let tls = record::is_handshake(opening.client).then_some(Layer::Tls);
    Start { decoder: Box::new(Postgresql::new(phase)), layer: tls }
}

/// Where a CancelRequest holds the process and its key, which BackendKeyData told.
const CANCEL_KEY: usize = 8;

/// Kinds of authentication of which the server makes up a salt or a nonce.
const MD5_PASSWORD: u8 = 5;
const SASL_CONTINUE: u8 = 11;

#[derive(Debug)]
enum Phase {
    /// The client's next message has no tag.
    Startup,
    /// The server's next byte says whether TLS (or GSS encryption) follows.
    Asked(Layer),
    /// Part of the beginning was lost: the client's next message shows whether it has introduced itself.
    Begun,
    Session,
    /// Protocol 2.0, whose messages have no length.
    Version2(Opaque),
}

#[derive(Debug)]
struct Postgresql {
    phase: Phase,
    /// The client has asked whether the server speaks TLS.
    asked_for_tls: bool,
    requests: Requests,
    answers: Answers,
}

impl Postgresql {
    fn new(phase: Phase) -> Postgresql {
        Postgresql { phase, asked_for_tls: false, requests: Requests::default(), answers: Answers::default() }
    }

    /// The client's first message, or the next one after its wish for encryption was refused.
    fn first(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        let (first, _) = startup::first(message.bytes)?;
        Ok(match first {
            First::Tls => {
                self.asked_for_tls = true;
                self.ask("tls", Layer::Tls)
            }
            First::Gss => self.ask("gss", Layer::Encrypted { login: &["startup"] }),
            First::Cancel => {
                context.session.cancels = message.bytes.get(CANCEL_KEY..).map(hash);
                Meaning::Request(Request { awaits: Awaits::Nothing, ..Request::new("cancel", Purpose::Cancel) })
            }
            First::Startup => {
                startup::introduce(message.bytes, self.asked_for_tls, context.session);
                self.phase = Phase::Session;
                self.requests.startup(&mut self.answers)?
            }
            First::Version2 => {
                self.phase = Phase::Version2(Opaque::new(true, &[]));
                Meaning::Request(Request { ends_previous: true, ..Request::new("authenticate", Purpose::Setup) })
            }
        })
    }

    fn ask(&mut self, command: &'static str, layer: Layer) -> Meaning {
        self.phase = Phase::Asked(layer);
        Meaning::Request(Request::new(command, Purpose::Setup))
    }

    /// One bare byte: `S` or `G` for yes, `N` for no, or an error from a server that does not know the question.
    fn encryption_answer(
        &mut self,
        layer: Layer,
        message: &Message<'_>,
        context: &mut Context<'_>,
    ) -> Result<Meaning, Lost> {
        match message.bytes.first() {
            Some(b'S' | b'G') => {
                self.phase = Phase::Startup;
                context.switch = Some(layer);
                return Ok(Meaning::More);
            }
            Some(b'N' | b'E') => {}
            other => return Err(Lost(format!("{other:02x?} came as the answer to a wish for encryption"))),
        }
        self.phase = Phase::Startup;
        let refused = message.bytes.first() == Some(&b'E');
        let error = refused.then(|| any_error(message));
        Ok(Meaning::Done(Outcome { error, ..Outcome::default() }))
    }

    fn server(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        if self.may_be_old_error(message.bytes) && error::is_old(message.bytes) {
            self.answers = Answers::default();
            let error = Some(any_error(message));
            return Ok(Meaning::Done(Outcome { error, ..Outcome::default() }));
        }
        match message.bytes {
            [b'Z', _, _, _, _, status, ..] => context.session.transaction = transaction(*status),
            [b'K', _, _, _, _, key @ ..] => {
                context.session.cancel_key = Some(hash(key));
                context.session.knows_by(key, message.cut);
            }
            [b'R', _, _, _, _, 0, 0, 0, MD5_PASSWORD | SASL_CONTINUE, made_up @ ..] => {
                context.session.knows_by(made_up, message.cut);
            }
            [b'E', ..] => self.answers.oldest_exchange().into_iter().for_each(|refused| self.requests.refused(refused)),
            _ => {}
        }
        self.answers.message(message, context)
    }

    /// The client's next message has no tag.
    fn is_first(&self, bytes: &[u8]) -> bool {
        match self.phase {
            Phase::Startup | Phase::Asked(_) => true,
            Phase::Begun => startup::recognise(bytes) == Verdict::Certain,
            Phase::Session | Phase::Version2(_) => false,
        }
    }

    fn may_be_old_error(&self, bytes: &[u8]) -> bool {
        bytes.first() == Some(&b'E') && self.answers.is_authenticating()
    }
}

/// Whether a transaction is open, as ReadyForQuery says.
fn transaction(status: u8) -> Option<&'static str> {
    match status {
        b'I' => Some("idle"),
        b'T' => Some("open"),
        b'E' => Some("failed"),
        _ => None,
    }
}

/// An error of either protocol version, as it may come before a session has begun.
fn any_error(message: &Message<'_>) -> Box<super::Error> {
    if error::is_old(message.bytes) {
        return error::old_error(message.bytes);
    }
    error::report(message.bytes.get(framing::HEADER..).unwrap_or_default()).error()
}

impl Decoder for Postgresql {
    fn frame(&mut self, side: Side, bytes: &[u8]) -> Result<Frame, Lost> {
        let (may_be_old_error, is_first) = (self.may_be_old_error(bytes), self.is_first(bytes));
        match (side, &mut self.phase) {
            (_, Phase::Version2(turns)) => turns.frame(side, bytes),
            // The server's `S` was not captured.
            (Side::Client, Phase::Asked(_)) if record::is_handshake(bytes) => Ok(Frame::Becomes(Layer::Tls)),
            (Side::Client, _) if is_first => startup::frame(bytes),
            (Side::Server, Phase::Asked(_)) if bytes.first() != Some(&b'E') => {
                Ok(Frame::Message { head: 1, length: 1 })
            }
            (Side::Server, Phase::Asked(_)) => any_error_frame(bytes),
            (Side::Server, _) if may_be_old_error => any_error_frame(bytes),
            (_, _) => framing::frame(side, bytes),
        }
    }

    fn message(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        let is_first = self.is_first(message.bytes);
        match (message.side, &mut self.phase) {
            (_, Phase::Version2(turns)) => turns.message(message, context),
            (Side::Client, _) if is_first => self.first(message, context),
            (Side::Server, Phase::Asked(layer)) => {
                let layer = *layer;
                self.encryption_answer(layer, message, context)
            }
            (Side::Client, _) => {
                self.phase = Phase::Session;
                self.requests.message(message, &mut self.answers, context)
            }
            (Side::Server, _) => self.server(message, context),
        }
    }

    fn pass(&mut self, side: Side, bytes: &[u8], context: &mut Context<'_>) -> Passed {
        match (&self.phase, side) {
            (Phase::Session, Side::Server) => self.answers.pass(bytes, context),
            (Phase::Session, Side::Client) => self.requests.pass(bytes, &mut self.answers, context),
            _ => Passed::default(),
        }
    }

    fn resumes(&self, bytes: &[u8]) -> bool {
        match &self.phase {
            Phase::Version2(_) => true,
            Phase::Session => framing::begins_request(bytes),
            _ => framing::begins_request(bytes) || startup::recognise(bytes) == Verdict::Certain,
        }
    }

    fn are_whole(&self, bytes: &[u8]) -> bool {
        framing::are_whole(bytes)
    }

    fn missed_requests(&mut self, bytes: u64) {
        if bytes > framing::HEADER as u64 {
            self.requests.missed(); // a Sync alone names nothing
        }
    }

    fn hidden(&self, bytes: u64) -> Option<Meaning> {
        self.requests.hidden(bytes)
    }

    fn resume(&mut self) {
        if let Phase::Version2(turns) = &mut self.phase {
            return turns.resume();
        }
        if !matches!(self.phase, Phase::Session) {
            self.phase = Phase::Begun;
        }
        self.requests.resume();
        self.answers = Answers::default();
    }
}

fn any_error_frame(bytes: &[u8]) -> Result<Frame, Lost> {
    match error::old_frame(bytes)? {
        Some(frame) => Ok(frame),
        None => framing::frame(Side::Server, bytes),
    }
}
