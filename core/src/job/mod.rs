//! The job of a recording again, at another RTT: what the network took is computed anew, everything else stays.
//!
//! Each step keeps its own gap, service time and stalls. Its round trips, the rounds of its transfers and who waits for
//! whom are replayed (docs/model.md C.4). What counts is the difference between two replays.
//!
//! ```text
//! of_recording   connections, RTTs, exchanges ─► Recorded (reading.rs)
//!   facts          all exchanges together: each connection's login, its close, its largest messages; who paces
//!   beginnings     SYN, SYN/ACK and greeting of each connection, with what logins.rs says of those captured in part
//!   awaited_fins   the FINs that clients wait for
//!   narrow_windows the receivers that take little at once
//! ```

use std::sync::{Arc, OnceLock};

mod rtt_batch;
pub mod attribute;
mod awaited_fins;
mod beginnings;
mod bit_set;
mod step_body;
mod bulk;
pub mod captured;
mod changes;
mod clocks;
mod step_times;
mod distinct;
pub mod exchange;
mod facts;
mod filled;
mod step_order;
mod groups;
mod packed_rows;
mod piece;
pub mod reading;
pub mod recorded;
mod replayed;
mod workers;
mod locks;
mod logins;
mod losses;
pub mod contention;
mod missing;
mod narrow_windows;
mod network;
pub mod of_recording;
mod pool_rampup;
mod pacing;
pub mod pieces;
mod notifications;
mod queues;
mod quiet;
mod run;
mod scope;
pub mod shared_time;
pub mod shares;
mod side_by_side;
mod window_stalls;
mod step_runs;
mod interval;
#[cfg(test)]
mod tests;
pub mod timed;
mod transfer;
mod step;
pub mod table;

use attribute::Sum;
use bulk::Bulk;
use changes::Left;
pub use changes::{Changes, Effect};
use distinct::{Distinct, Gathered};
use exchange::Exchanges;
pub use network::{Asked, Network};
use quiet::Quiet;
use recorded::{Job, Known};
pub use replayed::Divided;
use rtt_batch::RTT_BATCH;
use run::{Calibrated, Run, Walk};
pub use scope::Scope;
use step::{Start, Starts, Step};
use step_body::is_exchange;
use step_order::{Order, Rows, Steps};
use window_stalls::WindowStall;
use workers::Usage;
pub use workers::{Waiting, of_connections};

/// A time that the capture does not tell.
pub const UNSEEN: i64 = i64::MIN;

/// How often the client's and the server's window was halved in the pause before each of a step's messages.
type Halvings = [u8; 2];

/// A job, ready to be replayed at any RTT.
#[derive(Clone)]
pub struct Replay {
    connections: Arc<Known>,
    /// Of each row, how many its request and its response have.
    segments: Arc<Distinct<[f64; 2]>>,
    /// How much of a segment the bytes of each message fill, computed on first use.
    filled: Arc<OnceLock<Distinct<[f64; 2]>>>,
    steps: Arc<Steps>,
    /// Of each step; all else of it is the same whoever waits for whom.
    order: Arc<Order>,
    usage: Option<Usage>,
    workers: usize,
    /// Some step begins by a clock.
    ticks: bool,
    /// Who waits for which of the locks, ascending.
    waiters: Arc<Vec<(u32, u32)>>,
    /// Transfers that need more than a few segments, in the order of their steps.
    bulks: Arc<Vec<Bulk>>,
    /// Of steps before which a pause of the capture halved a window, ascending.
    halvings: Arc<Vec<(u32, Halvings)>>,
    /// What waited as the client's window was full, by row.
    silences: Arc<Vec<WindowStall>>,
    /// The part of that time in which client and server are taken to have worked.
    overlapped_work: f64,
    /// No window was filled in the capture: whatever its senders are taken to have been like, they did the same.
    unfilled: bool,
    /// The fixes that are made.
    left: Option<Arc<Left>>,
    /// What goes its own way.
    scope: Option<Arc<Scope>>,
    quiet: Arc<Quiet>,
}

/// The part of the silences of a pipeline that may be left without a window that was full.
const MAX_UNEXPLAINED_SHARE: f64 = 0.1;

impl Replay {
    /// Cut the job into steps, find out who waits for whom and how fast the senders were.
    pub fn new<E: Exchanges>(job: &Job<E>, waiting: Waiting, network: &Network) -> Result<Replay, E::Error> {
        let (steps, Rows { kinds, segments, send_waits, silences }, order, usage) = Steps::of(job, waiting)?;
        let mut waiters: Vec<(u32, u32)> = steps.locks.iter().map(|lock| lock.waiter).zip(0..).collect();
        waiters.sort_unstable();
        let mut replay = Replay {
            connections: Arc::new(Known::of(job, kinds)),
            segments: Arc::new(segments),
            filled: Arc::default(),
            waiters: Arc::new(waiters),
            bulks: Arc::default(),
            halvings: Arc::default(),
            silences: Arc::new(silences),
            overlapped_work: 1.0,
            unfilled: false,
            steps: Arc::new(steps),
            order: Arc::default(),
            usage,
            workers: 0,
            ticks: false,
            left: None,
            scope: None,
            quiet: Arc::default(),
        };
        replay.bulks = Arc::new(bulk::bulks(&replay, &send_waits));
        Ok(replay.starting(order, network))
    }

    /// Read how large the messages are, for this replay and all that are made of it: most networks do not ask for that.
    pub fn weigh<E: Exchanges>(&self, job: &Job<E>) -> Result<(), E::Error> {
        if self.filled.get().is_none() {
            let mut filled = Gathered::of(job.exchanges.count());
            job.exchanges.each(&mut |exchange| filled.push(exchange.alone, exchange.alone.map(f64::to_bits)))?;
            self.filled.get_or_init(|| filled.column());
        }
        Ok(())
    }

    /// How many steps it goes through.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Some of its steps begin by a clock.
    pub fn ticks(&self) -> bool {
        self.ticks
    }

    /// How many steps begin by a timer of their program, and how long after each other at the median, ns. A worker whom
    /// a reader is ahead of is none.
    pub fn timer(&self) -> (usize, f64) {
        let reads_ahead = |worker: u32| self.order.ahead.get(worker as usize).is_some_and(|&ahead| ahead > 0);
        let ticks = |start: &&Start| start.starts() == Starts::Tick && !reads_ahead(start.worker);
        let intervals: Vec<f64> = self.order.starts.iter().filter(ticks).map(|start| start.gap).collect();
        (intervals.len(), clocks::median(intervals))
    }

    /// Some of its lanes share a queue.
    pub fn queues(&self) -> bool {
        !self.order.queues.is_empty()
    }

    /// Some of its steps may begin by a clock, though nothing tells.
    pub fn may_tick(&self) -> bool {
        self.steps.may_tick
    }

    /// The same `job` where its steps wait for each other in each of these ways; `None` where that leads to the same.
    pub fn waiting<E: Exchanges>(
        &self,
        job: &Job<E>,
        ways: &[Waiting],
        network: &Network,
    ) -> Result<Vec<Option<Replay>>, E::Error> {
        let starting = |order| (*self.order != order).then(|| self.clone().starting(order, network));
        Steps::otherwise(job, &self.order.starts, self.usage.as_ref(), ways, starting)
    }

    /// The same where its steps start there.
    fn starting(self, order: Order, network: &Network) -> Replay {
        let starts = &order.starts;
        let workers = starts.iter().map(|start| start.worker as usize + 1).max().unwrap_or(0);
        let ticks = starts.iter().any(|start| start.starts() == Starts::Clock);
        let mut replay = Replay { order: Arc::new(order), workers, ticks, unfilled: false, ..self };
        replay.quiet = Arc::new(Quiet::of(&replay));
        replay.calibrated(network)
    }

    /// Returns the replay of what was observed, as if the senders of the capture had been like `network`'s.
    pub fn calibrated(&self, network: &Network) -> Replay {
        let unlimited = network.unlimited();
        if self.unfilled {
            return Replay { overlapped_work: network.overlapped_work, ..self.clone() }.explained(&unlimited);
        }
        let calibrated = Calibrated { bulks: self.bulks.iter().map(Bulk::unknown).collect(), ..Calibrated::default() };
        let walk = Walk::new(self, &unlimited);
        let mut runs = [Run::new(&walk, &[], Some(calibrated))];
        walk.all(&mut runs);
        let [run] = runs;
        let Calibrated { bulks, halvings, fills } = run.calibrated.unwrap_or_default();
        let unfilled = bulks.is_empty() && !fills && !self.ticks;
        let (bulks, halvings) = (Arc::new(bulks), Arc::new(halvings));
        let calibrated = Replay { bulks, halvings, unfilled, overlapped_work: network.overlapped_work, ..self.clone() };
        calibrated.explained(&unlimited)
    }

    /// The same without its silences, where they are not explained by the windows that the replay has: without the time
    /// that was silent it would have taken hardly as long as it did.
    fn explained(self, network: &Network) -> Replay {
        if self.silences.is_empty() {
            return self;
        }
        let observed = Replay { silences: Arc::default(), ..self.clone() };
        let silent: f64 = self.silences.iter().map(|silence| silence.gap + silence.request + silence.service).sum();
        let [with, without] = [&observed, &self].map(|replay| replay.run(&[[f64::NAN, 0.0]], network)[0]);
        if with - without > MAX_UNEXPLAINED_SHARE * (1.0 - self.overlapped_work) * silent { observed } else { self }
    }

    /// The `job` with fixes made, which fit it.
    pub fn changed<E: Exchanges>(&self, job: &Job<E>, changes: &Changes) -> Result<Replay, E::Error> {
        let (left, segments) = Left::of(changes, job)?;
        let (segments, left) = (Arc::new(segments), Some(Arc::new(left)));
        let mut replay = Replay { segments, left, unfilled: false, ..self.clone() };
        replay.quiet = Arc::new(Quiet::of(&replay));
        Ok(replay)
    }

    /// The job where only a part of it is different.
    pub fn scoped(&self, scope: Scope) -> Result<Replay, &'static str> {
        let phases = self.connections.baseline_ns.len();
        if scope.rtts_ns.len() != phases || scope.asked.len() != phases {
            return Err("the RTTs of a scope do not fit the job");
        }
        let mut replay = Replay { scope: Some(Arc::new(scope)), unfilled: false, ..self.clone() };
        replay.quiet = Arc::new(Quiet::of(&replay));
        Ok(replay)
    }

    /// When the last step is over at each RTT, in ns since the beginning. The processors share the RTTs where few steps
    /// are quiet; where most are, all RTTs take hardly longer than some.
    pub fn run(&self, rtts: &[Asked], network: &Network) -> Vec<f64> {
        let alone = 2 * self.quiet.count() > self.steps.len();
        let processors = if alone { 1 } else { shares::processors(self.steps.len()) };
        let share = rtts.len().div_ceil(processors).next_multiple_of(RTT_BATCH).max(RTT_BATCH);
        let (walk, pieces) = (Walk::new(self, network), rtts.chunks(share).collect::<Vec<_>>());
        shares::each(processors, &pieces, |rtts| walk.latest(rtts)).concat()
    }

    /// Where the time goes at each RTT: see `run`. A longer pause of the client than `think_ns` is think time.
    pub fn parts(&self, rtts_ns: &[f64], network: &Network, think_ns: f64, scarce: bool) -> Vec<Divided> {
        replayed::parts(self, rtts_ns, network, think_ns, scarce)
    }

    /// A step, with the fixes made, on the hosts there.
    fn step(&self, number: u32) -> Step {
        let step = self.steps.step(number, &self.order.starts[number as usize]);
        let baseline = self.connections.baseline_ns[step.phase as usize];
        let step = self.left.as_ref().map_or(step, |left| left.of_step(&step, baseline));
        self.scope.as_ref().map_or(step, |scope| scope.of_step(step, baseline))
    }

    /// The RTT that a phase has where `asked` is asked for.
    fn rtt_of(&self, phase: usize, asked: f64) -> f64 {
        self.scope.as_ref().map_or(asked, |scope| scope.rtt(phase, asked))
    }

    /// What of a row was silent.
    fn silence_of(&self, row: u32) -> Option<&WindowStall> {
        let place = self.silences.binary_search_by_key(&row, |silence| silence.row).ok()?;
        Some(&self.silences[place])
    }

    /// The lock that a step waits for.
    fn lock_of(&self, number: u32) -> Option<usize> {
        let place = self.waiters.binary_search_by_key(&number, |&(waiter, _)| waiter).ok()?;
        Some(self.waiters[place].1 as usize)
    }

    /// Some of its steps wait for locks.
    pub fn waits_for_locks(&self) -> bool {
        !self.steps.locks.is_empty()
    }

    /// The exchanges that waited for a lock, and of each the one that gave it back.
    fn locks(&self) -> (Vec<u32>, Vec<u32>) {
        let row = |step: u32| self.steps.bodies.of(step).row;
        self.steps.locks.iter().map(|lock| (row(lock.waiter), row(lock.holder))).unzip()
    }

    /// How many segments all requests and responses have.
    pub fn all_segments(&self) -> f64 {
        let mut all = Sum::default();
        let rows = 0..self.connections.kinds.len() as u32;
        rows.flat_map(|row| self.segments.get(row)).for_each(|segments| all.add(segments));
        all.ns()
    }

    /// How many segments the bytes of request and response fill; each packet is full where nobody asked for that.
    fn filled(&self, row: u32) -> [f64; 2] {
        match row {
            row if !is_exchange(row) => [0.0, 0.0],
            row => self.filled.get().unwrap_or(&self.segments).get(row),
        }
    }

    /// How many packets the request and the response have.
    fn packets(&self, row: u32) -> [f64; 2] {
        match row {
            row if !is_exchange(row) => [1.0, 1.0],
            row => self.segments.get(row),
        }
    }

    /// How many segments the request and the response have.
    fn segments(&self, row: u32) -> [f64; 2] {
        match row {
            row if !is_exchange(row) => [0.0, 0.0],
            row => self.segments.get(row),
        }
    }
}
