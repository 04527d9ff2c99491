//! Which answers can be trusted to belong to their request, after something was lost.
//!
//! How many requests or answers are lost in a gap is not known, and each of them shifts the answers to those that
//! follow. A client that sends a few requests at once soon waits for all of them; one that sends many may never.

use super::MessageSpan;
use crate::side::Side;
use crate::stream::START;

/// A client with this many requests under way may go on sending without ever waiting for all answers.
pub const MIN_PIPELINED: usize = 4;
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
        let untrusted = if unanswered < MIN_PIPELINED { UNTRUSTED } else { u32::MAX };
        self.untrusted = self.untrusted.max(untrusted);
    }

    /// So many bytes of the client were not captured.
    pub fn unseen(&mut self, lost: u64) {
        (self.unseen, self.waits) = (self.unseen.saturating_add(lost), 0);
    }

    /// The client asks with `length` bytes, and waits for the answer to what it asked before, or not. One that does not
    /// may have asked what was lost without waiting, too; how much of that is answered is unknown where answers are lost.
    pub fn asks(&mut self, waits: bool, length: u64) {
        self.waits += u32::from(waits);
        if self.waits > 1 {
            (self.unseen, self.unheard) = (0, false);
        }
        if !waits && self.unheard && self.unseen >= length.saturating_mul(UNTRUSTED.into()) {
            self.distrust_next(MIN_PIPELINED);
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
