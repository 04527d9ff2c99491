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
    /// The time of the last message.
    latest_ns: i64,
}

impl Trust {
    /// The server's stream has a gap that ends here.
    pub fn missing(&mut self, until: u64) {
        self.missing_until = until;
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

    /// After a long silence of both sides nothing is under way any more.
    pub fn settle(&mut self, span: &MessageSpan) {
        if span.side == Side::Client && span.first.time_ns.saturating_sub(self.latest_ns) >= SILENCE_NS {
            self.untrusted = 0;
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
