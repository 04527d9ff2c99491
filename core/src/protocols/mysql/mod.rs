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

mod commands;
mod login;
mod packet;
mod prepared;
mod recognition;
mod response;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::{
    Awaits, Context, Decoder, Frame, Layer, Lost, Meaning, Message, Outcome, Protocol, Request,
    Side, Start, Verdict,
};
use crate::cursor::Cursor;
use crate::protocols::Opening;
use crate::sql::{Sql, Statements};
use commands::{Answer, Command, Execute, LAST_PREPARED};
use login::{Capabilities, Greeting, Login};
use packet::{HEADER, Packet};
use prepared::Prepared;
use recognition::Beginning;
use response::{Layout, Reply, Response, Step, Success};

pub static PROTOCOL: Protocol = Protocol {
    name: "mysql",
    ports: PORTS,
    recognise,
    decoder,
};

/// The server's own and its neighbours, then TiDB, MaxScale, ProxySQL and MySQL Router.
const PORTS: &[u16] = &[3306, 3307, 3308, 3309, 4000, 4006, 6033, 6446, 6447];

/// What a statement ends with that is longer than what was captured or is kept.
const ELLIPSIS: &str = "…";
/// Bytes of a statement that are kept: with the ellipsis 64 KiB.
const SQL_BYTES: usize = (64 << 10) - ELLIPSIS.len();
/// Enough of a server's packet for any error message, status or statement number.
const SERVER_HEAD: usize = HEADER + 2048;
const CLIENT_HEAD: usize = HEADER + 1 + SQL_BYTES;

fn recognise(opening: &Opening<'_>) -> Verdict {
    recognition::look(opening).0
}

fn decoder(opening: &Opening<'_>) -> Start {
    let beginning = recognition::look(opening).1;
    let compressed = beginning == Beginning::Compressed;
    let layer = compressed.then_some(Layer::MysqlCompression);
    Start {
        decoder: Box::new(Mysql::new(beginning)),
        layer,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    /// The client's login comes next, with this sequence number.
    Login {
        sequence: u8,
    },
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
                Beginning::Commands | Beginning::Compressed => Phase::Commands,
            },
            capabilities: Capabilities::default(),
            layout: Layout::default(),
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
        if bytes.len() < HEADER {
            return Ok(Frame::Need(HEADER));
        }
        let packet = Packet::read(bytes)?;
        let length = HEADER + packet.length as usize;
        let head = match side {
            Side::Client => self.client_head(),
            Side::Server => self.server_head(packet.first()),
        };
        Ok(Frame::Message {
            head: head.min(length),
            length: length as u64,
        })
    }

    fn message(
        &mut self,
        message: &Message<'_>,
        context: &mut Context<'_>,
    ) -> Result<Meaning, Lost> {
        let packet = Packet::read(message.bytes)?;
        match message.side {
            Side::Client => self.client(&packet, context),
            Side::Server => self.server(&packet, context),
        }
    }

    fn resumes(&self, bytes: &[u8]) -> bool {
        recognition::begins_command(bytes)
    }

    fn resume(&mut self) {
        self.phase = Phase::Commands;
        self.open.clear();
        self.client_continues = None;
        self.late_eof = None;
        self.prepared.forget_newest();
    }
}

/// The client's side.
impl Mysql {
    fn client_head(&self) -> usize {
        if self.client_continues.is_some() || self.in_dialogue() {
            HEADER
        } else {
            CLIENT_HEAD
        }
    }

    /// The client's next packet belongs to the exchange that is open.
    fn in_dialogue(&self) -> bool {
        self.open.back().is_some_and(Response::is_dialogue)
    }

    fn client(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        if let Some(continuation) = self.client_continues {
            return self.continue_request(packet, continuation);
        }
        if self.in_dialogue() {
            return self.answer_the_server(packet);
        }
        match self.phase {
            Phase::Greeting => Err(Lost(
                "the client speaks before the server's greeting".into(),
            )),
            Phase::Login { sequence } => self.login(packet, sequence, context),
            Phase::Commands => self.command(packet, context),
        }
    }

    fn continue_request(
        &mut self,
        packet: &Packet<'_>,
        continuation: Continuation,
    ) -> Result<Meaning, Lost> {
        self.check(packet, Side::Client, continuation.sequence)?;
        let sequence = packet.sequence.wrapping_add(1);
        self.client_continues = packet.continues().then_some(Continuation {
            sequence,
            ..continuation
        });
        if !continuation.answered {
            return Ok(Meaning::Aside);
        }
        if let Some(response) = self.open.back_mut() {
            response.sequence = sequence;
        }
        Ok(Meaning::More)
    }

    /// A further step of the authentication, or a piece of a local file, which ends with an empty packet.
    fn answer_the_server(&mut self, packet: &Packet<'_>) -> Result<Meaning, Lost> {
        let Some(response) = self.open.back() else {
            return Ok(Meaning::Aside);
        };
        self.check(packet, Side::Client, response.sequence)?;
        let sequence = packet.sequence.wrapping_add(1);
        self.client_continues = packet.continues().then_some(Continuation {
            sequence,
            answered: true,
        });
        if let Some(response) = self.open.back_mut() {
            response.sequence = sequence;
            if response.reply == Reply::Infile && packet.length == 0 {
                response.reply = Reply::First(Answer::Results);
            }
        }
        Ok(Meaning::More)
    }

    fn login(
        &mut self,
        packet: &Packet<'_>,
        sequence: u8,
        context: &mut Context<'_>,
    ) -> Result<Meaning, Lost> {
        self.check(packet, Side::Client, sequence)?;
        let next = sequence.wrapping_add(1);
        if login::asks_for_tls(packet) {
            self.phase = Phase::Login { sequence: next };
            context.switch = Some(Layer::Tls);
            return Ok(Meaning::Request(Request::new("tls")));
        }
        let login = Login::read(packet.payload);
        self.capabilities.client = login.capabilities;
        self.layout.deprecate_eof = self.capabilities.agreed(login::DEPRECATE_EOF);
        context.session.user = login.user;
        context.session.database = login.database;
        context.session.application = login.application;
        self.phase = Phase::Commands;
        let mut response = Response::new(Answer::Authentication, next);
        response.success = Success::LoggedIn;
        self.open.push_back(response);
        Ok(Meaning::Request(Request::new("authenticate")))
    }

    fn command(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        self.check(packet, Side::Client, 0)?;
        if packet.length == 0 {
            return Err(Lost(
                "an empty packet stands where a command should be".into(),
            ));
        }
        let command = Command::of(packet.first());
        let mut response = Response::new(command.answer, packet.sequence.wrapping_add(1));
        let mut request = Request::new(command.name);
        self.read_command(packet, &mut request, &mut response, context)?;
        self.end_unreadable(&mut request);
        let answered = !matches!(command.answer, Answer::Nothing | Answer::Stream);
        if packet.continues() {
            self.client_continues = Some(Continuation {
                sequence: response.sequence,
                answered,
            });
        }
        if answered {
            self.open.push_back(response);
        } else {
            request.awaits = Awaits::Nothing;
        }
        if command.answer == Answer::Stream {
            context.session.replication = true;
            context.switch = Some(Layer::Push);
        }
        Ok(Meaning::Request(request))
    }

    /// An answer that the capture has cut beyond recognition ends, at the latest, when the client asks anew.
    fn end_unreadable(&mut self, request: &mut Request) {
        if self
            .open
            .front()
            .is_some_and(|response| response.reply == Reply::Unreadable)
        {
            self.open.clear();
            request.ends_previous = true;
        }
    }

    fn read_command(
        &mut self,
        packet: &Packet<'_>,
        request: &mut Request,
        response: &mut Response,
        context: &mut Context<'_>,
    ) -> Result<(), Lost> {
        let Some((&code, payload)) = packet.payload.split_first() else {
            return Ok(());
        };
        match code {
            commands::QUERY => {
                let attributes = self.capabilities.agreed(login::QUERY_ATTRIBUTES);
                let text = commands::query_text(payload, attributes);
                request.sql = sql(text, packet, context.statements);
            }
            commands::PREPARE => {
                request.sql = sql(payload, packet, context.statements);
                self.prepared.asked(request.sql);
                response.success = Success::Prepared(request.sql);
            }
            commands::EXECUTE => {
                let id = Cursor::new(payload)
                    .u32_le("statement id")
                    .unwrap_or_default();
                let execute = commands::execute(payload, self.prepared.parameters(id));
                self.execute(execute.unwrap_or_default(), request, response);
            }
            commands::BULK_EXECUTE => {
                self.execute(
                    commands::bulk_execute(payload).unwrap_or_default(),
                    request,
                    response,
                );
            }
            commands::LONG_DATA | commands::CLOSE | commands::RESET | commands::FETCH => {
                self.use_statement(code, payload, request);
            }
            commands::INIT_DB => response.success = Success::Database(packet::name(payload)),
            commands::RESET_CONNECTION => response.success = Success::ConnectionReset,
            commands::CHANGE_USER => {
                let Login { user, database, .. } =
                    Login::read_change(payload, self.capabilities.client);
                response.success = Success::User { user, database };
            }
            0x00..=0x2f | 0xf0..=0xff => {}
            _ => return Err(Lost(format!("there is no command {code:#04x}"))),
        }
        Ok(())
    }

    fn execute(&mut self, execute: Execute<'_>, request: &mut Request, response: &mut Response) {
        request.sql = self.prepared.execute(execute.statement, &execute.binds);
        if execute.statement == LAST_PREPARED {
            request.awaits = Awaits::Shared;
        }
        response.cursor = execute.cursor;
        response.counts_rows = !execute.unit_results;
    }

    /// Commands that name a statement and do not execute it.
    fn use_statement(&mut self, code: u8, payload: &[u8], request: &mut Request) {
        let mut cursor = Cursor::new(payload);
        let Ok(id) = cursor.u32_le("statement id") else {
            return;
        };
        request.sql = self.prepared.sql(id);
        match code {
            commands::LONG_DATA => self.prepared.long_data(id, cursor.rest()),
            commands::RESET => self.prepared.reset(id),
            commands::CLOSE => self.prepared.close(id),
            _ => {}
        }
    }
}

/// The server's side.
impl Mysql {
    fn server_head(&self, first: Option<u8>) -> usize {
        match self.open.front() {
            Some(Response {
                continues: true, ..
            }) => HEADER,
            Some(Response {
                reply: Reply::Row | Reply::Definition { .. },
                ..
            }) => match first {
                Some(packet::EOF | packet::ERR) => SERVER_HEAD,
                _ => HEADER + 1,
            },
            _ => SERVER_HEAD,
        }
    }

    fn server(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        if self.phase == Phase::Greeting {
            return self.greeting(packet, context);
        }
        if self.is_late_eof(packet) {
            return Ok(Meaning::Aside);
        }
        let Some(response) = self.open.front() else {
            return unasked(packet);
        };
        if response.reply == Reply::Unreadable {
            return Ok(Meaning::More);
        }
        // An error that nobody asked for may cross a command on its way: it is what the client reads as the answer.
        let crosses =
            packet.is_error() && packet.sequence == 0 && matches!(response.reply, Reply::First(_));
        if !crosses {
            self.check(packet, Side::Server, response.sequence)?;
        }
        self.answer(packet, context)
    }

    fn greeting(
        &mut self,
        packet: &Packet<'_>,
        context: &mut Context<'_>,
    ) -> Result<Meaning, Lost> {
        self.check(packet, Side::Server, 0)?;
        self.phase = Phase::Login { sequence: 1 };
        if packet.is_error() {
            let error = Some(packet.error(context.statements));
            return Ok(Meaning::Greeting(Outcome {
                error,
                ..Outcome::default()
            }));
        }
        if !matches!(packet.first(), Some(9 | 10) | None) {
            return Err(Lost("the server does not greet as MySQL does".into()));
        }
        match Greeting::read(packet) {
            Ok(greeting) => {
                self.capabilities.server = greeting.capabilities;
                self.layout.eof_without_definitions = self.capabilities.server_is_mysql();
                context.session.server_version = Some(greeting.version);
            }
            Err(missing) if packet.is_whole() => return Err(missing.into()),
            Err(_) => {}
        }
        Ok(Meaning::Greeting(Outcome::default()))
    }

    /// The first packet after a prepare shows how results are laid out on this connection.
    fn is_late_eof(&mut self, packet: &Packet<'_>) -> bool {
        let Some(sequence) = self.late_eof.take() else {
            return false;
        };
        let late = packet.is_eof() && (self.compressed || packet.sequence == sequence);
        self.layout.deprecate_eof = Some(!late);
        late
    }

    fn answer(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        let Some(response) = self.open.front_mut() else {
            return Ok(Meaning::Aside);
        };
        response.sequence = packet.sequence.wrapping_add(1);
        if std::mem::replace(&mut response.continues, packet.continues()) {
            return Ok(Meaning::More);
        }
        let step = response.step(packet, &mut self.layout, context.statements)?;
        if let (Some((id, parameters)), Success::Prepared(sql)) =
            (response.prepared.take(), &response.success)
        {
            self.prepared.answered(id, *sql, parameters);
        }
        Ok(match step {
            Step::More => Meaning::More,
            Step::Row => Meaning::Rows(1),
            Step::Done(outcome) => {
                self.done(outcome.error.is_none(), context);
                Meaning::Done(outcome)
            }
        })
    }

    /// The oldest command has its whole answer.
    fn done(&mut self, succeeded: bool, context: &mut Context<'_>) {
        let Some(response) = self.open.pop_front() else {
            return;
        };
        if !succeeded {
            return;
        }
        if self.layout.deprecate_eof.is_none()
            && matches!(response.reply, Reply::DefinitionsEnd { .. })
        {
            self.late_eof = Some(response.sequence);
        }
        self.succeed(response.success, context);
        if response.database.is_some() {
            context.session.database = response.database;
        }
    }

    fn succeed(&mut self, success: Success, context: &mut Context<'_>) {
        match success {
            Success::Nothing | Success::Prepared(_) => {}
            Success::LoggedIn => self.compress(context),
            Success::Database(database) => context.session.database = database,
            Success::User { user, database } => {
                context.session.user = user;
                context.session.database = database;
                self.prepared.close_all();
            }
            Success::ConnectionReset => self.prepared.close_all(),
        }
    }

    fn compress(&mut self, context: &mut Context<'_>) {
        if let Some(algorithm) = self.capabilities.compression() {
            self.compressed = true;
            context.session.compression = Some(algorithm);
            context.switch = Some(Layer::MysqlCompression);
        }
    }

    fn check(&self, packet: &Packet<'_>, side: Side, expected: u8) -> Result<(), Lost> {
        if self.compressed || packet.sequence == expected {
            return Ok(());
        }
        let who = if side == Side::Client {
            "client"
        } else {
            "server"
        };
        Err(Lost(format!(
            "the {who} sends packet {} where packet {expected} was expected",
            packet.sequence
        )))
    }
}

/// Before it hangs up, a server may say why: idle for too long, shut down, killed.
fn unasked(packet: &Packet<'_>) -> Result<Meaning, Lost> {
    match packet.is_error() {
        true => Ok(Meaning::Aside),
        false => Err(Lost("the server sends what nobody asked for".into())),
    }
}

/// The statement in `text`, which is as much of it as is at hand.
fn sql(text: &[u8], packet: &Packet<'_>, statements: &mut Statements) -> Option<Sql> {
    let kept = text.get(..SQL_BYTES).unwrap_or(text);
    // Query attributes of which the end is missing are no statement.
    if kept.first().is_none_or(|first| *first < b'\t') {
        return None;
    }
    if packet.is_whole() && !packet.continues() && kept.len() == text.len() {
        return Some(statements.sql(text));
    }
    Some(statements.sql(&[without_half_character(kept), ELLIPSIS.as_bytes()].concat()))
}

fn without_half_character(text: &[u8]) -> &[u8] {
    match std::str::from_utf8(text) {
        Err(error) if error.error_len().is_none() => {
            text.get(..error.valid_up_to()).unwrap_or(text)
        }
        _ => text,
    }
}
