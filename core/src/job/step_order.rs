//! Who follows whom: the steps of a job in their order, and what each starts from.

use super::attribute::Kind;
use super::bulk::SendWaits;
use super::clocks::{self, Clocks};
use super::distinct::{Distinct, Gathered};
use super::exchange::{Exchange, Exchanges};
use super::groups;
use super::locks::{self, Lock};
use super::notifications;
use super::pool_rampup;
use super::queues;
use super::recorded::{Job, Phases};
use super::shares;
use super::step::{Span, Start, Starts, Step};
use super::step_body::{Bodies, put_in_order};
use super::step_times::cut;
use super::window_stalls::{WindowStall, WindowStalls};
use super::workers::{self, Usage, Waiting};

/// Who waits for whom.
#[derive(Debug, Default, PartialEq)]
pub struct Order {
    /// Of each step.
    pub starts: Vec<Start>,
    /// How many answers lie before each lane's worker; empty where nobody reads ahead.
    pub ahead: Vec<u16>,
    /// The lanes that share each queue.
    pub queues: Vec<Vec<u32>>,
}

/// The steps of a job in the order in which they began.
#[derive(Debug, Default)]
pub struct Steps {
    pub bodies: Bodies,
    /// Who of them waited for whose lock, by holder.
    pub locks: Vec<Lock>,
    /// Some may begin by a clock, though nothing tells.
    pub may_tick: bool,
}

/// What of its exchanges a job is replayed with, beside their steps: of each row, but for those of few rows.
#[derive(Debug)]
pub struct Rows {
    pub kinds: Vec<Kind>,
    /// What its request and its response fill.
    pub segments: Distinct<[f64; 2]>,
    pub send_waits: Vec<SendWaits>,
    pub silences: Vec<WindowStall>,
}

impl Steps {
    /// Cut `job` into steps; where each starts depends on who waits for whom.
    pub fn of<E: Exchanges>(job: &Job<E>, waiting: Waiting) -> Result<(Steps, Rows, Order, Option<Usage>), E::Error> {
        let (rows, connections) = (job.exchanges.count(), job.connections.count());
        let most = rows + 2 * connections;
        let (mut bodies, mut spans) = (Bodies::with_capacity(most), Vec::with_capacity(most));
        let (mut starts, mut kinds, mut send_waits) = (Vec::with_capacity(most), Vec::with_capacity(rows), Vec::new());
        let (mut segments, mut silences) = (Gathered::of(rows), WindowStalls::default());
        let seen = |exchange: &Exchange| {
            kinds.push(Kind::of(exchange.setup, exchange.complete));
            segments.push(exchange.segments, exchange.segments.map(f64::to_bits));
            silences.exchange(exchange, &job.phases.baseline_ns);
            if exchange.silent > 0.0 || exchange.paced != [0.0; 2] {
                send_waits.push(SendWaits { row: exchange.row, silent: exchange.silent, paced: exchange.paced });
            }
        };
        cut(job, seen, |body, start, span| {
            bodies.push(body);
            starts.push(start);
            spans.push(span);
        })?;
        if let Some(order) = order(&spans) {
            bodies.put_in_order(order.clone());
            put_in_order(&mut starts, order.clone());
            put_in_order(&mut spans, order);
        }
        notifications::listeners(&mut spans, connections);
        let usage = Usage::of(&spans, connections);
        let workers = place(&mut starts, &spans, job.phases, connections, usage.as_ref(), waiting);
        let (Clocks { ahead, may_tick }, queues) = wind(&mut starts, &spans, workers, usage.as_ref(), waiting);
        let locks = locks::locks(&bodies, &spans);
        for lock in &locks {
            bodies.set_service(lock.waiter, lock.lag);
        }
        let rows = Rows { kinds, segments: segments.column(), send_waits, silences: silences.found() };
        Ok((Steps { bodies, locks, may_tick }, rows, Order { starts, ahead, queues }, usage))
    }

    /// What is `made` of where the steps of the same job start, when they wait for each other in each of these ways.
    pub fn otherwise<E: Exchanges, R: Send>(
        job: &Job<E>,
        starts: &[Start],
        usage: Option<&Usage>,
        ways: &[Waiting],
        made: impl Fn(Order) -> R + Sync,
    ) -> Result<Vec<R>, E::Error> {
        let mut spans = Vec::with_capacity(starts.len());
        cut(job, |_| (), |_, _, span| spans.push(span))?;
        if let Some(order) = order(&spans) {
            put_in_order(&mut spans, order);
        }
        let (phases, connections) = (job.phases, job.connections.count());
        notifications::listeners(&mut spans, connections);
        let mut places: Vec<Waiting> = ways.iter().map(|way| way.places_as()).collect();
        places.sort_unstable_by_key(|way| *way as u8);
        places.dedup();
        let alike = |&as_this: &Waiting| {
            let mut placed = starts.to_vec();
            let workers = place(&mut placed, &spans, phases, connections, usage, as_this);
            let order = |(number, &waiting): (usize, &Waiting)| {
                let mut starts = placed.clone();
                let (Clocks { ahead, .. }, queues) = wind(&mut starts, &spans, workers, usage, waiting);
                (number, made(Order { starts, ahead, queues }))
            };
            ways.iter().enumerate().filter(|(_, way)| way.places_as() == as_this).map(order).collect::<Vec<_>>()
        };
        let found = shares::each(shares::processors(spans.len()), &places, alike);
        let mut found: Vec<(usize, R)> = found.into_iter().flatten().collect();
        found.sort_unstable_by_key(|&(number, _)| number);
        Ok(found.into_iter().map(|(_, made)| made).collect())
    }

    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    /// A step that starts there.
    pub fn step(&self, number: u32, start: &Start) -> Step {
        let body = self.bodies.of(number);
        let [stalled_before, stalled_within] = body.stalls;
        Step {
            connection: body.connection,
            phase: body.phase,
            worker: start.worker,
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

/// Give each step its lane, and what it follows; what goes with the request before it starts there. So many lanes there
/// are.
fn place(
    starts: &mut [Start],
    spans: &[Span],
    phases: &Phases,
    connections: usize,
    usage: Option<&Usage>,
    waiting: Waiting,
) -> u32 {
    for (start, found) in starts.iter_mut().zip(workers::assign(spans, connections, usage, waiting)) {
        *start = match start.starts() {
            Starts::With => Start::new(found.worker, found.after(), Starts::With, start.gap),
            _ => found,
        };
    }
    if waiting != Waiting::Chained {
        notifications::find(starts, spans, &phases.baseline_ns);
    }
    pool_rampup::find(starts, spans, connections, waiting);
    let workers = starts.iter().map(|start| start.worker + 1).max().unwrap_or(0);
    groups::find(starts, spans, connections, waiting);
    workers
}

/// Let the steps of lanes that have a clock follow that; and the lanes that share each queue.
fn wind(
    starts: &mut [Start],
    spans: &[Span],
    workers: u32,
    usage: Option<&Usage>,
    waiting: Waiting,
) -> (Clocks, Vec<Vec<u32>>) {
    let queues = usage.map_or_else(Vec::new, |usage| queues::find(starts, spans, workers, usage.busy, waiting));
    (clocks::find(starts, spans, waiting), queues)
}
