//! Cuts exchanges, handshakes and closes into what the network took and what it did not, as the client saw them.

use super::UNSEEN;
use super::bulk::FEW_SEGMENTS;
use super::exchange::{Exchange, Exchanges, Visit, walk};
use super::recorded::{Connections, Job, Phases};
use super::step::{NOWHERE, Span, Start, Starts};
use super::step_body::{Body, EMPTY, GOODBYE, UNSEEN_LOGIN};

/// Take each step of `job`, connection by connection: its start is known where it does not depend on other steps.
/// `seen` gets each exchange as the client saw it.
pub fn cut<E: Exchanges>(
    job: &Job<E>,
    seen: impl FnMut(&Exchange),
    take: impl FnMut(Body, Start, Span),
) -> Result<(), E::Error> {
    let (phases, connections) = (job.phases, job.connections);
    walk(&job.exchanges, connections.count(), &mut Cut { phases, connections, left: Left::default(), seen, take })
}

/// What the steps so far of a connection left behind; times in ns since the beginning.
struct Left {
    phase: u32,
    asked: f64,
    /// The latest end of an answer.
    answered: f64,
    first: bool,
    /// The capture missed a part of its login, and no step stands for that yet.
    lacks_login: bool,
}

impl Default for Left {
    fn default() -> Left {
        Left { phase: 0, asked: f64::NEG_INFINITY, answered: f64::NEG_INFINITY, first: true, lacks_login: false }
    }
}

struct Cut<'a, Seen, Take> {
    phases: &'a Phases,
    connections: &'a Connections,
    left: Left,
    seen: Seen,
    take: Take,
}

impl<Seen: FnMut(&Exchange), Take: FnMut(Body, Start, Span)> Visit for Cut<'_, Seen, Take> {
    fn open(&mut self, connection: usize, _: Option<&Exchange>) {
        let phase = self.connections.opening[connection];
        self.left = Left { phase, lacks_login: self.connections.unseen_trips[connection] > 0, ..Left::default() };
        let half = self.phases.half_ns(phase);
        let [opened, established] =
            [(self.connections.syn_ns[connection], -half), (self.connections.syn_ack_ns[connection], half)]
                .map(|(time, later)| (time != UNSEEN).then_some((time.wrapping_add(later)) as f64));
        let Some(begin) = opened else { return };
        let end = established.map_or(begin, |end| end.max(begin));
        let answered = established.is_some();
        let round_trips = u32::from(answered);
        let service = end - begin - f64::from(round_trips) * self.phases.baseline_ns[phase as usize];
        let step = Body { round_trips, phase, service, answered, ..EMPTY };
        self.push(connection, step, FIRST, Span { begin, end, setup: true, ..NOWHERE });
        (self.left.asked, self.left.answered) = (begin, end);
    }

    fn exchange(&mut self, exchange: &Exchange) {
        if self.left.lacks_login && exchange.begin() >= self.connections.unseen_until_ns[exchange.connection as usize] {
            self.log_in(exchange.connection as usize);
        }
        let exchange = exchange.at_client(self.phases);
        (self.seen)(&exchange);
        if !self.connections.is_aside[exchange.connection as usize] {
            self.cut(&exchange);
        }
    }

    /// The client waits until the server hangs up, too.
    fn close(&mut self, connection: usize, _: Option<&Exchange>) {
        let (closed, left) = (self.connections.closed_ns[connection], &self.left);
        if closed == UNSEEN || left.first {
            return;
        }
        let closed = closed + self.phases.half_ns(self.connections.closing[connection]);
        let (begin, end) = (left.asked, (closed as f64).max(left.asked));
        let phase = left.phase;
        let service = end - begin - self.phases.baseline_ns[phase as usize];
        let step = Body { phase, round_trips: 1, service, answered: true, row: GOODBYE, ..EMPTY };
        self.push(connection, step, FIRST, Span { begin, end, setup: true, ..NOWHERE });
    }
}

impl<Seen: FnMut(&Exchange), Take: FnMut(Body, Start, Span)> Cut<'_, Seen, Take> {
    /// The round trips of a login that were not captured.
    fn log_in(&mut self, connection: usize) {
        let phase = self.connections.opening[connection];
        let until = self.connections.unseen_until_ns[connection] + self.phases.half_ns(phase);
        let round_trips = self.connections.unseen_trips[connection];
        self.wait_unseen(connection, Body { phase, round_trips, ..EMPTY }, until as f64);
        self.left.lacks_login = false;
    }

    /// Round trips of which only the end is known, after the answer before them.
    fn wait_unseen(&mut self, connection: usize, step: Body, end: f64) {
        let begin = self.left.answered;
        if !begin.is_finite() {
            return;
        }
        let end = end.max(begin);
        let service = end - begin - f64::from(step.round_trips) * self.phases.baseline_ns[step.phase as usize];
        let step = Body { row: UNSEEN_LOGIN, service, answered: true, whole: true, ..step };
        self.push(connection, step, FIRST, Span { begin, end, setup: true, ..NOWHERE });
        (self.left.asked, self.left.answered) = (begin, end);
    }

    fn cut(&mut self, exchange: &Exchange) {
        let (connection, phase) = (exchange.connection as usize, exchange.phase);
        let baseline = self.phases.baseline_ns[phase as usize];
        let seen = |time: i64| (time != UNSEEN).then_some(time as f64);
        let response = seen(exchange.response).filter(|_| !exchange.deferred);
        let is_greeting =
            self.left.first && self.connections.server_first[connection] && self.left.answered.is_finite();
        if let Some(asked) = seen(exchange.request).filter(|_| is_greeting) {
            self.wait_unseen(connection, Body { phase, round_trips: 1, ..EMPTY }, asked);
        }
        let left = &self.left;
        let Some(mut asked) = seen(exchange.request).or(if is_greeting { Some(left.answered) } else { response })
        else {
            return;
        };
        let unseen = exchange.request == UNSEEN;
        let greets = is_greeting && unseen;
        let pushed = unseen && !greets;
        let round_trips = if greets { 1 } else { exchange.round_trips };
        let sent = seen(exchange.request_end).unwrap_or(asked).max(asked);
        let end = response.and(seen(exchange.response_end)).or(response).unwrap_or(sent).max(sent);
        let waits = round_trips > 0;
        if waits && sent - asked > baseline && exchange.segments[0] <= FEW_SEGMENTS {
            asked = sent; // what was sent long before the rest did not wait
        }
        let follows_own = exchange.shared && !left.first;
        let whole = response.is_some_and(|response| round_trips > 1 || response < sent || exchange.streamed);
        let mut step =
            Body { phase, round_trips, answered: response.is_some() && !pushed, whole, request: sent - asked, ..EMPTY };
        step.stalls = exchange.stalled;
        match response {
            Some(_) if whole => {
                step.request = 0.0;
                step.service = end - asked - f64::from(round_trips) * baseline;
            }
            Some(_) if pushed => step.request = end - asked,
            Some(response) => {
                step.service = response - (sent + baseline).max(left.answered);
                step.response = end - response;
            }
            None => {}
        }
        let with = Start::new(0, 0, Starts::With, asked - left.asked);
        let start = if follows_own { with } else { FIRST };
        (step.unseen, step.row) = (unseen, exchange.row);
        let (ends_transaction, statement) = (exchange.ends_transaction, exchange.statement);
        let setup = exchange.setup || greets;
        let span = Span { begin: asked, end, setup, ends_transaction, follows_own, statement, ..NOWHERE };
        let span = Span { stalled: step.stalls[0] > 0.0, sent, phase, since_push: exchange.since_push, ..span };
        let answered = if response.is_some() { left.answered.max(end) } else { left.answered };
        self.left = Left { phase, asked: sent, answered, first: false, lacks_login: left.lacks_login };
        self.push(connection, step, start, span);
    }

    fn push(&mut self, connection: usize, step: Body, start: Start, span: Span) {
        let client = self.connections.client[connection];
        let connection = connection as u32;
        let waits = step.round_trips > 0;
        (self.take)(Body { connection, ..step }, start, Span { connection, client, waits, ..span });
    }
}

const FIRST: Start = Start::new(0, 0, Starts::AtFirst, 0.0);
