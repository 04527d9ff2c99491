//! Who waits for whom when a client uses several connections.
//!
//! A *lane* is a chain of steps of which each starts after the one before: a worker, a thread, a program that connects
//! anew for every query. Connections that are often busy at the same time belong to different lanes; those of a pool
//! that one worker uses in turn never are, though independent ones would meet by chance, and share a lane. Where more
//! connections meet each other than are ever busy at once, threads share a pool: there are as many lanes as are busy at
//! most, and they take the steps in the order in which they become free (docs/model.md C.5).

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use ahash::RandomState;

use super::step::{Span, Start, Starts};

pub type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;

named! {
    /// How lanes are told apart.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Waiting {
        /// By the evidence.
        Evidence = "evidence",
        /// Without proof of the contrary each connection is a lane of its own.
        Independent = "independent",
        /// Steps follow whatever was over last: as few lanes as possible.
        Chained = "chained",
        /// By the evidence; and where steps begin more often just after other connections' answers than by chance,
        /// after those.
        Joined = "joined",
        /// By the evidence; and where a client's connections may share a queue, they do.
        Queued = "queued",
        /// By the evidence; and what may begin by a clock does.
        Clocked = "clocked",
        /// By the evidence; but nothing begins by a clock.
        Unclocked = "unclocked",
    }
}

impl Waiting {
    /// The way in which steps have the same lanes and follow the same, but for queues and clocks.
    pub fn places_as(self) -> Waiting {
        match self {
            Waiting::Queued | Waiting::Clocked | Waiting::Unclocked => Waiting::Evidence,
            other => other,
        }
    }
}

/// Connections may avoid each other if independent ones would have met at least this often.
const MIN_SUSPECT_MEETINGS: f64 = 5.0;
/// Connections certainly avoid each other if independent ones would have met at least this often.
const MIN_PROVEN_MEETINGS: f64 = 100.0;
/// Threads share a pool if at most this share of the connections that meet is ever busy at once.
const MAX_BUSY_SHARE: f64 = 0.75;
/// Intervals meet if they share more than this part of the shorter one.
const MIN_OVERLAP_SHARE: f64 = 0.1;
/// Instants with more busy connections than in all but this share of the time are coincidences.
const MAX_COINCIDENCE_SHARE: f64 = 1e-3;
/// A connection that opens this soon after another's answer was opened by the same worker.
const MAX_OPENING_NS: f64 = 2e6;
/// If more connections are busy at once, each is a worker of its own, as nobody waits for another.
const MAX_BUSY: usize = 256;
/// At most this many workers are searched for a free one, and this many connections have a table of all their pairs.
const MAX_PAIRED: usize = 1024;

/// The lane of each span, and where it starts; spans are in the order of their begin. `usage` is theirs.
pub fn assign(
    spans: &[Span],
    connections: usize,
    usage: Option<&Usage>,
    waiting: Waiting,
) -> impl Iterator<Item = Start> {
    let plan = Plan::new(connections, usage, waiting);
    let abreast = usage.is_some_and(|usage| usage.busy > 1);
    let mut workers = Workers::new(spans, connections, plan, waiting, abreast);
    spans.iter().map(move |span| workers.start(span))
}

/// The lane of each connection by when it begins and ends, numbered from 0: it continues the one that was left last
/// before it began, among several the one with the highest number; where none is free it opens one.
pub fn of_connections(begin: &[i64], end: &[i64]) -> Vec<i64> {
    let mut order: Vec<usize> = (0..begin.len()).collect();
    order.sort_by_key(|&connection| begin[connection]);
    let (mut worker, mut workers) = (vec![0; begin.len()], 0);
    let (mut running, mut free) = (BinaryHeap::new(), BTreeSet::new());
    for connection in order {
        let begins = begin[connection];
        while running.peek().is_some_and(|Reverse((over, _))| *over <= begins) {
            free.extend(running.pop().map(|Reverse(left)| left));
        }
        worker[connection] = free.pop_last().map_or(workers, |(_, worker)| worker);
        workers = workers.max(worker[connection] + 1);
        running.push(Reverse((end[connection].max(begins), worker[connection])));
    }
    worker
}

/// How lanes and connections belong together.
enum Plan {
    /// The lane of each connection.
    Fixed(Vec<u32>),
    /// So many lanes share all connections.
    Shared(usize),
}

impl Plan {
    fn new(connections: usize, usage: Option<&Usage>, waiting: Waiting) -> Plan {
        let own = || Plan::Fixed((0..connections as u32).collect());
        let Some(usage) = usage else { return own() };
        let believed = match waiting {
            Waiting::Independent => usage.missing >= MIN_PROVEN_MEETINGS,
            Waiting::Chained => true,
            _ => usage.missing >= MIN_SUSPECT_MEETINGS,
        };
        if !believed {
            return own();
        }
        let needed = usage.colours.iter().max().map_or(0, |&most| most as usize + 1);
        match (usage.busy as f64) <= MAX_BUSY_SHARE * needed as f64 {
            true => Plan::Shared(usage.busy),
            false => Plan::Fixed(usage.colours.to_vec()),
        }
    }
}

/// How the connections were used while they worked; set-up is left out, as pools are often filled side by side. It is
/// the same whoever waits for whom.
#[derive(Clone, Debug)]
pub struct Usage {
    /// Connections busy at once.
    pub busy: usize,
    /// How many steps would have found more connections busy if these were independent.
    missing: f64,
    /// A lane for each connection, so that connections that meet have different ones.
    colours: Arc<[u32]>,
}

fn working(spans: &[Span]) -> impl Iterator<Item = &Span> {
    let works = |span: &&Span| span.waits && !span.setup && !span.follows_own && !span.listens && span.end > span.begin;
    spans.iter().filter(works)
}

impl Usage {
    /// How they were used, where that can tell who waits for whom.
    pub fn of(spans: &[Span], connections: usize) -> Option<Usage> {
        let mut lives = vec![Life::default(); connections];
        working(spans).for_each(|span| lives[span.connection as usize].add(span));
        lives.retain(|life| life.last > life.first);
        let begin = lives.iter().map(|life| life.first).fold(f64::INFINITY, f64::min);
        let length = lives.iter().map(|life| life.last).fold(f64::NEG_INFINITY, f64::max) - begin;
        if lives.len() < 2 {
            return None;
        }
        let busy = most_at_once(&shares(working(spans), length));
        if busy > MAX_BUSY {
            return None;
        }
        let duties = lives.iter().map(|life| life.busy / length);
        let missing = working(spans).count() as f64 * more_than(busy, duties);
        Some(Usage { busy, missing, colours: colours(spans, connections).into() })
    }
}

/// How likely it is that more than `most` of independent connections are busy, each with its own probability.
fn more_than(most: usize, duties: impl Iterator<Item = f64>) -> f64 {
    let mut exactly = vec![0.0; most + 1];
    exactly[0] = 1.0;
    for duty in duties.map(|duty| duty.clamp(0.0, 1.0)) {
        for count in (0..=most).rev() {
            let before = if count > 0 { exactly[count - 1] } else { 0.0 };
            exactly[count] = exactly[count] * (1.0 - duty) + before * duty;
        }
    }
    1.0 - exactly.iter().sum::<f64>()
}

/// From a connection's first step to its last.
#[derive(Clone)]
struct Life {
    first: f64,
    last: f64,
    busy: f64,
}

impl Default for Life {
    fn default() -> Life {
        Life { first: f64::INFINITY, last: f64::NEG_INFINITY, busy: 0.0 }
    }
}

impl Life {
    fn add(&mut self, span: &Span) {
        self.busy += (span.end - span.begin.max(self.last)).max(0.0);
        self.first = self.first.min(span.begin);
        self.last = self.last.max(span.end);
    }
}

/// The part of `length` in which exactly 0, 1, 2, … spans were under way; they are in the order of their begin.
fn shares<'a>(spans: impl Iterator<Item = &'a Span>, length: f64) -> Vec<f64> {
    let (mut shares, mut last) = (vec![0.0], None);
    let mut pass = |now: f64, running: usize| {
        if shares.len() <= running {
            shares.resize(running + 1, 0.0);
        }
        shares[running] += (now - last.replace(now).unwrap_or(now)) / length;
    };
    let mut running = BinaryHeap::new();
    for span in spans {
        while let Some(Reverse(End(end))) = running.peek().copied().filter(|Reverse(End(end))| *end <= span.begin) {
            pass(end, running.len());
            running.pop();
        }
        pass(span.begin, running.len());
        running.push(Reverse(End(span.end)));
    }
    while let Some(Reverse(End(end))) = running.peek().copied() {
        pass(end, running.len());
        running.pop();
    }
    shares
}

/// When a span is over; the earliest first.
#[derive(Clone, Copy)]
pub struct End(pub f64);

impl Ord for End {
    fn cmp(&self, other: &End) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for End {
    fn partial_cmp(&self, other: &End) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for End {
    fn eq(&self, other: &End) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for End {}

/// The largest count, but for coincidences.
fn most_at_once(shares: &[f64]) -> usize {
    let busy: f64 = shares.iter().skip(1).sum();
    let mut beyond = 0.0;
    let counts = shares.iter().enumerate().rev();
    let mut most = counts.skip_while(|(_, share)| {
        beyond += **share;
        beyond <= MAX_COINCIDENCE_SHARE * busy
    });
    most.next().map_or(1, |(count, _)| count.max(1))
}

/// See `Usage`.
fn colours(spans: &[Span], connections: usize) -> Vec<u32> {
    let met = meetings(spans, connections);
    let mut colours: Vec<Option<u32>> = vec![None; connections];
    for span in spans {
        let connection = span.connection as usize;
        if colours[connection].is_none() {
            let mut taken: Vec<u32> = met[connection].iter().filter_map(|&other| colours[other as usize]).collect();
            taken.sort_unstable();
            taken.dedup();
            let free = (0..).zip(&taken).find(|(colour, taken)| colour != *taken).map(|(colour, _)| colour);
            colours[connection] = Some(free.unwrap_or(taken.len() as u32));
        }
    }
    colours.into_iter().map(|colour| colour.unwrap_or(0)).collect()
}

/// The connections that each connection was busy beside, more often than by mistake; clients never share a lane.
fn meetings(spans: &[Span], connections: usize) -> Vec<Vec<u32>> {
    let mut steps = vec![0_usize; connections];
    let mut counts = Pairs::new(connections);
    let mut running: Vec<&Span> = Vec::new();
    for span in working(spans) {
        steps[span.connection as usize] += 1;
        running.retain(|other| other.end > span.begin);
        for other in running.iter().filter(|other| other.connection != span.connection) {
            let shared = other.end.min(span.end) - span.begin;
            if shared > MIN_OVERLAP_SHARE * (other.end - other.begin).min(span.end - span.begin) {
                counts.add(span.connection.min(other.connection), span.connection.max(other.connection));
            }
        }
        if running.len() < 2 * MAX_BUSY {
            running.push(span);
        }
    }
    let mut met = vec![Vec::new(); connections];
    for ((a, b), count) in counts.counted() {
        let fewer = steps[a as usize].min(steps[b as usize]);
        if count >= if fewer < 10 { 1 } else { 2.max(fewer / 100) } {
            met[a as usize].push(b);
            met[b as usize].push(a);
        }
    }
    met
}

/// How often each pair of connections met: a table, or where that would be too large, only the pairs that did.
struct Pairs {
    connections: usize,
    table: Vec<u32>,
    sparse: HashMap<(u32, u32), u32>,
}

impl Pairs {
    fn new(connections: usize) -> Pairs {
        let cells = if connections <= MAX_PAIRED { connections * connections } else { 0 };
        Pairs { connections, table: vec![0; cells], sparse: HashMap::default() }
    }

    fn add(&mut self, a: u32, b: u32) {
        match self.table.get_mut(a as usize * self.connections + b as usize) {
            Some(count) => *count += 1,
            None => *self.sparse.entry((a, b)).or_default() += 1,
        }
    }

    fn counted(self) -> impl Iterator<Item = ((u32, u32), usize)> {
        let width = self.connections.max(1);
        let pair = move |cell: usize| ((cell / width) as u32, (cell % width) as u32);
        let table = self.table.into_iter().enumerate().filter(|(_, count)| *count > 0);
        table
            .map(move |(cell, count)| (pair(cell), count as usize))
            .chain(self.sparse.into_iter().map(|(pair, count)| (pair, count as usize)))
    }
}

#[derive(Clone, Copy)]
struct Worker {
    client: u32,
    /// Of its last step.
    connection: u32,
    /// When that was over.
    free: f64,
}

struct Workers {
    plan: Plan,
    waiting: Waiting,
    workers: Vec<Worker>,
    /// The lane that each planned lane has become: one for each client host.
    planned: HashMap<(u32, u32), u32>,
    /// The lane of each connection's last step.
    own: Vec<Option<u32>>,
    /// When each connection is used last.
    last: Vec<f64>,
    /// When the last answer was there that each client host worked for; empty where nothing ever ran side by side.
    done: HashMap<u32, f64>,
    /// When each client host opened its newest connection so far, and when any of them did.
    opened: HashMap<u32, f64>,
    last_opened: f64,
}

impl Workers {
    fn new(spans: &[Span], connections: usize, plan: Plan, waiting: Waiting, abreast: bool) -> Workers {
        let mut last = vec![f64::NEG_INFINITY; connections];
        for span in spans {
            let end = &mut last[span.connection as usize];
            *end = end.max(span.end);
        }
        let mut done = HashMap::default();
        for span in spans.iter().filter(|span| abreast && span.waits && !span.setup) {
            let end = done.entry(span.client).or_insert(span.end);
            *end = span.end.max(*end);
        }
        Workers {
            plan,
            waiting,
            workers: Vec::new(),
            planned: HashMap::default(),
            own: vec![None; connections],
            last,
            done,
            opened: HashMap::default(),
            last_opened: f64::NEG_INFINITY,
        }
    }

    fn start(&mut self, span: &Span) -> Start {
        let own = self.own[span.connection as usize];
        if own.is_none() {
            self.opened.insert(span.client, span.begin);
            self.last_opened = self.last_opened.max(span.begin);
        }
        let worker = own.filter(|_| span.follows_own).unwrap_or_else(|| self.lane_for(span));
        let known = self.workers[worker as usize].connection != u32::MAX;
        let after = match known {
            true => self.filled(worker, span).or_else(|| self.closed(span)).or(Some(worker)),
            false => self.opened_after(span),
        };
        let start = match after.map(|after| (after, self.workers[after as usize])) {
            None => Start::new(worker, worker, Starts::AtFirst, span.begin),
            Some((after, Worker { connection, free, .. })) => {
                let starts = if connection == span.connection { Starts::After } else { Starts::AfterOther };
                Start::new(worker, after, starts, span.begin - free)
            }
        };
        let free = self.workers[worker as usize].free.max(span.end);
        self.workers[worker as usize] = Worker { client: span.client, connection: span.connection, free };
        self.own[span.connection as usize] = Some(worker);
        start
    }

    fn lane_for(&mut self, span: &Span) -> u32 {
        let own = self.own[span.connection as usize];
        if span.listens {
            return own.unwrap_or_else(|| self.open(span.client));
        }
        let planned = match &self.plan {
            Plan::Fixed(workers) => match own {
                Some(worker) => return worker,
                None => workers[span.connection as usize],
            },
            Plan::Shared(most) => {
                let most = *most;
                let kept = own.filter(|&worker| self.workers[worker as usize].connection == span.connection);
                let chosen = kept.or_else(|| self.free_lane(span, own.is_none()));
                let mine = self.workers.iter().filter(|worker| worker.client == span.client).count();
                return match chosen {
                    Some(worker) if kept.is_some() || mine >= most || self.waiting == Waiting::Chained => worker,
                    _ => self.open(span.client),
                };
            }
        };
        if let Some(&worker) = self.planned.get(&(span.client, planned)) {
            return worker;
        }
        let worker = self.open(span.client);
        self.planned.insert((span.client, planned), worker);
        worker
    }

    fn open(&mut self, client: u32) -> u32 {
        self.workers.push(Worker { client, connection: u32::MAX, free: f64::NEG_INFINITY });
        self.workers.len() as u32 - 1
    }

    /// The newest lanes of this client that are free when the span begins.
    fn free(&self, span: &Span) -> impl Iterator<Item = (u32, &Worker)> {
        let (client, begin) = (span.client, span.begin);
        let newest = self.workers.len().saturating_sub(MAX_PAIRED);
        let workers = (0..).zip(&self.workers).skip(newest);
        workers
            .filter(move |(_, worker)| worker.client == client && worker.free <= begin && worker.connection != u32::MAX)
    }

    /// The one of them that is free since last, among those that `may` be it.
    fn newest(&self, span: &Span, may: impl Fn(&Worker) -> bool) -> Option<u32> {
        let newest = self.free(span).fold(None, |best: Option<(u32, f64)>, (number, worker)| match best {
            Some((_, free)) if worker.free < free => best,
            _ if may(worker) => Some((number, worker.free)),
            _ => best,
        });
        newest.map(|(number, _)| number)
    }

    /// The lane that takes the next step of a shared pool; whoever `opens` a connection was busy until just before.
    fn free_lane(&self, span: &Span, opens: bool) -> Option<u32> {
        if opens || self.waiting == Waiting::Chained {
            return self.newest(span, |_| true);
        }
        self.free(span).min_by(|a, b| a.1.free.total_cmp(&b.1.free)).map(|(number, _)| number)
    }

    /// Work begins when the last connection of a pool is set up.
    fn filled(&self, worker: u32, span: &Span) -> Option<u32> {
        if self.workers[worker as usize].free >= self.last_opened {
            return None;
        }
        let opened = self.opened.get(&span.client).copied().unwrap_or(f64::NEG_INFINITY);
        if self.workers[worker as usize].free >= opened || self.waiting == Waiting::Independent {
            return None;
        }
        self.newest(span, |worker| span.begin - worker.free <= MAX_OPENING_NS)
    }

    /// A pool is closed when the slowest of its work is over.
    fn closed(&self, span: &Span) -> Option<u32> {
        let done = self.done.get(&span.client).is_some_and(|&done| done <= span.begin);
        if !done || span.waits || span.follows_own || span.listens || self.waiting == Waiting::Independent {
            return None;
        }
        self.newest(span, |_| true)
    }

    /// A connection opens after one that is closed, or right after any answer.
    fn opened_after(&self, span: &Span) -> Option<u32> {
        self.newest(span, |worker| {
            let closed = self.last[worker.connection as usize] <= span.begin;
            closed || self.waiting != Waiting::Independent && span.begin - worker.free <= MAX_OPENING_NS
        })
    }
}

#[cfg(test)]
#[path = "workers_tests.rs"]
mod tests;
