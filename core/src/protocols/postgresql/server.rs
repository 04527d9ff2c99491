//! What the server still has to answer, and what each of its messages means for that.
//!
//! The server answers in order, so a queue of awaited answers says what each message belongs to. Two things make it
//! more than a queue: only ReadyForQuery ends a query or what stands before a Sync, and after an error the server skips
//! everything up to the next Sync without a word.

use std::collections::VecDeque;

use super::error;
use super::framing::{self, HEADER};
use super::transaction;
use crate::cursor::{Cursor, Lost};
use crate::protocols::{Context, Error, Layer, Meaning, Message, Outcome, Passed};
use crate::side::Side;

/// More unanswered messages than any pipeline has.
const MAX_UNANSWERED: usize = 1 << 18;

/// What a client message is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Authentication up to the first ReadyForQuery.
    Startup,
    /// Results up to ReadyForQuery.
    Query,
    /// FunctionCallResponse and ReadyForQuery.
    Function,
    Parse,
    Bind,
    Describe,
    Execute,
    Close,
    /// ReadyForQuery.
    Sync,
}

impl Answer {
    fn is_ready(self) -> bool {
        matches!(self, Answer::Startup | Answer::Query | Answer::Function | Answer::Sync)
    }

    fn has_results(self) -> bool {
        matches!(self, Answer::Query | Answer::Execute)
    }
}

#[derive(Clone, Copy, Debug)]
struct Awaited {
    answer: Answer,
    /// The exchange it belongs to, as the client's side counts them.
    exchange: u32,
}

#[derive(Debug, Default)]
pub struct Answers {
    queue: VecDeque<Awaited>,
    /// What is known of the oldest exchange.
    outcome: Outcome,
    /// After an error: everything up to the next Sync is skipped.
    skipping: bool,
    copy: Copy,
    /// The client sends rows before the server has said that it may: it does not wait for that (pgx).
    eager: bool,
}

/// Who sends rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Copy {
    #[default]
    Neither,
    Client,
    Server,
}

impl Answers {
    /// The client has sent what will be answered so.
    pub fn expect(&mut self, answer: Answer, exchange: u32) -> Result<(), Lost> {
        if !self.has_room() {
            return Err(Lost("too many requests without an answer".into()));
        }
        self.queue.push_back(Awaited { answer, exchange });
        Ok(())
    }

    /// There is room for one more.
    pub fn has_room(&self) -> bool {
        self.queue.len() < MAX_UNANSWERED
    }

    /// Is the newest awaited answer one of this exchange?
    pub fn is_newest(&self, exchange: u32) -> bool {
        self.queue.back().is_some_and(|awaited| awaited.exchange == exchange)
    }

    /// The client sends rows, or the end of them.
    pub fn copied(&mut self) -> Meaning {
        match (self.copy, self.oldest()) {
            (Copy::Client, _) if !self.eager => Meaning::More,
            (_, Some(Answer::Query | Answer::Execute)) => {
                self.eager = true;
                Meaning::MoreWithoutWait
            }
            // After an error the client may not know yet that its rows are not wanted.
            _ => Meaning::Unrelated,
        }
    }

    pub fn is_authenticating(&self) -> bool {
        self.oldest() == Some(Answer::Startup)
    }

    /// The exchange that is answered next.
    pub fn oldest_exchange(&self) -> Option<u32> {
        self.queue.front().map(|awaited| awaited.exchange)
    }

    fn oldest(&self) -> Option<Answer> {
        self.queue.front().map(|awaited| awaited.answer)
    }

    /// What a message of the server means.
    pub fn message(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        let tag = message.bytes.first().copied().unwrap_or_default();
        let body = message.bytes.get(HEADER..).unwrap_or_default();
        match tag {
            b'N' | b'S' | b'A' => return Ok(self.unasked(tag, body, context)),
            b'E' => return Ok(self.error(body)),
            _ => {}
        }
        let Some(oldest) = self.oldest() else {
            // The rest of an answer whose question was not captured.
            return Ok(Meaning::Unrelated);
        };
        if (tag, oldest.has_results()) == (b'W', true) {
            return Ok(self.copy_both(context));
        }
        self.answer(tag, oldest, body)
            .ok_or_else(|| Lost(format!("{:?} came as the answer to {oldest:?}", char::from(tag))))?
    }

    /// Messages that are only more of the oldest answer, most of them rows, and the one that ends it.
    pub fn pass(&mut self, bytes: &[u8], context: &mut Context<'_>) -> Passed {
        let mut passed = Passed::default();
        while let Some((tag, message, length)) =
            framing::whole(Side::Server, bytes.get(passed.length..).unwrap_or_default())
            && let Some(oldest) = self.oldest()
        {
            let rows = match (tag, oldest.has_results()) {
                (b'D', true) => Some(1),
                (b'T', true) => Some(0),
                (b'd', true) => None,
                _ if self.goes_on_with(tag, oldest) => {
                    self.answer(tag, oldest, message.get(HEADER..).unwrap_or_default());
                    None
                }
                (b'Z', _) if oldest.is_ready() && self.is_last() => {
                    if let Some(&status) = message.get(HEADER) {
                        context.session.transaction = transaction(status);
                    }
                    self.skipping = false;
                    passed.add_meaning(length, self.answered());
                    break;
                }
                _ => break,
            };
            passed.add(length, rows);
        }
        passed
    }

    /// With the oldest awaited answer its exchange is over.
    fn is_last(&self) -> bool {
        self.queue.get(1).map(|next| next.exchange) != self.oldest_exchange()
    }

    /// Does the message end a part of the oldest answer, with more of its exchange to come for sure?
    fn goes_on_with(&self, tag: u8, oldest: Answer) -> bool {
        use Answer::*;
        match (tag, oldest) {
            (b'C', Query) => true,
            (b'1', Parse) | (b'2', Bind) | (b'3', Close) | (b'T' | b'n', Describe) | (b'C', Execute) => !self.is_last(),
            _ => false,
        }
    }

    /// The meaning of a message while `oldest` waits for its answer; `None`: it is no answer to that.
    fn answer(&mut self, tag: u8, oldest: Answer, body: &[u8]) -> Option<Result<Meaning, Lost>> {
        use Answer::*;
        Some(Ok(match (tag, oldest) {
            (b'Z', _) => return Some(self.ready()),
            (b'R' | b'K' | b'v', Startup) => Meaning::More,
            (b'1', Parse) | (b'2', Bind) | (b'3', Close) | (b'T' | b'n', Describe) => self.answered(),
            (b't', Describe) => Meaning::More,
            (b'T', Query | Execute) => Meaning::Rows(0),
            (b'D', Query | Execute) => Meaning::Rows(1),
            (b'C', Query | Execute) => self.command_complete(oldest, body),
            (b'I', Query) => Meaning::More,
            (b'I', Execute) => self.answered(),
            (b's', Execute) => self.suspended(),
            (b'V', Function) => Meaning::More,
            (b'G', Query | Execute) => self.copy_in(),
            (b'H', Query | Execute) => self.copy_out(),
            (b'd' | b'c', Query | Execute) => Meaning::More,
            _ => return None,
        }))
    }

    /// The oldest awaited answer has come; the last of its exchange ends that.
    fn answered(&mut self) -> Meaning {
        let exchange = self.queue.pop_front().map(|awaited| awaited.exchange);
        self.copy = Copy::Neither;
        self.eager = false;
        if exchange == self.queue.front().map(|awaited| awaited.exchange) {
            return Meaning::More;
        }
        Meaning::Done(std::mem::take(&mut self.outcome))
    }

    /// ReadyForQuery: what stands before its Sync is over, answered or skipped.
    fn ready(&mut self) -> Result<Meaning, Lost> {
        let place = self.queue.iter().position(|awaited| awaited.answer.is_ready());
        let Some(place) = place.filter(|place| *place == 0 || self.skipping) else {
            return Err(Lost("ReadyForQuery came before the answers to what was asked".into()));
        };
        self.skipping = false;
        let mut done = (0..=place).filter_map(|_| Some(self.answered()).filter(|meaning| *meaning != Meaning::More));
        let (first, second) = (done.next(), done.next());
        Ok(match (first, second) {
            (Some(only), None) => only,
            (first, second) => Meaning::Several(first.into_iter().chain(second).chain(done).collect()),
        })
    }

    fn suspended(&mut self) -> Meaning {
        self.outcome.rows.get_or_insert(0);
        self.answered()
    }

    fn command_complete(&mut self, oldest: Answer, body: &[u8]) -> Meaning {
        self.count(body);
        self.copy = Copy::Neither;
        if oldest == Answer::Execute { self.answered() } else { Meaning::More }
    }

    /// A command tag: `INSERT 0 5`, `UPDATE 5`, `SELECT 5`, `COPY 5` (a row of a COPY to the client is returned, not changed).
    fn count(&mut self, body: &[u8]) {
        let text = body.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut words = text.split(|byte| *byte == b' ');
        let command = words.next().unwrap_or_default();
        let number = words.next_back().and_then(|word| std::str::from_utf8(word).ok()?.parse::<u64>().ok());
        let (counted, number) = match (command, number) {
            (b"COPY", Some(number)) if self.copy == Copy::Server => (&mut self.outcome.rows, number),
            (b"INSERT" | b"UPDATE" | b"DELETE" | b"MERGE" | b"COPY", Some(number)) => {
                (&mut self.outcome.affected_rows, number)
            }
            (b"SELECT" | b"FETCH", _) => (&mut self.outcome.rows, 0),
            _ => return,
        };
        let sum = counted.unwrap_or(0).saturating_add(number);
        *counted = Some(sum);
    }

    /// The client's turn. A Sync that it has sent already is read over.
    fn copy_in(&mut self) -> Meaning {
        if self.queue.get(1).is_some_and(|awaited| awaited.answer == Answer::Sync) {
            self.queue.remove(1);
        }
        self.copy = Copy::Client;
        Meaning::More
    }

    fn copy_out(&mut self) -> Meaning {
        self.copy = Copy::Server;
        Meaning::More
    }

    /// Replication: from here on both sides send as they please.
    fn copy_both(&mut self, context: &mut Context<'_>) -> Meaning {
        context.session.replication = true;
        context.switch = Some(Layer::Push);
        self.queue.clear();
        Meaning::Done(std::mem::take(&mut self.outcome))
    }

    /// Notices, parameter changes and notifications come at any time. They are part of an answer under way, but while
    /// the client sends rows they answer nothing.
    fn unasked(&mut self, tag: u8, body: &[u8], context: &mut Context<'_>) -> Meaning {
        if tag == b'S' {
            parameter(body, context);
        }
        match tag {
            b'A' => Meaning::Pushed,
            _ if self.copy == Copy::Client => Meaning::Unrelated,
            _ => Meaning::More,
        }
    }

    fn error(&mut self, body: &[u8]) -> Meaning {
        let report = error::report(body);
        let Some(oldest) = self.oldest() else {
            // The server ends the connection: a shutdown or an idle time-out.
            return Meaning::Unrelated;
        };
        let error = report.error();
        self.copy = Copy::Neither;
        match oldest {
            Answer::Startup => self.ends(error),
            _ if report.is_fatal() => self.ends(error),
            Answer::Query | Answer::Function => Meaning::Failed(error),
            _ => self.skip(error),
        }
    }

    /// Nothing more will come for the oldest exchange.
    fn ends(&mut self, error: Box<Error>) -> Meaning {
        let exchange = self.queue.front().map(|awaited| awaited.exchange);
        while self.queue.front().map(|awaited| awaited.exchange) == exchange && !self.queue.is_empty() {
            self.queue.pop_front();
        }
        self.failed(error)
    }

    /// The rest of the oldest exchange gets no answer, but for its Sync.
    fn skip(&mut self, error: Box<Error>) -> Meaning {
        self.skipping = true;
        let exchange = self.queue.front().map(|awaited| awaited.exchange);
        while let Some(awaited) = self.queue.front().filter(|awaited| Some(awaited.exchange) == exchange) {
            if awaited.answer == Answer::Sync {
                return Meaning::Failed(error);
            }
            self.queue.pop_front();
        }
        self.failed(error)
    }

    fn failed(&mut self, error: Box<Error>) -> Meaning {
        Meaning::Done(Outcome { error: Some(error), ..std::mem::take(&mut self.outcome) })
    }
}

/// ParameterStatus: what the server says of itself and the session.
fn parameter(body: &[u8], context: &mut Context<'_>) {
    let mut cursor = Cursor::new(body);
    let (Ok(name), Ok(value)) = (cursor.until(0, "name"), cursor.until(0, "value")) else { return };
    let value = || Some(String::from_utf8_lossy(value).into_owned());
    match name {
        b"server_version" => context.session.server_version = value(),
        b"application_name" => context.session.application = value(),
        _ => {}
    }
}
