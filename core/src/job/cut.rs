//! Cuts exchanges, handshakes and closes into what the network took and what it did not.

use super::body::{Body, EMPTY, GOODBYE};
use super::bulk::FEW_SEGMENTS;
use super::recorded::{Job, UNSEEN};
use super::turn::{NOWHERE, Span, Start, Starts};

/// Take each turn of `job`, connection by connection: its start is known where it does not depend on other turns.
pub fn cut(job: &Job, take: impl FnMut(Body, Start, Span)) {
    let mut cut = Cut { job, take };
    let mut row = 0;
    for connection in 0..job.connections() {
        let mut state = cut.handshake(connection);
        while row < job.rows() && job.connection[row] as usize == connection {
            cut.exchange(row, &mut state);
            row += 1;
        }
        cut.goodbye(connection, &state);
    }
}

/// What the turns so far of a connection left behind; times in ns since the beginning.
struct Left {
    phase: u32,
    asked: f64,
    /// The latest end of an answer.
    answered: f64,
    first: bool,
}

struct Cut<'a, Take> {
    job: &'a Job<'a>,
    take: Take,
}

impl<Take: FnMut(Body, Start, Span)> Cut<'_, Take> {
    fn handshake(&mut self, connection: usize) -> Left {
        let phase = self.job.opening[connection];
        let seen = |time: i64| (time != UNSEEN).then_some(time as f64);
        let opened = seen(self.job.opened_ns[connection]);
        let established = seen(self.job.established_ns[connection]).zip(opened).map(|(end, begin)| end.max(begin));
        let Some(begin) = opened else {
            return Left { phase, asked: f64::NEG_INFINITY, answered: f64::NEG_INFINITY, first: true };
        };
        let end = established.unwrap_or(begin);
        let answered = established.is_some();
        let round_trips = u32::from(answered);
        let turn = Body {
            round_trips,
            phase,
            service: end - begin - f64::from(round_trips) * self.job.baseline_ns[phase as usize],
            answered,
            ..EMPTY
        };
        self.push(connection, turn, FIRST, Span { begin, end, setup: true, ..NOWHERE });
        Left { phase, asked: begin, answered: end, first: true }
    }

    fn exchange(&mut self, row: usize, left: &mut Left) {
        let job = self.job;
        let connection = job.connection[row] as usize;
        let phase = job.phase[row];
        let baseline = job.baseline_ns[phase as usize];
        let seen = |times: &[i64]| (times[row] != UNSEEN).then(|| times[row] as f64);
        let response = seen(&job.response_ns).filter(|_| !job.deferred[row]);
        let is_greeting = left.first && job.server_first[connection] && left.answered.is_finite();
        let Some(mut asked) = seen(&job.request_ns).or(if is_greeting { Some(left.answered) } else { response }) else {
            return;
        };
        let greets = is_greeting && job.request_ns[row] == UNSEEN;
        let pushed = job.request_ns[row] == UNSEEN && !greets;
        let round_trips = if greets { 1 } else { job.round_trips[row] };
        let sent = seen(&job.request_end_ns).unwrap_or(asked).max(asked);
        let end = response.and(seen(&job.response_end_ns)).or(response).unwrap_or(sent).max(sent);
        let waits = round_trips > 0;
        if waits && sent - asked > baseline && job.request_segments[row] <= FEW_SEGMENTS {
            asked = sent; // what was sent long before the rest did not wait
        }
        let follows_own = job.shared[row] && !left.first;
        let whole = response.is_some_and(|response| round_trips > 1 || response < sent || job.streamed[row]);
        let mut turn =
            Body { phase, round_trips, answered: response.is_some() && !pushed, whole, request: sent - asked, ..EMPTY };
        turn.stalls = job.stalls(row);
        match response {
            Some(_) if whole => {
                turn.request = 0.0;
                turn.service = end - asked - f64::from(round_trips) * baseline;
            }
            Some(_) if pushed => turn.request = end - asked,
            Some(response) => {
                turn.service = response - (sent + baseline).max(left.answered);
                turn.response = end - response;
            }
            None => {}
        }
        let with = Start::new(0, 0, Starts::With, asked - left.asked);
        let start = if follows_own { with } else { FIRST };
        turn.unseen = job.request_ns[row] == UNSEEN;
        turn.row = row as u32;
        let setup = job.setup[row] || greets;
        let ends_transaction = job.ends_transaction[row];
        let statement = job.statement[row];
        let span = Span { begin: asked, end, setup, ends_transaction, follows_own, statement, ..NOWHERE };
        let span = Span { stalled: turn.stalls[0] > 0.0, sent, phase, told: job.told(row), ..span };
        self.push(connection, turn, start, span);
        let answered = if response.is_some() { left.answered.max(end) } else { left.answered };
        *left = Left { phase, asked: sent, answered, first: false };
    }

    /// The client waits until the server hangs up, too.
    fn goodbye(&mut self, connection: usize, left: &Left) {
        let closed = self.job.closed_ns[connection];
        if closed == UNSEEN || left.first {
            return;
        }
        let (begin, end) = (left.asked, (closed as f64).max(left.asked));
        let phase = left.phase;
        let service = end - begin - self.job.baseline_ns[phase as usize];
        let turn = Body { phase, round_trips: 1, service, answered: true, row: GOODBYE, ..EMPTY };
        self.push(connection, turn, FIRST, Span { begin, end, setup: true, ..NOWHERE });
    }

    fn push(&mut self, connection: usize, turn: Body, start: Start, span: Span) {
        let client = self.job.client[connection];
        let connection = connection as u32;
        let waits = turn.round_trips > 0;
        (self.take)(Body { connection, ..turn }, start, Span { connection, client, waits, ..span });
    }
}

const FIRST: Start = Start::new(0, 0, Starts::AtFirst, 0.0);
