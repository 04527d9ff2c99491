//! What the client's packets mean: the requests, and what answers they will have.

use std::sync::Arc;

use super::framing::{Known, Packet};
use super::objects;
use super::operations::{self as op, Waits};
use super::outstanding::{Effect, Expected, Outstanding};
use super::rows::{self, Format};
use super::wire::{LAST_OBJECT, Stop, Wire};
use super::{DIALECT, Firebird, USUAL_VERSION, VERSIONS, connect};
use crate::cursor::Lost;
use crate::protocols::{Awaits, Context, Layer, Meaning, Request};
use crate::side::Side;
use crate::sql::{Dialect, DoubleQuotes, Sql, Statements};

/// Longer statements are cut in the report.
pub const SQL_SHOWN: usize = 64 << 10;
/// Of `free_statement`: the handle is free again.
const DROP: u32 = 2;

impl Firebird {
    pub(super) fn client_length(&self, bytes: &[u8]) -> Result<usize, Stop> {
        if let Some((_, format)) = &self.batch {
            let mut wire = Wire::new(bytes);
            // Batches came after packed rows.
            let progress = &self.progress[Side::Client as usize];
            return format.row(true, &mut wire, progress).map(|()| wire.position());
        }
        self.packet(bytes).map(|(packet, _)| packet.length)
    }

    /// The client's packet in `bytes`, and the protocol version it was read with.
    fn packet<'a>(&self, bytes: &'a [u8]) -> Result<(Packet<'a>, u16), Stop> {
        let progress = &self.progress[Side::Client as usize];
        let read = |version| {
            Packet::read(bytes, Known { version, objects: &self.objects, progress, described: &self.described })
        };
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

    pub(super) fn batch_row(&mut self) -> Meaning {
        self.progress[Side::Client as usize].reset();
        self.batch = self.batch.take().filter(|(left, _)| *left > 1).map(|(left, format)| (left - 1, format));
        Meaning::More
    }

    pub(super) fn client(&mut self, bytes: &[u8], context: &mut Context<'_>) -> Result<Meaning, Lost> {
        let read = self.packet(bytes);
        self.progress[Side::Client as usize].reset();
        self.described.reset();
        let (packet, version) = read?;
        if packet.depends_on_version && version != USUAL_VERSION {
            self.version.get_or_insert(version);
        }
        if packet.operation.waits == Waits::Ignored {
            return Ok(Meaning::Unrelated);
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
        self.learn_session(packet, context);
        if packet.operation.waits != Waits::Never {
            let outstanding = self.outstanding(packet, sql);
            self.queue.push(outstanding)?;
        }
        self.begin_batch(packet)?;
        if merged {
            self.queue.merge_last_two();
            return Ok(Meaning::More);
        }
        Ok(Meaning::Request(Request { sql, awaits, ..Request::new(packet.operation.name, packet.operation.purpose) }))
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
        let code = packet.operation.code;
        let uses_unread = self.creates && packet.blob == Some(LAST_OBJECT);
        // Jaybird's ping makes the server send what it holds back: a write of its own, but before anything is read.
        let has_not_read = uses_unread || (code == op::PING && (self.creates || self.used_unread));
        self.used_unread = uses_unread;
        self.creates = matches!(code, op::OPEN_BLOB | op::OPEN_BLOB2 | op::CREATE_BLOB | op::CREATE_BLOB2);
        if has_not_read { Awaits::Shared } else { Awaits::Answer }
    }

    /// The first fetch in the same write as its execute: the client does not wait in between.
    fn merges(&self, packet: &Packet<'_>) -> bool {
        let id = packet.statement.and_then(|handle| self.objects.id_of(handle));
        packet.operation.code == op::FETCH && id.is_some() && self.queue.ends_with_execute_of(id)
    }

    /// The statement that a request serves.
    fn sql(&mut self, packet: &Packet<'_>, statements: &mut Statements) -> Option<Sql> {
        match packet.operation.code {
            op::PREPARE | op::EXEC_IMMEDIATE | op::EXEC_IMMEDIATE2 => Some(statement(packet, statements)),
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
    fn learn_session(&self, packet: &Packet<'_>, context: &mut Context<'_>) {
        match packet.operation.code {
            op::CONNECT => {
                connect::database(packet.buffers[0], context.session);
                connect::user(packet.buffers[1], packet.number(2), packet.offers, context.session);
            }
            code @ (op::ATTACH | op::CREATE | op::SERVICE_ATTACH) => {
                connect::database(packet.buffers[0], context.session);
                connect::parameters(packet.buffers[1], code == op::SERVICE_ATTACH, context.session);
            }
            // Whoever has agreed on keys attaches.
            op::CRYPT => context.switch = Some(Layer::Encrypted { login: &["attach"] }),
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
            op::GET_SEGMENT => {
                asked.limit = packet.number(0) as usize + 4096;
                asked.effect = Effect::Segment;
            }
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

fn statement(packet: &Packet<'_>, statements: &mut Statements) -> Sql {
    let text = packet.sql;
    let double_quotes = if packet.sql_dialect == 1 { DoubleQuotes::Literal } else { DIALECT.double_quotes };
    let dialect = Dialect { double_quotes, ..DIALECT };
    match text.get(..SQL_SHOWN) {
        Some(shown) if text.len() > SQL_SHOWN => statements.sql_in(dialect, &[shown, "…".as_bytes()].concat()),
        _ => statements.sql_in(dialect, text),
    }
}
