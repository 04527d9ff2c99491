//! An exchange as a job is made of, and the walk over all of them.

use super::UNSEEN;
use super::recorded::Phases;

/// One exchange. Times are ns since the recording began, those of packets that were not captured as far as others tell
/// (`missing.rs`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    pub row: u32,
    pub connection: u32,
    /// Of its connection.
    pub phase: u32,
    /// First and last packet.
    pub request: i64,
    pub request_end: i64,
    pub response: i64,
    pub response_end: i64,
    /// From the request's last packet to the answer's first, over all round trips.
    pub waited: i64,
    pub round_trips: u32,
    pub setup: bool,
    pub complete: bool,
    pub ends_transaction: bool,
    /// The client waits for it together with the request before it, or goes on and gets its answer with a later one
    /// (`exchange::Wait`).
    pub shared: bool,
    pub deferred: bool,
    /// Most of its request followed when the answer had begun: the client did not wait for that.
    pub streamed: bool,
    /// What it asks: which statement, and what for.
    pub statement: u32,
    /// What request and response fill; a message that shares a packet with the one before has a part of one.
    pub segments: [f64; 2],
    /// The same where they share packets.
    pub alone: [f64; 2],
    /// How long a small packet waited for a delayed ACK (Nagle), beside the round trip that it waited as well: before
    /// the request, and within request and response.
    pub stalled: [f64; 2],
    /// How long time-outs lasted since the exchange before it.
    pub lost_before: i64,
    /// How long a sender waited for acknowledgments, and what of that the client waited.
    pub silent: f64,
    pub request_silent: f64,
    /// How long a side that paces kept its request, or its response, back.
    pub paced: [f64; 2],
    /// How long before its request the server pushed something; 0 where it did not.
    pub since_push: f64,
    /// A packet of it was sent again.
    pub resent: bool,
    /// Delayed acknowledgments stalled it, whether `stalled` says how long or not.
    pub was_stalled: bool,
    /// Its statement, or its command where it has none.
    pub kind: u64,
}

impl Exchange {
    /// Its first packet.
    pub fn begin(&self) -> i64 {
        if self.request == UNSEEN { self.response } else { self.request }
    }

    /// Its last packet.
    pub fn end(&self) -> i64 {
        self.request_end.max(self.response_end).max(self.begin())
    }

    /// A request of one packet without a wait: it takes no time, wherever it lies in a gap. MySQL's `stmt_close` is never
    /// answered, Firebird's `free_statement` together with a later request.
    pub fn is_sent_without_wait(&self) -> bool {
        let goes_on = self.response == UNSEEN || self.deferred;
        let quick = self.request != UNSEEN && self.request_end <= self.request;
        self.round_trips == 0 && goes_on && quick
    }

    /// The same as the client saw it.
    pub fn at_client(mut self, phases: &Phases) -> Exchange {
        let half = phases.half_ns(self.phase);
        let later = |time: i64, by: i64| if time == UNSEEN { time } else { time + by };
        (self.request, self.request_end) = (later(self.request, -half), later(self.request_end, -half));
        (self.response, self.response_end) = (later(self.response, half), later(self.response_end, half));
        if self.since_push > 0.0 {
            self.since_push = (self.since_push - 2.0 * half as f64).max(1.0);
        }
        self
    }
}

/// The exchanges of a recording, in the order of connection and request.
pub trait Exchanges {
    type Error;

    fn count(&self) -> usize;

    /// Packets of some may have been sent again.
    fn may_lose(&self) -> bool {
        true
    }

    /// Each of them, one after the other.
    fn each(&self, take: &mut dyn FnMut(&Exchange)) -> Result<(), Self::Error>;
}

/// What is known of each connection while they are walked.
pub trait Visit {
    /// A connection begins, with this exchange if it has any.
    fn open(&mut self, connection: usize, first: Option<&Exchange>);
    fn exchange(&mut self, exchange: &Exchange);
    fn close(&mut self, connection: usize, last: Option<&Exchange>);
}

/// Walk so many connections, each with its exchanges.
pub fn walk<E: Exchanges>(exchanges: &E, connections: usize, visit: &mut impl Visit) -> Result<(), E::Error> {
    let (mut next, mut last): (usize, Option<Exchange>) = (0, None);
    exchanges.each(&mut |exchange| {
        let connection = exchange.connection as usize;
        if next <= connection {
            close(visit, &mut next, last.take(), connection);
            visit.open(connection, Some(exchange));
            next = connection + 1;
        }
        visit.exchange(exchange);
        last = Some(*exchange);
    })?;
    close(visit, &mut next, last, connections);
    Ok(())
}

/// The connection before `next` is over; none of those from there up to `until` has an exchange.
fn close(visit: &mut impl Visit, next: &mut usize, last: Option<Exchange>, until: usize) {
    if let Some(last) = &last {
        visit.close(last.connection as usize, Some(last));
    }
    for connection in *next..until {
        visit.open(connection, None);
        visit.close(connection, None);
    }
    *next = until;
}

/// Such as are at hand.
impl Exchanges for &[Exchange] {
    type Error = std::convert::Infallible;

    fn count(&self) -> usize {
        self.len()
    }

    fn each(&self, take: &mut dyn FnMut(&Exchange)) -> Result<(), Self::Error> {
        self.iter().for_each(take);
        Ok(())
    }
}
