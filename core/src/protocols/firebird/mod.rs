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
//! that the client sent. The server answers strictly in the order of the requests, so a queue of what was asked tells
//! what an answer must look like. Clients send some requests without waiting ("lazy"): those answers come in front of
//! the next awaited one.
//!
//! `execute` of a SELECT is sent together with the first `fetch` by Firebird's own client: then both are one exchange,
//! called `execute`, which has the rows.

mod connect;
mod info;
mod objects;
mod operations;
mod outstanding;
mod recognition;
mod requests;
mod responses;
mod rows;
mod server;
mod status;
mod wire;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::sync::Arc;

use super::{Awaits, Context, Decoder, Frame, Layer, Lost, Meaning, Message, Opening, Protocol, Request, Side, Start};
use crate::sql::{Dialect, Sql, Statements};
use objects::Objects;
use operations::{self as op, Waits};
use outstanding::{Effect, Expected, Outstanding, Queue};
use requests::{Known, Packet, Plausibility, plausible};
use rows::Format;
use wire::{LAST_OBJECT, Stop, Wire};

/// Longer statements are cut in the report.
const SQL_SHOWN: usize = 64 << 10;
/// The version where none is known: what Firebird 3 speaks.
const USUAL_VERSION: u16 = 15;
/// Versions to try where none is known: those whose packets differ.
const VERSIONS: [u16; 5] = [15, 16, 18, 19, 12];
/// In the type a server accepts: lazy sending, and a flag for compression.
const LAZY_SEND: u16 = 5;
const TYPE_MASK: u16 = 0xff;
const COMPRESS: u16 = 0x100;
/// Answers that nobody is known to have asked for, after a beginning in the middle.
const STRAYS: u32 = 64;
/// Of `free_statement`: the handle is free again.
const DROP: u32 = 2;

pub const PROTOCOL: Protocol =
    Protocol { name: "firebird", ports: &[3050], recognise: recognition::recognise, decoder };

fn decoder(opening: &Opening<'_>) -> Start {
    let layer = recognition::layer(opening);
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
    /// The request before was to allocate a statement.
    allocated: bool,
    /// So many answers may be to requests that were not captured.
    strays: u32,
    /// See [`responses::Asked::scanned`].
    scanned: Cell<usize>,
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

    fn resumes(&self, bytes: &[u8]) -> bool {
        // Half a login is no exchange.
        if bytes.starts_with(&op::CONT_AUTH.to_be_bytes()) {
            return false;
        }
        let goes = |version| plausible(bytes, Known { version, objects: &self.objects }) != Plausibility::No;
        match self.version {
            Some(version) => goes(version),
            None => VERSIONS.into_iter().any(goes),
        }
    }

    fn missed_requests(&mut self) {
        self.objects.forget_texts();
    }

    fn resume(&mut self) {
        self.queue = Queue::default();
        self.batch = None;
        self.creates = false;
        self.strays = STRAYS;
        self.scanned.set(0);
        self.objects.forget_nameless();
    }
}

/// The client's side.
impl Firebird {
    fn client_length(&self, bytes: &[u8]) -> Result<usize, Stop> {
        if let Some((_, format)) = &self.batch {
            let mut wire = Wire::new(bytes);
            // Batches came after packed rows.
            return format.row(true, &mut wire).map(|()| wire.position());
        }
        self.packet(bytes).map(|(packet, _)| packet.length)
    }

    /// The client's packet in `bytes`, and the protocol version it was read with.
    fn packet<'a>(&self, bytes: &'a [u8]) -> Result<(Packet<'a>, u16), Stop> {
        let read = |version| Packet::read(bytes, Known { version, objects: &self.objects });
        if let Some(version) = self.version {
            return read(version).map(|packet| (packet, version));
        }
        let usual = read(USUAL_VERSION);
        let fits = |packet: &Packet<'_>| followed_by_packet(bytes.get(packet.length..).unwrap_or_default());
        if usual.as_ref().is_ok_and(|packet| !packet.depends_on_version || fits(packet)) {
            return usual.map(|packet| (packet, USUAL_VERSION));
        }
        for version in VERSIONS {
            if let Ok(packet) = read(version)
                && fits(&packet)
            {
                return Ok((packet, version));
            }
        }
        usual.map(|packet| (packet, USUAL_VERSION))
    }

    fn batch_row(&mut self) -> Meaning {
        self.batch = self.batch.take().filter(|(left, _)| *left > 1).map(|(left, format)| (left - 1, format));
        Meaning::More
    }

    fn client(&mut self, bytes: &[u8], context: &mut Context<'_>) -> Result<Meaning, Lost> {
        let (packet, version) = self.packet(bytes)?;
        if packet.depends_on_version && version != USUAL_VERSION {
            self.version.get_or_insert(version);
        }
        if packet.operation.waits == Waits::Ignored {
            return Ok(Meaning::Aside);
        }
        let goes_on = packet.operation.waits == Waits::InDialogue && self.queue.in_dialogue();
        if goes_on {
            return Ok(Meaning::More);
        }
        self.request(&packet, context)
    }

    fn request(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        self.learn_laziness(packet);
        let sql = self.sql(packet, context.statements);
        let awaits = self.awaits(packet);
        let merged = self.merges(packet);
        self.tell(packet, context);
        if packet.operation.waits != Waits::Never {
            let outstanding = self.outstanding(packet, sql);
            self.queue.push(outstanding)?;
        }
        self.begin_batch(packet)?;
        if merged {
            self.queue.merge_last_two();
            return Ok(Meaning::More);
        }
        Ok(Meaning::Request(Request { sql, awaits, ..Request::new(packet.operation.name) }))
    }

    /// Where the beginning was not captured: a client that prepares a statement by a handle it has just got has waited
    /// for it; one that says 0xFFFF has not.
    fn learn_laziness(&mut self, packet: &Packet<'_>) {
        let object = packet.statement.or(packet.blob);
        if self.lazy.is_none() && self.allocated && packet.operation.code == op::PREPARE {
            self.lazy = Some(object == Some(LAST_OBJECT));
        }
        self.allocated = packet.operation.code == op::ALLOCATE;
    }

    fn awaits(&mut self, packet: &Packet<'_>) -> Awaits {
        let lazy = self.lazy.unwrap_or(true);
        match packet.operation.waits {
            Waits::Never | Waits::Ignored => return Awaits::Nothing,
            Waits::UnlessLazy if lazy => return Awaits::Later,
            Waits::Always | Waits::UnlessLazy | Waits::InDialogue => {}
        }
        let has_not_read = packet.blob == Some(LAST_OBJECT) && self.creates;
        let code = packet.operation.code;
        self.creates = matches!(code, op::OPEN_BLOB | op::OPEN_BLOB2 | op::CREATE_BLOB | op::CREATE_BLOB2);
        if has_not_read { Awaits::Shared } else { Awaits::Answer }
    }

    /// The first fetch in the same write as its execute: nobody waits in between.
    fn merges(&self, packet: &Packet<'_>) -> bool {
        let id = packet.statement.and_then(|handle| self.objects.id_of(handle));
        packet.operation.code == op::FETCH && id.is_some() && self.queue.ends_with_execute_of(id)
    }

    /// The statement that a request serves.
    fn sql(&mut self, packet: &Packet<'_>, statements: &mut Statements) -> Option<Sql> {
        match packet.operation.code {
            op::PREPARE | op::EXEC_IMMEDIATE | op::EXEC_IMMEDIATE2 => Some(statement(packet.sql, statements)),
            op::EXECUTE | op::EXECUTE2 => {
                let sql = self.objects.statement(packet.statement?)?.sql?;
                Some(if packet.row.is_empty() { sql } else { Statements::with_parameters(sql, packet.row) })
            }
            op::OPEN_BLOB | op::OPEN_BLOB2 => self.objects.open_blob(),
            op::CREATE_BLOB | op::CREATE_BLOB2 => self.objects.create_blob(),
            _ if packet.blob.is_some() => self.objects.blob(packet.blob?),
            _ => self.objects.statement(packet.statement?)?.sql,
        }
    }

    /// What the request says of the connection as a whole.
    fn tell(&self, packet: &Packet<'_>, context: &mut Context<'_>) {
        match packet.operation.code {
            op::CONNECT => {
                connect::database(packet.buffers[0], context.session);
                connect::user(packet.buffers[1], context.session);
            }
            code @ (op::ATTACH | op::CREATE | op::SERVICE_ATTACH) => {
                connect::database(packet.buffers[0], context.session);
                connect::parameters(packet.buffers[1], code == op::SERVICE_ATTACH, context.session);
            }
            op::CRYPT => context.switch = Some(Layer::Encrypted),
            _ => {}
        }
    }

    fn outstanding(&mut self, packet: &Packet<'_>, sql: Option<Sql>) -> Outstanding {
        let statement = packet.statement.map(|handle| self.objects.statement_mut(handle).0);
        let code = packet.operation.code;
        let is_held_back = [op::ALLOCATE, op::FREE_STATEMENT, op::RELEASE].contains(&code);
        let mut asked = Outstanding { statement, is_held_back, ..Outstanding::default() };
        match code {
            op::CONNECT => asked.expected = Expected::Accept,
            op::ATTACH | op::CREATE | op::SERVICE_ATTACH | op::CONT_AUTH | op::TRUSTED_AUTH => {
                asked.expected = Expected::Dialogue;
            }
            op::ALLOCATE => asked.effect = Effect::Statement(self.objects.allocate()),
            op::PREPARE => self.prepare(packet, sql, &mut asked),
            op::EXECUTE => {
                asked.is_execute = true;
                self.learn_input(packet, 0);
            }
            op::EXECUTE2 => {
                self.learn_input(packet, 0);
                asked.expected = Expected::Singleton(Format::of_rows(packet.buffers[1]).map(Arc::new));
            }
            op::EXEC_IMMEDIATE2 => {
                asked.expected = Expected::Singleton(Format::of_rows(packet.buffers[1]).map(Arc::new));
            }
            op::FETCH | op::FETCH_SCROLL => asked.expected = Expected::Rows(self.learn_output(packet, sql)),
            op::FREE_STATEMENT => self.free(packet),
            op::OPEN_BLOB | op::OPEN_BLOB2 | op::CREATE_BLOB | op::CREATE_BLOB2 => asked.effect = Effect::Blob(sql),
            op::GET_SEGMENT => asked.limit = packet.number(0) as usize + 4096,
            op::COMPILE => self.compile(packet, &mut asked),
            op::START_AND_RECEIVE | op::START_SEND_AND_RECEIVE | op::RECEIVE => {
                let messages = packet.request.and_then(|request| self.objects.messages(request));
                asked.expected = Expected::Messages(messages);
            }
            op::RELEASE => packet.request.into_iter().for_each(|request| self.objects.release(request)),
            op::GET_SLICE => asked.expected = Expected::Slice(packet.buffers[0].into()),
            op::BATCH_CREATE => self.learn_batch(packet),
            op::BATCH_EXEC => asked.expected = Expected::BatchStates,
            op::INFO_DATABASE => asked.effect = Effect::ServerVersion,
            op::SERVICE_INFO => asked.effect = Effect::ServiceVersion,
            op::INFO_SQL => asked.effect = Effect::AffectedRows,
            _ => {}
        }
        asked
    }

    fn prepare(&mut self, packet: &Packet<'_>, sql: Option<Sql>, asked: &mut Outstanding) {
        if let Some(handle) = packet.statement {
            let (id, statement) = self.objects.statement_mut(handle);
            *statement = objects::Statement { sql, ..Default::default() };
            asked.effect = Effect::Prepared(id);
        }
        self.objects.prepared(sql);
    }

    fn learn_input(&mut self, packet: &Packet<'_>, buffer: usize) {
        if let Some(format) = self.format(packet.buffers[buffer])
            && let Some(handle) = packet.statement
        {
            self.objects.statement_mut(handle).1.input = Some(format);
        }
    }

    /// The format of the rows that this fetch brings; it is sent once for each execution.
    fn learn_output(&mut self, packet: &Packet<'_>, sql: Option<Sql>) -> Option<Arc<Format>> {
        let handle = packet.statement?;
        if let Some(format) = self.format(packet.buffers[0]) {
            self.objects.statement_mut(handle).1.output = Some(format);
        }
        let format = self.objects.statement(handle)?.output.clone();
        self.objects.fetched(sql, format.as_deref());
        format
    }

    fn learn_batch(&mut self, packet: &Packet<'_>) {
        let format = self.format(packet.buffers[0]);
        if let Some(handle) = packet.statement {
            self.objects.statement_mut(handle).1.batch = format;
        }
    }

    fn format(&mut self, blr: &[u8]) -> Option<Arc<Format>> {
        Format::of_rows(blr).map(|format| self.objects.keep(format))
    }

    fn compile(&mut self, packet: &Packet<'_>, asked: &mut Outstanding) {
        let messages = rows::messages(packet.buffers[0]).unwrap_or_default();
        asked.effect = Effect::Request(self.objects.compile(messages));
    }

    fn free(&mut self, packet: &Packet<'_>) {
        if let (Some(handle), DROP) = (packet.statement, packet.number(0)) {
            self.objects.drop_statement(handle);
        }
    }

    /// The rows of a batch come right behind its header.
    fn begin_batch(&mut self, packet: &Packet<'_>) -> Result<(), Lost> {
        let rows = packet.number(0);
        if packet.operation.code != op::BATCH_MSG || rows == 0 {
            return Ok(());
        }
        let statement = packet.statement.and_then(|handle| self.objects.statement(handle));
        let format = statement.and_then(|statement| statement.batch.clone());
        let format = format.ok_or_else(|| Lost("a batch whose row format was not captured".into()))?;
        self.batch = Some((rows, format));
        Ok(())
    }
}

/// Nothing more, or the beginning of another packet of the client.
fn followed_by_packet(rest: &[u8]) -> bool {
    rest.is_empty() || rest.first_chunk().is_some_and(|code| op::client(u32::from_be_bytes(*code)).is_some())
}

fn statement(text: &[u8], statements: &mut Statements) -> Sql {
    match text.get(..SQL_SHOWN) {
        Some(shown) if text.len() > SQL_SHOWN => {
            statements.sql_in(Dialect::Firebird, &[shown, "…".as_bytes()].concat())
        }
        _ => statements.sql_in(Dialect::Firebird, text),
    }
}
