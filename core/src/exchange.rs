//! Pairs requests with responses and counts the client's waits.
//!
//! Answers come in the order of the requests, so a queue of open exchanges matches them. A *round trip* is one wait of
//! the client: a request sent while an awaited answer is outstanding shares that wait, and so does one whose packet
//! proves (by its acknowledgment number) that the client had not received the previous answer yet.

use std::collections::VecDeque;

use crate::protocols::{Awaits, Error, Meaning, Outcome, Request, Side};
use crate::sql::Sql;
use crate::stream::{Mark, START};

/// A client with so many questions on their way may go on asking without ever waiting for all answers.
const PIPELINED: usize = 4;
/// Exchanges that are not trusted after a loss among fewer.
const UNTRUSTED: u32 = 16;
/// Nothing that was asked before so long a silence of both sides is still to be answered.
const SILENCE_NS: i64 = 1_000_000_000;

/// One request and its whole response.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Counts from 0 on its connection, in the order of the requests.
    pub number: u32,
    pub command: &'static str,
    pub sql: Option<Sql>,
    pub request: Option<Span>,
    pub response: Option<Span>,
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub round_trips: u32,
    /// Over all waits: the last request packet → the first response packet.
    pub waited_ns: Option<i64>,
    pub rows: Option<u64>,
    pub affected_rows: Option<u64>,
    pub error: Option<Error>,
    /// Start of the previous request on the connection → start of this one.
    pub delta_ns: Option<i64>,
    /// End of the previous response → start of this request.
    pub client_ns: Option<i64>,
    pub retransmissions: u32,
    /// How long delayed acknowledgments held its packets back.
    pub stalled_ns: i64,
    /// Whether a transaction was open when it ended, where the protocol says.
    pub transaction: Option<&'static str>,
    /// All of it was captured, so its times can be used.
    pub complete: bool,
}

/// First and last packet of a request or response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub first: Mark,
    pub last: Mark,
}

impl Span {
    fn at(first: Mark, last: Mark) -> Span {
        Span { first, last: if last.time_ns < first.time_ns { first } else { last } }
    }

    /// Packets out of order must not make a span run backwards.
    fn extend(span: Option<Span>, first: Mark, last: Mark) -> Option<Span> {
        let new = Span::at(first, last);
        Some(
            span.map_or(
                new,
                |old| if new.last.time_ns < old.last.time_ns { old } else { Span { last: new.last, ..old } },
            ),
        )
    }
}

/// A message as the pairing sees it: where it was, how long, and what its sender had received by then.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    pub side: Side,
    pub first: Mark,
    pub last: Mark,
    pub length: u64,
    /// Bytes of the other side that the sender had acknowledged with the packet.
    pub acknowledged: u64,
    /// Whoever has acknowledged this much of its stream has received the packet it begins in, and the one it ends in.
    pub start: u64,
    pub end: u64,
}

struct Open {
    exchange: Exchange,
    awaits: Awaits,
    /// The server that answers has acknowledged so much of the client's stream.
    asked: u64,
    /// So much of the server's stream had the client received when it asked: the answer begins there.
    had_received: u64,
    /// The client's last packet that nobody has answered yet.
    waiting_since: Option<Mark>,
    /// The server has spoken in this exchange.
    answered: bool,
    /// It ends when the client speaks again.
    ends_with_next: bool,
}

impl Open {
    fn is_awaited(&self) -> bool {
        matches!(self.awaits, Awaits::Answer | Awaits::Shared)
    }
}

/// The exchanges of one connection.
#[derive(Default)]
pub struct Pairing {
    open: VecDeque<Open>,
    finished: Vec<Exchange>,
    next_number: u32,
    previous_request_ns: Option<i64>,
    previous_response: Option<Mark>,
    /// Where the last whole response ends in the server's stream.
    answered_until: u64,
    /// Where the last hole in the server's stream ends.
    missing_until: u64,
    /// So many exchanges to come may get the answer to another question.
    adrift: u32,
    /// When a message last passed.
    latest_ns: i64,
    /// What the server last said of its transaction.
    pub transaction: Option<&'static str>,
    /// The server spoke first.
    pub greeted: bool,
}

impl Pairing {
    /// Take in what a message means.
    pub fn message(&mut self, meaning: Meaning, passage: &Passage) {
        self.settle(passage);
        match meaning {
            Meaning::Request(request) => self.request(request, passage),
            Meaning::More => self.more(passage),
            Meaning::Unwaited => self.unwaited(passage),
            Meaning::Becomes { command, sql } => self.becomes(command, sql, passage),
            Meaning::Rows(rows) => self.rows(rows, passage),
            Meaning::Done(outcome) => self.done(outcome, passage),
            Meaning::Greeting(outcome) => self.greeting(outcome, passage),
            Meaning::Text(sql) => self.text(sql),
            Meaning::Ended => {
                self.end_with_next();
                self.end_all();
            }
            Meaning::Aside => {}
            Meaning::Several(meanings) => {
                // The bytes are counted once, with the first.
                let mut passage = *passage;
                for meaning in meanings {
                    self.message(meaning, &passage);
                    passage.length = 0;
                }
            }
        }
    }

    pub fn finished(&mut self) -> std::vec::Drain<'_, Exchange> {
        self.finished.drain(..)
    }

    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Can a packet that acknowledges so much of the client's stream answer what is open? An answer is sent by a server
    /// that has received the question.
    pub fn may_be_answered_by(&self, acknowledged: u64) -> bool {
        self.open.front().is_none_or(|open| open.answered || acknowledged >= open.asked)
    }

    /// Part of the server's stream is missing since the oldest open request was sent, and others wait behind it: nobody
    /// can tell which of them the next answer belongs to.
    pub fn is_doubtful(&self) -> bool {
        let missing_until = self.missing_until.max(START);
        let oldest = self.open.front().filter(|_| self.open.len() > 1);
        oldest.is_some_and(|open| !open.answered && !open.ends_with_next && open.had_received < missing_until)
    }

    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The client waits for an answer.
    pub fn is_awaited(&self) -> bool {
        self.open.iter().any(Open::is_awaited)
    }

    /// A packet was sent again while these exchanges were under way.
    pub fn retransmission(&mut self) {
        if let Some(open) = self.open.front_mut() {
            open.exchange.retransmissions += 1;
        }
    }

    /// What one side sent last had waited for a delayed acknowledgment. That may have ended an exchange, or its request.
    pub fn stalled(&mut self, side: Side, stalled_ns: i64) {
        let ended = self.finished.last_mut();
        let touched = match side {
            Side::Client => self.open.back_mut().map(|open| &mut open.exchange).or(ended),
            Side::Server => ended.or(self.open.front_mut().map(|open| &mut open.exchange)),
        };
        if let Some(exchange) = touched {
            exchange.stalled_ns += stalled_ns;
        }
    }

    /// The capture's clock was set: no time from before can be compared with one that comes.
    pub fn clock_stepped(&mut self) {
        for open in &mut self.open {
            open.exchange.complete = false;
        }
        self.previous_request_ns = None;
        self.previous_response = None;
    }

    /// Bytes of what is under way, up to `until`, were not captured.
    pub fn gap(&mut self, side: Side, until: u64) {
        let touched = match side {
            Side::Client => self.open.back_mut(),
            Side::Server => {
                self.missing_until = until;
                self.open.front_mut()
            }
        };
        if let Some(open) = touched {
            open.exchange.complete = false;
        }
    }

    /// The end of a packet was cut: how many rows came, and whether more exchanges hide in it, is not known. One that
    /// is alone keeps its times.
    pub fn cut(&mut self) {
        let alone = self.open.len() == 1;
        for open in &mut self.open {
            open.exchange.rows = None;
            open.exchange.complete &= alone;
            open.ends_with_next = true;
        }
    }

    /// Pairing was lost: what is open stays open until the client speaks anew, but is marked.
    pub fn lose(&mut self) {
        for open in &mut self.open {
            open.exchange.complete = false;
            open.ends_with_next = true;
        }
    }

    /// Questions that were asked and not answered, since the footing was lost last.
    pub fn unanswered(&self) -> usize {
        self.open.iter().filter(|open| !open.answered && !open.ends_with_next).count()
    }

    /// Exchanges that are under way.
    pub fn under_way(&self) -> usize {
        self.open.len()
    }

    /// Something was lost while so much was `unanswered` that the client cannot have waited for each answer: how many
    /// questions or answers are lost, nobody can tell, and each of them shifts the answers to those that follow. A client
    /// that sends a few requests at once soon waits for all of them; one that sends many may never.
    pub fn cast_off(&mut self, unanswered: usize) {
        let untrusted = if unanswered < PIPELINED { UNTRUSTED } else { u32::MAX };
        self.adrift = self.adrift.max(untrusted);
    }

    /// There is no room for so many open exchanges: all end, and what answers them cannot be paired.
    pub fn abandon(&mut self) {
        self.lose();
        self.end_all();
        self.cast_off(PIPELINED);
    }

    /// After a long silence of both sides nothing is on its way any more.
    fn settle(&mut self, passage: &Passage) {
        if passage.side == Side::Client && passage.first.time_ns.saturating_sub(self.latest_ns) >= SILENCE_NS {
            self.adrift = 0;
        }
        self.latest_ns = self.latest_ns.max(passage.last.time_ns);
    }

    /// Nobody can read on: what is open ends when the client speaks again.
    pub fn end_with_next(&mut self) {
        for open in &mut self.open {
            open.ends_with_next = true;
        }
    }

    /// A request that cannot be read, or was not captured at all (`passage` is `None`).
    pub fn unreadable_request(&mut self, passage: Option<&Passage>) {
        self.end_all();
        let request = Request { ends_previous: true, ..Request::new("unknown") };
        let mut open = self.begin(request, passage);
        open.exchange.complete = false;
        self.open.push_back(open);
    }

    /// Everything that is open ends with what was seen of it.
    pub fn end_all(&mut self) {
        while let Some(mut open) = self.open.pop_front() {
            open.exchange.complete &= open.answered && open.ends_with_next;
            self.finish_one(open);
        }
    }

    /// The recording or the connection is over.
    pub fn close(&mut self) {
        for open in &mut self.open {
            // Nobody can read what the client said last; as it was never answered, it was no question (a goodbye).
            if open.ends_with_next && !open.answered && open.exchange.complete {
                open.exchange.round_trips = 0;
                open.awaits = Awaits::Nothing;
                open.answered = true;
            }
        }
        self.end_all();
    }

    fn request(&mut self, request: Request, passage: &Passage) {
        if request.ends_previous {
            self.end_all();
        }
        let open = self.begin(request, Some(passage));
        if open.awaits == Awaits::Nothing {
            self.finish_one(open);
        } else {
            self.open.push_back(open);
        }
    }

    fn begin(&mut self, request: Request, passage: Option<&Passage>) -> Open {
        let start_ns = passage.map(|passage| passage.first.time_ns);
        let since = |before: Option<i64>| Some(start_ns?.saturating_sub(before?).max(0));
        let exchange = Exchange {
            number: self.next_number,
            command: request.command,
            sql: request.sql,
            request: passage.map(|passage| Span::at(passage.first, passage.last)),
            response: None,
            request_bytes: passage.map_or(0, |passage| passage.length),
            response_bytes: 0,
            round_trips: self.round_trips_of(request.awaits, passage),
            waited_ns: None,
            rows: None,
            affected_rows: None,
            error: None,
            delta_ns: since(self.previous_request_ns),
            client_ns: since(self.previous_response.map(|mark| mark.time_ns)),
            retransmissions: 0,
            stalled_ns: 0,
            transaction: None,
            complete: true,
        };
        self.next_number += 1;
        self.previous_request_ns = start_ns.or(self.previous_request_ns);
        Open {
            exchange,
            awaits: request.awaits,
            asked: passage.map_or(0, |passage| passage.start),
            had_received: passage.map_or(0, |passage| passage.acknowledged),
            waiting_since: passage.map(|passage| passage.last),
            answered: false,
            ends_with_next: request.ends_previous,
        }
    }

    /// Does the client wait once more for this request?
    fn round_trips_of(&self, awaits: Awaits, passage: Option<&Passage>) -> u32 {
        let had_not_read = passage.is_some_and(|passage| passage.acknowledged < self.answered_until);
        match awaits {
            Awaits::Later | Awaits::Nothing => 0,
            Awaits::Shared if self.next_number > 0 => 0,
            _ if self.is_awaited() || had_not_read => 0,
            _ => 1,
        }
    }

    fn more(&mut self, passage: &Passage) {
        match passage.side {
            Side::Client => self.client_goes_on(passage),
            Side::Server => {
                self.server_answers(passage);
            }
        }
    }

    fn client_goes_on(&mut self, passage: &Passage) {
        let Some(open) = self.open.back_mut() else { return };
        open.waiting_since = Some(passage.last);
        open.exchange.request_bytes += passage.length;
        if !open.answered {
            open.exchange.request = Span::extend(open.exchange.request, passage.first, passage.last);
        }
        let answered = open.exchange.response.filter(|_| open.answered);
        open.exchange.complete &= answered.is_none_or(|span| span.first.time_ns <= passage.first.time_ns);
    }

    /// What the server may have said meanwhile, the client has not waited for it.
    fn unwaited(&mut self, passage: &Passage) {
        let Some(open) = self.open.back_mut() else { return };
        if !open.answered {
            return self.client_goes_on(passage);
        }
        open.exchange.request_bytes += passage.length;
    }

    fn becomes(&mut self, command: &'static str, sql: Option<Sql>, passage: &Passage) {
        self.unwaited(passage);
        let Some(open) = self.open.back_mut() else { return };
        open.exchange.command = command;
        open.exchange.sql = sql.or(open.exchange.sql);
    }

    fn text(&mut self, sql: Sql) {
        if let Some(open) = self.open.back_mut() {
            open.exchange.sql = Some(sql);
        }
    }

    /// More of the oldest open response.
    fn server_answers(&mut self, passage: &Passage) -> Option<&mut Open> {
        let previous = self.previous_response;
        let open = self.open.front_mut()?;
        if let Some(asked) = open.waiting_since.take() {
            let since_ns = match previous {
                Some(mark) if open.exchange.round_trips == 0 => asked.time_ns.max(mark.time_ns),
                _ => asked.time_ns,
            };
            let waited_ns = passage.first.time_ns.saturating_sub(since_ns).max(0);
            // An answer that passes before its question: one of the two times is wrong.
            let request_end_ns = open.exchange.request.filter(|_| !open.answered).map(|span| span.last.time_ns);
            open.exchange.complete &= asked.time_ns.max(request_end_ns.unwrap_or(i64::MIN)) <= passage.first.time_ns;
            if open.is_awaited() {
                *open.exchange.waited_ns.get_or_insert(0) += waited_ns;
            }
            // The client went on after the server had spoken, and waited again.
            open.exchange.round_trips += u32::from(open.answered);
        }
        // Something was lost after the client had asked: this may be the answer to a later question.
        open.exchange.complete &= open.answered || self.missing_until.max(START) <= open.had_received;
        open.answered = true;
        open.exchange.response = Span::extend(open.exchange.response, passage.first, passage.last);
        open.exchange.response_bytes += passage.length;
        Some(open)
    }

    fn rows(&mut self, rows: u64, passage: &Passage) {
        if let Some(open) = self.server_answers(passage) {
            *open.exchange.rows.get_or_insert(0) += rows;
        }
    }

    fn done(&mut self, outcome: Outcome, passage: &Passage) {
        if let Some(open) = self.server_answers(passage) {
            open.exchange.end_with(outcome);
            // An answer that nobody waits for may be on its way while the client asks on, and waits for that.
            if open.is_awaited() {
                self.answered_until = passage.end;
            }
            if let Some(open) = self.open.pop_front() {
                self.finish_one(open);
            }
        }
    }

    /// The server speaks first: nobody asked, and the way to it is the TCP handshake's.
    fn greeting(&mut self, outcome: Outcome, passage: &Passage) {
        let mut open = self.begin(Request { awaits: Awaits::Nothing, ..Request::new("connect") }, None);
        open.exchange.response = Some(Span::at(passage.first, passage.last));
        open.exchange.response_bytes = passage.length;
        open.exchange.end_with(outcome);
        self.answered_until = passage.end;
        self.greeted = true;
        self.finish_one(open);
    }

    fn finish_one(&mut self, mut open: Open) {
        if self.adrift > 0 {
            open.exchange.complete = false;
            self.adrift -= u32::from(self.adrift < u32::MAX);
        }
        open.exchange.transaction = self.transaction;
        let response = open.exchange.response.map(|span| span.last);
        self.previous_response = response.or(self.previous_response);
        self.finished.push(open.exchange);
    }
}

impl Exchange {
    fn end_with(&mut self, outcome: Outcome) {
        if let Some(rows) = outcome.rows {
            *self.rows.get_or_insert(0) += rows;
        }
        self.affected_rows = outcome.affected_rows;
        self.error = outcome.error;
    }
}
