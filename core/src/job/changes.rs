//! What fixes take out of a job: round trips, and the parts of client and server time that go with them.

use std::borrow::Cow;

use super::UNSEEN;
use super::distinct::{Distinct, Gathered};
use super::exchange::{Exchange, Exchanges};
use super::recorded::Job;
use super::step::{Starts, Step};

/// What fixes take out of a job.
#[derive(Clone, Debug, Default)]
pub struct Changes<'a> {
    pub effects: Vec<Effect<'a>>,
    /// Exchanges that are not made any more.
    pub gone: Cow<'a, [i64]>,
}

/// What one of them takes out of these exchanges, each of which is there once.
#[derive(Clone, Debug, Default)]
pub struct Effect<'a> {
    pub rows: Cow<'a, [i64]>,
    /// How many of its round trips each loses, and how long a wait for a delayed ACK.
    pub saved: Cow<'a, [f64]>,
    pub stall_ns: Cow<'a, [f64]>,
    /// Exchanges that nobody waits for and that go along.
    pub dependents: Cow<'a, [i64]>,
    /// Connections that are not opened any more.
    pub closed: Cow<'a, [i64]>,
    /// How much of the client's time before an exchange goes with its round trips, in ns, and how long a gap is that is
    /// the application's work: nothing of it goes.
    pub call_ns: f64,
    pub work_ns: f64,
    /// Which part of its service goes with them.
    pub service: f64,
}

impl Changes<'_> {
    /// They are of a job with so many exchanges and connections.
    pub fn fit(&self, rows: usize, connections: usize) -> bool {
        let below = |numbers: &[i64], count| numbers.iter().all(|&number| number >= 0 && (number as usize) < count);
        let of_effect = |effect: &Effect| {
            let count = effect.rows.len();
            let rows_fit = below(&effect.rows, rows) && below(&effect.dependents, rows);
            rows_fit
                && effect.saved.len() == count
                && effect.stall_ns.len() == count
                && below(&effect.closed, connections)
        };
        below(&self.gone, rows) && self.effects.iter().all(of_effect)
    }

    /// What each row loses.
    fn lost(&self, rows: usize) -> Vec<Lost> {
        let mut lost = vec![Lost::default(); rows];
        for effect in &self.effects {
            for ((&row, &saved), &stall_ns) in effect.rows.iter().zip(&*effect.saved).zip(&*effect.stall_ns) {
                let lost = &mut lost[row as usize];
                lost.add(saved, effect);
                lost.shares |= saved > 0.0;
                lost.undelayed |= stall_ns > 0.0;
            }
            effect.dependents.iter().for_each(|&row| lost[row as usize].add(1.0, effect));
        }
        self.gone.iter().for_each(|&row| lost[row as usize].gone = true);
        lost
    }
}

/// Losses of one exchange: round trips, those that take their service along, and the client's time for the call.
#[derive(Clone, Copy, Default)]
struct Lost {
    trips: f64,
    service: f64,
    call_ns: f64,
    work_ns: f64,
    /// What travels together shares packets.
    shares: bool,
    undelayed: bool,
    gone: bool,
}

impl Lost {
    fn add(&mut self, trips: f64, effect: &Effect) {
        self.trips += trips;
        self.service += trips * effect.service;
        self.call_ns += trips * effect.call_ns;
        self.work_ns = self.work_ns.max(effect.work_ns);
    }

    /// What is left of an exchange; `is_free`: nothing holds its request back any more.
    fn left(&self, exchange: &Exchange, is_free: bool) -> Row {
        let left = |lost: f64| (1.0 - lost / f64::from(exchange.round_trips.max(1))).max(0.0);
        Row {
            trips: left(self.trips),
            service: left(self.service),
            call_ns: self.call_ns / f64::from(exchange.round_trips.max(1)),
            work_ns: self.work_ns,
            stalls: [!(self.undelayed || is_free), !(self.undelayed || self.gone)],
        }
    }
}

/// Requests of a connection that have no answer: they hold back the one behind them (Nagle).
struct Unanswered {
    connection: u32,
    /// The last one has none, and so many are left since the last that has one.
    is_last: bool,
    left: usize,
}

impl Unanswered {
    /// Nothing is left of those before the next one; where one goes and the one before it stays, that takes its place.
    fn are_gone(&mut self, exchange: &Exchange, gone: bool) -> bool {
        if exchange.connection != self.connection {
            *self = Unanswered { connection: exchange.connection, is_last: false, left: 0 };
        }
        let are_gone = self.is_last && self.left == 0;
        self.is_last = exchange.response == UNSEEN && exchange.round_trips == 0;
        self.left = if self.is_last { self.left + usize::from(!gone) } else { 0 };
        are_gone
    }
}

/// The changes as they are kept while the job is replayed.
#[derive(Debug)]
pub struct Left {
    closed: Vec<bool>,
    rows: Distinct<Row>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    trips: f64,
    service: f64,
    call_ns: f64,
    work_ns: f64,
    /// Whether the stalls before it and within it are left.
    stalls: [bool; 2],
}

impl Left {
    /// What `changes`, which fit the job, leave of it; and what each of its rows fills.
    pub fn of<E: Exchanges>(changes: &Changes, job: &Job<E>) -> Result<(Left, Distinct<[f64; 2]>), E::Error> {
        let count = job.exchanges.count();
        let (lost, mut rows, mut segments) = (changes.lost(count), Gathered::of(count), Gathered::of(count));
        let mut unanswered = Unanswered { connection: u32::MAX, is_last: false, left: 0 };
        job.exchanges.each(&mut |exchange| {
            let lost = &lost[exchange.row as usize];
            let row = lost.left(exchange, unanswered.are_gone(exchange, lost.gone));
            rows.push(row, ([row.trips, row.service, row.call_ns, row.work_ns].map(f64::to_bits), row.stalls));
            let filled = if lost.shares { exchange.alone } else { exchange.segments };
            segments.push(filled, filled.map(f64::to_bits));
        })?;
        let mut closed = vec![false; job.connections.count()];
        changes.effects.iter().flat_map(|effect| &*effect.closed).for_each(|&number| closed[number as usize] = true);
        Ok((Left { closed, rows: rows.column() }, segments.column()))
    }

    /// What is left of a step. Its bytes are sent all the same.
    pub fn of_step(&self, step: &Step, rtt: f64) -> Step {
        let mut step = *step;
        if step.unseen {
            if self.closed[step.connection as usize] {
                (step.trips, step.service) = (0.0, step.service.min(0.0));
            }
            return step;
        }
        let left = self.rows.get(step.row);
        let [before, within] = left.stalls;
        step.trips = left.trips;
        step.unstall_within(within, rtt);
        step.service *= if step.service > 0.0 { left.service } else { 1.0 };
        let stall = step.unstall_before(before, rtt);
        if !matches!(step.starts, Starts::With | Starts::Tick | Starts::AfterPush) && step.gap <= left.work_ns {
            step.gap = step.gap.min((step.gap - left.call_ns).max(0.0));
        }
        step.gap += stall;
        step
    }
}

impl Step {
    /// Take the stall, and the round trip that was waited with it, out of the gap; return what is left of both.
    pub(super) fn unstall_before(&mut self, left: bool, rtt: f64) -> f64 {
        if self.stalled_before <= 0.0 || self.gap < self.stalled_before {
            return 0.0;
        }
        let stall = self.gap.min(self.stalled_before + rtt);
        self.gap -= stall;
        if left {
            return stall;
        }
        self.stalled_before = 0.0;
        0.0
    }

    /// How much of the service is a stall and its round trip: those that the request or the response are long enough
    /// for lie there.
    pub(super) fn stall_within_service(&self, rtt: f64) -> f64 {
        let elsewhere = self.request.max(self.response) >= self.stalled_within;
        if self.stalled_within <= 0.0 || elsewhere { 0.0 } else { self.stalled_within + rtt }
    }

    /// The same within the step: it lies in the first part that is long enough for it; in the gap, where the request
    /// counts from its last packet.
    fn unstall_within(&mut self, left: bool, rtt: f64) {
        if self.stalled_within <= 0.0 || left {
            return;
        }
        let gone = self.stalled_within + rtt;
        let parts = [&mut self.request, &mut self.response, &mut self.service, &mut self.gap];
        if let Some(part) = parts.into_iter().find(|part| **part >= self.stalled_within) {
            *part = (*part - gone).max(0.0);
            self.stalled_within = 0.0;
        }
    }
}
