//! The server's side: what an answer means to the request it belongs to.

use super::outstanding::{Effect, Expected, Outstanding};
use super::responses::{self, Answer, Asked, Response};
use super::wire::{LAST_OBJECT, Stop};
use super::{COMPRESS, Firebird, LAZY_SEND, TYPE_MASK, USUAL_VERSION, info};
use crate::cursor::Lost;
use crate::layers::DEFLATE;
use crate::protocols::{Context, Error, Layer, Meaning, Outcome, Passed};
use crate::side::Side;
use crate::sql::Statements;

/// Of the answer to `prepare_statement`: it is a SELECT.
const SELECT: u16 = 4;

/// A server that makes up no key for a login says no more than this.
const WITHOUT_KEY: usize = 128;

/// A part of a blob that is the last one says so in place of a handle.
const LAST_SEGMENT: u16 = 2;

impl Firebird {
    pub(super) fn server_extent(&self, bytes: &[u8]) -> Result<(usize, usize), Stop> {
        responses::extent(bytes, &self.asked()).map(|extent| (extent.head, extent.length))
    }

    /// Fetched rows, of which nothing but their number matters.
    pub(super) fn rows(&mut self, bytes: &[u8]) -> Passed {
        let mut passed = Passed::default();
        if !self.queue.first().is_some_and(|first| matches!(first.expected, Expected::Rows(_))) {
            return passed;
        }
        let asked = self.asked();
        while let Some(length) = bytes.get(passed.length..).and_then(|rest| responses::fetched_row(rest, &asked)) {
            passed.add(length, Some(1));
            asked.progress.reset();
        }
        if passed.length > 0 {
            self.strays = 0;
        }
        passed
    }

    fn asked(&self) -> Asked<'_> {
        let first = self.queue.first();
        let expected = first.map(|first| &first.expected);
        Asked {
            version: self.version.unwrap_or(USUAL_VERSION),
            maybe_plain: self.version.is_none(),
            format: match expected {
                Some(Expected::Rows(format) | Expected::Singleton(format)) => format.as_deref(),
                _ => None,
            },
            messages: match expected {
                Some(Expected::Messages(messages)) => messages.as_deref().map(Vec::as_slice),
                _ => None,
            },
            sdl: match expected {
                Some(Expected::Slice(sdl)) => sdl,
                _ => &[],
            },
            limit: first.map_or(Outstanding::default().limit, |first| first.limit),
            progress: &self.progress[Side::Server as usize],
        }
    }

    pub(super) fn server(&mut self, bytes: &[u8], context: &mut Context<'_>) -> Result<Meaning, Lost> {
        self.progress[Side::Server as usize].reset();
        let estimated = self.asked().format.is_none();
        let (answer, _) = responses::read(bytes, &self.asked())?;
        match answer {
            Answer::Dummy => return Ok(Meaning::Unrelated),
            Answer::Accept { .. } | Answer::Dialogue if bytes.len() > WITHOUT_KEY => {
                context.session.knows_by(bytes, false);
            }
            _ => {}
        }
        let Some(first) = self.queue.first() else {
            return self.stray();
        };
        match (&first.expected, answer) {
            (_, Answer::Response(response)) => self.response(response, context),
            (Expected::Accept, Answer::Accept { version, kind }) => Ok(self.accepted(version, kind, context)),
            (Expected::Accept, Answer::Reject) => Ok(self.rejected()),
            (Expected::Accept | Expected::Dialogue, Answer::Dialogue) => Ok(Meaning::More),
            (Expected::Rows(_), Answer::Fetched { row: false }) => Ok(self.done(rows_end())),
            (Expected::Rows(_), Answer::Fetched { row: true })
            | (Expected::Singleton(_), Answer::Singleton { row: true }) => {
                self.strays = 0;
                context.session.estimated_rows |= estimated;
                Ok(Meaning::Rows(1))
            }
            (Expected::Singleton(_), Answer::Singleton { row: false }) => Ok(Meaning::More),
            (Expected::Messages(_), Answer::Piggyback) => Ok(Meaning::More),
            (Expected::Messages(_), Answer::Message { last: false }) => Ok(Meaning::Rows(1)),
            (Expected::Messages(_), Answer::Message { last: true }) => {
                Ok(self.done(Outcome { rows: Some(1), ..Outcome::default() }))
            }
            (Expected::Slice(_), Answer::Slice) => Ok(self.done(Outcome::default())),
            (Expected::BatchStates, Answer::BatchStates { affected, error }) => {
                let error = error.map(bounded);
                Ok(self.done(Outcome { affected_rows: Some(affected), error, rows: None }))
            }
            (_, Answer::InlineBlob | Answer::Piggyback) => Ok(Meaning::More),
            (expected, answer) if self.strays == 0 => {
                let [answer, expected] = [format!("{answer:?}"), format!("{expected:?}")].map(kind);
                Err(Lost(format!("{answer} does not answer what was asked: {expected}")))
            }
            _ => self.stray(),
        }
    }

    /// An answer to a request that was not captured.
    fn stray(&mut self) -> Result<Meaning, Lost> {
        if self.strays == 0 {
            return Err(Lost("an answer that was not asked for".into()));
        }
        self.strays -= 1;
        Ok(Meaning::Unrelated)
    }

    fn response(&mut self, response: Response<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        let error = response.status.error().map(bounded);
        if self.strays > 0 && error.is_none() && !self.may_answer(&response) {
            return self.stray();
        }
        let Some(first) = self.queue.first() else {
            return self.stray();
        };
        let mut outcome = Outcome { error, ..Outcome::default() };
        if matches!(first.expected, Expected::Rows(_)) {
            outcome.rows = Some(0);
        }
        if outcome.error.is_none() {
            let effect = first.effect.clone();
            self.apply(effect, &response, context, &mut outcome);
        }
        Ok(self.done(outcome))
    }

    /// Can this successful response be the one to the oldest request? Asked only where answers to requests that were
    /// not captured may come first.
    fn may_answer(&self, response: &Response<'_>) -> bool {
        let Some(first) = self.queue.first() else {
            return false;
        };
        let has_handle = response.object != 0 && response.object != LAST_OBJECT;
        match (&first.expected, &first.effect) {
            (_, Effect::Statement(_) | Effect::Blob(_) | Effect::Request(_)) => has_handle,
            (_, Effect::Prepared(_) | Effect::AffectedRows) => !response.data.is_empty(),
            (_, Effect::Segment) => response.object == LAST_SEGMENT || !response.data.is_empty(),
            (Expected::Response, Effect::None) => !first.is_execute || response.object != LAST_OBJECT,
            (Expected::Response, _) => true,
            (Expected::Rows(_) | Expected::Accept | Expected::Slice(_) | Expected::BatchStates, _) => false,
            (Expected::Dialogue | Expected::Singleton(_) | Expected::Messages(_), _) => true,
        }
    }

    fn apply(&mut self, effect: Effect, response: &Response<'_>, context: &mut Context<'_>, outcome: &mut Outcome) {
        match effect {
            Effect::None | Effect::Segment => {}
            Effect::Statement(id) => self.objects.name(id, response.object),
            Effect::Prepared(id) => {
                if let Some(statement) = self.objects.by_id(id) {
                    statement.is_select = response.object & SELECT != 0;
                }
            }
            Effect::Request(messages) => self.objects.name_request(response.object, messages),
            Effect::Blob(sql) => self.objects.name_blob(response.object, sql),
            Effect::ServerVersion => learn(&mut context.session.server_version, info::server_version(response.data)),
            Effect::ServiceVersion => learn(&mut context.session.server_version, info::service_version(response.data)),
            Effect::AffectedRows => outcome.affected_rows = self.affected_rows(response),
        }
    }

    /// A SELECT changes nothing, and some servers do not say that a statement is one.
    fn affected_rows(&mut self, response: &Response<'_>) -> Option<u64> {
        let id = self.queue.first()?.statement?;
        let is_select =
            self.objects.by_id(id).is_some_and(|statement| statement.is_select || statement.output.is_some());
        info::affected_rows(response.data).filter(|_| !is_select)
    }

    fn accepted(&mut self, version: u16, kind: u16, context: &mut Context<'_>) -> Meaning {
        self.version = Some(version);
        self.lazy = Some(kind & TYPE_MASK == LAZY_SEND);
        context.session.server_version.get_or_insert_with(|| format!("protocol {version}"));
        if kind & COMPRESS != 0 {
            context.switch = Some(Layer::Wrapped(DEFLATE));
        }
        self.done(Outcome::default())
    }

    fn rejected(&mut self) -> Meaning {
        let error =
            Error { code: "reject".into(), message: "the server speaks none of the offered protocol versions".into() };
        self.done(Outcome { error: Some(Box::new(error)), ..Outcome::default() })
    }

    /// The oldest request has its whole answer; its exchange goes on if it shares one with the next request.
    fn done(&mut self, mut outcome: Outcome) -> Meaning {
        let Some(first) = self.queue.pop() else {
            return Meaning::Unrelated;
        };
        if self.lazy.is_none() && first.is_held_back && self.queue.is_empty() {
            // A lazy server would have kept this answer back.
            self.lazy = Some(false);
        }
        if first.merged {
            self.queue.pass_on(outcome.error);
            return Meaning::More;
        }
        outcome.error = first.error.or(outcome.error);
        Meaning::Done(outcome)
    }
}

/// The end of a batch of rows: rows are known, even if there were none.
fn rows_end() -> Outcome {
    Outcome { rows: Some(0), ..Outcome::default() }
}

fn bounded(mut error: Box<Error>) -> Box<Error> {
    error.message = Statements::message(&error.message);
    error
}

/// The name of a variant, without the data in it.
fn kind(debug: String) -> String {
    debug.chars().take_while(char::is_ascii_alphanumeric).collect()
}

fn learn(known: &mut Option<String>, told: Option<String>) {
    if told.is_some() {
        *known = told;
    }
}
