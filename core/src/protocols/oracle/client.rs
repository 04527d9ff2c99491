//! What the client's packets mean.

use super::calls::{self, Closed, Found};
use super::connect::{self, Connect};
use super::cursors::Statement;
use super::effort::Effort;
use super::framing::{DataFlags, Kind, Packet};
use super::statement::{self, Execution, Text, Verb};
use super::{Answer, Call, DIALECT, Following, OPEN_CALLS, Oracle, logon, native};
use crate::protocols::{Awaits, Context, Meaning, Purpose, Request};
use crate::sql::{Sql, Statements};

/// First bytes of TTC messages that are no calls.
const PROTOCOL: u8 = 0x01;
const DATA_TYPES: u8 = 0x02;
const FAST_AUTHENTICATION: u8 = 0x22;
/// The last byte of a marker: the client has read the server's break and is ready again.
const RESET: u8 = 2;
/// Kept of a request while its statement is not complete.
const REQUEST_KEPT: usize = statement::KEPT + (8 << 10);

/// A request before it is known whether it is answered.
struct Begun {
    command: &'static str,
    purpose: Purpose,
    sql: Option<Sql>,
    call: Call,
    one_way: bool,
    begins_pipeline: bool,
    ends_pipeline: bool,
}

impl Begun {
    fn new(command: &'static str, purpose: Purpose, answer: Answer) -> Begun {
        let call = Call { answer, ..Call::default() };
        Begun { command, purpose, sql: None, call, one_way: false, begins_pipeline: false, ends_pipeline: false }
    }
}

impl Oracle {
    pub(super) fn client(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Meaning {
        match packet.header.kind {
            Kind::Connect => self.connects(packet, context),
            Kind::Data => self.sends(packet, context),
            Kind::Marker => self.client_marker(packet.body),
            // Only a server resends: the tool that rewrote this capture has turned the packet round.
            Kind::Resend => self.ended(),
            Kind::Descriptor if !self.calls.is_empty() => Meaning::More,
            _ => Meaning::Unrelated,
        }
    }

    /// A break interrupts the client's own wait and begins none; a reset after the server's break begins another one.
    fn client_marker(&mut self, body: &[u8]) -> Meaning {
        let resets = body.last() == Some(&RESET) && self.answered && !self.calls.is_empty();
        if resets { Meaning::More } else { Meaning::Unrelated }
    }

    /// Whatever is open had its whole answer: the client would not speak otherwise.
    fn ended(&mut self) -> Meaning {
        if self.calls.is_empty() {
            return Meaning::Unrelated;
        }
        self.forget_calls();
        Meaning::Ended
    }

    fn forget_calls(&mut self) {
        for call in std::mem::take(&mut self.calls) {
            self.cursors.forget_count(call.cursor);
        }
        self.answered = false;
        self.begin_response();
    }

    // --- connecting -------------------------------------------------------------------------------------------------

    fn connects(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Meaning {
        let again = self.is_connecting() && self.answered;
        if let Ok(connect) = Connect::read(packet.body) {
            let follows = connect.data_follows(packet.header.length);
            self.following = follows.then_some(Following::ConnectData);
            connect::learn(context.session, connect.data);
        }
        self.server_spoke = false;
        if again { Meaning::More } else { self.open(Begun::new("connect", Purpose::Setup, Answer::Connect), false) }
    }

    fn is_connecting(&self) -> bool {
        self.calls.back().is_some_and(|call| call.answer == Answer::Connect)
    }

    // --- requests ---------------------------------------------------------------------------------------------------

    fn sends(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Meaning {
        if packet.body.is_empty() && packet.data_flags.has(DataFlags::END_OF_FILE) {
            return self.disconnects();
        }
        if self.following == Some(Following::ConnectData) {
            self.following = None;
            connect::learn(context.session, packet.body);
            return Meaning::More;
        }
        if self.continues(packet.body) {
            return self.continuation(packet.body, context.statements);
        }
        let pipelined = self.pipelining;
        let begun = self.begin(packet, context);
        let begins = packet.data_flags.has(DataFlags::BEGIN_PIPELINE) || begun.begins_pipeline;
        let goes_on = packet.data_flags.has(DataFlags::END_OF_REQUEST) && !begun.ends_pipeline;
        self.pipelining = begins || pipelined && goes_on;
        self.open(begun, pipelined)
    }

    fn disconnects(&mut self) -> Meaning {
        let goodbye = Begun { one_way: true, ..Begun::new("disconnect", Purpose::Disconnect, Answer::Plain) };
        self.open(goodbye, false)
    }

    /// Does this packet go on with the request before it? No client sends two requests without waiting, except where the
    /// second one shows by its sequence that it is one.
    fn continues(&self, body: &[u8]) -> bool {
        let open = !self.calls.is_empty() && !self.is_connecting() && !self.server_spoke;
        let next = calls::Header::known(body).is_some_and(|header| header.follows(self.sequence));
        open && !next
    }

    fn continuation(&mut self, body: &[u8], statements: &mut Statements) -> Meaning {
        if self.request.is_empty() {
            return Meaning::More;
        }
        let room = REQUEST_KEPT.saturating_sub(self.request.len());
        self.request.extend_from_slice(&body[..body.len().min(room)]);
        let full = self.request.len() >= REQUEST_KEPT;
        if self.effort.look(self.request.len()).is_none() {
            return Meaning::More;
        }
        let request = std::mem::take(&mut self.request);
        let found =
            calls::find(&request, &self.effort).and_then(|found| Some((found.bytes, Execution::read(found.bytes)?)));
        let Some((bytes, execution)) = found else {
            return Meaning::More;
        };
        let (statement, partial) = read_statement(bytes, &execution, full, statements, &self.effort);
        if let (Some(call), Some(sql)) = (self.calls.back_mut(), statement.sql) {
            call.statement = statement;
            return Meaning::Several(vec![Meaning::More, Meaning::Text(sql)]);
        }
        if partial {
            self.request = request;
        }
        Meaning::More
    }

    /// The client asks: what was open before and not seen to end is over, unless this one is sent without waiting.
    fn open(&mut self, begun: Begun, pipelined: bool) -> Meaning {
        let overdue = self.answered && self.calls.len() == 1 && !pipelined;
        let unanswered_connect = self.is_connecting() && !begun.one_way;
        let over = overdue || unanswered_connect || self.calls.len() >= OPEN_CALLS;
        let ended = over.then(|| self.ended());
        let awaits = match (begun.one_way, pipelined) {
            (true, _) => Awaits::Nothing,
            (false, true) => Awaits::Shared,
            (false, false) => Awaits::Answer,
        };
        if !begun.one_way {
            self.calls.push_back(begun.call);
            self.server_spoke = false;
        }
        let request =
            Meaning::Request(Request { sql: begun.sql, awaits, ..Request::new(begun.command, begun.purpose) });
        match ended {
            Some(Meaning::Ended) => Meaning::Several(vec![Meaning::Ended, request]),
            _ => request,
        }
    }

    fn begin(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Begun {
        self.request = Vec::new();
        let body = packet.body;
        match body.first() {
            Some(&PROTOCOL) => Begun::new("protocol", Purpose::Setup, Answer::Negotiation),
            Some(&DATA_TYPES) => Begun::new("data_types", Purpose::Setup, Answer::Negotiation),
            Some(&FAST_AUTHENTICATION) => {
                logon::learn_request(context.session, body);
                Begun::new("fast_authentication", Purpose::Setup, Answer::Logon)
            }
            _ if body.starts_with(native::MAGIC) => {
                Begun { one_way: self.keys_follow, ..Begun::new("native_services", Purpose::Setup, Answer::Native) }
            }
            _ => match calls::find(body, &self.effort) {
                Some(found) => self.call(&found, packet.cut, context),
                None => Begun::new("call", Purpose::Other, Answer::Plain),
            },
        }
    }

    // --- calls ------------------------------------------------------------------------------------------------------

    fn call(&mut self, found: &Found<'_>, cut: bool, context: &mut Context<'_>) -> Begun {
        match &found.closed {
            Closed::These(closed) => closed.iter().for_each(|&cursor| self.cursors.close(cursor)),
            Closed::Unknown => self.forget_statements(),
        }
        self.sequence = found.header.sequence;
        if found.header.function != calls::FETCH {
            self.nameless = None;
        }
        let (command, purpose) = calls::command(found.header.function).unwrap_or(("call", Purpose::Other));
        let mut begun =
            Begun { one_way: found.header.kind == calls::ONE_WAY, ..Begun::new(command, purpose, Answer::Plain) };
        begun.begins_pipeline = found.begins_pipeline;
        begun.call.sequence = Some(found.header.sequence);
        match found.header.function {
            calls::EXECUTE
            | calls::PARSE
            | calls::PARSE_V7
            | calls::PARSE_AND_EXECUTE
            | calls::EXECUTE_V7
            | calls::OTHER_PARSE_V7 => self.execute(&mut begun, found, cut, context.statements),
            calls::FETCH => self.fetch(&mut begun, found.bytes),
            calls::REEXECUTE | calls::REEXECUTE_AND_FETCH => self.reexecute(&mut begun, found),
            calls::LOB => self.lob(&mut begun, found.bytes),
            calls::CLOSE_CURSOR => match calls::first_cursor(found.bytes) {
                Some(cursor) => self.cursors.close(cursor),
                None => self.forget_statements(),
            },
            calls::PIPELINE_END => begun.ends_pipeline = true,
            calls::VERSION => begun.call.answer = Answer::Version,
            _ if command == "authenticate" => {
                begun.call.answer = Answer::Logon;
                logon::learn_request(context.session, found.bytes);
            }
            _ => {}
        }
        begun
    }

    fn execute(&mut self, begun: &mut Begun, found: &Found<'_>, cut: bool, statements: &mut Statements) {
        begun.call.answer = Answer::Rows;
        let execution = match found.header.function {
            calls::EXECUTE => Execution::read(found.bytes),
            calls::PARSE => Execution::read_version_7(found.bytes, false, &self.effort),
            _ => Execution::read_version_7(found.bytes, true, &self.effort),
        };
        let Some(execution) = execution else {
            (begun.call.executes, begun.call.parses) = (true, true);
            begun.call.statement = statement_of(statement::guess(found.bytes, &self.effort).as_deref(), statements);
            begun.sql = begun.call.statement.sql;
            return;
        };
        self.shape.family = Some(execution.family);
        let call = &mut begun.call;
        (call.cursor, call.asked) = (execution.cursor, execution.rows);
        (call.executes, call.fetches) = (execution.executes(), execution.fetches());
        if execution.only_fetches() {
            begun.purpose = Purpose::Fetch;
        }
        let (new, partial) = read_statement(found.bytes, &execution, cut, statements, &self.effort);
        call.parses = execution.text_length > 0;
        if call.parses {
            call.statement = new;
            self.cursors.replace(execution.cursor, new);
        } else {
            call.statement = self.cursors.statement(execution.cursor);
        }
        if !call.parses && execution.executes() {
            call.statement.sql =
                call.statement.sql.map(|sql| Statements::with_parameters(sql, &found.bytes[execution.after..]));
        }
        begun.sql = call.statement.sql;
        if partial {
            self.request = found.bytes.to_vec();
        }
    }

    fn fetch(&mut self, begun: &mut Begun, bytes: &[u8]) {
        let call = &mut begun.call;
        (call.answer, call.fetches) = (Answer::Rows, true);
        if let Some((cursor, rows, family)) = calls::fetch(bytes) {
            self.shape.family = Some(family);
            if let Some(statement) = self.nameless_query() {
                self.cursors.name(cursor, statement);
            }
            (call.cursor, call.asked) = (cursor, rows);
            call.statement = self.cursors.statement(cursor);
            begun.sql = call.statement.sql;
        }
    }

    /// The query just executed, where its answer did not show which cursor it has.
    fn nameless_query(&mut self) -> Option<Statement> {
        let open = self.calls.back().filter(|call| call.begins_cursor() && call.executes).map(|call| call.statement);
        self.nameless.take().or(open)
    }

    fn reexecute(&mut self, begun: &mut Begun, found: &Found<'_>) {
        let call = &mut begun.call;
        (call.answer, call.executes) = (Answer::Rows, true);
        call.fetches = found.header.function == calls::REEXECUTE_AND_FETCH;
        if let Some(again) = calls::reexecution(found.bytes) {
            (call.cursor, call.asked) = (again.cursor, again.rows);
            call.statement = self.cursors.statement(again.cursor);
            call.statement.sql = call.statement.sql.map(|sql| Statements::with_parameters(sql, again.binds));
            begun.sql = call.statement.sql;
        }
    }

    /// A LOB that is read came with the rows of the last query.
    fn lob(&mut self, begun: &mut Begun, bytes: &[u8]) {
        begun.command = calls::lob(bytes);
        if matches!(begun.command, "lob_read" | "lob_length" | "lob_chunk_size" | "lob_open" | "lob_close") {
            begun.sql = self.last_query.sql;
        }
    }
}

/// The statement of an execution, and whether more of it is still to come. `last`: nothing more can come, so take what
/// there is.
fn read_statement(
    bytes: &[u8],
    execution: &Execution,
    last: bool,
    statements: &mut Statements,
    effort: &Effort,
) -> (Statement, bool) {
    match statement::text(bytes, execution, effort) {
        Text::Whole(text, end) => {
            let mut statement = statement_of(Some(&text), statements);
            if execution.binds {
                statement.sql = statement.sql.map(|sql| Statements::with_parameters(sql, &bytes[end..]));
            }
            (statement, false)
        }
        Text::Partial if last => {
            let beginning =
                statement::beginning(bytes, execution, effort).map(|text| [&text[..], "…".as_bytes()].concat());
            (statement_of(beginning.as_deref(), statements), false)
        }
        Text::Partial => (Statement::default(), true),
        Text::None if execution.text_length > 0 => {
            (statement_of(statement::guess(bytes, effort).as_deref(), statements), false)
        }
        Text::None => (Statement::default(), false),
    }
}

fn statement_of(text: Option<&[u8]>, statements: &mut Statements) -> Statement {
    let Some(text) = text else {
        return Statement::default();
    };
    let verb = Verb::of(text);
    let sql = match text.get(..statement::KEPT) {
        Some(kept) if text.len() > kept.len() => statements.sql_in(DIALECT, &[kept, "…".as_bytes()].concat()),
        _ => statements.sql_in(DIALECT, text),
    };
    Statement { sql: Some(sql), verb }
}
