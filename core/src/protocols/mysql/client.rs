//! What the client says: its login, its commands, and its part in the server's dialogues.

use super::commands::{self, Answer, Command, Execute, LAST_PREPARED};
use super::framing::{self, HEADER, Packet};
use super::login::{self, Login};
use super::response::{Reply, Response, Success};
use super::{Continuation, Mysql, Phase};
use crate::cursor::{Cursor, Lost};
use crate::protocols::{Awaits, Context, Layer, Meaning, Purpose, Request};
use crate::sql::{Dialect, Sql, Statements};

/// What a statement ends with that is longer than what was captured or is kept.
const ELLIPSIS: &str = "…";
/// Bytes of a statement that are kept: with the ellipsis 64 KiB.
const SQL_BYTES: usize = (64 << 10) - ELLIPSIS.len();
/// Enough of a client's packet for all of a statement that is kept.
const CLIENT_HEAD: usize = HEADER + 1 + SQL_BYTES;

impl Mysql {
    pub(super) fn client_head(&self) -> usize {
        if self.client_continues.is_some() {
            HEADER
        } else if self.in_dialogue() {
            HEADER + 1
        } else {
            CLIENT_HEAD
        }
    }

    /// The client's next packet belongs to the exchange that is open.
    fn in_dialogue(&self) -> bool {
        self.open.back().is_some_and(Response::is_dialogue)
    }

    /// It says good-bye without the answer to its login, as load balancers do that check a server.
    fn quits_early(&self, packet: &Packet<'_>) -> bool {
        let is_next = self.open.back().is_some_and(|response| response.sequence == packet.sequence);
        !is_next && packet.sequence == 0 && packet.length == 1 && packet.first() == Some(commands::QUIT)
    }

    /// The client's first packet has not the number of a login: the server refuses it, whatever it is.
    pub(super) fn is_no_login(&self, bytes: &[u8]) -> bool {
        match self.phase {
            Phase::Login { sequence } => Packet::read(bytes).is_ok_and(|packet| packet.sequence != sequence),
            phase => phase == Phase::NoLogin,
        }
    }

    pub(super) fn no_login(&mut self) -> Meaning {
        match std::mem::replace(&mut self.phase, Phase::NoLogin) {
            Phase::NoLogin => Meaning::MoreWithoutWait,
            _ => Meaning::Request(Request::new("authenticate", Purpose::Setup)),
        }
    }

    pub(super) fn client(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        if let Some(continuation) = self.client_continues {
            return self.continue_request(packet, continuation);
        }
        if self.in_dialogue() && !self.quits_early(packet) {
            return self.answer_the_server(packet);
        }
        match self.phase {
            Phase::Greeting => Err(Lost("the client speaks before the server's greeting".into())),
            Phase::Login { sequence } => self.login(packet, sequence, context),
            Phase::NoLogin => Ok(Meaning::MoreWithoutWait),
            Phase::Commands => self.command(packet, context),
        }
    }

    fn continue_request(&mut self, packet: &Packet<'_>, continuation: Continuation) -> Result<Meaning, Lost> {
        self.check(packet, "client", continuation.sequence)?;
        let sequence = packet.sequence.wrapping_add(1);
        self.client_continues = packet.continues().then_some(Continuation { sequence, ..continuation });
        if !continuation.answered {
            return Ok(Meaning::Unrelated);
        }
        if let Some(response) = self.open.back_mut() {
            response.sequence = sequence;
        }
        Ok(Meaning::More)
    }

    /// A further step of the authentication, or a piece of a local file, which ends with an empty packet.
    fn answer_the_server(&mut self, packet: &Packet<'_>) -> Result<Meaning, Lost> {
        let Some(response) = self.open.back() else {
            return Ok(Meaning::Unrelated);
        };
        self.check(packet, "client", response.sequence)?;
        let sequence = packet.sequence.wrapping_add(1);
        self.client_continues = packet.continues().then_some(Continuation { sequence, answered: true });
        if let Some(response) = self.open.back_mut() {
            response.sequence = sequence;
            if response.reply == Reply::Infile && packet.length == 0 {
                response.reply = Reply::First(Answer::Results);
            }
        }
        Ok(Meaning::More)
    }

    fn login(&mut self, packet: &Packet<'_>, sequence: u8, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        self.check(packet, "client", sequence)?;
        let next = sequence.wrapping_add(1);
        if login::asks_for_tls(packet) {
            self.phase = Phase::Login { sequence: next };
            Login::read(packet.payload).introduce_driver(&mut context.session.client);
            context.switch = Some(Layer::Tls);
            return Ok(Meaning::Request(Request::new("tls", Purpose::Setup)));
        }
        let login = Login::read(packet.payload);
        self.capabilities.client = login.capabilities;
        self.layout.deprecate_eof = self.capabilities.agreed(login::DEPRECATE_EOF);
        login.introduce(context.session);
        self.phase = Phase::Commands;
        let mut response = Response::new(Answer::Authentication, next);
        response.success = Success::LoggedIn;
        self.expect(response);
        Ok(Meaning::Request(Request::new("authenticate", Purpose::Setup)))
    }

    /// Most connections have one command under way at a time, and many connections are kept.
    fn expect(&mut self, response: Response) {
        if self.open.capacity() == 0 {
            self.open.reserve_exact(1);
        }
        self.open.push_back(response);
    }

    fn command(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        self.check(packet, "client", 0)?;
        if packet.length == 0 {
            return Err(Lost("an empty packet stands where a command should be".into()));
        }
        let command = Command::of(packet.first());
        let mut response = Response::new(command.answer, packet.sequence.wrapping_add(1));
        let mut request = Request::new(command.name, command.purpose);
        self.read_command(packet, &mut request, &mut response, context)?;
        self.end_unreadable(&mut request);
        let answered = !matches!(command.answer, Answer::Nothing | Answer::Stream);
        if packet.continues() {
            self.client_continues = Some(Continuation { sequence: response.sequence, answered });
        }
        if answered {
            self.expect(response);
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
        if self.open.front().is_some_and(|response| response.reply == Reply::Unreadable) {
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
                let plain = sql(self.dialect, text, packet, context.statements);
                let used = context.statements.named(self.dialect, text, plain, &mut self.prepared);
                *request = Request::using(request.command, used);
            }
            commands::PREPARE => {
                request.sql = sql(self.dialect, payload, packet, context.statements);
                self.prepared.asked(request.sql);
                response.success = Success::Prepared(request.sql);
            }
            commands::EXECUTE => {
                let id = Cursor::new(payload).u32_le("statement id").unwrap_or_default();
                let execute = commands::execute(payload, self.prepared.parameters(id));
                self.execute(execute.unwrap_or_default(), request, response);
            }
            commands::BULK_EXECUTE => {
                self.execute(commands::bulk_execute(payload).unwrap_or_default(), request, response);
            }
            commands::LONG_DATA | commands::CLOSE | commands::RESET | commands::FETCH => {
                self.use_statement(code, payload, request);
            }
            commands::INIT_DB => response.success = Success::Database(framing::name(payload)),
            commands::RESET_CONNECTION => response.success = Success::ConnectionReset,
            commands::CHANGE_USER => {
                let login = Login::read_change(payload, self.capabilities.client);
                login.introduce_driver(&mut context.session.client);
                let Login { user, database, .. } = login;
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

/// The statement in `text`, which is as much of it as is at hand.
fn sql(dialect: Dialect, text: &[u8], packet: &Packet<'_>, statements: &mut Statements) -> Option<Sql> {
    let kept = text.get(..SQL_BYTES).unwrap_or(text);
    // Query attributes of which the end is missing are no statement.
    if kept.first().is_none_or(|first| *first < b'\t') {
        return None;
    }
    if packet.is_whole() && !packet.continues() && kept.len() == text.len() {
        return Some(statements.sql_in(dialect, text));
    }
    Some(statements.sql_in(dialect, &[without_half_character(kept), ELLIPSIS.as_bytes()].concat()))
}

fn without_half_character(text: &[u8]) -> &[u8] {
    match std::str::from_utf8(text) {
        Err(error) if error.error_len().is_none() => text.get(..error.valid_up_to()).unwrap_or(text),
        _ => text,
    }
}
