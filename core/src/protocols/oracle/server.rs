//! What the server's packets mean.

use super::connect::{self, Accept};
use super::cursors::{Rows, Statement};
use super::end_of_call::{self, EndOfCall, Expected};
use super::framing::{DataFlags, Kind, Packet};
use super::statement::Verb;
use super::{Answer, Call, Following, Oracle, RESPONSE_KEPT, logon, native};
use crate::protocols::{Context, Error, Layer, Meaning, Message, Outcome};
use crate::sql::Statements;

/// What follows an agreement on encryption; the client's keys go with the first of it.
const LOGIN: [&str; 4] = ["protocol", "data_types", "authenticate", "authenticate"];
/// 23ai: the last byte of a response.
const END_OF_RESPONSE: u8 = 0x1d;
/// REFUSE begins with two bytes that say who refused.
const REASONS: usize = 2;
/// A row has at least its first byte and a value.
const SHORTEST_ROW: u64 = 2;
/// Kept of an error's message.
const MESSAGE_KEPT: usize = 1024;

impl Oracle {
    /// `length`: how much of the packet is in this message; more follows where it comes in pieces.
    pub(super) fn server(&mut self, packet: &Packet<'_>, length: u64, context: &mut Context<'_>) -> Meaning {
        let left = packet.header.length.saturating_sub(length);
        if left > 0 {
            self.long_packet = Some((left, packet.data_flags));
        }
        let open = !self.calls.is_empty();
        match packet.header.kind {
            Kind::Accept => self.accepts(packet.body),
            Kind::Refuse => self.refuses(packet.body),
            Kind::Redirect => self.redirects(packet.body),
            Kind::Data => self.answers(packet, left > 0, context),
            Kind::Resend | Kind::Marker | Kind::Descriptor if open => self.goes_on(),
            Kind::Abort if open => self.done(Outcome::default()),
            _ => Meaning::Unrelated,
        }
    }

    /// The next piece of a packet that is too long to be kept.
    pub(super) fn piece(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Meaning {
        let Some((left, flags)) = self.long_packet.take() else {
            return Meaning::Unrelated;
        };
        let left = left.saturating_sub(message.length);
        if left > 0 {
            self.long_packet = Some((left, flags));
        }
        if self.calls.is_empty() {
            return Meaning::Unrelated;
        }
        self.gather(message.bytes, flags, left > 0, message.cut, context)
    }

    fn goes_on(&mut self) -> Meaning {
        self.server_spoke = true;
        self.answered = true;
        self.begin_response();
        Meaning::More
    }

    /// What has come of a response is no part of the next one.
    pub(super) fn begin_response(&mut self) {
        self.response.clear();
        self.response_length = 0;
    }

    fn done(&mut self, outcome: Outcome) -> Meaning {
        self.calls.pop_front();
        self.server_spoke = true;
        self.answered = false;
        self.begin_response();
        Meaning::Done(outcome)
    }

    // --- connecting -------------------------------------------------------------------------------------------------

    fn is_asked_to_connect(&self) -> bool {
        self.calls.front().is_some_and(|call| call.answer == Answer::Connect)
    }

    fn accepts(&mut self, body: &[u8]) -> Meaning {
        if let Ok(accept) = Accept::read(body) {
            self.form = Some(accept.form);
            self.session_data_unit = Some(accept.session_data_unit.into());
        }
        self.connected(None)
    }

    fn connected(&mut self, error: Option<Box<Error>>) -> Meaning {
        if self.is_asked_to_connect() { self.done(Outcome { error, ..Outcome::default() }) } else { Meaning::Unrelated }
    }

    fn refuses(&mut self, body: &[u8]) -> Meaning {
        match connect::text(body, REASONS) {
            Some(text) => self.connected(connect::refusal(text)),
            None => self.text_follows(Following::Refusal),
        }
    }

    fn redirects(&mut self, body: &[u8]) -> Meaning {
        match connect::text(body, 0) {
            Some(_) => self.connected(None),
            None => self.text_follows(Following::Redirection),
        }
    }

    fn text_follows(&mut self, following: Following) -> Meaning {
        if !self.is_asked_to_connect() {
            return Meaning::Unrelated;
        }
        self.following = Some(following);
        self.goes_on()
    }

    // --- responses --------------------------------------------------------------------------------------------------

    fn answers(&mut self, packet: &Packet<'_>, goes_on: bool, context: &mut Context<'_>) -> Meaning {
        match self.following.take_if(|following| *following != Following::ConnectData) {
            Some(Following::Refusal) => return self.connected(connect::refusal(packet.body)),
            Some(_) => return self.connected(None),
            None => {}
        }
        if self.calls.is_empty() {
            return Meaning::Unrelated;
        }
        if packet.body.is_empty() && packet.data_flags.has(DataFlags::END_OF_FILE) {
            return self.done(Outcome::default());
        }
        let full = goes_on || self.is_full(packet.header.length);
        self.gather(packet.body, packet.data_flags, full, packet.cut, context)
    }

    /// More of a response. `full`: its length says that it goes on.
    fn gather(&mut self, bytes: &[u8], flags: DataFlags, full: bool, cut: bool, context: &mut Context<'_>) -> Meaning {
        self.server_spoke = true;
        self.answered = true;
        let marked = flags.has(DataFlags::END_OF_RESPONSE) && !(full && self.long_packet.is_some());
        self.marks_ends |= marked;
        self.keep(bytes);
        if cut {
            self.response_length = u64::MAX; // its bytes bound no rows
        }
        let Some(call) = self.calls.front().copied() else {
            return Meaning::Unrelated;
        };
        if cut {
            // Its end was not captured: a short packet is the last one all the same.
            if !marked && full {
                return Meaning::More;
            }
            let outcome = self.outcome_without_end(&call);
            return self.done(outcome);
        }
        match self.outcome(&call, marked, full, context) {
            Some(outcome) => self.done(outcome),
            None => Meaning::More,
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.response_length = self.response_length.saturating_add(bytes.len() as u64);
        self.response.extend_from_slice(bytes);
        if self.response.len() > RESPONSE_KEPT {
            let surplus = self.response.len() - RESPONSE_KEPT / 2;
            self.response.drain(..surplus);
        }
    }

    /// The call's outcome, if the response is over.
    fn outcome(&mut self, call: &Call, marked: bool, full: bool, context: &mut Context<'_>) -> Option<Outcome> {
        match call.answer {
            Answer::Connect => None,
            Answer::Native => native::is_whole(&self.response).then(|| self.agree_on_services(context)),
            Answer::Negotiation => (marked || !full).then(Outcome::default),
            Answer::Logon | Answer::Version | Answer::Rows | Answer::Plain => {
                self.end_of_call(call, marked, full, context)
            }
        }
    }

    /// From here on only who speaks when can be read, where encryption was chosen.
    fn agree_on_services(&mut self, context: &mut Context<'_>) -> Outcome {
        let chosen = native::chosen(&self.response);
        self.keys_follow = chosen.encryption || chosen.integrity;
        if chosen.encryption {
            context.switch = Some(Layer::Encrypted { login: &LOGIN });
        }
        Outcome::default()
    }

    fn end_of_call(&mut self, call: &Call, marked: bool, full: bool, context: &mut Context<'_>) -> Option<Outcome> {
        let mut response = std::mem::take(&mut self.response);
        if marked && response.last() == Some(&END_OF_RESPONSE) {
            response.pop();
        }
        let certain = marked || !full && !self.marks_ends;
        let without_cursor = call.answer == Answer::Logon;
        let expected = Expected { sequence: call.sequence, cursor: call.cursor, certain, without_cursor };
        let end = end_of_call::find(&response, &expected, &mut self.shape, &self.effort);
        let status = call.answer != Answer::Rows && end_of_call::ends_with_status(&response);
        let over = end.is_some() || status || marked;
        match call.answer {
            Answer::Logon if over => logon::learn_response(context.session, &response),
            Answer::Version if over => logon::learn_version(context.session, &response),
            _ => {}
        }
        let outcome = match end {
            Some(end) => Some(self.outcome_of(call, &end, context)),
            None if over => Some(self.outcome_without_end(call)),
            None => None,
        };
        self.response = response;
        outcome
    }

    fn outcome_without_end(&mut self, call: &Call) -> Outcome {
        self.cursors.forget_count(call.cursor);
        self.nameless = (call.begins_cursor() && call.executes).then_some(call.statement);
        Outcome::default()
    }

    fn outcome_of(&mut self, call: &Call, end: &EndOfCall<'_>, context: &mut Context<'_>) -> Outcome {
        let verb = match call.statement.verb {
            Verb::Other => Verb::of_number(end.sql_type),
            verb => verb,
        };
        let cursor = if end.cursor == 0 { call.cursor } else { end.cursor };
        let statement = Statement { verb, ..call.statement };
        if call.begins_cursor() {
            self.cursors.replace(cursor, statement);
        }
        if end.error != 0 && !(end.has_no_more_rows() && verb != Verb::Block) {
            return Outcome { error: Some(error(end)), ..Outcome::default() };
        }
        if call.answer != Answer::Rows {
            return Outcome::default();
        }
        self.cursors.remember(cursor, statement);
        match verb {
            Verb::Change => Outcome { affected_rows: Some(end.rows), ..Outcome::default() },
            Verb::Query | Verb::Other if call.executes || call.fetches => {
                self.last_query = call.statement;
                let rows = self.rows(call, cursor, end);
                context.session.implausible_rows |= rows == Rows::Implausible;
                let told = verb == Verb::Query || call.fetches;
                Outcome { rows: rows.known().filter(|_| told), ..Outcome::default() }
            }
            _ => Outcome::default(),
        }
    }

    /// The rows of this answer. They were in it, so there cannot be more of them than its bytes hold.
    fn rows(&mut self, call: &Call, cursor: u32, end: &EndOfCall<'_>) -> Rows {
        let rows = match call.executes {
            true => Rows::Known(self.cursors.executed(cursor, end.rows)),
            false => self.cursors.fetched(cursor, end.rows, call.asked, end.has_no_more_rows()),
        };
        match rows {
            Rows::Known(rows) if rows.saturating_mul(SHORTEST_ROW) > self.response_length => {
                self.cursors.forget_count(cursor);
                Rows::Implausible
            }
            rows => rows,
        }
    }
}

/// The code of the error, and its message without the code.
fn error(end: &EndOfCall<'_>) -> Box<Error> {
    let code = format!("ORA-{:05}", end.error);
    let text = String::from_utf8_lossy(&end.message[..end.message.len().min(MESSAGE_KEPT)]);
    let text = text.trim().trim_start_matches(code.as_str()).trim_start_matches(": ");
    Box::new(Error { message: Statements::message(text), code })
}
