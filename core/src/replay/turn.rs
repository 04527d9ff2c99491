//! Turns: the exchanges of a recording, cut into what the network took and what it did not.

use super::body::{Bodies, Body, EMPTY, GOODBYE, put_in_order};
use super::bulk::FEW_SEGMENTS;
use super::clocks::{self, Clocks};
use super::groups;
use super::job::{Job, UNSEEN};
use super::lanes::{self, Usage, Waiting};
use super::locks::{self, Lock};
use super::pushes;

/// One exchange, one TCP handshake, or the wait for the server to hang up; times in ns.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    pub connection: u32,
    /// Of its connection: which RTT its path had.
    pub phase: u32,
    pub lane: u32,
    /// The lane that it follows: its own, but for the first.
    pub after: u32,
    pub starts: Starts,
    /// From where it starts to its first request packet.
    pub gap: f64,
    /// First → last packet of the request.
    pub request: f64,
    pub round_trips: f64,
    /// Which part of them is left when fixes are made.
    pub trips: f64,
    /// How long a packet of the gap, and of the rest, waited for a delayed ACK, beside a round trip each.
    pub stalled_before: f64,
    pub stalled_within: f64,
    /// What the wait took beyond its round trips; a little below zero where the path was faster than on average.
    pub service: f64,
    /// First → last packet of the response.
    pub response: f64,
    pub answered: bool,
    /// Round trips in its middle: `service` then holds everything but the round trips.
    pub whole: bool,
    /// Nobody was seen to ask for it.
    pub unseen: bool,
    /// The exchange it is.
    pub row: u32,
}

/// What a turn's gap is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// The beginning of the recording.
    AtFirst,
    /// The lane's last turn was over.
    After,
    /// The same, and it was on another connection.
    AfterOther,
    /// The connection's last request was sent: a pipeline.
    With,
    /// Both as after another one; a clock begins with it.
    Clock,
    /// The lane's last turn began that began by this clock; and it and the connection's last one are over.
    Tick,
    /// A round trip after the last request of another connection, whose number stands for the lane: the server pushed
    /// what the turn waited for; and the connection's last one is over.
    Told,
}

/// When a turn was under way, for finding its lane.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub connection: u32,
    pub client: u32,
    pub begin: f64,
    pub end: f64,
    pub setup: bool,
    /// A commit, or a rollback.
    pub ends_transaction: bool,
    /// Somebody waits for its answer.
    pub waits: bool,
    /// Sent while an answer was outstanding on its connection.
    pub follows_own: bool,
    /// What was asked.
    pub statement: u32,
    /// Its request waited for a delayed ACK.
    pub stalled: bool,
    /// Its request's last packet, and the phase that it was sent in.
    pub sent: f64,
    pub phase: u32,
    /// How long before its request the server pushed something; 0 where it did not.
    pub told: f64,
    /// Its connection waits for what the server pushes.
    pub listens: bool,
}

/// Where a span starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    pub gap: f64,
    pub lane: u32,
    /// The lane that it follows, and in the lowest bits what the gap is counted from.
    follows: u32,
}

impl Start {
    pub const fn new(lane: u32, after: u32, starts: Starts, gap: f64) -> Start {
        Start { gap, lane, follows: after << 3 | starts as u32 }
    }

    /// The lane that it follows.
    pub fn after(&self) -> u32 {
        self.follows >> 3
    }

    pub fn starts(&self) -> Starts {
        const ALL: [Starts; 8] = [
            Starts::AtFirst,
            Starts::After,
            Starts::AfterOther,
            Starts::With,
            Starts::Clock,
            Starts::Tick,
            Starts::Told,
            Starts::AtFirst,
        ];
        ALL[self.follows as usize & 7]
    }
}

/// Who waits for whom.
#[derive(Debug, Default, PartialEq)]
pub struct Order {
    /// Of each turn.
    pub starts: Vec<Start>,
    /// How many answers lie before each lane's worker; empty where nobody reads ahead.
    pub ahead: Vec<u16>,
}

/// The turns of a job in the order in which they began.
#[derive(Debug, Default)]
pub struct Turns {
    pub bodies: Bodies,
    /// Who of them waited for whose lock, by holder.
    pub locks: Vec<Lock>,
    /// Some may begin by a clock, though nothing tells.
    pub may_tick: bool,
}

impl Turns {
    /// Cut `job` into turns; where each starts depends on who waits for whom.
    pub fn of(job: &Job, waiting: Waiting) -> (Turns, Order, Option<Usage>) {
        let most = job.rows() + 2 * job.connections();
        let (mut bodies, mut spans) = (Bodies::with_capacity(most), Vec::with_capacity(most));
        let mut starts = Vec::with_capacity(most);
        cut(job, |body, start, span| {
            bodies.push(body);
            starts.push(start);
            spans.push(span);
        });
        if let Some(order) = order(&spans) {
            bodies.put_in_order(order.clone());
            put_in_order(&mut starts, order.clone());
            put_in_order(&mut spans, order);
        }
        pushes::listeners(&mut spans, job.connections());
        let usage = Usage::of(&spans, job.connections());
        let Clocks { ahead, may_tick } = assign(&mut starts, &spans, job, usage, waiting);
        let locks = locks::locks(&bodies, &spans);
        for lock in &locks {
            bodies.set_service(lock.waiter, lock.lag);
        }
        (Turns { bodies, locks, may_tick }, Order { starts, ahead }, usage)
    }

    /// Where the turns of the same job start when they wait for each other in another way.
    pub fn otherwise(job: &Job, starts: &[Start], usage: Option<Usage>, waiting: Waiting) -> Order {
        let mut spans = Vec::with_capacity(starts.len());
        cut(job, |_, _, span| spans.push(span));
        if let Some(order) = order(&spans) {
            put_in_order(&mut spans, order);
        }
        pushes::listeners(&mut spans, job.connections());
        let mut starts = starts.to_vec();
        let Clocks { ahead, .. } = assign(&mut starts, &spans, job, usage, waiting);
        Order { starts, ahead }
    }

    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    /// A turn that starts there.
    pub fn turn(&self, number: u32, start: &Start) -> Turn {
        let body = self.bodies.of(number);
        let [stalled_before, stalled_within] = body.stalls;
        Turn {
            connection: body.connection,
            phase: body.phase,
            lane: start.lane,
            after: start.after(),
            starts: start.starts(),
            gap: start.gap,
            request: body.request,
            round_trips: body.round_trips.into(),
            trips: 1.0,
            stalled_before,
            stalled_within,
            service: body.service,
            response: body.response,
            answered: body.answered,
            whole: body.whole,
            unseen: body.unseen,
            row: body.row,
        }
    }
}

/// Take each turn of `job`, connection by connection: its start is known where it does not depend on other turns.
fn cut(job: &Job, take: impl FnMut(Body, Start, Span)) {
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

/// The order in which they began, where that is another one.
fn order(spans: &[Span]) -> Option<Vec<u32>> {
    if spans.is_sorted_by(|a, b| a.begin <= b.begin) {
        return None;
    }
    let mut order: Vec<u32> = (0..spans.len() as u32).collect();
    order.sort_by(|&a, &b| spans[a as usize].begin.total_cmp(&spans[b as usize].begin));
    Some(order)
}

/// Give each turn its lane; what goes with the request before it starts there.
fn assign(starts: &mut [Start], spans: &[Span], job: &Job, usage: Option<Usage>, waiting: Waiting) -> Clocks {
    for (start, found) in starts.iter_mut().zip(lanes::assign(spans, job.connections(), usage, waiting)) {
        *start = match start.starts() {
            Starts::With => Start::new(found.lane, found.after(), Starts::With, start.gap),
            _ => found,
        };
    }
    if waiting != Waiting::Chained {
        pushes::find(starts, spans, &job.baseline_ns);
    }
    groups::find(starts, spans, job.connections(), waiting);
    clocks::find(starts, spans, waiting)
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

pub const NOWHERE: Span = Span {
    connection: 0,
    client: 0,
    begin: 0.0,
    end: 0.0,
    setup: false,
    ends_transaction: false,
    waits: false,
    follows_own: false,
    statement: u32::MAX,
    stalled: false,
    sent: f64::NEG_INFINITY,
    phase: 0,
    told: 0.0,
    listens: false,
};
