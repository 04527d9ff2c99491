//! What the server answers.

use std::collections::VecDeque;
use std::sync::Arc;

use super::columns::Layout;
use super::framing::{HEADER, Packet};
use super::prepared::{Handle, Prepared};
use super::quotes::Quotes;
use super::tokens::{Columns, Done, Tokens, Told};
use crate::cursor::Lost;
use crate::protocols::{Context, Error, Meaning, Outcome, Purpose, Request};
use crate::session::Session;
use crate::sql::{Sql, Statements};

/// Errors of a lower class are warnings.
const LEAST_CLASS: u8 = 11;

/// An exchange whose answer is outstanding.
#[derive(Debug, Default)]
pub struct Awaited {
    pub is_prelogin: bool,
    pub is_login: bool,
    pub sql: Option<Sql>,
    /// What the numbers are that come back with it.
    pub returns: &'static [Handle],
    /// Of its rows, where none come before them.
    pub columns: Option<Arc<Columns>>,
}

#[derive(Debug, Default)]
pub struct Answers {
    pub layout: Layout,
    pub prepared: Prepared,
    pub quotes: Quotes,
    /// Those that one message has asked for, the oldest first.
    awaited: VecDeque<Awaited>,
    tokens: Tokens,
    /// The answer has begun.
    has_begun: bool,
    told: Vec<Told>,
    /// Numbers that came back with the oldest one.
    returned: usize,
    /// Of calls whose ends were seen without the bit by which another one follows.
    ended: Vec<Outcome>,
    /// Of messages that an attention has cut short, and of the only call.
    rows: Option<u64>,
    affected: Option<u64>,
    error: Option<Box<Error>>,
    /// The client goes on with its login.
    goes_on: bool,
    /// The client has sent an attention, and waits for its acknowledgment.
    attention: bool,
    acknowledged: bool,
    /// There was no room for what is awaited, or its end was cut: it ends when the client asks again.
    pub gave_up: bool,
}

impl Answers {
    pub fn kept_bytes(&self) -> usize {
        let calls = self.awaited.capacity() * size_of::<Awaited>() + self.ended.capacity() * size_of::<Outcome>();
        self.tokens.kept_bytes() + calls + self.prepared.kept_bytes()
    }

    pub fn give_up(&mut self) {
        self.tokens.give_up();
        self.gave_up |= !self.awaited.is_empty();
        self.awaited = VecDeque::new();
        self.ended = Vec::new();
        self.prepared.clear();
    }

    pub fn missed_requests(&mut self) {
        self.prepared.clear();
        self.quotes.forget();
    }

    /// What was asked before is answered, or its answer is not known.
    pub fn resume(&mut self) {
        let (layout, quotes, prepared) = (self.layout, self.quotes, std::mem::take(&mut self.prepared));
        *self = Answers { layout, quotes, prepared, ..Answers::default() };
    }

    // --- what the client asks -----------------------------------------------------------------------------------------

    /// A request whose answer comes behind those before it.
    pub fn ask(&mut self, awaited: Awaited) {
        self.awaited.push_back(awaited);
    }

    /// The newest request is this one.
    pub fn asked(&mut self, awaited: Awaited) {
        self.awaited.pop_back();
        self.awaited.push_back(awaited);
    }

    /// A login that cannot be read.
    pub fn login(&mut self) {
        self.awaited.clear();
        self.awaited.push_back(Awaited { is_login: true, ..Awaited::default() });
    }

    pub fn is_login(&self) -> bool {
        self.awaited.front().is_some_and(|awaited| awaited.is_login)
    }

    pub fn is_prelogin(&self) -> bool {
        self.awaited.front().is_some_and(|awaited| awaited.is_prelogin)
    }

    /// The version that the client wishes for, or the server agrees to.
    pub fn speaks(&mut self, minor: Option<u8>) {
        if let Some(minor) = minor {
            self.layout.minor = minor;
        }
    }

    /// Requests have headers since TDS 7.2.
    pub fn sees_headers(&mut self, has_headers: bool) {
        if has_headers != self.layout.is_wide() {
            self.layout.minor = if has_headers { Layout::default().minor } else { 1 };
        }
    }

    /// The client wants no more of the answer that is under way: it waits for what ends that, or, where all of it had come
    /// before, for the acknowledgment alone.
    pub fn attention(&mut self) -> Meaning {
        self.attention = true;
        if !self.awaited.is_empty() {
            return Meaning::More;
        }
        self.ask(Awaited::default());
        Meaning::Request(Request::new("attention", Purpose::Cancel))
    }

    // --- what the server says -----------------------------------------------------------------------------------------

    pub fn packet(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        if self.is_prelogin() {
            return Ok(self.prelogin(packet));
        }
        self.read(packet);
        let mut meanings = Vec::new();
        let mut told = std::mem::take(&mut self.told);
        for told in told.drain(..) {
            meanings.extend(self.hear(told, context.session));
        }
        self.told = told;
        if packet.is_last() {
            self.ends(packet, &mut meanings);
        }
        Ok(match meanings.len() {
            0 => Meaning::More,
            1 => meanings.remove(0),
            _ => Meaning::Several(meanings),
        })
    }

    fn prelogin(&mut self, packet: &Packet<'_>) -> Meaning {
        if !packet.is_last() {
            return Meaning::More;
        }
        self.awaited.pop_front();
        Meaning::Done(Outcome::default())
    }

    fn read(&mut self, packet: &Packet<'_>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let columns = self.awaited.front_mut().and_then(|awaited| awaited.columns.take());
            self.tokens.begin(columns);
            if self.awaited.is_empty() {
                self.tokens.give_up();
            }
        }
        self.tokens.read(packet.body, self.layout, &mut self.told);
        if packet.is_cut {
            self.tokens.give_up();
        }
    }

    fn hear(&mut self, told: Told, session: &mut Session) -> Option<Meaning> {
        match told {
            Told::Done(done) => return self.done(done),
            Told::Error { number, state, class, message } if class >= LEAST_CLASS => {
                self.error.get_or_insert_with(|| {
                    let message = Statements::message(&message);
                    Box::new(Error { code: format!("{number} (class {class}, state {state})"), message })
                });
            }
            Told::Error { .. } => {}
            Told::Handle(number, columns) => self.returned(number, columns),
            Told::LoggedIn { minor, version } => {
                self.speaks(minor);
                (self.layout.has_keys, self.layout.has_packages) = (Some(false), Some(false));
                session.server_version = Some(version);
                self.goes_on = false;
                if self.layout.is_wide() {
                    session.transaction = Some("idle");
                }
            }
            Told::GoOn => self.goes_on = true,
            Told::Database(name) if self.is_login() => session.database = Some(name),
            Told::Database(name) if session.database.as_ref() != Some(&name) => session.change_database(Some(name)),
            Told::Database(_) => {}
            Told::Transaction(is_open) => session.transaction = Some(if is_open { "open" } else { "idle" }),
            Told::Sealed(version) => self.layout.seals(version),
            Told::Ranks(has_ranks) => self.layout.has_ranks = has_ranks,
        }
        None
    }

    fn done(&mut self, done: Done) -> Option<Meaning> {
        self.acknowledged |= done.acknowledges();
        self.affected = sum(self.affected, done.affected());
        if !done.is_call || self.awaited.len() < 2 {
            self.rows = sum(self.rows, done.rows);
            return None;
        }
        let one = Outcome { rows: done.rows, affected_rows: self.affected.take(), error: self.error.take() };
        let others = self.ended.len() > self.awaited.len();
        match self.ended.last_mut() {
            // More ends than calls: some are of what these have called.
            Some(last) if others => *last = together(std::mem::take(last), one),
            _ => self.ended.push(one),
        }
        done.ends_call().then(|| self.next_call())
    }

    /// The oldest call is over, and the answer goes on with the next one's.
    fn next_call(&mut self) -> Meaning {
        self.awaited.pop_front();
        self.returned = 0;
        Meaning::Done(self.ended.drain(..).fold(Outcome::default(), together))
    }

    fn returned(&mut self, number: i32, columns: Option<Arc<Columns>>) {
        let Some(awaited) = self.awaited.front() else { return };
        if let Some(&kind) = awaited.returns.get(self.returned) {
            self.prepared.add(kind, number, awaited.sql, columns);
        }
        self.returned += 1;
    }

    /// The last packet of a message.
    fn ends(&mut self, packet: &Packet<'_>, meanings: &mut Vec<Meaning>) {
        let (is_whole, is_cut) = (self.tokens.is_whole(), packet.is_cut);
        let acknowledged = self.acknowledged || !is_whole && acknowledges(packet.body, self.layout);
        self.has_begun = false;
        self.rows = sum(self.rows, self.tokens.take_rows()).filter(|_| is_whole);
        if self.attention && !acknowledged {
            // Whether it acknowledged the attention was not captured: the client shows it when it asks again.
            if is_cut {
                self.attention = false;
                self.give_up();
            }
            return;
        }
        if self.is_login() && std::mem::take(&mut self.goes_on) {
            return;
        }
        self.attention = false;
        self.acknowledged = false;
        self.returned = 0;
        let last = Outcome { rows: self.rows.take(), affected_rows: self.affected.take(), error: self.error.take() };
        self.answered(last, is_whole, meanings);
        self.awaited.clear();
        self.tokens.begin(None);
    }

    /// All that was awaited is answered; `last` has come since the last call ended.
    fn answered(&mut self, last: Outcome, is_whole: bool, meanings: &mut Vec<Meaning>) {
        let mut ended = std::mem::take(&mut self.ended);
        let left = self.awaited.len();
        if left < 2 || ended.len() != left || !is_whole {
            let all = ended.drain(..).fold(Outcome::default(), together);
            let Outcome { rows, affected_rows, error } = together(all, last);
            // How often several calls came to an end was not seen: which rows are whose is not known.
            let is_known = left < 2 && is_whole;
            ended.resize(left.saturating_sub(1), Outcome::default());
            ended.push(Outcome {
                rows: rows.filter(|_| is_known),
                affected_rows: affected_rows.filter(|_| is_known),
                error,
            });
        }
        meanings.extend(ended.into_iter().take(left).map(Meaning::Done));
    }
}

fn together(one: Outcome, other: Outcome) -> Outcome {
    Outcome {
        rows: sum(one.rows, other.rows),
        affected_rows: sum(one.affected_rows, other.affected_rows),
        error: one.error.or(other.error),
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        _ => one.or(other),
    }
}

/// The last token of an answer that could not be read as a whole: DONE, with the bit that acknowledges an attention.
fn acknowledges(body: &[u8], layout: Layout) -> bool {
    const DONE: u8 = 0xfd;
    const ATTENTION: u8 = 0x20;
    let length = if layout.is_wide() { 13 } else { 9 };
    let last = body.len().checked_sub(length).and_then(|at| body.get(at..));
    matches!(last, Some([DONE, status, ..]) if status & ATTENTION != 0 && body.len() + HEADER > length)
}
