//! Who follows whom: the turns of a job in their order, and what each starts from.

use super::body::{Bodies, put_in_order};
use super::clocks::{self, Clocks};
use super::cut::cut;
use super::groups;
use super::lanes::{self, Usage, Waiting};
use super::locks::{self, Lock};
use super::pushes;
use super::recorded::Job;
use super::turn::{Span, Start, Starts, Turn};

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
