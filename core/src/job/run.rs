//! The job's steps, one after the other, at several RTTs at once.

use std::collections::VecDeque;
use std::ops::Range;

use super::attribute::{Kind, Parts, Sum};
use super::bulk::{Bulk, Interval, Side};
use super::interval::{counts, interval, kind, ns};
use super::locks::Lock;
use super::queues;
use super::rtt_batch::{RTT_BATCH, Times};
use super::side_by_side::SideBySide;
use super::step::{Starts, Step};
use super::step_order::Order;
use super::step_runs::StepRun;
use super::transfer::{Path, Senders};
use super::window_stalls::WindowStall;
use super::{Asked, Halvings, Network, Replay};

/// Runs go together while what they know of their connections fits a cache of this size.
const CACHE_BYTES: usize = 4 << 20;
/// More runs share nothing that would take long.
const MAX_RUNS_TOGETHER: usize = 4;

/// Steps between two checks whether the replay was aborted.
const ABORT_CHECK_INTERVAL: u32 = 1 << 10;

/// A job, and all of a network but its RTT.
pub struct Walk<'a> {
    pub replay: &'a Replay,
    pub network: &'a Network,
}

/// A step, and what is the same of it at every RTT.
struct Walked {
    number: u32,
    step: Step,
    segments: [f64; 2],
    /// How many packets a message has and how much their bytes fill, if the network needs it.
    bytes: Option<[[f64; 2]; 2]>,
    halvings: Halvings,
    /// Those of the replay that are the step's.
    bulks: Range<usize>,
    locks: Range<usize>,
    /// The lock that it waits for.
    waits_for: Option<usize>,
}

impl<'a> Walk<'a> {
    pub fn new(replay: &'a Replay, network: &'a Network) -> Walk<'a> {
        Walk { replay, network }
    }

    /// What a side sends on; its RTT depends on the step.
    fn path(&self, connection: usize, side: Side) -> Path {
        let of = &self.replay.connections;
        let (bytes, taken) = (of.segment_bytes[connection], of.window_bytes[1 - side as usize][connection]);
        Path {
            rtt_ns: f64::NAN,
            largest: self.network.largest_window(taken, bytes),
            narrow: taken.is_finite(),
            growth: self.network.growth,
            segment_ns: self.network.segment_ns(bytes),
        }
    }

    /// The bottleneck's time for all that a side sends in a step.
    fn message_ns(&self, walked: &Walked, side: Side) -> f64 {
        let bytes = self.replay.connections.segment_bytes[walked.step.connection as usize];
        let side = side as usize;
        walked.bytes.map_or(0.0, |[packets, filled]| self.network.message_ns(packets[side], filled[side], bytes))
    }

    /// Transmission time of its last packet, which follows the segments that a sender spaces.
    fn last_packet_ns(&self, walked: &Walked, side: Side, segments: f64, path: &Path) -> f64 {
        (self.message_ns(walked, side) - (segments - 1.0).max(0.0) * path.segment_ns).max(0.0)
    }

    /// What compression costs a message that no window holds back.
    fn compressing_ns(&self, walked: &Walked, side: Side) -> f64 {
        let bytes = self.replay.connections.segment_bytes[walked.step.connection as usize];
        walked.bytes.map_or(0.0, |[_, filled]| filled[side as usize] * bytes * self.network.compressing_ns)
    }

    /// When the last step is over at each RTT; as many as their connections leave room for go through the steps
    /// together.
    pub fn latest(&self, rtts: &[Asked]) -> Vec<f64> {
        let bytes = self.replay.connections.count() * size_of::<Progress>();
        let together = (CACHE_BYTES / bytes.max(1)).clamp(1, MAX_RUNS_TOGETHER);
        let through = |rtts: &[Asked]| {
            let mut runs: Vec<Run> = rtts.chunks(RTT_BATCH).map(|rtts| Run::new(self, rtts, None)).collect();
            self.all(&mut runs);
            let latest: Vec<f64> = runs.iter().flat_map(|run| run.ended(&self.replay.order)).take(rtts.len()).collect();
            latest
        };
        rtts.chunks(together * RTT_BATCH).flat_map(through).collect()
    }

    /// Take all of `runs` through the whole job, or to where one of them is for nothing.
    pub fn all(&self, runs: &mut [Run]) {
        let (replay, mut next) = (self.replay, Next::default());
        let quiet = if self.network.is_unlimited() { &*replay.quiet } else { &Default::default() };
        let adds_up = runs.iter().all(Run::adds_up);
        for number in 0..replay.steps.len() as u32 {
            if number.is_multiple_of(ABORT_CHECK_INTERVAL) && runs.iter().any(|run| matches!(run.kept, Kept::Beside)) {
                return;
            }
            let halvings = next.halvings(&replay.halvings, number);
            if adds_up && quiet.stretches.steps.contains(number) {
                if halvings != [0; 2] {
                    let connection = replay.step(number).connection;
                    runs.iter_mut().for_each(|run| run.halve(self.network, connection, halvings));
                }
                if let Some(stretch) = next.stretch(&quiet.stretches.all, number) {
                    runs.iter_mut().for_each(|run| run.pass(stretch));
                }
                continue;
            }
            let step = replay.step(number);
            if quiet.contains(number) {
                runs.iter_mut().for_each(|run| run.wait(self, number, &step, halvings));
                continue;
            }
            let walked = Walked {
                number,
                segments: replay.segments(step.row),
                bytes: self.network.asks_for_bytes().then(|| [replay.packets(step.row), replay.filled(step.row)]),
                halvings,
                bulks: next.bulks(&replay.bulks, number),
                locks: next.locks(&replay.steps.locks, number),
                waits_for: replay.lock_of(number),
                step,
            };
            runs.iter_mut().for_each(|run| run.step(self, &walked));
        }
    }
}

/// How far the job's halvings, bulks, locks and stretches have been passed; steps that have any come in their order.
#[derive(Default)]
struct Next {
    halving: usize,
    bulk: usize,
    lock: usize,
    stretch: usize,
}

impl Next {
    fn halvings(&mut self, all: &[(u32, Halvings)], number: u32) -> Halvings {
        match all.get(self.halving) {
            Some(&(step, halvings)) if step == number => {
                self.halving += 1;
                halvings
            }
            _ => [0; 2],
        }
    }

    /// The one whose last step it is.
    fn stretch<'a>(&mut self, all: &'a [StepRun], number: u32) -> Option<&'a StepRun> {
        let found = all.get(self.stretch).filter(|stretch| stretch.last == number);
        self.stretch += usize::from(found.is_some());
        found
    }

    fn bulks(&mut self, bulks: &[Bulk], number: u32) -> Range<usize> {
        let first = self.bulk;
        self.bulk += bulks[first..].iter().take_while(|bulk| bulk.step == number).count();
        first..self.bulk
    }

    fn locks(&mut self, locks: &[Lock], number: u32) -> Range<usize> {
        let first = self.lock;
        self.lock += locks[first..].iter().take_while(|lock| lock.holder == number).count();
        first..self.lock
    }
}

/// What a replay at the baseline learns of the senders, from what was observed.
#[derive(Default)]
pub struct Calibrated {
    pub bulks: Vec<Bulk>,
    /// Of those steps before which a window was halved, in their order.
    pub halvings: Vec<(u32, Halvings)>,
    /// A message may have filled its window.
    pub fills: bool,
}

impl Calibrated {
    /// Before a sender's message a pause halves its window; all of `senders` are at the same RTT.
    fn pause(&mut self, number: u32, side: Side, senders: &mut Senders, now: Times, rtt: Times) {
        let times = senders.halvings(now, &rtt);
        if times > 0 {
            self.halved(number, side, times);
            senders.each(|sender| sender.halve(times));
        }
    }

    fn halved(&mut self, number: u32, side: Side, times: u8) {
        match self.halvings.last_mut() {
            Some((step, halvings)) if *step == number => halvings[side as usize] = times,
            _ => {
                let mut halvings = [0; 2];
                halvings[side as usize] = times;
                self.halvings.push((number, halvings));
            }
        }
    }
}

/// What makes the steps of a lane begin.
#[derive(Clone, Default)]
struct Clock {
    /// When it let the last one begin, had that one's answer been there.
    due: Times,
    /// When the newest answers were there that lie before a worker.
    ahead: VecDeque<Times>,
}

/// One way through the steps, at a few RTTs.
pub struct Run {
    /// Of each phase.
    rtts: Vec<Times>,
    /// What was observed is replayed, at the RTTs as they were, and this is calibrated from it.
    pub calibrated: Option<Calibrated>,
    /// When each lane's last step was over.
    workers: Vec<Times>,
    /// And its last one that was answered; empty where no lanes share a queue.
    worked: Vec<Times>,
    /// Of each lane; empty where no step begins by a clock.
    clocks: Vec<Clock>,
    connections: Vec<Progress>,
    /// When the lock that was waited for was free.
    free: Vec<Times>,
    pub kept: Kept,
    /// What workers took between their requests, where that is asked for.
    pub pauses: Option<Pauses>,
}

/// How long workers took to ask again, added up at each RTT: up to think time, and beyond.
#[derive(Default)]
pub struct Pauses {
    think_ns: f64,
    sums: [Times; 2],
}

impl Pauses {
    /// None yet.
    pub fn above(think_ns: f64) -> Pauses {
        Pauses { think_ns, ..Pauses::default() }
    }

    fn add(&mut self, pause: Times) {
        for (place, pause) in pause.0.into_iter().enumerate() {
            self.sums[usize::from(pause > self.think_ns)].0[place] += pause.max(0.0);
        }
    }

    /// Both at one of the RTTs.
    pub fn at(&self, place: usize) -> [f64; 2] {
        self.sums.map(|sum| sum.0[place])
    }
}

/// What of the steps is kept to divide their time.
pub enum Kept {
    Nothing,
    /// All of it, as long as none runs beside another one.
    Alone(Box<Alone>),
    /// The interval of each.
    SideBySide(Box<SideBySide>),
    /// When each asked, had sent, was answered and was over.
    Moments(Vec<[Times; 4]>),
    /// They ran side by side: nothing is known of them.
    Beside,
}

/// What steps took so far, of which each began when all before it were over.
pub struct Alone {
    /// At each RTT.
    parts: Vec<Parts>,
    /// What quiet steps took beside their round trips is the same at each: service, and transfer.
    steady: [Sum; 2],
    /// When all so far were over.
    ended: Times,
    think_ns: f64,
}

impl Kept {
    pub fn alone(rtts: usize, think_ns: f64) -> Kept {
        let (parts, steady) = (vec![Parts::default(); rtts], [Sum::default(); 2]);
        Kept::Alone(Box::new(Alone { parts, steady, ended: Times::default(), think_ns }))
    }
}

impl Alone {
    /// The parts at one of the RTTs, where all is over then.
    pub fn parts(&self, place: usize, over: f64) -> Parts {
        let mut parts = self.parts[place];
        parts.idle(over - self.ended.0[place], self.think_ns);
        parts.service.add(self.steady[0].ns());
        parts.transfer.add(self.steady[1].ns());
        parts
    }

    /// Whether a step began when all before it were over, at each RTT; `before`: when its connection's were.
    fn add(&mut self, walk: &Walk, step: &Step, moments: &[Times; 4], rtt: Times, before: Times) -> bool {
        let kind = kind(walk.replay, step);
        self.parts.iter_mut().enumerate().all(|(place, parts)| {
            let (before, moments) = (ns(before.0[place]), moments.map(|at| at.0[place]));
            let (begin, pieces) = interval(walk.replay, walk.network, step, moments.into(), rtt.0[place], before);
            if !counts(step, &pieces) {
                return true;
            }
            let (begin, ended) = (begin as f64, &mut self.ended.0[place]);
            parts.add(kind, &pieces.map(|length| length as f64));
            parts.idle(begin - *ended, self.think_ns);
            let alone = begin >= *ended - 1.0;
            *ended = ended.max(begin + pieces.all() as f64);
            alone
        })
    }

    /// The same of a quiet step that was answered no sooner than asked: its pieces are the step's own.
    fn add_quiet(&mut self, step: &Step, asked: Times, over: Times, rtt: Times) -> bool {
        self.steady[0].add(step.service.max(0.0));
        self.steady[1].add(step.request + step.response);
        let gap = asked - self.ended;
        self.ended = self.ended.max(over);
        for (place, parts) in self.parts.iter_mut().enumerate() {
            parts.network.add(rtt.0[place] + step.service.min(0.0));
            parts.idle(gap.0[place], self.think_ns);
        }
        gap.least() >= -1.0
    }
}

/// Where a connection is; of what it sent only as much as counts for steps that are not quiet.
#[derive(Clone, Copy, Default)]
struct Progress {
    asked: Times,
    answered: Times,
    over: Times,
    senders: [Senders; 2],
}

impl Run {
    /// At so many RTTs as fit abreast.
    pub fn new(walk: &Walk, asked: &[Asked], calibrated: Option<Calibrated>) -> Run {
        let (replay, mut abreast) = (walk.replay, [[f64::NAN, 0.0]; RTT_BATCH]);
        abreast[..asked.len()].copy_from_slice(asked);
        let rtts = replay.connections.phases().enumerate().map(|(number, phase)| {
            let rtt = |[rtt_ns, longer_ns]: Asked| walk.network.rtt(replay.rtt_of(number, rtt_ns), phase) + longer_ns;
            Times(abreast.map(rtt))
        });
        Run {
            rtts: rtts.collect(),
            calibrated,
            workers: vec![Times::default(); replay.workers],
            worked: vec![Times::default(); if replay.order.queues.is_empty() { 0 } else { replay.workers }],
            clocks: vec![Clock::default(); if replay.ticks { replay.workers } else { 0 }],
            connections: vec![Progress::default(); replay.connections.count()],
            free: vec![Times::all(f64::NEG_INFINITY); replay.steps.locks.len()],
            kept: Kept::Nothing,
            pauses: None,
        }
    }

    /// The same, and so much of the steps is kept.
    pub fn keeping(walk: &Walk, rtts_ns: &[f64], kept: Kept) -> Run {
        let asked: Vec<Asked> = rtts_ns.iter().map(|&rtt_ns| [rtt_ns, 0.0]).collect();
        Run { kept, ..Run::new(walk, &asked, None) }
    }

    /// Those of a phase.
    pub fn rtt(&self, phase: u32) -> Times {
        self.rtts[phase as usize]
    }

    /// Keep what a step took, if that was asked for; `before` it its connection was over then.
    fn keep(&mut self, walk: &Walk, step: &Step, moments: [Times; 4], before: Times) {
        match &mut self.kept {
            Kept::Nothing | Kept::Beside => {}
            Kept::SideBySide(kept) => {
                kept.add(walk.replay, walk.network, step, &moments, self.rtts[step.phase as usize]);
            }
            Kept::Moments(kept) => kept.push(moments),
            Kept::Alone(alone) => {
                if !alone.add(walk, step, &moments, self.rtts[step.phase as usize], before) {
                    self.kept = Kept::Beside;
                }
            }
        }
    }

    /// When the last step is over.
    pub fn latest(&self) -> [f64; RTT_BATCH] {
        self.workers.iter().fold(Times::default(), |latest, &over| latest.max(over)).0
    }

    /// The same where lanes that share a queue also share what is left.
    pub fn ended(&self, order: &Order) -> [f64; RTT_BATCH] {
        if order.queues.is_empty() {
            self.latest()
        } else {
            queues::latest(&order.queues, &self.workers, &self.worked).0
        }
    }

    /// Nothing is asked about steps but when all are over.
    fn adds_up(&self) -> bool {
        self.calibrated.is_none() && matches!(self.kept, Kept::Nothing)
    }

    /// Quiet steps that follow each other by a lane.
    fn pass(&mut self, stretch: &StepRun) {
        let rtt = self.rtts[stretch.phase as usize];
        let worker = &mut self.workers[stretch.worker as usize];
        let over = *worker + rtt.times(stretch.trips) + stretch.own;
        *worker = worker.max(over);
        self.work(stretch.worker, over);
        let progress = &mut self.connections[stretch.connection as usize];
        progress.asked = over - (rtt + stretch.answer);
        progress.over = progress.over.max(over);
    }

    /// A pause halves the windows of a connection.
    fn halve(&mut self, network: &Network, connection: u32, halvings: Halvings) {
        if network.restarts {
            let senders = &mut self.connections[connection as usize].senders;
            senders.iter_mut().zip(halvings).for_each(|(senders, times)| senders.each(|sender| sender.halve(times)));
        }
    }

    /// The worker of a step took so long to ask; one with a clock, until it `asked`.
    fn pause(&mut self, step: &Step, asked: Option<Times>) {
        let Some(pauses) = &mut self.pauses else { return };
        match step.starts {
            Starts::AtFirst | Starts::After | Starts::AfterOther | Starts::Clock => pauses.add(Times::all(step.gap)),
            Starts::Tick => {
                let free = self.workers[step.after as usize];
                pauses.add(asked.map_or_else(Times::default, |asked| asked - free));
            }
            Starts::With | Starts::AfterPush => {}
        }
    }

    /// A quiet step: the rule of `step`, but for what it does not need.
    fn wait(&mut self, walk: &Walk, number: u32, step: &Step, halvings: Halvings) {
        let rtt = self.rtts[step.phase as usize];
        self.pause(step, None);
        let progress = &mut self.connections[step.connection as usize];
        let mut asked = self.workers[step.after as usize] + step.gap;
        if step.starts == Starts::AfterOther {
            asked = asked.max(progress.over);
        }
        let sent = asked + step.request;
        let response = sent + rtt + step.service;
        let over = response + step.response;
        let before = progress.over;
        progress.asked = sent;
        progress.over = before.max(over);
        let worker = &mut self.workers[step.worker as usize];
        *worker = worker.max(over);
        let [client, server] = &mut progress.senders;
        if let Some(calibrated) = &mut self.calibrated {
            calibrated.pause(number, Side::Client, client, asked, rtt);
            calibrated.pause(number, Side::Server, server, response, rtt);
            client.sent_by(sent);
            server.sent_by(over);
        } else if halvings != [0; 2] {
            self.halve(walk.network, step.connection, halvings);
        }
        match &mut self.kept {
            Kept::Nothing => {}
            Kept::Alone(alone) if kind(walk.replay, step) == Kind::Work && (rtt + step.service).least() >= 0.0 => {
                if !alone.add_quiet(step, asked, over, rtt) {
                    self.kept = Kept::Beside;
                }
            }
            _ => self.keep(walk, step, [asked, sent, response, over], before),
        }
        self.work(step.worker, over);
        self.read_ahead(walk.replay, step.worker);
    }

    fn step(&mut self, walk: &Walk, walked: &Walked) {
        let step = &walked.step;
        let before = self.connections[step.connection as usize];
        let rtt = self.rtts[step.phase as usize];
        let longer = rtt - Times::all(walk.replay.connections.baseline_ns[step.phase as usize]);
        let held = |stalled: f64| if stalled > 0.0 { longer } else { Times::default() };
        let gap = held(step.stalled_before) + step.gap;
        let silence = self.silence(walk.replay, step);
        let asked = match step.starts {
            Starts::AtFirst => gap,
            Starts::After => self.workers[step.after as usize] + gap,
            Starts::AfterOther => (self.workers[step.after as usize] + gap).max(before.over),
            Starts::With => before.asked + (gap + -silence.gap),
            Starts::Clock => (self.workers[step.after as usize] + gap).max(before.over),
            Starts::AfterPush => (self.connections[step.after as usize].asked + rtt + gap).max(before.over),
            Starts::Tick => {
                let clock = &mut self.clocks[step.worker as usize];
                let free = self.workers[step.after as usize].max(before.over);
                clock.due = match clock.ahead.front() {
                    None if walk.network.skips_missed_ticks => {
                        clock.due + (free - clock.due).in_steps(step.gap.max(1.0))
                    }
                    front => (clock.due + step.gap).max(front.copied().unwrap_or(free)),
                };
                clock.due.max(free)
            }
        };
        self.pause(step, Some(asked));
        if step.starts == Starts::Clock {
            self.clocks[step.worker as usize].due = asked;
        }
        let sent = match step.whole {
            true => asked,
            false => asked + self.interval(walk, walked, Interval::Request, asked, step.request - silence.request),
        };
        let (answered, over) = if step.whole {
            let travelled = sent + rtt.times(step.trips * step.round_trips);
            let over = travelled + self.interval(walk, walked, Interval::Whole, sent, step.service);
            (if walked.bulks.is_empty() { over } else { travelled }, over)
        } else if step.answered {
            let free = walked.waits_for.map_or(Times::all(f64::NEG_INFINITY), |lock| self.free[lock]);
            let response =
                ((sent + rtt.times(step.trips)).max(before.answered) + (step.service - silence.service)).max(free);
            self.release(walk.replay, walked, response);
            (response, response + self.interval(walk, walked, Interval::Response, response, step.response))
        } else {
            (sent, sent)
        };
        let mut over = over + held(step.stalled_within);
        if walk.network.loss > 0.0 {
            let resent = rtt.0.map(|rtt| walk.network.resent(step, walked.segments, rtt));
            over = over + Times(resent);
        }
        self.connections[step.connection as usize].asked = sent;
        self.keep(walk, step, [asked, sent, answered, over], before.over);
        self.over(step, over);
        self.read_ahead(walk.replay, step.worker);
    }

    /// Returns the part of a step in which neither end worked: a window was full, and is at another RTT as well
    /// or not.
    fn silence(&self, replay: &Replay, step: &Step) -> WindowStall {
        let Some(silence) = replay.silence_of(step.row).filter(|_| self.calibrated.is_none()) else {
            return WindowStall::default();
        };
        let idle = 1.0 - replay.overlapped_work;
        let of = |silent: f64, time: f64| idle * silent.min(time).max(0.0);
        WindowStall {
            row: step.row,
            gap: of(silence.gap, step.gap),
            request: of(silence.request, step.request),
            service: of(silence.service, step.service),
        }
    }

    /// An answer more lies before the lane's worker.
    fn read_ahead(&mut self, replay: &Replay, worker: u32) {
        let depth = replay.order.ahead.get(worker as usize).copied().unwrap_or(0);
        if depth > 0 {
            let ahead = &mut self.clocks[worker as usize].ahead;
            ahead.push_back(self.workers[worker as usize]);
            if ahead.len() > depth.into() {
                ahead.pop_front();
            }
        }
    }

    fn work(&mut self, worker: u32, over: Times) {
        if let Some(worked) = self.worked.get_mut(worker as usize) {
            *worked = worked.max(over);
        }
    }

    fn over(&mut self, step: &Step, over: Times) {
        let progress = &mut self.connections[step.connection as usize];
        progress.over = progress.over.max(over);
        if step.answered {
            progress.answered = progress.answered.max(over);
            self.work(step.worker, over);
        }
        let worker = &mut self.workers[step.worker as usize];
        *worker = worker.max(over);
    }

    /// The step is answered and frees its locks. Who asked earlier and waited is over only now; nothing that follows on
    /// its lane began before.
    fn release(&mut self, replay: &Replay, holder: &Walked, answered: Times) {
        for number in holder.locks.clone() {
            let Lock { waiter, lag, .. } = replay.steps.locks[number];
            self.free[number] = answered + lag;
            if waiter < holder.number {
                let of_waiter = replay.step(waiter);
                if let Kept::Moments(moments) = &mut self.kept {
                    let [_, _, first, over] = &mut moments[waiter as usize];
                    (*first, *over) = (answered + lag, answered + lag + of_waiter.response);
                }
                self.over(&of_waiter, answered + lag + of_waiter.response);
            }
        }
    }

    /// How long an interval of a step takes that was `observed` to take so long.
    fn interval(&mut self, walk: &Walk, walked: &Walked, interval: Interval, now: Times, observed: f64) -> Times {
        let is_it = |number: &usize| walk.replay.bulks[*number].interval == interval;
        let bulk = walked.bulks.clone().find(is_it);
        let (side, segments) = match (bulk.map(|number| &walk.replay.bulks[number]), interval) {
            (Some(bulk), _) => (bulk.sender, bulk.segments),
            (None, Interval::Request) => (Side::Client, walked.segments[0]),
            (None, _) => (Side::Server, walked.segments[1]),
        };
        let (connection, rtts) = (walked.step.connection as usize, &self.rtts[walked.step.phase as usize]);
        let path = &walk.path(connection, side);
        let senders = &mut self.connections[connection].senders[side as usize];
        if let Some(calibrated) = &mut self.calibrated {
            calibrated.pause(walked.number, side, senders, now, *rtts);
            if let Some(bulk) = bulk {
                let path = Path { rtt_ns: rtts.0[0], ..*path };
                let hidden = walk.network.overlapped_work;
                senders.one(0, |sender| calibrated.bulks[bulk].learn(*sender, now.0[0], observed, &path, hidden));
            }
        } else if walk.network.restarts && walked.halvings[side as usize] > 0 {
            senders.each(|sender| sender.halve(walked.halvings[side as usize]));
        }
        let calibrated = self.calibrated.as_ref();
        let (path, production, paced) = match bulk {
            None => {
                if walk.network.sets_receivers() {
                    senders.each(|sender| sender.narrow(path.largest));
                }
                (*path, observed.max(0.0) + walk.compressing_ns(walked, side), Times::default())
            }
            Some(number) => {
                let bulk = calibrated.map_or(&walk.replay.bulks[number], |calibrated| &calibrated.bulks[number]);
                let [least, most] = bulk.windows(path, walk.network);
                senders.each(|sender| {
                    sender.widen(least);
                    sender.narrow(most);
                });
                let baseline = walk.replay.connections.baseline_ns[walked.step.phase as usize];
                let bytes = walk.replay.connections.segment_bytes[connection];
                (
                    Bulk::path(path, most),
                    bulk.produced(walk.network, bytes),
                    bulk.paced(rtts, baseline, walk.network.paces),
                )
            }
        };
        let segments = walk.network.left_of(segments);
        if let Some(calibrated) = &mut self.calibrated {
            calibrated.fills |= !senders.always_hold(now, segments, rtts);
        }
        let time = senders.send(now, segments, production, &path, rtts) + paced;
        let beside = if interval == Interval::Whole { walk.message_ns(walked, side.other()) } else { 0.0 };
        let time = time + (walk.last_packet_ns(walked, side, segments, &path) + beside);
        if self.calibrated.is_some() { Times::all(observed) } else { time + observed.min(0.0) }
    }
}
