//! Turns that move: tasks that share a queue take the next one on whichever connection is free first.
//!
//! Where each connection has work of its own, as much of it is done on each at any RTT. Where tasks take what is free, a
//! connection that is slow, or was opened late, gets less, and at another RTT gets another part: the fullest one does not
//! decide how long the job takes (docs/model.md C.5).

use std::collections::BTreeMap;

use super::lanes::Waiting;
use super::step::{Span, Start, Starts};

/// Chosen at random, connections get as many turns as Poisson has it: the variance is their mean.
const UNEVEN: f64 = 1.0;
/// Who shares a queue has no more to do when all have: the first connection is done so many turns before the last one, or
/// less than this part of the difference between the most turns of one and the fewest.
const TOGETHER: f64 = 2.0;
const OF_DIFFERENCE: f64 = 0.1;
/// On each, turns follow each other at least so fast as on the fastest, as the tasks are the same; fewer turns show no pace.
const AS_FAST: f64 = 2.0 / 3.0;
const LEAST: f64 = 10.0;
/// More connections are no queue that is looked at.
const MANY: usize = 64;

/// How many turns a connection had, when the first of them began, and when it was done.
#[derive(Clone, Copy)]
struct Life {
    turns: f64,
    begin: f64,
    done: f64,
}

/// What one client's connections did.
#[derive(Default)]
struct Client {
    connections: BTreeMap<u32, Life>,
    /// Who waits for whom there is known.
    known: bool,
}

impl Client {
    fn add(&mut self, span: &Span, known: bool) {
        self.known |= known || span.listens;
        let life = Life { turns: 0.0, begin: span.begin, done: span.end };
        let life = self.connections.entry(span.connection).or_insert(life);
        (life.turns, life.done) = (life.turns + 1.0, life.done.max(span.end));
    }

    /// Its connections, where it did more unequally much on them than by chance though it was as fast on each; and, if that
    /// `must` be, was done on all of them together.
    fn queue(&self, busy: usize, must: bool) -> Option<Vec<u32>> {
        if self.known || 2 * busy <= self.connections.len() || !(2..=MANY).contains(&self.connections.len()) {
            return None;
        }
        let count = self.connections.len() as f64;
        let of = |what: fn(&Life) -> f64| self.connections.values().map(what);
        let mean = of(|life| life.turns).sum::<f64>() / count;
        let variance = of(|life| life.turns * life.turns).sum::<f64>() / count - mean * mean;
        let [fewest, most] = ends(of(|life| life.turns));
        let [first, last] = ends(of(|life| life.done));
        let turn = (last - ends(of(|life| life.begin))[0]) / most;
        let together = last - first <= turn * TOGETHER.max(OF_DIFFERENCE * (most - fewest));
        let paced = self.connections.values().filter(|life| life.turns >= LEAST);
        let [slowest, fastest] = ends(paced.map(|life| life.turns / (life.done - life.begin)));
        let found = variance > UNEVEN * mean && slowest >= AS_FAST * fastest && (together || !must);
        found.then(|| self.connections.keys().copied().collect())
    }
}

/// The least and the most of them.
fn ends(all: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    [f64::min, f64::max].map(|of| all.clone().reduce(of).unwrap_or(0.0))
}

/// Let turns move where the evidence says that they do, or might; the connections that share each queue. A client that fans
/// out, whose steps follow other places than so many `lanes`, has none, nor who never had more than half of them `busy`.
pub fn find(starts: &mut [Start], spans: &[Span], lanes: u32, busy: usize, waiting: Waiting) -> Vec<Vec<u32>> {
    let must = match waiting {
        Waiting::Moved => false,
        Waiting::Independent | Waiting::Chained => return Vec::new(),
        Waiting::Evidence | Waiting::Joined | Waiting::Clocked | Waiting::Unclocked => true,
    };
    let mut clients: BTreeMap<u32, Client> = BTreeMap::new();
    for (start, span) in starts.iter().zip(spans).filter(|(_, span)| is_turn(span)) {
        clients
            .entry(span.client)
            .or_default()
            .add(span, start.after() >= lanes || start.starts() == Starts::AfterPush);
    }
    let found = clients.into_iter().filter_map(|(client, of)| Some((client, of.queue(busy, must)?)));
    let queues: BTreeMap<u32, Vec<u32>> = found.collect();
    let number: BTreeMap<u32, u32> = queues.keys().copied().zip(0..).collect();
    let mut over: BTreeMap<u32, f64> = BTreeMap::new();
    for (start, span) in starts.iter_mut().zip(spans) {
        let Some(&queue) = number.get(&span.client).filter(|_| is_turn(span)) else { continue };
        let before = over.get(&span.connection).copied();
        if let Some(before) = before.filter(|_| start.starts() != Starts::With) {
            *start = Start::new(start.lane, queue, Starts::Moved, span.begin - before);
        }
        over.insert(span.connection, before.map_or(span.end, |before| before.max(span.end)));
    }
    queues.into_values().collect()
}

fn is_turn(span: &Span) -> bool {
    span.waits && !span.setup
}
