//! Firebird's wire protocol, versions 10 to 20 (InterBase 6, Firebird 1 to 6).
//!
//! <https://github.com/FirebirdSQL/firebird/blob/master/src/remote/protocol.h>,
//! <https://firebirdsql.org/file/documentation/html/en/firebirddocs/wireprotocol/firebird-wire-protocol.html>
//!
//! ```text
//! operation u32 | the operation's own fields, each padded to 4 bytes        (no length, no request number)
//! ```
//!
//! A packet's length is known only by reading it to its end, and rows have no length at all: their format is the BLR
//! that the client sent. The server answers strictly in the order of the requests, so a queue of what was asked says
//! what an answer must look like. Clients send some requests without waiting ("lazy"): those answers come in front of
//! the next awaited one.
//!
//! `execute` of a SELECT is sent together with the first `fetch` by Firebird's own client: then both are one exchange,
//! called `execute`, which has the rows.

mod recognise;
mod framing;
mod client;
mod server;

mod connect;
mod info;
mod objects;
mod operations;
mod outstanding;
mod progress;
mod responses;
mod rows;
mod status;
mod wire;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::{Context, Decoder, Frame, Meaning, Message, Opening, Passed, Protocol, Start};
use crate::cursor::Lost;
use crate::side::Side;
use crate::sql::{Dialect, DoubleQuotes, HashSign};
use framing::{Plausibility, plausible};
use objects::Objects;
use operations as op;
use outstanding::Queue;
use progress::Progress;
use rows::{Described, Format};
use wire::Stop;

/// The version where none is known: what Firebird 3 speaks.
const USUAL_VERSION: u16 = 15;
/// Versions to try where none is known: those whose packets differ.
const VERSIONS: [u16; 5] = [15, 16, 18, 19, 12];
/// In the type a server accepts: lazy sending, and a flag for compression.
const LAZY_SEND: u16 = 5;
const TYPE_MASK: u16 = 0xff;
const COMPRESS: u16 = 0x100;
/// Answers without a known request that are passed over after a beginning in the middle.
const STRAYS: u32 = 64;

pub const PROTOCOL: Protocol = Protocol {
    name: "firebird",
    ports: &[3050],
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
    double_quotes: DoubleQuotes::Either,
    is_transact: false,
};

fn decoder(opening: &Opening<'_>) -> Start {
    let layer = recognise::layer(opening);
    let strays = if opening.from_start { 0 } else { STRAYS };
    Start { decoder: Box::new(Firebird { strays, ..Firebird::default() }), layer }
}

/// One connection's state.
#[derive(Debug, Default)]
struct Firebird {
    /// The version agreed on, once it is known.
    version: Option<u16>,
    /// Both sides agreed on lazy sending, once it is known.
    lazy: Option<bool>,
    objects: Objects,
    queue: Queue,
    /// Rows of a batch that still have to come from the client, and their format.
    batch: Option<(u32, Arc<Format>)>,
    /// The last request that the client waits for makes an object, so that 0xFFFF in the next one proves that its
    /// answer was not read.
    creates: bool,
    /// The last request that the client waits for was such a one.
    used_unread: bool,
    /// The request before was to allocate a statement.
    allocated: bool,
    /// How many answers may belong to requests that were not captured.
    strays: u32,
    /// The progress in each side's packet that is not whole yet.
    progress: [Progress; 2],
    described: Described,
}

impl Decoder for Firebird {
    fn frame(&mut self, side: Side, bytes: &[u8]) -> Result<Frame, Lost> {
        let extent = match side {
            Side::Client => self.client_length(bytes).map(|length| (length, length)),
            Side::Server => self.server_extent(bytes),
        };
        match extent {
            Ok((head, length)) => Ok(Frame::Message { head, length: length as u64 }),
            Err(Stop::Need(bytes)) => Ok(Frame::Need(bytes)),
            Err(Stop::Lost(reason)) => Err(Lost(reason)),
        }
    }

    fn message(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        match message.side {
            Side::Client if self.batch.is_some() => Ok(self.batch_row()),
            Side::Client => self.client(message.bytes, context),
            Side::Server => self.server(message.bytes, context),
        }
    }

    fn pass(&mut self, side: Side, bytes: &[u8], _context: &mut Context<'_>) -> Passed {
        if side == Side::Server { self.rows(bytes) } else { Passed::default() }
    }

    fn resumes(&self, bytes: &[u8]) -> bool {
        // Half a login is no exchange.
        if bytes.starts_with(&op::CONT_AUTH.to_be_bytes()) {
            return false;
        }
        let goes = |version| plausible(bytes, version, &self.objects) != Plausibility::No;
        match self.version {
            Some(version) => goes(version),
            None => VERSIONS.into_iter().any(goes),
        }
    }

    fn missed_requests(&mut self, _bytes: u64) {
        self.objects.forget_texts();
    }

    fn resume(&mut self) {
        self.queue = Queue::default();
        self.batch = None;
        self.creates = false;
        self.used_unread = false;
        self.strays = STRAYS;
        self.progress.iter().for_each(Progress::reset);
        self.described.reset();
        self.objects.forget_nameless();
    }
}
