//! What a protocol must answer, and the protocols there are.
//!
//! A decoder answers two questions: *how long is the message that begins here* ([`Decoder::frame`]) and *what does it
//! mean for whoever waits* ([`Decoder::message`]). Buffering, cut packets, gaps, long bodies, pairing, pipelining,
//! resynchronisation, compression and the change to an opaque stream are the conversation's work, done once for
//! all. What only goes on with what is under way a decoder may read many at once ([`Decoder::pass`]).
//! Adding a protocol is its module here, the line that names the module, and one in [`REGISTRY`].

pub mod firebird;
pub mod mysql;
pub mod opaque;
pub mod oracle;
pub mod others;
pub mod postgresql;
pub mod sqlserver;
pub mod tls;
mod sealed_login;
#[cfg(test)]
mod pass_tests;
#[cfg(test)]
mod tls_tests;
mod purpose;
mod versions;

pub use purpose::Purpose;
pub use sealed_login::SealedLogin;

use crate::cursor::Lost;
use crate::layers::Wrapping;
use crate::session::Session;
use crate::side::Side;
use crate::sql::{Dialect, Sql, Statements, Use};

/// Every protocol latpcap reads, in the order in which they are asked.
pub const REGISTRY: &[&Protocol] =
    &[&mysql::PROTOCOL, &postgresql::PROTOCOL, &oracle::PROTOCOL, &firebird::PROTOCOL, &sqlserver::PROTOCOL];

/// The protocol whose usual server port this is.
pub fn protocol_on(port: u16) -> Option<&'static Protocol> {
    REGISTRY.iter().copied().find(|protocol| protocol.ports.contains(&port))
}

/// The protocol of this name.
pub fn protocol_named(name: &str) -> Option<&'static Protocol> {
    REGISTRY.iter().copied().find(|protocol| protocol.name == name)
}

/// A protocol as the registry sees it.
#[derive(Debug)]
pub struct Protocol {
    pub name: &'static str,
    /// Its usual server ports. They only break ties: a protocol is recognised by what it says.
    pub ports: &'static [u16],
    /// How its statements are written.
    pub dialect: Dialect,
    /// What its clients call it in a ClientHello (ALPN), where they do.
    pub alpn: Option<&'static str>,
    /// Its servers say something before their clients do.
    pub greets: bool,
    /// What tells its login inside TLS from what comes after it.
    pub sealed_login: Option<SealedLogin>,
    pub recognise: fn(&Opening<'_>) -> Verdict,
    /// A decoder for a connection whose first bytes are these.
    pub decoder: fn(&Opening<'_>) -> Start,
}

/// A fresh decoder and, where the capture began in mid-connection, the layer already in force.
pub struct Start {
    pub decoder: Box<dyn Decoder>,
    pub layer: Option<Layer>,
}

/// The first bytes that were seen on a connection, or the first after a loss.
///
/// `client` begins where the client began to speak after the server had (or at the very start).
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    pub client: &'a [u8],
    pub server: &'a [u8],
    /// Who spoke first of the bytes at hand.
    pub first: Side,
    /// The TCP handshake was seen and nothing is missing since.
    pub from_start: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is this protocol, whatever the port.
    Certain,
    /// It may be: ask again with more bytes, and let the port decide in the end.
    Unsure,
    NotThis,
}

/// One connection's protocol state.
///
/// Both calls are made in capture order, messages of one side strictly in stream order. The result must not depend on
/// how the bytes were cut into packets.
pub trait Decoder: Send {
    /// How long is the message that begins with `bytes` (never empty)? Must leave the state as it is.
    fn frame(&mut self, side: Side, bytes: &[u8]) -> Result<Frame, Lost>;

    /// What does this message mean for whoever waits?
    fn message(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost>;

    /// Take in the whole messages that `bytes` begin with, as far as each certainly does nothing but go on with what is
    /// under way: the server with the oldest answer, up to its end, the client, without waiting, with its newest request.
    /// What comes of it is what [`Decoder::message`] would say of them one by one; most bytes of a capture are such rows.
    fn pass(&mut self, _side: Side, _bytes: &[u8], _context: &mut Context<'_>) -> Passed {
        Passed::default()
    }

    /// After a loss, `bytes` are the first that the client sends after the server has spoken: does a request certainly
    /// begin here?
    fn resumes(&self, bytes: &[u8]) -> bool;

    /// Are `bytes`, with which a request seems to begin, whole requests up to their end? Behind bytes of the client that were
    /// not captured they may be the rest of one.
    fn are_whole(&self, _bytes: &[u8]) -> bool {
        false
    }

    /// So many bytes of the client were not captured, or not read for a loss before them: names may stand for something
    /// else now.
    fn missed_requests(&mut self, _bytes: u64) {}

    /// What goes on with the client's newest request in the `bytes` that the snap length cut behind its last message.
    fn hidden(&self, _bytes: u64) -> Option<Meaning> {
        None
    }

    /// The bytes say nothing to it, but who sends them when.
    fn reads_nothing(&self) -> bool {
        false
    }

    /// What it keeps of messages that are not whole, beside what every decoder has.
    fn kept_bytes(&self) -> usize {
        0
    }

    /// There is no room for that: it is not read.
    fn give_up(&mut self) {}

    /// The client has resumed after a loss: forget what was open, keep what is still true (capabilities, prepared
    /// statements).
    fn resume(&mut self);
}

/// The answer to *how long is the message that begins here*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Not known yet: ask again when at least this many bytes (more than now) are there.
    Need(usize),
    /// The message is `length` bytes long, and its first `head` bytes are all that its meaning depends on; the rest is
    /// skipped without being kept. 1 ≤ head ≤ length; keep `head` small: it bounds the memory.
    Message { head: usize, length: u64 },
    /// No message begins here: these bytes are wrapped in this already, on both sides.
    Becomes(Layer),
}

/// Messages that were passed over at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passed {
    /// How long they are together.
    pub length: usize,
    /// Of a server: how many rows they were, where any of them could be one.
    pub rows: Option<u64>,
    /// Of a client: what the newest exchange turns out to be.
    pub becomes: Option<(&'static str, Purpose)>,
    pub sql: Option<Sql>,
    /// Of a server: how the oldest exchange ended with the last of them, all its rows among what they brought.
    pub end: Option<Outcome>,
}

impl Passed {
    /// Messages of a server, so long together and with so many rows.
    #[inline]
    pub fn of(length: usize, rows: u64) -> Passed {
        Passed { length, rows: (rows > 0).then_some(rows), ..Passed::default() }
    }

    /// One more message, of so many bytes and perhaps with rows.
    #[inline]
    pub fn add(&mut self, length: usize, rows: Option<u64>) {
        self.length += length;
        if let Some(rows) = rows {
            *self.rows.get_or_insert(0) += rows;
        }
    }

    /// One more message of this meaning, which is one that goes on or ends.
    pub fn add_meaning(&mut self, length: usize, meaning: Meaning) {
        self.length += length;
        match meaning {
            Meaning::Rows(rows) => self.add(0, Some(rows)),
            Meaning::Becomes { command, purpose, sql } => {
                self.becomes = Some((command, purpose));
                self.sql = sql.or(self.sql);
            }
            Meaning::Done(outcome) => {
                if let Some(rows) = outcome.rows {
                    self.add(0, Some(rows));
                }
                self.end = Some(Outcome { rows: self.rows, ..outcome });
            }
            _ => {}
        }
    }

    /// What all of them mean.
    pub fn meaning(self, side: Side) -> Meaning {
        match (side, self.end, self.rows, self.becomes) {
            (Side::Server, Some(outcome), ..) => Meaning::Done(outcome),
            (Side::Server, None, Some(rows), _) => Meaning::Rows(rows),
            (Side::Server, None, None, _) => Meaning::More,
            (Side::Client, .., Some((command, purpose))) => Meaning::Becomes { command, purpose, sql: self.sql },
            (Side::Client, .., None) => Meaning::MoreWithoutWait,
        }
    }
}

/// One message of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub side: Side,
    /// Its first bytes: `head` of them, or fewer where the capture has cut the packet (then `cut` is set).
    pub bytes: &'a [u8],
    pub length: u64,
    pub cut: bool,
}

/// What a message means for whoever waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// From the client: a new exchange begins.
    Request(Request),
    /// From the client: a new exchange begins in a stream that cannot be read, as the server has spoken since.
    Turn(Request),
    /// More of what this side is busy with: the newest exchange for the client, the oldest open one for the server.
    /// A client that goes on after the server has spoken inside one exchange waits once more (authentication,
    /// LOCAL INFILE): that is counted from the order, not by the decoder.
    More,
    /// From the client: more of the newest exchange, which the protocol proves was sent without waiting for any answer.
    MoreWithoutWait,
    /// As `MoreWithoutWait`, and now it shows that the newest exchange is something else than it seemed.
    Becomes { command: &'static str, purpose: Purpose, sql: Option<Sql> },
    /// From the client: the statement of the newest exchange, where its text ended in a later message.
    Text(Sql),
    /// From the server: rows of the oldest open exchange.
    Rows(u64),
    /// From the server: the oldest open exchange has failed, and more of its response should come.
    Failed(Box<Error>),
    /// From the server: the oldest open exchange has its whole response.
    Done(Outcome),
    /// From a server that speaks first: a `connect` exchange of its own, which rides on the TCP handshake.
    Greeting(Outcome),
    /// From the server: it refuses the login that is under way, or has not come yet.
    Refused(Outcome),
    /// From the client: what is open had its whole response already; this message opens nothing.
    Ended,
    /// From the server: what the client has not asked for, but may wait for (a notification).
    Pushed,
    /// It belongs to no exchange, and no one waits for it.
    Unrelated,
    /// This, in one of several sessions that share the connection: each asks, waits and is answered by itself.
    InSession(u16, Box<Meaning>),
    /// One message that means several things, in this order (an answer and the next one in a single packet).
    Several(Vec<Meaning>),
}

impl Meaning {
    /// The statement that a client sends with it.
    #[inline]
    pub fn sql(&self) -> Option<Sql> {
        match self {
            Meaning::Request(Request { sql, .. }) | Meaning::Becomes { sql, .. } => *sql,
            Meaning::Text(sql) => Some(*sql),
            Meaning::InSession(_, meaning) => meaning.sql(),
            Meaning::Several(meanings) => meanings.iter().find_map(Meaning::sql),
            _ => None,
        }
    }
}

/// The beginning of an exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The protocol's own name of it, lower case: `query`, `stmt_execute`, `authenticate`.
    pub command: &'static str,
    pub purpose: Purpose,
    pub sql: Option<Sql>,
    pub awaits: Awaits,
    /// A client that speaks has read the whole answer to what it asked before, whose end could not be read.
    pub ends_previous: bool,
}

impl Request {
    /// A request for whose answer the client waits.
    pub fn new(command: &'static str, purpose: Purpose) -> Request {
        Request { command, purpose, sql: None, awaits: Awaits::Answer, ends_previous: false }
    }

    /// A text of SQL and what it is for.
    pub fn using(command: &'static str, used: Use) -> Request {
        let (purpose, sql) = match used {
            Use::Prepares(sql) => (Purpose::Prepare, sql),
            Use::Runs(sql) => (Purpose::Execute, sql),
            Use::Closes(sql) => (Purpose::Close, sql),
        };
        Request { sql, ..Request::new(command, purpose) }
    }
}

/// Does the client wait?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// It waits for the answer: one round trip, unless an earlier request's answer is still outstanding.
    Answer,
    /// It proves that it has not read the answer to the request before it: both share one round trip.
    Shared,
    /// There will be an answer, but the client goes on without it: no round trip.
    Later,
    /// The protocol sends no answer: no round trip.
    Nothing,
}

/// How an exchange ended. `None` where the protocol does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Rows that came with this message (added to those counted before).
    pub rows: Option<u64>,
    pub affected_rows: Option<u64>,
    pub error: Option<Box<Error>>,
}

/// An error the server answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The server's own code, and the SQLSTATE where there is one: `1064 (42000)`.
    pub code: String,
    pub message: String,
}

/// What a decoder may write to while it reads a message.
pub struct Context<'a> {
    pub session: &'a mut Session,
    pub statements: &'a mut Statements,
    /// Set to change what the bytes after this message are, on both sides.
    pub switch: Option<Layer>,
}

/// What the bytes of a connection are wrapped in from a certain message on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Messages in a layer that can be taken off.
    Wrapped(Wrapping),
    /// TLS: opaque without the keys. The exchange that is open goes on with the TLS handshake.
    Tls,
    /// The same; records have something of the protocol's own around them, which is taken off.
    TlsWrapped(Wrapping),
    /// Wire encryption of the protocol's own, which begins with so many exchanges of the login, by their names.
    Encrypted { login: &'static [&'static str] },
    /// A stream that is no dialogue (replication, events): kept out of the counts.
    Push,
}
