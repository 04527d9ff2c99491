//! Pairs requests with responses and counts the client's waits.
//!
//! Answers come in the order of the requests, so a queue of open exchanges matches them. A *round trip* is one wait of
//! the client: a request sent while an awaited answer is outstanding shares that wait, and so does one whose packet
//! proves (by its acknowledgment number) that the client had not received the previous answer yet.

use super::queue::{Open, Queue};
use super::trust::Trust;
use super::{Exchange, MessageSpan, SendDelays, Span, Wait};
use crate::protocols::{Awaits, Error, Meaning, Outcome, Purpose, Request};
use crate::side::Side;
use crate::sql::Sql;
use crate::stream::{Kind, Mark, Signal};

/// The exchanges of one connection.
#[derive(Default)]
pub struct Pairing {
    /// Under way, and over: whether the client waited for those shows when it speaks again.
    pub(super) open: Queue,
    /// How many of them the client waits for.
    pub(super) awaited: usize,
    /// The client has spoken since, or never will.
    spoke: bool,
    /// The last exchange with a wait of its own, and what the client had received when it asked.
    pub(super) own: Option<(u32, u64)>,
    /// What the client had received when it hung up.
    pub(super) hung_up: Option<u64>,
    next_number: u32,
    /// The stream offset of the packet of the last request.
    asked_at: u64,
    /// A request was sent in a packet of its own without waiting for the one before.
    pub pipelines: bool,
    previous_request_ns: Option<i64>,
    pub(super) previous_response: Option<Mark>,
    /// Of a request that is not yet there as a whole.
    send_delays: SendDelays,
    /// The server's last push since.
    pushed_ns: Option<i64>,
    /// Where the last whole response ends in the server's stream.
    pub(super) answered_until: u64,
    /// What is under way cannot be read: see [`super::turns`].
    pub(super) turns: bool,
    /// Where the client's last turn ends, and how much of it the server had when it spoke last.
    pub(super) sent: u64,
    pub(super) heard: u64,
    pub(super) trust: Trust,
    /// Which of several sessions is speaking.
    session: Option<u16>,
    /// What the server last said of its transaction.
    pub transaction: Option<&'static str>,
    /// The server spoke first.
    pub greeted: bool,
}

impl Pairing {
    /// Take in what a message means.
    pub fn message(&mut self, meaning: Meaning, span: &MessageSpan) {
        self.trust.settle(span);
        self.spoke = span.side == Side::Client;
        match meaning {
            Meaning::Request(request) => self.request(request, span),
            Meaning::Turn(request) => self.turn(request, span),
            Meaning::More => self.more(span),
            Meaning::MoreWithoutWait => self.unwaited(span),
            Meaning::Becomes { command, purpose, sql } => self.becomes(command, purpose, sql, span),
            Meaning::Rows(rows) => self.rows(rows, span),
            Meaning::Done(outcome) => self.done(outcome, span),
            Meaning::Greeting(outcome) => self.greeting(outcome, span),
            Meaning::Refused(outcome) if self.open.is_empty() => self.unasked_setup("authenticate", outcome, span),
            Meaning::Refused(outcome) => self.done(outcome, span),
            Meaning::Text(sql) => self.text(sql),
            Meaning::Failed(error) => self.failed(error, span),
            Meaning::Ended => {
                self.end_with_next();
                self.end_all();
            }
            Meaning::Pushed => self.pushed_ns = Some(span.last.time_ns).filter(|_| !self.is_awaited()),
            Meaning::Unrelated if self.turns => self.unasked(span),
            Meaning::Unrelated => {}
            Meaning::InSession(session, meaning) => self.in_session(session, *meaning, span),
            Meaning::Several(meanings) => {
                // The bytes are counted once, with the first that they belong to.
                let mut span = *span;
                for meaning in meanings {
                    let counted = meaning != Meaning::Ended;
                    self.message(meaning, &span);
                    if counted {
                        (span.length, span.wire) = (0, 0);
                    }
                }
            }
        }
    }

    /// What is answered or goes on are the exchanges of this session; it waits for no other one.
    fn in_session(&mut self, session: u16, meaning: Meaning, span: &MessageSpan) {
        let begins = |meaning: &Meaning| matches!(meaning, Meaning::Request(_));
        let is_new = begins(&meaning) || matches!(&meaning, Meaning::Several(all) if all.first().is_some_and(begins));
        if is_new {
            self.open
                .of_sessions_mut()
                .filter(|open| open.session != Some(session))
                .for_each(|open| open.is_left |= open.answered);
        }
        if self.open.turn_to(session, span.side) || is_new {
            self.session = Some(session);
            self.message_of(meaning, span, session);
            self.session = None;
        }
    }

    fn message_of(&mut self, meaning: Meaning, span: &MessageSpan, session: u16) {
        let Meaning::Several(meanings) = meaning else { return self.message(meaning, span) };
        let mut span = *span;
        for meaning in meanings {
            self.open.turn_to(session, span.side);
            self.message(meaning, &span);
            (span.length, span.wire) = (0, 0);
        }
    }

    /// Moves the exchanges of which nothing more will be learnt to those of other connections.
    pub fn take_finished(&mut self, all: &mut Vec<Exchange>) {
        self.open.take_over(all, self.spoke);
    }

    pub fn has_finished(&self) -> bool {
        self.open.has_newly_over() || (self.spoke && self.open.holds())
    }

    /// The client hangs up and has received the first `acknowledged` bytes of the server: what it closed before, it has
    /// not waited for.
    pub fn hang_up(&mut self, acknowledged: u64) {
        self.spoke = true;
        self.hung_up = Some(acknowledged);
        let Some((own, _)) = self.own.take().filter(|&(_, had_received)| acknowledged <= had_received) else { return };
        let is_unheard = |open: &Open| matches!(open.exchange.wait, Wait::Own | Wait::Shared);
        let mut may_go_unheard = true;
        self.open.each_since(own, |open| {
            may_go_unheard &= !is_unheard(open) || open.exchange.purpose.may_go_unheard();
        });
        if !may_go_unheard {
            return;
        }
        self.open.each_since(own, |open| {
            if is_unheard(open) {
                open.exchange.go_on_without_answer();
                open.awaits = Awaits::Later;
            }
        });
        self.count_awaited();
    }

    /// Can a packet that acknowledges the client's stream up to here answer what is open? A server answers only what it
    /// has received.
    pub fn may_be_answered_by(&self, acknowledged: u64) -> bool {
        let may_be = |open: &Open| open.answered || acknowledged >= open.asked;
        self.open
            .oldest()
            .is_none_or(|oldest| may_be(oldest) || oldest.session.is_some() && self.open.of_sessions().any(may_be))
    }

    /// Part of the server's stream is missing since the oldest open request was sent, and others wait behind it: which
    /// of them the next answer belongs to is unknown.
    pub fn is_doubtful(&self) -> bool {
        let oldest = self.open.oldest().filter(|_| self.open.len() > 1);
        oldest.is_some_and(|open| {
            !open.answered && !open.ends_with_next && self.trust.is_missing_since(open.had_received)
        })
    }

    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The client waits for an answer.
    pub fn is_awaited(&self) -> bool {
        self.awaited > 0
    }

    fn count_awaited(&mut self) {
        self.awaited = self.open.iter().filter(|open| open.is_awaited()).count();
    }

    /// A delay of one side's sending belongs to the exchange under way, else to the next; a stall to the one that the
    /// packet may have ended.
    pub fn signal(&mut self, side: Side, Signal { kind, ns }: Signal) {
        match kind {
            Kind::SentAgain if self.open.is_empty() => {
                self.send_delays.lost_ns = self.send_delays.lost_ns.saturating_add(ns)
            }
            Kind::SentAgain => {
                let touched = self.open.iter_mut().find(|open| !open.turned);
                touched.into_iter().for_each(|open| open.exchange.retransmissions += 1);
            }
            Kind::Silent { answered } if answered && self.waits_for_data(side) => {}
            Kind::Silent { .. } => {
                self.sending(side).into_iter().for_each(|send_delays| send_delays.silent_ns[side as usize] += ns)
            }
            Kind::Paced => {
                self.sending(side).into_iter().for_each(|send_delays| send_delays.paced_ns[side as usize] += ns)
            }
            Kind::Stalled if side == Side::Server && self.pushed_ns.is_some() => {} // nobody had waited for that
            Kind::Stalled => self.sent_last(side).into_iter().for_each(|open| open.exchange.stalled_ns += ns),
        }
    }

    /// The exchange of the packet that one side sent last.
    fn sent_last(&mut self, side: Side) -> Option<&mut Open> {
        match side {
            Side::Client if !self.open.is_empty() => self.open.newest_mut(),
            Side::Server if !self.open.has_newly_over() => self.open.oldest_mut(),
            _ => self.open.newly_over_mut(),
        }
    }

    /// One side that was answered has waited for that: a server, and a client whose newest request has its answer.
    fn waits_for_data(&self, side: Side) -> bool {
        side == Side::Server || self.open.newest().is_none_or(|newest| newest.answered)
    }

    /// Of what a side is sending; a request that is not yet there as a whole is the next one.
    fn sending(&mut self, side: Side) -> Option<&mut SendDelays> {
        match side {
            Side::Client if self.open.is_empty() => Some(&mut self.send_delays),
            Side::Client => self.open.newest_mut().map(|open| &mut open.exchange.send_delays),
            Side::Server => self.open.oldest_mut().map(|open| &mut open.exchange.send_delays),
        }
    }

    /// The capture's clock was set: no time from before can be compared with one that comes.
    pub fn clock_stepped(&mut self) {
        for open in self.open.iter_mut() {
            open.exchange.complete = false;
        }
        self.previous_request_ns = None;
        self.previous_response = None;
        self.pushed_ns = None;
        self.send_delays = SendDelays::default();
    }

    /// `lost` bytes of what is under way, up to `until`, were not captured.
    pub fn gap(&mut self, side: Side, lost: u64, until: u64) {
        let touched = match side {
            Side::Client => {
                self.trust.unseen(lost);
                self.open.newest_mut()
            }
            Side::Server => {
                self.trust.missing(until);
                self.open.oldest_mut()
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
        for open in self.open.iter_mut() {
            open.exchange.rows = None;
            open.exchange.complete &= alone;
            open.ends_with_next = true;
        }
    }

    /// Pairing was lost: what is open stays open until the client speaks anew, but is marked.
    pub fn lose(&mut self) {
        self.end_turned();
        for open in self.open.iter_mut() {
            open.exchange.complete = false;
            open.ends_with_next = true;
        }
    }

    /// Requests without an answer, since pairing was lost last.
    pub fn unanswered(&self) -> usize {
        self.open.iter().filter(|open| !open.answered && !open.ends_with_next).count()
    }

    /// What exchanges under way take, and room beyond the usual that is kept for later ones.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        self.open.kept_bytes()
    }

    /// Something was lost while `unanswered` requests waited for an answer.
    pub fn distrust_next(&mut self, unanswered: usize) {
        self.trust.distrust_next(unanswered);
    }

    /// There is no room for more open exchanges: all end, and what answers them cannot be paired.
    pub fn abandon(&mut self) {
        if self.is_open() {
            self.lose();
            self.end_all();
            self.trust.distrust_all();
        }
        self.open.shrink(false);
        self.spoke = true;
    }

    /// What has finished was taken: room is kept for what is usual, and for nothing once the client has hung up.
    pub fn shrink(&mut self) {
        self.open.shrink(self.hung_up.is_none());
    }

    /// The stream becomes opaque: what is open ends when the client speaks again.
    pub fn end_with_next(&mut self) {
        for open in self.open.iter_mut() {
            open.ends_with_next = true;
        }
    }

    /// A request that cannot be read, or was not captured at all (`span` is `None`).
    pub fn unreadable_request(&mut self, span: Option<&MessageSpan>) {
        self.end_all();
        let request = Request { ends_previous: true, ..Request::new("unknown", Purpose::Unreadable) };
        let mut open = self.begin(request, span);
        open.exchange.complete = false;
        self.push(open);
    }

    /// Everything that is open ends with what was seen of it.
    pub fn end_all(&mut self) {
        while let Some(open) = self.open.oldest_mut() {
            open.exchange.complete &= open.answered && open.ends_with_next;
            self.finish_oldest();
        }
    }

    /// The recording or the connection is over.
    pub fn close(&mut self) {
        for open in self.open.iter_mut() {
            // What the client sent last is opaque; as it was never answered, it was no request but a disconnect. That
            // is certain where the client hung up without an answer.
            if open.ends_with_next && !open.answered && open.exchange.complete {
                (open.exchange.round_trips, open.exchange.wait) = (0, Wait::None);
                open.awaits = Awaits::Nothing;
                open.answered = self.hung_up.is_some_and(|acknowledged| acknowledged <= open.had_received);
            }
        }
        self.count_awaited();
        self.end_all();
        self.spoke = true;
    }

    fn request(&mut self, request: Request, span: &MessageSpan) {
        if request.ends_previous || std::mem::take(&mut self.turns) {
            self.end_all();
        }
        if request.purpose == Purpose::Disconnect {
            self.hang_up(span.acknowledged);
        }
        let open = self.begin(request, Some(span));
        if matches!(open.exchange.wait, Wait::Own | Wait::Shared) {
            self.trust.asks(open.exchange.wait == Wait::Own, span.length);
        }
        if open.awaits == Awaits::Nothing {
            self.open.push_oldest(open);
            self.finish_oldest();
        } else {
            self.push(open);
        }
    }

    pub(super) fn begin(&mut self, request: Request, span: Option<&MessageSpan>) -> Open {
        let start_ns = span.map(|span| span.first.time_ns);
        let since = |before: Option<i64>| Some(start_ns?.saturating_sub(before?).max(0));
        let wait = self.wait_of(request.awaits, span);
        self.trust.sends(wait == Wait::Own);
        if let Some(span) = span {
            self.pipelines |= wait == Wait::Shared && span.start != self.asked_at;
            self.asked_at = span.start;
        }
        let exchange = Exchange {
            connection: 0,
            number: self.next_number,
            command: request.command,
            purpose: request.purpose,
            sql: request.sql,
            request: span.map(|span| Span::at(span.first, span.last)),
            response: None,
            request_bytes: span.map_or(0, |span| span.length),
            response_bytes: 0,
            request_wire_bytes: span.map_or(0, |span| span.wire),
            response_wire_bytes: 0,
            streamed_bytes: 0,
            round_trips: u32::from(wait == Wait::Own),
            wait,
            waited_ns: None,
            rows: None,
            affected_rows: None,
            error: None,
            delta_ns: since(self.previous_request_ns),
            client_ns: since(self.previous_response.map(|mark| mark.time_ns)),
            retransmissions: 0,
            stalled_ns: 0,
            send_delays: std::mem::take(&mut self.send_delays),
            since_push_ns: since(self.pushed_ns.take()).map_or(0, |since| since.max(1)),
            transaction: None,
            complete: true,
        };
        if wait == Wait::Own {
            self.own = span.map(|span| (self.next_number, span.acknowledged));
        }
        self.next_number += 1;
        self.previous_request_ns = start_ns.or(self.previous_request_ns);
        Open {
            exchange,
            awaits: request.awaits,
            asked: span.map_or(0, |span| span.start),
            had_received: span.map_or(0, |span| span.acknowledged),
            waiting_since: span.map(|span| span.last),
            continued: 0,
            answered: false,
            ends_with_next: request.ends_previous,
            turned: false,
            session: self.session,
            is_left: false,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, open: Open) {
        self.awaited += usize::from(open.is_awaited());
        self.open.push(open);
    }

    fn wait_of(&self, awaits: Awaits, span: Option<&MessageSpan>) -> Wait {
        if let (Awaits::Answer, Some(session)) = (awaits, self.session) {
            let is_open = self.open.of_sessions().any(|open| open.session == Some(session) && open.is_awaited());
            return if is_open { Wait::Shared } else { Wait::Own };
        }
        let had_not_read = span.is_some_and(|span| span.acknowledged < self.answered_until);
        match awaits {
            Awaits::Later => Wait::Deferred,
            Awaits::Nothing => Wait::None,
            Awaits::Shared if self.next_number > 0 => Wait::Shared,
            _ if self.is_awaited() || had_not_read => Wait::Shared,
            _ => Wait::Own,
        }
    }

    fn more(&mut self, span: &MessageSpan) {
        match span.side {
            Side::Client if self.turns => self.goes_on_turn(span),
            Side::Client => self.client_goes_on(span),
            Side::Server if self.turns => self.answers_turn(span),
            Side::Server => {
                self.server_answers(span);
            }
        }
    }

    /// The server has begun to answer with a message whose end is still to come.
    pub fn answer_begins(&mut self, mark: Mark, acknowledged: u64) {
        if !self.turns {
            let (length, wire, start, end) = (0, 0, 0, 0);
            let side = Side::Server;
            self.server_answers(&MessageSpan { side, first: mark, last: mark, length, wire, acknowledged, start, end });
        }
    }

    pub(super) fn client_goes_on(&mut self, span: &MessageSpan) {
        let Some(open) = self.open.newest_mut() else { return };
        open.waiting_since = Some(span.last);
        open.continued = span.start;
        open.exchange.goes_on(span, open.answered);
        if !open.answered {
            open.exchange.request = Span::extend(open.exchange.request, span.first, span.last);
        }
        let answered = open.exchange.response.filter(|_| open.answered);
        open.exchange.complete &= answered.is_none_or(|answer| answer.first.time_ns <= span.first.time_ns);
    }

    /// What the server may have said meanwhile, the client has not waited for it.
    pub(super) fn unwaited(&mut self, span: &MessageSpan) {
        self.sent = span.end;
        let Some(open) = self.open.newest_mut() else { return };
        if !open.answered {
            return self.client_goes_on(span);
        }
        open.exchange.goes_on(span, true);
    }

    fn becomes(&mut self, command: &'static str, purpose: Purpose, sql: Option<Sql>, span: &MessageSpan) {
        self.unwaited(span);
        let Some(open) = self.open.newest_mut() else { return };
        open.exchange.command = command;
        open.exchange.purpose = purpose;
        open.exchange.sql = sql.or(open.exchange.sql);
    }

    fn text(&mut self, sql: Sql) {
        if let Some(open) = self.open.newest_mut() {
            open.exchange.sql = Some(sql);
        }
    }

    /// More of the oldest open response.
    pub(super) fn server_answers(&mut self, span: &MessageSpan) -> Option<&mut Open> {
        let previous = self.previous_response;
        let trust = &self.trust;
        let open = self.open.oldest_mut()?;
        // A server that has not received what the client went on with (an attention) does not answer that yet.
        let has_heard = !open.answered || span.acknowledged >= open.continued;
        if let Some(asked) = open.waiting_since.take_if(|_| has_heard) {
            let since_ns = match previous {
                Some(mark) if open.exchange.round_trips == 0 => asked.time_ns.max(mark.time_ns),
                _ => asked.time_ns,
            };
            let waited_ns = span.first.time_ns.saturating_sub(since_ns).max(0);
            // An answer that passes before its question: one of the two times is wrong.
            let request_end_ns = open.exchange.request.filter(|_| !open.answered).map(|span| span.last.time_ns);
            open.exchange.complete &= asked.time_ns.max(request_end_ns.unwrap_or(i64::MIN)) <= span.first.time_ns;
            if open.is_awaited() {
                *open.exchange.waited_ns.get_or_insert(0) += waited_ns;
            }
            // The client went on after the server had spoken, and waited again.
            open.exchange.round_trips += u32::from(open.answered);
        }
        // Something was lost after the client had asked: this may be the answer to a later question.
        open.exchange.complete &= open.answered || !trust.is_missing_since(open.had_received);
        open.answered = true;
        if !open.is_left {
            open.exchange.response = Span::extend(open.exchange.response, span.first, span.last);
        }
        open.exchange.response_bytes += span.length;
        open.exchange.response_wire_bytes += span.wire;
        Some(open)
    }

    fn rows(&mut self, rows: u64, span: &MessageSpan) {
        if let Some(open) = self.server_answers(span) {
            *open.exchange.rows.get_or_insert(0) += rows;
        }
    }

    fn failed(&mut self, error: Box<Error>, span: &MessageSpan) {
        if let Some(open) = self.server_answers(span) {
            open.exchange.error = Some(error);
        }
    }

    fn done(&mut self, outcome: Outcome, span: &MessageSpan) {
        if let Some(open) = self.server_answers(span) {
            open.exchange.end_with(outcome);
            // The answer to a deferred request may be under way while the client sends another one, and waits for that.
            if open.is_awaited() {
                self.answered_until = span.end;
            }
            self.finish_oldest();
        }
    }

    /// The server speaks first, unasked, and the way to it is the TCP handshake's.
    fn greeting(&mut self, outcome: Outcome, span: &MessageSpan) {
        self.greeted = true;
        self.unasked_setup("connect", outcome, span);
    }

    /// The server answers what the client has not asked: an exchange of its own, for which nobody waits.
    fn unasked_setup(&mut self, command: &'static str, outcome: Outcome, span: &MessageSpan) {
        let mut open = self.begin(Request { awaits: Awaits::Nothing, ..Request::new(command, Purpose::Setup) }, None);
        open.exchange.response = Some(Span::at(span.first, span.last));
        open.exchange.response_bytes = span.length;
        open.exchange.response_wire_bytes = span.wire;
        open.exchange.end_with(outcome);
        self.answered_until = span.end;
        self.open.push_oldest(open);
        self.finish_oldest();
    }

    #[inline]
    pub(super) fn finish_oldest(&mut self) {
        let Some(open) = self.open.oldest_mut() else { return };
        self.awaited -= usize::from(open.is_awaited());
        let exchange = &mut open.exchange;
        exchange.complete &= self.trust.next();
        exchange.transaction = self.transaction;
        if let Some(response) = exchange.response {
            self.previous_response = Some(response.last);
        }
        self.open.end_oldest();
    }
}
