//! What a TLS handshake tells in clear about its connection.

use super::handshake::{
    CERTIFICATE, CLIENT_HELLO, HandshakeMessage, HandshakeMessages, NEW_SESSION_TICKET, SERVER_HELLO,
};
use super::hello::{self, ClientHello, ServerHello, TLS_1_3};
use super::keylog::Random;
use super::suites;
use crate::side::Side;

/// Facts about a connection that speaks TLS; `None` until said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFacts {
    /// `TLSv1.2`, `TLSv1.3`.
    pub version: Option<&'static str>,
    /// Its number; [`TlsFacts::cipher_suite`] is its name.
    pub cipher_suite: Option<u16>,
    /// The host that the client asked for (SNI).
    pub server_name: Option<String>,
    /// Of the server's certificate, which is in clear up to TLS 1.2.
    pub certificate_subject: Option<String>,
    /// The handshake goes on with an earlier session, so it is shorter, and no certificate is sent.
    pub resumed: Option<bool>,
    /// By this the client's key log names its secrets.
    pub client_random: Option<Random>,
    /// No other session has it.
    pub server_random: Option<Random>,
    pub reading: Reading,
}

named! {
    /// Can what is said be read?
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Reading {
        /// No keys were given.
        #[default]
        NoKeys = "no-keys",
        /// Keys were given, none of them for this connection.
        NoSecret = "no-secret",
        /// A record was not authentic under the secret that was given.
        WrongSecret = "wrong-secret",
        /// The cipher suite is none that is read.
        UnsupportedSuite = "unsupported-suite",
        Decrypted = "decrypted",
        /// It was read up to where records could not be followed any more: too much was not captured, or the keys were
        /// agreed upon anew inside of the connection.
        Interrupted = "interrupted",
    }
}

impl TlsFacts {
    /// The IANA name of the cipher suite.
    pub fn cipher_suite_name(&self) -> Option<String> {
        self.cipher_suite.map(suites::name)
    }
}

/// The handshake of a connection, as far as it is in clear.
#[derive(Debug, Default)]
pub struct Handshake {
    pub client_hello: Option<ClientHello>,
    /// The one that chooses, no request to begin once more.
    pub server_hello: Option<ServerHello>,
    /// The request to begin once more: it says the version and the suite already (RFC 8446 §4.1.4).
    retry_request: Option<ServerHello>,
    messages: [HandshakeMessages; 2],
    /// Up to TLS 1.2: this side encrypts its messages from here on.
    encrypts: [bool; 2],
}

impl Handshake {
    /// Take in what a handshake record of one side holds; each message that is whole with it goes to `take`, too, as it
    /// was sent.
    pub fn record(
        &mut self,
        side: Side,
        fragment: &[u8],
        facts: &mut TlsFacts,
        mut take: impl FnMut(HandshakeMessage<'_>),
    ) {
        if self.encrypts[side as usize] {
            return;
        }
        let mut messages = std::mem::take(&mut self.messages[side as usize]);
        messages.read(fragment, |message| {
            self.message(side, &message, facts);
            take(message);
        });
        self.messages[side as usize] = messages;
    }

    /// One side has sent ChangeCipherSpec. TLS 1.3 means nothing by it (RFC 8446 §D.4), up to 1.2 its messages are
    /// encrypted from here on.
    pub fn change_cipher_spec(&mut self, side: Side, facts: &mut TlsFacts) {
        if self.server_hello.as_ref().is_none_or(|hello| hello.version == TLS_1_3) {
            return;
        }
        if side == Side::Server && self.is_whole() {
            facts.resumed.get_or_insert(true);
        }
        self.encrypts[side as usize] = true;
    }

    /// Where version and suite stand that the server has chosen.
    pub fn chosen(&self) -> Option<&ServerHello> {
        self.server_hello.as_ref().or(self.retry_request.as_ref())
    }

    /// Part of what this side sent was not captured.
    pub fn lose(&mut self, side: Side) {
        self.messages[side as usize].lose();
    }

    /// All messages in clear could be read so far.
    pub fn is_whole(&self) -> bool {
        !self.messages.iter().any(HandshakeMessages::is_lost)
    }

    /// What it keeps of messages that are not whole.
    pub fn kept_bytes(&self) -> usize {
        self.messages.iter().map(HandshakeMessages::kept_bytes).sum()
    }

    fn message(&mut self, side: Side, message: &HandshakeMessage<'_>, facts: &mut TlsFacts) {
        match (side, message.kind) {
            (Side::Client, CLIENT_HELLO) => {
                let Ok(hello) = ClientHello::read(message.body) else { return };
                facts.client_random = Some(hello.random);
                facts.server_name.clone_from(&hello.server_name);
                self.client_hello = Some(hello);
            }
            (Side::Server, SERVER_HELLO) => {
                let Ok(hello) = ServerHello::read(message.body) else { return };
                facts.version = hello::version_name(hello.version);
                facts.cipher_suite = Some(hello.cipher_suite);
                if hello.is_retry_request() {
                    self.retry_request = Some(hello);
                } else {
                    facts.resumed = (hello.version == TLS_1_3).then_some(hello.pre_shared_key);
                    facts.server_random = Some(hello.random);
                    self.server_hello = Some(hello);
                }
            }
            // Up to TLS 1.2 a server that goes on with a session sends at most a new ticket before it encrypts.
            (Side::Server, kind) => {
                facts.resumed.get_or_insert(kind == NEW_SESSION_TICKET);
                if kind == CERTIFICATE {
                    facts.certificate_subject = hello::certificate_subject(message.body);
                }
            }
            _ => {}
        }
    }
}
