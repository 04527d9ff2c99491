//! What fixes take out of a job: round trips, and the parts of client and server time that go with them.

use std::borrow::Cow;

use super::distinct::{Distinct, Gathered};
use super::recorded::Known;
use super::step::{Starts, Step};

/// What is left of a job when fixes are made: parts from 0 (gone) to 1 (as it was). Of each connection, then of each
/// exchange.
#[derive(Clone, Debug, Default)]
pub struct Changes<'a> {
    /// Not opened any more.
    pub closed: Cow<'a, [bool]>,
    /// Of its round trips, or of its share in those of the exchange that it was sent behind.
    pub trips: Cow<'a, [f64]>,
    /// Of the client's time before its request.
    pub gap: Cow<'a, [f64]>,
    pub service: Cow<'a, [f64]>,
    /// The waits for a delayed ACK before its request, and within request and response, are left.
    pub stalled_before: Cow<'a, [bool]>,
    pub stalled_within: Cow<'a, [bool]>,
    /// What its request and its response fill from now on: what travels together shares packets.
    pub request_segments: Cow<'a, [f64]>,
    pub response_segments: Cow<'a, [f64]>,
}

impl Changes<'_> {
    fn fit(&self, job: &Known) -> bool {
        let numbers = [&self.trips, &self.gap, &self.service, &self.request_segments, &self.response_segments];
        self.closed.len() == job.count()
            && numbers.iter().all(|of| of.len() == job.exchanges())
            && [&self.stalled_before, &self.stalled_within].iter().all(|of| of.len() == job.exchanges())
    }

    /// What each row fills.
    pub fn segments(&self) -> Distinct<[f64; 2]> {
        let mut segments = Gathered::of(self.request_segments.len());
        for both in self.request_segments.iter().zip(&*self.response_segments).map(|(&one, &other)| [one, other]) {
            segments.push(both, both.map(f64::to_bits));
        }
        segments.column()
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
    gap: f64,
    service: f64,
    /// Whether the stalls before it and within it are left.
    stalls: [bool; 2],
}

impl Left {
    /// Take the columns, which fit the job.
    pub fn of(changes: &Changes, job: &Known) -> Result<Left, &'static str> {
        if !changes.fit(job) {
            return Err("the columns of the changes do not fit the job");
        }
        let mut rows = Gathered::of(job.exchanges());
        for row in 0..job.exchanges() {
            let parts = [changes.trips[row], changes.gap[row], changes.service[row]];
            let [trips, gap, service] = parts;
            let stalls = [changes.stalled_before[row], changes.stalled_within[row]];
            rows.push(Row { trips, gap, service, stalls }, (parts.map(f64::to_bits), stalls));
        }
        Ok(Left { closed: changes.closed.to_vec(), rows: rows.column() })
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
        if !matches!(step.starts, Starts::With | Starts::Tick | Starts::Told) && step.gap > 0.0 {
            step.gap *= left.gap;
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

    /// How much of the service is a stall and its round trip: those that the request or the response are long enough for
    /// lie there.
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
