//! Tabular Data Stream (TDS) 7.0 to 8.0: Microsoft SQL Server, Azure SQL, Babelfish.
//!
//! <https://learn.microsoft.com/openspecs/windows_protocols/ms-tds>
//!
//! ```text
//! kind u8 | status u8 | length u16, counts the header | process u16 | number u8 | window u8 | body
//!                                      a message is one packet or several, up to one whose status has its last bit set
//! client: pre-login → server: pre-login → (TLS, its handshake in pre-login packets) → client: login → server: tokens
//! client: batch, call, transaction, bulk load → server: tokens … (client: attention → server: tokens)
//! ```
//!
//! One packet is one message here. Nothing is asked before the answer to what was asked is there, but one message may
//! hold many calls.

mod recognise;
mod framing;
mod client;
mod server;

mod calls;
mod columns;
mod login;
mod prelogin;
mod prepared;
mod quotes;
mod sealed;
mod sessions;
mod text;
mod tokens;
#[cfg(test)]
mod tests;

use super::{Context, Decoder, Frame, Layer, Meaning, Message, Opening, Protocol, SealedLogin, Start};
use crate::cursor::Lost;
use crate::layers::tls::record;
use crate::side::Side;
use crate::sql::{Dialect, DoubleQuotes, HashSign};
use client::Requests;
use framing::{HEADER, Kind, Packet};
use prelogin::Encryption;
use sealed::{SLEEVES, Sealed};
use server::Answers;
use sessions::Sessions;

pub const PROTOCOL: Protocol = Protocol {
    name: "sqlserver",
    ports: &[1433, 1434],
    dialect: DIALECT,
    alpn: Some("tds/8.0"),
    greets: false,
    sealed_login: Some(SealedLogin { goes_on: login::goes_on, asides: Some(sessions::HEADER as u64) }),
    recognise: recognise::recognise,
    decoder,
};

pub const DIALECT: Dialect = Dialect {
    escapes_with_backslash: false,
    backslash_is_known: true,
    nests_comments: true,
    dashes_need_blank: false,
    hash: HashSign::Name,
    double_quotes: DoubleQuotes::Either,
    is_transact: true,
};

fn decoder(opening: &Opening<'_>) -> Start {
    let layer = record::is_handshake(opening.client).then_some(Layer::Tls);
    Start { decoder: Box::new(SqlServer::default()), layer }
}

/// One connection.
#[derive(Debug, Default)]
struct SqlServer {
    encryption: Encryption,
    /// TLS that covers the login alone.
    sealed: Option<Box<Sealed>>,
    requests: Requests,
    answers: Answers,
    sessions: Sessions,
}

impl SqlServer {
    /// TLS records travel in packets of their own; those of the login alone without.
    fn is_sealed(&self, bytes: &[u8]) -> bool {
        self.sealed.as_ref().is_some_and(|sealed| sealed.is_open()) && record::is_record(bytes)
    }

    fn client(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        let packet = Packet::read(message)?;
        if packet.kind == Kind::Prelogin {
            let goes_on = self.sealed.as_ref().is_some_and(|sealed| sealed.goes_on(Side::Client));
            if goes_on || record::is_record(packet.body) {
                return self.sealed.get_or_insert_default().packet(message, packet.body, context);
            }
            self.encryption.client(packet.body);
        }
        self.requests.packet(&packet, &mut self.answers, context)
    }

    fn server(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        let packet = Packet::read(message)?;
        if let Some(sealed) = self.sealed.as_mut().filter(|sealed| sealed.is_open()) {
            if sealed.goes_on(Side::Server) || record::is_record(packet.body) {
                return sealed.packet(message, packet.body, context);
            }
            sealed.close();
        }
        if self.answers.is_prelogin() && packet.is_last() {
            self.encryption.server(packet.body);
            prelogin::introduce(packet.body, context.session);
        }
        self.answers.packet(&packet, context)
    }
}

impl Decoder for SqlServer {
    fn frame(&mut self, side: Side, bytes: &[u8]) -> Result<Frame, Lost> {
        if self.is_sealed(bytes) {
            return sealed::frame(bytes);
        }
        if sessions::is_one(bytes) {
            return sessions::frame(bytes);
        }
        if bytes.len() <= HEADER && bytes.first() == Some(&(Kind::Prelogin as u8)) {
            return Ok(Frame::Need(HEADER + 1));
        }
        let begins_tls = framing::is_handshake(bytes) && self.sealed.is_none();
        if side == Side::Client && begins_tls && self.encryption != Encryption::OfLogin {
            return Ok(Frame::Becomes(Layer::TlsWrapped(SLEEVES)));
        }
        framing::frame(side, bytes)
    }

    fn message(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        if self.is_sealed(message.bytes) {
            return Ok(sealed::record(message.side, &mut self.answers));
        }
        if sessions::is_one(message.bytes) {
            return self.sessions.message(message, &mut self.answers, context);
        }
        match message.side {
            Side::Client => self.client(message, context),
            Side::Server => self.server(message, context),
        }
    }

    fn resumes(&self, bytes: &[u8]) -> bool {
        framing::begins_request(bytes, self.answers.layout.is_wide()) || sessions::begins_request(bytes)
    }

    fn are_whole(&self, bytes: &[u8]) -> bool {
        framing::is_whole_message(bytes)
    }

    fn missed_requests(&mut self, _bytes: u64) {
        self.answers.missed_requests();
    }

    fn kept_bytes(&self) -> usize {
        let sealed = self.sealed.as_ref().map_or(0, |sealed| sealed.kept_bytes());
        self.requests.kept_bytes() + self.answers.kept_bytes() + self.sessions.kept_bytes() + sealed
    }

    fn give_up(&mut self) {
        self.requests.give_up();
        self.answers.give_up();
        self.sessions.give_up();
    }

    fn resume(&mut self) {
        self.sealed = None;
        self.requests.resume();
        self.answers.resume();
        self.sessions.resume();
    }
}
