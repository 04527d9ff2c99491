//! One request and its whole response: what is known of it, and how requests and responses find each other.

mod pairing;
mod queue;
mod trust;
mod turns;

pub use pairing::Pairing;

use crate::protocols::{Error, Outcome, Purpose};
use crate::side::Side;
use crate::sql::Sql;
use crate::stream::Mark;

/// One request and its whole response.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The connection's number, once all that is known of the exchange is.
    pub connection: u32,
    /// Counts from 0 on its connection, in the order of the requests.
    pub number: u32,
    pub command: &'static str,
    pub purpose: Purpose,
    pub sql: Option<Sql>,
    pub request: Option<Span>,
    pub response: Option<Span>,
    pub request_bytes: u64,
    pub response_bytes: u64,
    /// The same as TCP carried them: compressed, with what TLS adds.
    pub request_wire_bytes: u64,
    pub response_wire_bytes: u64,
    /// What of the request followed after the answer had begun.
    pub streamed_bytes: u64,
    pub round_trips: u32,
    pub wait: Wait,
    /// Over all waits: the last request packet → the first response packet.
    pub waited_ns: Option<i64>,
    pub rows: Option<u64>,
    pub affected_rows: Option<u64>,
    pub error: Option<Box<Error>>,
    /// Start of the previous request on the connection → start of this one.
    pub delta_ns: Option<i64>,
    /// End of the previous response → start of this request.
    pub client_ns: Option<i64>,
    pub retransmissions: u32,
    /// How long delayed acknowledgments held its packets back.
    pub stalled_ns: i64,
    /// What kept its request and its response back.
    pub send_delays: SendDelays,
    /// The server's last push between the answer before and this request → the request; 0 where there was none.
    pub since_push_ns: i64,
    /// Whether a transaction was open when it ended, where the protocol says.
    pub transaction: Option<&'static str>,
    /// All of it was captured, so its times can be used.
    pub complete: bool,
}

/// What kept the client, and the server, from sending what was ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendDelays {
    /// How long it had to wait for acknowledgments before it could go on.
    pub silent_ns: [i64; 2],
    /// How long it did not send what it might have sent: it paces.
    pub paced_ns: [i64; 2],
    /// How long retransmission time-outs lasted before the request, since the exchange before it was over: what the
    /// client had not received, or the server, was sent again.
    pub lost_ns: i64,
}

named! {
    /// Does the client wait for the answer? Decided once, when the request is sent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Wait {
        /// It waits: a round trip of its own.
        Own = "own",
        /// It waits, together with what it asked before: an awaited answer was outstanding, or not read yet, when this
        /// was sent. The round trip is that of the last exchange before it on the connection whose wait is its own.
        Shared = "shared",
        /// It goes on without the answer, which comes with that to a later request.
        Deferred = "deferred",
        /// There is no answer.
        None = "none",
    }
}

/// First and last packet of a request or response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub first: Mark,
    pub last: Mark,
}

impl Span {
    pub(super) fn at(first: Mark, last: Mark) -> Span {
        Span { first, last: if last.time_ns < first.time_ns { first } else { last } }
    }

    /// Packets out of order must not make a span run backwards.
    pub(super) fn extend(span: Option<Span>, first: Mark, last: Mark) -> Option<Span> {
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
pub struct MessageSpan {
    pub side: Side,
    pub first: Mark,
    pub last: Mark,
    pub length: u64,
    /// The bytes of its stream that passed with it.
    pub wire: u64,
    /// Bytes of the other side that the sender had acknowledged with the packet.
    pub acknowledged: u64,
    /// Whoever has acknowledged this much of its stream has received the packet it begins in, and the one it ends in.
    pub start: u64,
    pub end: u64,
}

impl Exchange {
    pub(super) fn end_with(&mut self, outcome: Outcome) {
        if let Some(rows) = outcome.rows {
            *self.rows.get_or_insert(0) += rows;
        }
        self.affected_rows = outcome.affected_rows;
        self.error = outcome.error.or(self.error.take());
    }

    /// More of the request.
    fn goes_on(&mut self, span: &MessageSpan, is_answered: bool) {
        self.request_bytes += span.length;
        self.request_wire_bytes += span.wire;
        self.streamed_bytes += if is_answered { span.length } else { 0 };
    }

    fn go_on_without_answer(&mut self) {
        (self.round_trips, self.wait, self.waited_ns) = (0, Wait::Deferred, None);
    }
}
