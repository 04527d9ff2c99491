//! Which answers can be trusted to belong to their request, after something was lost.
//!
//! How many requests or answers are lost in a gap is not known, and each of them shifts the answers to those that
//! follow. A client that has always waited for all answers after so many requests does so again; else, one that sends a
//! few requests at once soon waits for all of them, and one that sends many may never.

use super::MessageSpan;
use crate::side::Side;
use crate::stream::START;

/// A client with this many requests under way may go on sending without ever waiting for all answers.
const MIN_PIPELINED: usize = 4;
/// Exchanges that are not trusted after a loss among fewer.
const UNTRUSTED: u32 = 16;
/// No request is still to be answered after both sides were silent for so long.
const SILENCE_NS: i64 = 1_000_000_000;

#[derive(Default)]
pub struct Trust {
    /// Where the last gap in the server's stream ends.
    missing_until: u64,
    /// How many of the exchanges to come may get the answer to another request.
    untrusted: u32,
    /// Lost just now: how many bytes of the client, with an unknown number of requests, and whether answers, too.
    unseen: u64,
    unheard: bool,
    /// How often the client has waited since.
    waits: u32,
    /// The client's habit: how often it sent several requests and then waited for all answers, after how many requests at
    /// most, and how many it has sent since.
    habit: u32,
    most: u32,
    run: u32,
    /// The time of the last message.
    latest_ns: i64,
}

impl Trust {
    /// The server's stream has a gap that ends here.
    pub fn missing(&mut self, until: u64) {
        self.missing_until = until;
        (self.unheard, self.waits) = (true, 0);
    }

    /// Is part of the server's stream missing after its first `received` bytes?
    pub fn is_missing_since(&self, received: u64) -> bool {
        received < self.missing_until.max(START)
    }

    /// Something was lost while `unanswered` requests waited for an answer.
    pub fn distrust_next(&mut self, unanswered: usize) {
        let untrusted = match unanswered {
            // these, at most so many, and what it sends until it has certainly waited
            _ if self.always_waits() && unanswered <= self.most as usize => self.most.saturating_mul(2),
            ..MIN_PIPELINED => UNTRUSTED,
            _ => u32::MAX,
        };
        self.untrusted = self.untrusted.max(untrusted);
    }

    /// Something was lost, and nothing tells how much.
    pub fn distrust_all(&mut self) {
        self.untrusted = u32::MAX;
    }

    /// So many bytes of the client were not captured.
    pub fn unseen(&mut self, lost: u64) {
        (self.unseen, self.waits) = (self.unseen.saturating_add(lost), 0);
    }

    /// The client sends a request, with or without having waited for all answers before.
    pub fn sends(&mut self, has_waited: bool) {
        let waited_always = self.always_waits();
        if has_waited && self.untrusted == 0 {
            self.habit = self.habit.saturating_add(u32::from(self.run > 1));
            self.most = self.most.max(self.run);
        }
        self.run = if has_waited { 1 } else { self.run.saturating_add(1) };
        if self.untrusted > 0 && waited_always && !self.always_waits() {
            self.distrust_all();
        }
    }

    fn always_waits(&self) -> bool {
        self.habit as usize >= MIN_PIPELINED && self.run <= self.most
    }

    /// The client asks with `length` bytes, and waits for the answer to what it asked before, or not. One that does not
    /// may have asked what was lost without waiting, too; how much of that is answered is unknown where answers are lost.
    pub fn asks(&mut self, waits: bool, length: u64) {
        self.waits += u32::from(waits);
        if self.waits > 1 {
            (self.unseen, self.unheard) = (0, false);
        }
        if !waits && self.unheard && self.unseen >= length.saturating_mul(UNTRUSTED.into()) {
            self.distrust_all();
        }
    }

    /// After a long silence of both sides nothing is under way any more.
    pub fn settle(&mut self, span: &MessageSpan) {
        if span.side == Side::Client && span.first.time_ns.saturating_sub(self.latest_ns) >= SILENCE_NS {
            (self.untrusted, self.unseen, self.unheard) = (0, 0, false);
        }
        self.latest_ns = self.latest_ns.max(span.last.time_ns);
    }

    /// Can the next exchange be trusted?
    pub fn next(&mut self) -> bool {
        let trusted = self.untrusted == 0;
        self.untrusted -= u32::from((1..u32::MAX).contains(&self.untrusted));
        trusted
    }
}
