//! Turns: exchanges of a stream that cannot be read.
//!
//! A client that speaks after the server has asks anew. Did it wait for the answer before? Nothing in the bytes says so,
//! but TCP does: each packet tells how much its sender had received. A client that had not received all that the server
//! had sent goes on without waiting (a pipeline, reading ahead), and so does one whose request the server did not have
//! yet when it sent more of the answer: request and answer have crossed on their way. Such a turn shares the wait of the
//! one before, and so does the next one where the server has answered before it had the whole turn, for that was more
//! than one request. Crossing shows in a capture near either side, so a turn stays open until what the server sends next
//! tells which it answers.

use super::{MessageSpan, Pairing, Wait};
use crate::protocols::{Awaits, Request};
use crate::side::Side;

/// What asks for nothing is small: a window adjustment of SSH (36 to 64 bytes), a statement that is closed. That the
/// server never answers it says nothing.
const SMALL: u64 = 64;

impl Pairing {
    /// The client speaks after the server has.
    pub(super) fn turn(&mut self, mut request: Request, span: &MessageSpan) {
        self.turns = true;
        if let Some(open) = self.open.newest_mut() {
            if self.heard < self.sent && (open.answered || open.exchange.request_bytes > SMALL) {
                request.awaits = Awaits::Shared;
            }
            self.awaited -= usize::from(open.is_awaited());
            open.awaits = Awaits::Nothing;
            open.turned = open.answered;
            self.previous_response = open.exchange.response.map(|span| span.last).or(self.previous_response);
        }
        let open = self.begin(request, Some(span));
        self.trust.asks(open.exchange.wait == Wait::Own, span.length);
        self.push(open);
        self.sent = span.end;
    }

    /// The client goes on with its turn. What it had begun to send before the answer came, it sends without having waited
    /// for that.
    pub(super) fn goes_on_turn(&mut self, span: &MessageSpan) {
        let answered = self.open.newest_mut().and_then(|open| open.exchange.response.filter(|_| open.answered));
        if answered.is_some_and(|answer| span.first.time_ns < answer.first.time_ns) {
            return self.unwaited(span);
        }
        self.sent = span.end;
        self.client_goes_on(span);
    }

    /// One side says something unasked, such as a good-bye: the client's is its last word, and after the server's it has
    /// no answer all the same.
    pub(super) fn unasked(&mut self, span: &MessageSpan) {
        if span.side == Side::Client {
            self.hung_up = Some(span.acknowledged);
        } else if let Some(open) = self.open.newest_mut().filter(|open| !open.answered) {
            open.had_received = open.had_received.max(span.end + span.length);
        }
    }

    /// The server speaks: an answer to the newest request that it had by then.
    pub(super) fn answers_turn(&mut self, span: &MessageSpan) {
        while self.open.second().is_some_and(|next| next.asked <= span.acknowledged) {
            self.end_turn();
        }
        if self.open.len() > 1 {
            self.share_wait();
        }
        self.heard = span.acknowledged;
        if self.server_answers(span).is_some() {
            self.answered_until = span.end;
        }
    }

    /// The client has spoken again, and nothing was under way to it.
    pub(super) fn end_turned(&mut self) {
        while self.open.oldest().is_some_and(|open| open.turned) {
            self.finish_oldest();
        }
    }

    /// The server has gone on to the next one. Without an answer it was no request (a window adjustment, a statement
    /// that was closed).
    fn end_turn(&mut self) {
        if let Some(open) = self.open.oldest_mut().filter(|open| !open.answered) {
            (open.exchange.round_trips, open.exchange.wait) = (0, Wait::None);
        }
        self.finish_oldest();
    }

    /// The answer before goes on, from a server that did not have the newest request: the client has not waited for its
    /// end.
    fn share_wait(&mut self) {
        let before = self.open.oldest().map(|open| (open.exchange.number, open.had_received));
        let Some(open) = self.open.newest_mut().filter(|open| open.exchange.wait == Wait::Own) else { return };
        (open.exchange.round_trips, open.exchange.wait) = (0, Wait::Shared);
        self.own = before;
    }
}
