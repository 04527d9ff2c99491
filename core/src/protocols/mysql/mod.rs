//! MySQL and MariaDB client/server protocol.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html>,
//! <https://mariadb.com/docs/server/reference/clientserver-protocol>
//!
//! ```text
//! length u24 | sequence u8 | payload        the sequence counts through both sides of an exchange, from 0 with each
//!                                           command; a payload of 0xFFFFFF bytes goes on in the next packet
//! server: greeting → client: (please speak TLS,) login → authentication → client: command → server: its answer …
//! ```
//!
//! One packet is one message here. Commands may be sent ahead of the answers to those before them, so a queue holds
//! how far each answer has come.

mod recognise;
mod framing;
mod client;
mod server;

mod binlog;
mod commands;
mod compression;
mod login;
mod prepared;
mod response;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::{Context, Decoder, Frame, Layer, Meaning, Message, Opening, Passed, Protocol, SealedLogin, Start, Verdict};
use crate::cursor::Lost;
use crate::side::Side;
use crate::sql::{Dialect, DoubleQuotes, HashSign};
use compression::COMPRESSION;
use framing::{HEADER, Packet};
use login::Capabilities;
use prepared::Prepared;
use recognise::Beginning;
use response::{Layout, Response};

pub static PROTOCOL: Protocol = Protocol {
    name: "mysql",
    ports: PORTS,
    dialect: DIALECT,
    alpn: None,
    greets: true,
    sealed_login: Some(SealedLogin { goes_on: login::goes_on, asides: None }),
    recognise,
    decoder,
};

pub const DIALECT: Dialect = Dialect {
    escapes_with_backslash: true,
    backslash_is_known: false,
    nests_comments: false,
    dashes_need_blank: true,
    hash: HashSign::Comment,
    double_quotes: DoubleQuotes::Literal,
    is_transact: false,
};

/// The server's own and its neighbours, then TiDB, MaxScale, ProxySQL and MySQL Router.
const PORTS: &[u16] = &[3306, 3307, 3308, 3309, 4000, 4006, 6033, 6446, 6447];

fn recognise(opening: &Opening<'_>) -> Verdict {
    recognise::look(opening).0
}

fn decoder(opening: &Opening<'_>) -> Start {
    let beginning = recognise::look(opening).1;
    let layer = match beginning {
        Beginning::Compressed => Some(Layer::Wrapped(COMPRESSION)),
        Beginning::Binlog => Some(Layer::Push),
        _ => None,
    };
    Start { decoder: Box::new(Mysql::new(beginning)), layer }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    /// The client's login comes next, with this sequence number.
    Login {
        sequence: u8,
    },
    /// The client has sent something else instead of its login: the server refuses it.
    NoLogin,
    Commands,
}

/// A packet was full: the client's next one belongs to it.
#[derive(Clone, Copy, Debug)]
struct Continuation {
    sequence: u8,
    answered: bool,
}

/// One connection.
#[derive(Debug)]
struct Mysql {
    phase: Phase,
    capabilities: Capabilities,
    layout: Layout,
    /// How the session reads its statements.
    dialect: Dialect,
    /// Inside compressed packets the sequence numbers prove nothing: servers number them differently.
    compressed: bool,
    prepared: Prepared,
    /// Commands whose answers are outstanding, the oldest first.
    open: VecDeque<Response>,
    client_continues: Option<Continuation>,
    /// A prepare was answered in full unless an EOF with this number follows: how results are laid out is not known yet.
    late_eof: Option<u8>,
}

impl Mysql {
    fn new(beginning: Beginning) -> Mysql {
        Mysql {
            phase: match beginning {
                Beginning::Greeting => Phase::Greeting,
                Beginning::Login => Phase::Login { sequence: 1 },
                Beginning::Commands | Beginning::Compressed | Beginning::Binlog => Phase::Commands,
            },
            capabilities: Capabilities::default(),
            layout: Layout::default(),
            dialect: DIALECT,
            compressed: beginning == Beginning::Compressed,
            prepared: Prepared::default(),
            open: VecDeque::new(),
            client_continues: None,
            late_eof: None,
        }
    }
}

impl Decoder for Mysql {
    fn frame(&mut self, side: Side, bytes: &[u8]) -> Result<Frame, Lost> {
        if side == Side::Client && self.is_no_login(bytes) {
            return Ok(Frame::Message { head: bytes.len().min(HEADER), length: bytes.len() as u64 });
        }
        if bytes.len() < HEADER {
            return Ok(Frame::Need(HEADER));
        }
        let packet = Packet::read(bytes)?;
        let length = HEADER + packet.length as usize;
        let head = match side {
            Side::Client => self.client_head(),
            Side::Server => self.server_head(packet.first()),
        };
        Ok(Frame::Message { head: head.min(length), length: length as u64 })
    }

    fn message(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        if message.side == Side::Client && self.is_no_login(message.bytes) {
            return Ok(self.no_login());
        }
        let packet = Packet::read(message.bytes)?;
        match message.side {
            Side::Client => self.client(&packet, context),
            Side::Server => self.server(&packet, context),
        }
    }

    fn pass(&mut self, side: Side, bytes: &[u8], context: &mut Context<'_>) -> Passed {
        if side == Side::Server { self.pass_answer(bytes, context) } else { Passed::default() }
    }

    fn resumes(&self, bytes: &[u8]) -> bool {
        recognise::begins_command(bytes)
    }

    fn are_whole(&self, bytes: &[u8]) -> bool {
        recognise::are_whole(bytes)
    }

    fn missed_requests(&mut self, _bytes: u64) {
        self.prepared.forget_named();
    }

    fn resume(&mut self) {
        self.phase = Phase::Commands;
        self.open.clear();
        self.client_continues = None;
        self.late_eof = None;
        self.prepared.forget_newest();
    }
}

impl Mysql {
    /// Does the packet carry the number that is next?
    fn check(&self, packet: &Packet<'_>, who: &str, expected: u8) -> Result<(), Lost> {
        if self.compressed || packet.sequence == expected {
            return Ok(());
        }
        Err(Lost(format!("the {who} sends packet {} where packet {expected} was expected", packet.sequence)))
    }
}
