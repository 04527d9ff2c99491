//! Oracle: TNS packets, and TTC messages inside them.
//!
//! There is no public specification: `docs/protocols/oracle.md` states the facts and where they come from.
//!
//! ```text
//! TCP → TNS packets (length, type) → DATA packets (flags, bytes) → TTC messages, cut over packets anywhere
//!
//! client   CONNECT   DATA protocol   DATA data types   DATA authenticate ×2   DATA execute            DATA fetch …
//! server   ACCEPT    DATA …          DATA …            DATA …                 DATA rows, end of call  DATA rows, end of call
//! ```
//!
//! One call is under way at a time, but for pipelines. Nothing in a response says how long it is, so its end is
//! recognised from behind ([`end_of_call`]); where that fails, the client's next request shows that it was over.

mod recognise;
mod framing;
mod client;
mod server;

mod calls;
mod connect;
mod cursors;
mod effort;
mod encodings;
mod end_of_call;
mod logon;
mod native;
mod statement;
#[cfg(test)]
mod oci_tests;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::{Context, Decoder, Frame, Layer, Meaning, Message, Opening, Protocol, Start};
use crate::cursor::Lost;
use crate::side::Side;
use crate::sql::{Dialect, DoubleQuotes, HashSign};
use cursors::{Cursors, Statement};
use effort::Effort;
use end_of_call::Shape;
use framing::{Form, Unit};

pub const PROTOCOL: Protocol = Protocol {
    name: "oracle",
    ports: &[1521, 1522, 1523, 1524, 1525, 1526, 2483, 2484],
    dialect: DIALECT,
    alpn: None,
    greets: false,
    sealed_login: None,
    recognise: recognise::recognise,
    decoder,
};

pub const DIALECT: Dialect = Dialect {
    escapes_with_backslash: false,
    backslash_is_known: false,
    nests_comments: false,
    dashes_need_blank: false,
    hash: HashSign::Name,
    double_quotes: DoubleQuotes::Name,
    is_transact: false,
};

fn decoder(opening: &Opening<'_>) -> Start {
    let layer = recognise::is_encrypted(opening).then_some(Layer::Encrypted { login: &[] });
    let cursors = if opening.from_start { Cursors::default() } else { Cursors::unseen() };
    Start { decoder: Box::new(Oracle { cursors, ..Oracle::default() }), layer }
}

/// Calls that wait for their answers at once: more than any pipeline has.
const OPEN_CALLS: usize = 65_536;
/// A packet that brings a text: less has room for a fetch or a re-execution only.
const SHORTEST_PARSE: u64 = 25;
/// Kept of one response: what the last part of it may need.
const RESPONSE_KEPT: usize = 64 << 10;
/// A session data unit where none was agreed upon in sight.
const USUAL_UNIT: u64 = 8192;

/// What answers a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Answer {
    /// ACCEPT, REFUSE or REDIRECT.
    Connect,
    Native,
    /// A message of its own kind, which is over with its last packet.
    Negotiation,
    Logon,
    /// The server's version, in words.
    Version,
    /// Perhaps rows, always with an end of call.
    Rows,
    /// An end of call or a bare status.
    #[default]
    Plain,
}

/// A call whose answer is outstanding.
#[derive(Clone, Copy, Debug, Default)]
struct Call {
    answer: Answer,
    sequence: Option<u8>,
    /// 0 where the server has yet to give it a number.
    cursor: u32,
    statement: Statement,
    /// It brings a new text.
    parses: bool,
    executes: bool,
    fetches: bool,
    /// Rows asked for; 0 where the call does not say.
    asked: u64,
}

/// The text of a DATA packet that belongs to the packet before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Following {
    ConnectData,
    Refusal,
    Redirection,
}

#[derive(Debug, Default)]
struct Oracle {
    /// `None` until a packet has shown it.
    form: Option<Form>,
    session_data_unit: Option<u64>,
    /// In the order of their requests.
    calls: VecDeque<Call>,
    cursors: Cursors,
    /// Of the last call or piggyback.
    sequence: u8,
    /// The server has spoken since the client last did.
    server_spoke: bool,
    /// The server has spoken in the oldest open call.
    answered: bool,
    /// Text that belongs to a packet of its own.
    following: Option<Following>,
    /// Requests come without waiting until the pipeline's end.
    pipelining: bool,
    /// The beginning of a request whose statement goes on in its next packet.
    request: Vec<u8>,
    /// The response of the oldest open call, its last part at least, and how many bytes of it have come.
    response: Vec<u8>,
    response_length: u64,
    shape: Shape,
    /// The tries that are left.
    effort: Effort,
    /// The server marks the ends of its responses.
    marks_ends: bool,
    /// Bytes still to come of a server's packet that is read in pieces, and its flags.
    long_packet: Option<(u64, framing::DataFlags)>,
    /// The query that was executed or fetched last: its rows are where LOB locators come from.
    last_query: Statement,
    /// The query that was executed last, while the number that the server gave its cursor could not be read.
    nameless: Option<Statement>,
    /// Native services have agreed on checksums or encryption: the client's keys follow without an answer.
    keys_follow: bool,
}

impl Call {
    /// Only the answer says which cursor this statement has.
    fn begins_cursor(&self) -> bool {
        self.parses && self.cursor == 0
    }
}

impl Oracle {
    fn forget_statements(&mut self) {
        self.cursors = Cursors::unseen();
        self.last_query = Statement::default();
        self.nameless = None;
    }

    /// Was this the last packet of a message, as far as its length shows?
    fn is_full(&self, length: u64) -> bool {
        length + 1 >= self.session_data_unit.unwrap_or(USUAL_UNIT)
    }
}

impl Decoder for Oracle {
    fn frame(&mut self, side: Side, bytes: &[u8]) -> Result<Frame, Lost> {
        match self.long_packet {
            Some((left, _)) if side == Side::Server => {
                let length = left.min(framing::PIECE);
                Ok(Frame::Message { head: length as usize, length })
            }
            _ => framing::frame(self.form, side, bytes),
        }
    }

    fn message(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        self.effort.earn(message.bytes.len());
        if message.side == Side::Server && self.long_packet.is_some() {
            return Ok(self.piece(message, context));
        }
        let packet = match Unit::read(self.form, message) {
            Unit::Packet(packet) => packet,
            Unit::Stray => return Ok(Meaning::Unrelated),
        };
        self.form = Some(packet.header.form);
        Ok(match message.side {
            Side::Client => self.client(&packet, context),
            Side::Server => self.server(&packet, message.length, context),
        })
    }

    fn resumes(&self, bytes: &[u8]) -> bool {
        recognise::resumes(bytes)
    }

    fn are_whole(&self, bytes: &[u8]) -> bool {
        recognise::is_whole(bytes)
    }

    /// Cursors may have been closed, and their numbers given to other statements.
    fn missed_requests(&mut self, bytes: u64) {
        if bytes >= SHORTEST_PARSE {
            self.forget_statements();
        }
    }

    fn resume(&mut self) {
        self.form = None;
        if self.calls.iter().any(Call::begins_cursor) {
            self.forget_statements();
        }
        self.calls.clear();
        self.cursors.forget_counts();
        self.nameless = None;
        self.server_spoke = false;
        self.answered = false;
        self.following = None;
        self.pipelining = false;
        self.request = Vec::new();
        self.response = Vec::new();
        self.response_length = 0;
        self.long_packet = None;
    }
}
