//! What the client asks, and where one exchange ends and the next begins.
//!
//! A statement of the extended protocol is several messages: Parse, Bind, Describe, Execute, Close in the order the
//! driver likes, any of them missing. They are one exchange as long as they serve one execution; what the exchange is
//! shows with its last message, so it is renamed as it grows: `prepare` → `bind` → `execute`.
//!
//! The server answers when a Sync or Flush tells it to. Whatever is sent before the next one is sent without waiting,
//! however the packets fell.

use super::DIALECT;
use super::framing::{self, HEADER, NAME_MAX, text};
use super::names::Names;
use super::server::{Answer, Answers};
use crate::cursor::{Cursor, Lost};
use crate::protocols::{Awaits, Context, Meaning, Message, Passed, Purpose, Request};
use crate::side::Side;
use crate::sql::{Sql, Statements};

/// The bytes of a Bind without values and names, and those of an Execute of the unnamed portal with a Sync.
const MIN_BIND: u64 = 13;
const EXECUTE_AND_SYNC: u64 = 15;

#[derive(Debug, Default)]
pub struct Requests {
    names: Names,
    /// The number of the newest exchange.
    exchange: u32,
    group: Group,
    /// Something was sent that no Sync and no Flush has followed yet.
    unflushed: bool,
    /// Something was sent that no Sync has followed yet, or perhaps was.
    unsynced: bool,
}

/// The messages of the extended protocol that are one exchange.
#[derive(Debug, Default)]
struct Group {
    /// `None`: there is none, the next message begins one.
    kind: Option<Kind>,
    /// The statement it is about, once one is named.
    statement: Name,
    portal: Name,
}

/// The name of a statement or portal, once there is one; the buffer serves for the next one, too.
#[derive(Debug, Default)]
struct Name {
    is_given: bool,
    bytes: Vec<u8>,
}

impl Name {
    fn get(&self) -> Option<&[u8]> {
        self.is_given.then_some(&self.bytes)
    }

    fn set(&mut self, name: Option<&[u8]>) {
        if self.bytes.capacity() > NAME_MAX {
            self.bytes = Vec::new();
        }
        self.is_given = name.is_some();
        self.bytes.clear();
        self.bytes.extend_from_slice(name.unwrap_or_default());
    }
}

/// What a group is, in the order in which one grows out of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Close,
    Describe,
    Prepare,
    Bind,
    Fetch,
    Execute,
}

impl Kind {
    fn command(self) -> (&'static str, Purpose) {
        match self {
            Kind::Close => ("close", Purpose::Close),
            Kind::Describe => ("describe", Purpose::Describe),
            Kind::Prepare => ("prepare", Purpose::Prepare),
            Kind::Bind => ("bind", Purpose::Other),
            Kind::Fetch => ("fetch", Purpose::Fetch),
            Kind::Execute => ("execute", Purpose::Execute),
        }
    }
}

/// A message of the extended protocol: what it does to which statement or portal.
struct Step<'a> {
    kind: Kind,
    answer: Answer,
    statement: Option<&'a [u8]>,
    portal: Option<&'a [u8]>,
    /// What follows the names: a text, or values.
    rest: &'a [u8],
    /// The snap length cut it.
    is_cut: bool,
    /// The statement it is about, once it was followed.
    sql: Option<Sql>,
    /// It runs a statement that is empty (pgjdbc's `isValid`).
    is_ping: bool,
}

impl<'a> Step<'a> {
    fn command(&self) -> (&'static str, Purpose) {
        let (command, purpose) = self.kind.command();
        (command, if self.is_ping { Purpose::Ping } else { purpose })
    }

    fn request(&self) -> Request {
        let (command, purpose) = self.command();
        Request { sql: self.sql, ..Request::new(command, purpose) }
    }

    fn becomes(&self) -> Meaning {
        let (command, purpose) = self.command();
        Meaning::Becomes { command, purpose, sql: self.sql }
    }

    /// Read a message of the extended protocol, as far as the capture has it.
    fn read(tag: u8, body: &'a [u8]) -> Step<'a> {
        let mut cursor = Cursor::new(body);
        let (kind, answer, statement, portal) = match tag {
            b'P' => (Kind::Prepare, Answer::Parse, Some(name(&mut cursor)), None),
            b'B' => {
                let portal = name(&mut cursor);
                (Kind::Bind, Answer::Bind, Some(name(&mut cursor)), Some(portal))
            }
            b'E' => (Kind::Execute, Answer::Execute, None, Some(name(&mut cursor))),
            _ => {
                let (kind, answer) =
                    if tag == b'C' { (Kind::Close, Answer::Close) } else { (Kind::Describe, Answer::Describe) };
                let (is_portal, name) = target(&mut cursor);
                if is_portal { (kind, answer, None, Some(name)) } else { (kind, answer, Some(name), None) }
            }
        };
        Step { kind, answer, statement, portal, rest: cursor.rest(), is_cut: false, sql: None, is_ping: false }
    }
}

impl Group {
    /// Does the step serve the same execution?
    fn takes(&self, step: &Step<'_>) -> bool {
        let Some(kind) = self.kind else { return false };
        let same_statement = || self.statement.get().is_none_or(|name| Some(name) == step.statement);
        let same_portal = || self.portal.get() == step.portal;
        match step.answer {
            Answer::Close => true,
            _ if kind == Kind::Close => true,
            Answer::Bind => kind < Kind::Bind && same_statement(),
            Answer::Describe if step.portal.is_some() => kind == Kind::Bind && same_portal(),
            Answer::Describe => kind < Kind::Bind && same_statement(),
            Answer::Execute => kind == Kind::Bind && same_portal(),
            _ => false,
        }
    }

    /// A new one begins with this step.
    fn begin(&mut self, step: &Step<'_>) {
        self.kind = Some(step.kind);
        self.statement.set(step.statement.filter(|_| step.answer != Answer::Close));
        self.portal.set(step.portal.filter(|_| step.answer != Answer::Close));
    }

    /// True when the step makes it something else.
    fn take(&mut self, step: &Step<'_>) -> bool {
        let grows = Some(step.kind) > self.kind;
        self.kind = self.kind.max(Some(step.kind));
        if step.answer != Answer::Close {
            if step.statement.is_some() {
                self.statement.set(step.statement);
            }
            if step.portal.is_some() {
                self.portal.set(step.portal);
            }
        }
        grows
    }
}

impl Requests {
    /// What was open is forgotten; statements that were prepared are still there, but for the unnamed one: its name may
    /// have been given anew.
    pub fn resume(&mut self) {
        self.group.kind = None;
        self.unflushed = false;
        self.unsynced = true;
        self.names.forget_unnamed();
    }

    /// What the cut end of a packet holds behind a Parse or Bind: where there is room for it, the execution.
    pub fn hidden(&self, bytes: u64) -> Option<Meaning> {
        let named = self.group.statement.get().map_or(0, <[u8]>::len) as u64;
        let needed = match self.group.kind? {
            Kind::Prepare => MIN_BIND + named + EXECUTE_AND_SYNC,
            Kind::Bind => EXECUTE_AND_SYNC,
            _ => return None,
        };
        let (command, purpose) = Kind::Execute.command();
        (bytes >= needed).then_some(Meaning::Becomes { command, purpose, sql: None })
    }

    /// Requests were not captured.
    pub fn missed(&mut self) {
        self.names.missed_requests();
    }

    /// The first message of a connection.
    pub fn startup(&mut self, answers: &mut Answers) -> Result<Meaning, Lost> {
        self.cycle(Request::new("authenticate", Purpose::Setup), Answer::Startup, answers)
    }

    /// What a message of the client means.
    pub fn message(
        &mut self,
        message: &Message<'_>,
        answers: &mut Answers,
        context: &mut Context<'_>,
    ) -> Result<Meaning, Lost> {
        let tag = message.bytes.first().copied().unwrap_or_default();
        let body = message.bytes.get(HEADER..).unwrap_or_default();
        match tag {
            b'Q' => {
                let request = self.query(body, context.statements);
                self.cycle(request, Answer::Query, answers)
            }
            b'F' => self.cycle(Request::new("function_call", Purpose::Other), Answer::Function, answers),
            b'S' => self.sync(answers),
            b'H' => Ok(self.flush(answers)),
            b'X' => Ok(Meaning::Request(Request {
                awaits: Awaits::Nothing,
                ..Request::new("terminate", Purpose::Disconnect)
            })),
            b'p' if answers.is_authenticating() => Ok(Meaning::More),
            b'p' => Err(Lost("a password that was not asked for".into())),
            b'd' | b'c' | b'f' => Ok(answers.copied()),
            _ => {
                let mut step = Step { is_cut: message.cut, ..Step::read(tag, body) };
                self.follow(&mut step, context);
                self.extended(&step, answers)
            }
        }
    }

    /// Messages that only go on with the newest exchange.
    pub fn pass(&mut self, bytes: &[u8], answers: &mut Answers, context: &mut Context<'_>) -> Passed {
        let mut passed = Passed::default();
        while self.group.kind.is_some() && answers.is_newest(self.exchange) && answers.has_room() {
            let rest = bytes.get(passed.length..).unwrap_or_default();
            let Some((tag, message, length)) = framing::whole(Side::Client, rest) else { break };
            let meaning = match tag {
                b'S' => self.sync(answers),
                b'H' => Ok(self.flush(answers)),
                b'B' | b'D' | b'E' | b'C' => {
                    let mut step = Step::read(tag, message.get(HEADER..).unwrap_or_default());
                    if !self.group.takes(&step) {
                        break;
                    }
                    self.follow(&mut step, context);
                    self.extended(&step, answers)
                }
                _ => break,
            };
            let Ok(meaning) = meaning else { break };
            passed.add_meaning(length, meaning);
        }
        passed
    }

    /// A text, which may prepare, run or close a statement by its name.
    fn query(&mut self, body: &[u8], statements: &mut Statements) -> Request {
        let text = text(body);
        self.names.read_for(self.exchange.wrapping_add(1));
        let Some(sql) = text_of(body, statements) else { return Request::new("query", Purpose::Ping) };
        Request::using("query", statements.named(DIALECT, &text, Some(sql), &mut self.names))
    }

    /// The server has refused what the exchange asked: a name that it gave stands for what it stood for before.
    pub fn refused(&mut self, exchange: u32) {
        self.names.refused(exchange);
    }

    /// A request that ReadyForQuery ends.
    fn cycle(&mut self, request: Request, answer: Answer, answers: &mut Answers) -> Result<Meaning, Lost> {
        let request = Request { awaits: self.awaits(), ..request };
        self.begin();
        self.unflushed = false;
        self.unsynced = false;
        answers.expect(answer, self.exchange)?;
        Ok(Meaning::Request(request))
    }

    fn begin(&mut self) {
        self.exchange = self.exchange.wrapping_add(1);
        self.group.kind = None;
    }

    /// The server keeps its answers until a Sync or Flush: the client does not wait before that.
    fn awaits(&self) -> Awaits {
        if self.unflushed { Awaits::Shared } else { Awaits::Answer }
    }

    fn sync(&mut self, answers: &mut Answers) -> Result<Meaning, Lost> {
        if self.group.kind.is_none() || !answers.is_newest(self.exchange) {
            // One that ends nothing asks whether the server is there (sqlx).
            let purpose = if self.unsynced { Purpose::Other } else { Purpose::Ping };
            return self.cycle(Request::new("sync", purpose), Answer::Sync, answers);
        }
        self.group.kind = None;
        self.unflushed = false;
        self.unsynced = false;
        answers.expect(Answer::Sync, self.exchange)?;
        Ok(Meaning::MoreWithoutWait)
    }

    fn flush(&mut self, answers: &Answers) -> Meaning {
        self.unflushed = false;
        if answers.is_newest(self.exchange) { Meaning::MoreWithoutWait } else { Meaning::Unrelated }
    }

    fn extended(&mut self, step: &Step<'_>, answers: &mut Answers) -> Result<Meaning, Lost> {
        let is_open = answers.is_newest(self.exchange);
        let meaning = if !is_open || !self.group.takes(step) {
            self.new_group(step)
        } else if self.group.take(step) {
            step.becomes()
        } else {
            Meaning::MoreWithoutWait
        };
        self.unflushed = true;
        self.unsynced = true;
        answers.expect(step.answer, self.exchange)?;
        Ok(meaning)
    }

    fn new_group(&mut self, step: &Step<'_>) -> Meaning {
        self.begin();
        self.group.begin(step);
        Meaning::Request(Request { awaits: self.awaits(), ..step.request() })
    }

    /// Remember what a message of the extended protocol names, and find the statement that it is about.
    fn follow(&mut self, step: &mut Step<'_>, context: &mut Context<'_>) {
        if matches!(step.answer, Answer::Parse | Answer::Bind) {
            let names = step.statement.into_iter().chain(step.portal);
            names.for_each(|name| context.session.client.names_statement(name));
        }
        let statements = &mut *context.statements;
        let (statement, portal) = (step.statement.unwrap_or_default(), step.portal.unwrap_or_default());
        step.sql = match step.answer {
            Answer::Parse => {
                let sql = text_of(step.rest, statements);
                self.names.prepare(statement, sql);
                sql
            }
            Answer::Bind => {
                let sql = self.names.statement(statement, statements);
                let sql = sql.map(|sql| if step.is_cut { sql } else { Statements::with_parameters(sql, step.rest) });
                self.names.bind(portal, statement, sql);
                sql
            }
            Answer::Execute => {
                let before = self.names.execute(portal);
                // One that has run before brings more rows.
                step.kind = if before.is_some_and(|portal| !portal.executed) { Kind::Execute } else { Kind::Fetch };
                step.is_ping = before.is_some_and(|portal| portal.empty);
                before.and_then(|portal| portal.sql)
            }
            Answer::Close if step.portal.is_some() => self.names.close(true, portal),
            Answer::Close => self.names.close(false, statement),
            _ if step.portal.is_some() => self.names.portal(portal),
            _ => self.names.statement(statement, statements),
        };
    }
}

/// A statement or portal: `S` or `P`, and its name.
fn target<'a>(cursor: &mut Cursor<'a>) -> (bool, &'a [u8]) {
    let is_portal = cursor.u8("kind") == Ok(b'P');
    (is_portal, name(cursor))
}

fn name<'a>(cursor: &mut Cursor<'a>) -> &'a [u8] {
    cursor.until(0, "name").unwrap_or_else(|_| cursor.rest())
}

/// The statement in a text; an empty one (a ping) is no statement.
fn text_of(body: &[u8], statements: &mut Statements) -> Option<Sql> {
    let text = text(body);
    (!text.trim_ascii().is_empty()).then(|| statements.sql_in(DIALECT, &text))
}
