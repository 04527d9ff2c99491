//! Queues: tasks that take the next turn on whichever lane is free first.
//!
//! Where each lane has work of its own, as much of it is done on each at any RTT, and the fullest one decides how long
//! the job takes. Where tasks take what is free, a lane that is slow, or began late, gets less, and at another RTT gets
//! another part; but all are done together, when the mean of them would be (docs/model.md C.5).

use std::collections::BTreeMap;

use super::rtt_batch::Times;
use super::step::{Span, Start, Starts};
use super::workers::Waiting;

/// Workers with work of their own would be done so nearly together less often than this by chance: that is evidence of
/// a queue.
const MAX_CHANCE: f64 = 0.01;
/// A probability below this leaves open whether there is a queue.
const MAX_OPEN_CHANCE: f64 = 0.25;
/// Turns follow each other on each worker at least this fast compared with the fastest, as the tasks are the same.
const MIN_PACE_RATIO: f64 = 2.0 / 3.0;
/// Fewer turns show no pace.
const MIN_TURNS: f64 = 10.0;
/// A worker with less than this share of the turns of the fullest has few.
const FEW_TURNS_SHARE: f64 = 0.1;
/// More workers are not examined as a queue.
const MAX_WORKERS: usize = 64;

/// How many turns a lane had, when the first of them began, and when it was done.
#[derive(Clone, Copy)]
struct Life {
    turns: f64,
    begin: f64,
    done: f64,
}

impl Life {
    /// When it would be done with so many turns.
    fn done_with(&self, turns: f64) -> f64 {
        self.done + (turns - self.turns) * (self.done - self.begin) / self.turns
    }
}

/// What one client did on each lane.
#[derive(Default)]
struct Client {
    workers: BTreeMap<u32, Life>,
    /// Who waits for whom there is known.
    known: bool,
}

impl Client {
    fn add(&mut self, worker: u32, span: &Span, known: bool) {
        self.known |= known || span.listens;
        let life = Life { turns: 0.0, begin: span.begin, done: span.end };
        let life = self.workers.entry(worker).or_insert(life);
        (life.turns, life.done) = (life.turns + 1.0, life.done.max(span.end));
    }

    /// Its lanes, where they share a queue: all were done together, as those that would have been later had less to do,
    /// and as fast on each. Where it need not be so, it may be by chance and not as fast.
    fn queue(self, busy: usize, must: bool) -> Option<Vec<u32>> {
        let workers = self.taking_part();
        if self.known || 2 * busy <= workers.len() || !(2..=MAX_WORKERS).contains(&workers.len()) {
            return None;
        }
        let mean = workers.iter().map(|(_, life)| life.turns).sum::<f64>() / workers.len() as f64;
        let [first, last] = ends(workers.iter().map(|(_, life)| life.done));
        let [sooner, later] = ends(workers.iter().map(|(_, life)| life.done_with(mean)));
        let by_chance = ((last - first) / (later - sooner)).powi(workers.len() as i32 - 1);
        let paced = workers.iter().filter(|(_, life)| life.turns >= MIN_TURNS);
        let [slowest, fastest] = ends(paced.map(|(_, life)| life.turns / (life.done - life.begin)));
        let found = if must {
            by_chance <= MAX_CHANCE && slowest >= MIN_PACE_RATIO * fastest
        } else {
            by_chance <= MAX_OPEN_CHANCE
        };
        found.then(|| workers.into_iter().map(|(worker, _)| worker).collect())
    }

    /// Those that did more than a few turns at the beginning, as who tries a connection and opens others.
    fn taking_part(&self) -> Vec<(u32, Life)> {
        let range = |what: fn(&Life) -> f64| ends(self.workers.values().map(what));
        let [[_, most], [begin, _], [_, last]] =
            [range(|life| life.turns), range(|life| life.begin), range(|life| life.done)];
        let few = |life: &Life| life.turns < FEW_TURNS_SHARE * most && 2.0 * life.done < begin + last;
        self.workers.iter().filter(|(_, life)| !few(life)).map(|(&worker, &life)| (worker, life)).collect()
    }
}

/// The least and the most of them.
fn ends(all: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    [f64::min, f64::max].map(|of| all.clone().reduce(of).unwrap_or(0.0))
}

/// The lanes of each queue that the evidence shows, or that may be. A client that fans out, whose steps follow other
/// places than so many `workers`, has none, nor who never had more than half of them `busy`.
pub fn find(starts: &[Start], spans: &[Span], workers: u32, busy: usize, waiting: Waiting) -> Vec<Vec<u32>> {
    let must = match waiting {
        Waiting::Queued => false,
        Waiting::Independent | Waiting::Chained => return Vec::new(),
        Waiting::Evidence | Waiting::Joined | Waiting::Clocked | Waiting::Unclocked => true,
    };
    let mut clients: BTreeMap<u32, Client> = BTreeMap::new();
    for (start, span) in starts.iter().zip(spans).filter(|(_, span)| span.waits && !span.setup) {
        let known = start.after() >= workers || start.starts() == Starts::AfterPush;
        clients.entry(span.client).or_default().add(start.worker, span, known);
    }
    clients.into_values().filter_map(|client| client.queue(busy, must)).collect()
}

/// When the last of the `workers` is over, if those of each queue share what is left: each had `worked` until then.
pub fn latest(queues: &[Vec<u32>], workers: &[Times], worked: &[Times]) -> Times {
    let mut workers = workers.to_vec();
    for queue in queues {
        let of_queue = || queue.iter().map(|&worker| worked[worker as usize]);
        let longest = of_queue().fold(Times::default(), Times::max);
        let mean = of_queue().fold(Times::default(), |sum, over| sum + over).times(1.0 / queue.len() as f64);
        queue.iter().for_each(|&worker| workers[worker as usize] = workers[worker as usize] - (longest - mean));
    }
    workers.into_iter().fold(Times::default(), Times::max)
}
