//! What the client asks.

use super::calls::{Call, Calls, NAMED};
use super::framing::{Kind, Packet, has_headers};
use super::server::{Answers, Awaited};
use super::text::{self, TEXT_MAX};
use super::{login, prelogin};
use crate::cursor::{Cursor, Lost};
use crate::protocols::{Awaits, Context, Meaning, Purpose, Request};
use crate::sql::{Sql, Statements};

/// A statement, and the headers before it.
const BATCH_MAX: usize = 2 * TEXT_MAX + 1024;
/// A login, and requests about transactions.
const OTHER_MAX: usize = 8 << 10;

/// The message that the client is sending.
#[derive(Debug, Default)]
pub struct Requests {
    kind: Option<Kind>,
    /// Its beginning.
    body: Vec<u8>,
    is_whole: bool,
    calls: Calls,
    /// Calls of it that have begun an exchange.
    begun: usize,
    /// Statements before bulk loads name their tables.
    last_batch: Option<Sql>,
}

impl Requests {
    pub fn kept_bytes(&self) -> usize {
        self.body.capacity() + self.calls.kept_bytes()
    }

    /// There is no room for what has come of the message.
    pub fn give_up(&mut self) {
        self.body = Vec::new();
        self.is_whole = false;
        self.calls.give_up();
    }

    pub fn resume(&mut self) {
        *self = Requests::default();
    }

    /// A packet of the client.
    pub fn packet(
        &mut self,
        packet: &Packet<'_>,
        answers: &mut Answers,
        context: &mut Context<'_>,
    ) -> Result<Meaning, Lost> {
        if packet.kind == Kind::Attention {
            // What was being sent will not go on.
            self.kind = None;
            return Ok(answers.attention());
        }
        let begins = self.kind != Some(packet.kind);
        // The first packet of a login was encrypted, the others are not.
        if begins && packet.kind == Kind::Login && packet.number > 1 && answers.is_login() {
            return Ok(Meaning::MoreWithoutWait);
        }
        if begins {
            self.begin(packet, answers, context);
        }
        self.take(packet);
        self.kind = (!packet.is_last()).then_some(packet.kind);
        Ok(match packet.kind {
            Kind::Call => self.calls(packet, begins, answers, context),
            Kind::Sspi | Kind::Token if answers.is_login() => {
                if begins {
                    Meaning::More
                } else {
                    Meaning::MoreWithoutWait
                }
            }
            _ if packet.is_last() => {
                let (request, awaited) = self.request(packet.kind, answers, context);
                one(request, begins, awaited, answers)
            }
            kind if begins => {
                let awaited = Awaited { is_login: kind == Kind::Login, ..Awaited::default() };
                one(Request::new(command(kind), purpose(kind)), true, awaited, answers)
            }
            _ => Meaning::MoreWithoutWait,
        })
    }

    fn begin(&mut self, packet: &Packet<'_>, answers: &mut Answers, context: &mut Context<'_>) {
        self.body.clear();
        self.is_whole = true;
        self.calls = Calls::default();
        self.begun = 0;
        if packet.resets() {
            answers.prepared.clear();
            answers.quotes.reset();
        }
        if matches!(packet.kind, Kind::Batch | Kind::Call | Kind::Transaction) {
            let has_headers = has_headers(packet.body);
            if has_headers || !packet.is_cut {
                answers.sees_headers(has_headers);
            }
            if let Some(is_open) = transaction(packet.body).filter(|_| has_headers) {
                context.session.transaction = Some(if is_open { "open" } else { "idle" });
            }
        }
    }

    /// Keep what of the message its meaning depends on.
    fn take(&mut self, packet: &Packet<'_>) {
        let most = match packet.kind {
            Kind::Batch => BATCH_MAX,
            Kind::Login | Kind::Transaction | Kind::Prelogin => OTHER_MAX,
            _ => return,
        };
        let room = most.saturating_sub(self.body.len());
        let part = packet.body.get(..room).unwrap_or(packet.body);
        self.is_whole &= part.len() == packet.body.len() && !packet.is_cut;
        self.body.extend_from_slice(part);
    }

    /// A message that is one request, all of which is there.
    fn request(&mut self, kind: Kind, answers: &mut Answers, context: &mut Context<'_>) -> (Request, Awaited) {
        let mut request = Request::new(command(kind), purpose(kind));
        let mut awaited = Awaited::default();
        match kind {
            Kind::Batch => {
                let text = text::statement(self.batch(answers), self.is_whole);
                request.sql = Some(context.statements.sql_in(answers.quotes.dialect(), text.as_bytes()));
                answers.quotes.pass(text.as_bytes(), self.is_whole);
                self.last_batch = request.sql;
            }
            Kind::Bulk => request.sql = self.last_batch,
            Kind::Prelogin => {
                awaited.is_prelogin = true;
                context.session.client.starts(&prelogin::startup(&self.body));
            }
            Kind::Login => {
                awaited.is_login = true;
                answers.quotes.begin(login::client_flags(&self.body));
                answers.speaks(login::introduce(&self.body, context.session));
            }
            Kind::Transaction => {
                let (command, purpose) = about_transaction(behind_headers(&self.body));
                request = Request::new(command, purpose);
            }
            _ => {}
        }
        self.body = Vec::new();
        (request, awaited)
    }

    /// The text of a batch. What stands before it shows what the login was not captured for.
    fn batch(&self, answers: &mut Answers) -> &[u8] {
        let rest = behind_headers(&self.body);
        let mut cursor = Cursor::new(rest);
        if !answers.layout.begins_with_package(cursor, false).unwrap_or(false) {
            return rest;
        }
        answers.layout.has_packages = Some(true);
        let length = cursor.u16_le("length of a package").unwrap_or_default();
        rest.get(2 + usize::from(length)..).unwrap_or_default()
    }

    // --- calls --------------------------------------------------------------------------------------------------------

    fn calls(
        &mut self,
        packet: &Packet<'_>,
        begins: bool,
        answers: &mut Answers,
        context: &mut Context<'_>,
    ) -> Meaning {
        let mut over = Vec::new();
        self.calls.read(packet.body, answers.layout, &mut over);
        if packet.is_cut {
            self.calls.give_up();
        }
        if packet.is_last() {
            over.extend(self.calls.end());
        }
        let mut meanings = Vec::new();
        for call in over {
            let (request, awaited) = called(&call, answers, context.statements);
            meanings.push(match self.begun {
                // It began an exchange with the first packet.
                0 if !begins => one(request, false, awaited, answers),
                0 => one(request, true, awaited, answers),
                _ => one(Request { awaits: Awaits::Shared, ..request }, true, awaited, answers),
            });
            self.begun += 1;
        }
        if meanings.is_empty() {
            return match begins {
                true => one(Request::new(NAMED.name, NAMED.purpose), true, Awaited::default(), answers),
                false => Meaning::MoreWithoutWait,
            };
        }
        if self.begun == meanings.len() || meanings.len() == 1 && !matches!(meanings[0], Meaning::Request(_)) {
            return several(meanings);
        }
        meanings.insert(0, Meaning::MoreWithoutWait);
        several(meanings)
    }
}

fn several(mut meanings: Vec<Meaning>) -> Meaning {
    if meanings.len() == 1 { meanings.remove(0) } else { Meaning::Several(meanings) }
}

/// A request that begins with this packet, or is now known to be this.
fn one(request: Request, begins: bool, awaited: Awaited, answers: &mut Answers) -> Meaning {
    if begins {
        let ends_previous = std::mem::take(&mut answers.gave_up);
        answers.ask(awaited);
        return Meaning::Request(Request { ends_previous, ..request });
    }
    answers.asked(awaited);
    Meaning::Becomes { command: request.command, purpose: request.purpose, sql: request.sql }
}

fn command(kind: Kind) -> &'static str {
    match kind {
        Kind::Batch => "batch",
        Kind::Call => "rpc",
        Kind::Bulk => "bulk_load",
        Kind::Token => "federated",
        Kind::Transaction => "transaction",
        Kind::Login => "login",
        Kind::Sspi => "sspi",
        Kind::Prelogin => "prelogin",
        Kind::Attention | Kind::Answer => "attention",
    }
}

fn purpose(kind: Kind) -> Purpose {
    match kind {
        Kind::Batch | Kind::Call | Kind::Bulk => Purpose::Execute,
        Kind::Transaction => Purpose::Transaction,
        Kind::Attention | Kind::Answer => Purpose::Cancel,
        Kind::Token | Kind::Login | Kind::Sspi | Kind::Prelogin => Purpose::Setup,
    }
}

/// Headers have their length before them, which counts itself.
fn behind_headers(body: &[u8]) -> &[u8] {
    let length = match body {
        [a, b, c, d, ..] if has_headers(body) => u32::from_le_bytes([*a, *b, *c, *d]) as usize,
        _ => 0,
    };
    body.get(length..).unwrap_or_default()
}

/// Is a transaction open? length u32 | type u16 = 2 | transaction u64 | requests u32, 0 for none
fn transaction(body: &[u8]) -> Option<bool> {
    const LENGTH: u32 = 18;
    let header = body.get(4..22)?;
    let is_transaction = header.starts_with(&LENGTH.to_le_bytes()) && header.get(4..6) == Some(&[2, 0]);
    is_transaction.then(|| header[6..14].iter().any(|&byte| byte != 0))
}

fn about_transaction(body: &[u8]) -> (&'static str, Purpose) {
    match body {
        [5, 0, ..] => ("begin", Purpose::Begin),
        [7, 0, ..] => ("commit", Purpose::End),
        [8, 0, ..] => ("rollback", Purpose::End),
        [9, 0, ..] => ("save", Purpose::Transaction),
        _ => ("transaction", Purpose::Transaction),
    }
}

/// What a call asks for.
fn called(call: &Call, answers: &mut Answers, statements: &mut Statements) -> (Request, Awaited) {
    let procedure = call.procedure;
    let handle = call.handle();
    let dialect = answers.quotes.dialect();
    let sql = match (call.statement(), procedure.takes.zip(handle)) {
        (Some(text), _) => Some(statements.sql_in(dialect, text.as_bytes())),
        (None, Some((kind, number))) => answers.prepared.sql(kind, number),
        (None, None) if procedure == &NAMED => {
            Some(statements.sql_in(dialect, format!("EXEC {}", call.name).as_bytes()))
        }
        (None, None) => None,
    };
    let sql = match call.values.is_empty() {
        true => sql,
        false => sql.map(|sql| Statements::with_parameters(sql, &call.values)),
    };
    let columns = match procedure.purpose {
        Purpose::Fetch => handle.and_then(|cursor| answers.prepared.columns(cursor)),
        _ => None,
    };
    if let (Purpose::Close, Some(kind), Some(number)) = (procedure.purpose, procedure.takes, handle) {
        answers.prepared.close(kind, number);
    }
    if procedure.purpose == Purpose::Session {
        answers.prepared.clear();
        answers.quotes.reset();
    }
    let request = Request { sql, ..Request::new(procedure.name, procedure.purpose) };
    (request, Awaited { sql, returns: procedure.returns, columns, ..Awaited::default() })
}
