//! Whose steps begin by a clock of their own: a scheduler's, or that of a worker whom a reader is ahead of.
//!
//! What a client does after an answer takes as long whenever that comes. Where it began something else at the same time
//! (a sleep, its work on what it had read before), the time that it lets pass after the answer is only what is left of
//! that: less after a long wait, more after a short one. Such steps begin so long after each other, not so long after
//! an answer, and never before the answer (docs/model.md C.5).

use super::step::{Span, Start, Starts};
use super::workers::{HashMap, Waiting};

/// At least this many steps show a clock.
const MIN_STEPS: usize = 20;
/// This many steps are a sufficient sample.
const MAX_STEPS: usize = 4096;
/// Gaps shrink as waits grow if the rank correlation (Spearman) × √n of their changes is at most this.
const MAX_CORRELATION: f64 = -4.5;
/// The intervals of a clock change by at most this share of what the gaps change by.
const MAX_CHANGE_RATIO: f64 = 0.9;
/// A gap matters if it is at least this share of the interval.
const MIN_GAP_SHARE: f64 = 0.1;
/// The shortest interval that may be a clock's.
const MIN_INTERVAL_NS: f64 = 2e6;
/// Gaps are of two kinds if those of one are this many times as long as those of the other.
const MIN_KIND_RATIO: f64 = 5.0;
/// Gaps without work are shorter than this share of those with work.
const MAX_IDLE_SHARE: f64 = 0.2;
/// Starts and gaps are steady if they differ by at most this share of the interval.
const MAX_SPREAD_SHARE: f64 = 0.05;
/// A shorter gap is no timer's.
const MIN_GAP_NS: f64 = 2e6;
/// Timers count in milliseconds, so only waits that differ by more show that gaps do not shrink.
const MIN_WAIT_CHANGE_NS: f64 = 2e6;
/// At least this many such waits show that gaps do not shrink.
const MIN_WAIT_CHANGES: usize = 3;
/// Gaps that do not shrink compensate for less than this share of the waits.
const MAX_COMPENSATED_SHARE: f64 = 0.5;
/// A client pauses after its last answer if it hangs up after its usual pause, within this share of it.
const MAX_PAUSE_ERROR: f64 = 0.2;
/// A reader is ahead by at least this many.
const MIN_READ_AHEAD: f64 = 3.0;
/// A reader is ahead by at most this many.
const MAX_READ_AHEAD: f64 = 64.0;
/// The number that its worker is left with differs from a whole one by at most this.
const MAX_ROUNDING: f64 = 0.25;

/// What was found of clocks.
#[derive(Default)]
pub struct Clocks {
    /// How many answers each lane's worker may have before it; empty where nobody reads ahead.
    pub ahead: Vec<u16>,
    /// The steps of some lane may begin by a clock, though nothing tells.
    pub may_tick: bool,
}

/// Let the steps of each lane that begin by a clock follow that, as far as `waiting` has them do so.
pub fn find(starts: &mut [Start], spans: &[Span], waiting: Waiting) -> Clocks {
    if waiting == Waiting::Unclocked {
        return Clocks::default();
    }
    let (mut ahead, mut may_tick) = (Vec::new(), false);
    let workers = workers(starts, spans);
    let count = workers.len();
    for (number, Worker { steps, last, beside }) in
        workers.into_iter().enumerate().filter(|(_, worker)| worker.steps.len() > MIN_STEPS)
    {
        let seen = Seen { starts, spans };
        if let Some((ticks, depth)) = seen.read_ahead(&steps, last) {
            wind(starts, spans, &ticks);
            ahead.resize(count, 0);
            ahead[number] = depth;
        } else if let Some(ticks) = seen.of_one_kind(&steps, |steps| seen.shrink(steps)) {
            wind(starts, spans, &ticks);
        } else if 2 * beside > steps.len() {
            continue;
        } else if let Some(ticks) = seen.of_one_kind(&steps, |steps| seen.may_tick(steps, last)) {
            may_tick = true;
            if waiting == Waiting::Clocked {
                wind(starts, spans, &ticks);
            }
        }
    }
    Clocks { ahead, may_tick }
}

/// The steps of a lane that wait for an answer and follow another one of it, and its last step.
#[derive(Clone, Default)]
struct Worker {
    steps: Vec<u32>,
    last: u32,
    /// In so many of the pauses before them other lanes of the client were at work: it may have waited for those.
    beside: usize,
}

/// When the lanes of a client were at work last: the one that was it last of all, and the others.
#[derive(Clone, Copy)]
struct AtWork {
    worker: u32,
    until: f64,
    others: f64,
}

impl AtWork {
    fn but(&self, worker: u32) -> f64 {
        if worker == self.worker { self.others } else { self.until }
    }

    fn works(&mut self, worker: u32, until: f64) {
        if worker == self.worker {
            self.until = self.until.max(until);
        } else if until > self.until {
            *self = AtWork { worker, until, others: self.until };
        } else {
            self.others = self.others.max(until);
        }
    }
}

fn workers(starts: &[Start], spans: &[Span]) -> Vec<Worker> {
    let count = starts.iter().map(|start| start.worker as usize + 1).max().unwrap_or(0);
    let mut workers = vec![Worker::default(); count];
    let never = AtWork { worker: u32::MAX, until: f64::NEG_INFINITY, others: f64::NEG_INFINITY };
    let mut clients: HashMap<u32, AtWork> = HashMap::default();
    for (step, (start, span)) in (0..).zip(starts.iter().zip(spans)) {
        let (worker, client) = (&mut workers[start.worker as usize], clients.entry(span.client).or_insert(never));
        worker.last = step;
        if follows(start) && span.waits && !span.setup && !span.stalled {
            worker.steps.push(step);
            worker.beside += usize::from(client.but(start.worker) > span.begin - start.gap);
        }
        client.works(start.worker, span.end);
    }
    workers
}

/// It begins after an answer of its lane.
fn follows(start: &Start) -> bool {
    matches!(start.starts(), Starts::After | Starts::AfterOther) && start.after() == start.worker && start.gap >= 0.0
}

/// The steps, as far as clocks show in them.
#[derive(Clone, Copy)]
struct Seen<'a> {
    starts: &'a [Start],
    spans: &'a [Span],
}

impl Seen<'_> {
    fn gap(&self, step: u32) -> f64 {
        self.starts[step as usize].gap
    }

    fn begin(&self, step: u32) -> f64 {
        self.spans[step as usize].begin
    }

    fn statement(&self, step: u32) -> u32 {
        self.spans[step as usize].statement
    }

    /// Those of a lane of which it is so: all, or those that come after a longer gap than others.
    fn of_one_kind(&self, steps: &[u32], is_so: impl Fn(&[u32]) -> bool) -> Option<Vec<u32>> {
        if is_so(steps) {
            return Some(steps.to_vec());
        }
        let least = self.longer_gaps(steps)?;
        let rounds: Vec<u32> = steps.iter().copied().filter(|&step| self.gap(step) >= least).collect();
        is_so(&rounds).then_some(rounds)
    }

    /// A pause after each answer looks like a clock: starts or gaps are steady, or some were asked for at once
    /// at first and it hung up late, as a reader does; and no wait was so much longer than others that gaps show what
    /// they follow.
    fn may_tick(&self, steps: &[u32], last: u32) -> bool {
        let seen = &steps[..steps.len().min(MAX_STEPS)];
        let gaps: Vec<f64> = seen[seen.len().min(1)..].iter().map(|&step| self.gap(step)).collect();
        let intervals: Vec<f64> = seen.windows(2).map(|pair| self.begin(pair[1]) - self.begin(pair[0])).collect();
        let (gap, interval) = (median(gaps.clone()), median(intervals.clone()));
        if gaps.len() < MIN_STEPS || gap < MIN_GAP_NS.max(MIN_GAP_SHARE * interval) {
            return false;
        }
        let late = self.hangs_up(steps, last);
        let is_steady = |values: &[f64]| strays(values) <= MAX_SPREAD_SHARE * interval;
        let asks_ahead =
            gaps[..2].iter().all(|&first| first < MAX_IDLE_SHARE * gap) && late.is_some_and(|late| late > interval);
        let pauses = late.is_some_and(|late| (late - gap).abs() < MAX_PAUSE_ERROR * gap);
        (is_steady(&intervals) || is_steady(&gaps) || asks_ahead) && !pauses && !follow_answers(&intervals, &gaps)
    }

    /// How long after its last answer the lane hangs up.
    fn hangs_up(&self, steps: &[u32], last: u32) -> Option<f64> {
        let answered = self.spans[*steps.last()? as usize].end;
        let closes = !self.spans[last as usize].waits && follows(&self.starts[last as usize]);
        closes.then(|| self.begin(last) - answered)
    }

    /// The least of the longer ones of two kinds of gaps: between them lies most of the variance (Otsu 1979).
    fn longer_gaps(&self, steps: &[u32]) -> Option<f64> {
        let mut gaps: Vec<f64> = steps.iter().take(MAX_STEPS).map(|&step| self.gap(step).max(1e4).ln()).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let total: f64 = gaps.iter().sum();
        let (mut below, mut most, mut parted) = (0.0, 0.0, None);
        for (count, pair) in (1..).zip(gaps.windows(2)) {
            below += pair[0];
            let (few, many) = (f64::from(count), gaps.len() as f64 - f64::from(count));
            let apart = (total - below) / many - below / few;
            if few * many * apart * apart > most && pair[1] > pair[0] {
                (most, parted) = (few * many * apart * apart, Some((apart, pair[1])));
            }
        }
        parted.filter(|(apart, _)| *apart >= MIN_KIND_RATIO.ln()).map(|(_, least)| least.exp() * (1.0 - 1e-9))
    }

    /// Gaps are shorter by as much as the waits before them are longer. Compared are steps that follow each other and
    /// wait for the same, so that neither a drift nor two kinds of work look like it; by ranks, so that no pause does.
    fn shrink(&self, steps: &[u32]) -> bool {
        let steps = &steps[..steps.len().min(MAX_STEPS)];
        let between = |pair: &[u32]| {
            let (length, gap) = (self.begin(pair[1]) - self.begin(pair[0]), self.gap(pair[1]));
            (self.statement(pair[0]), length - gap, gap)
        };
        let intervals: Vec<(u32, f64, f64)> = steps.windows(2).map(between).collect();
        let count = intervals.len().max(1) as f64;
        let (waits, gaps) = intervals.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.1, sum.1 + one.2));
        if waits + gaps < MIN_INTERVAL_NS * count || gaps < MIN_GAP_SHARE * (waits + gaps) {
            return false;
        }
        let alike = intervals.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        let changes: Vec<(f64, f64)> = alike.map(|pair| (pair[1].1 - pair[0].1, pair[1].2 - pair[0].2)).collect();
        let of = |change: fn(&(f64, f64)) -> f64| changes.iter().map(change).collect::<Vec<f64>>();
        let (waits, gaps) = (of(|change| change.0), of(|change| change.1));
        let lengths = of(|change| (change.0 + change.1).abs());
        changes.len() >= MIN_STEPS
            && correlation(&waits, &gaps) * (changes.len() as f64).sqrt() < MAX_CORRELATION
            && median(lengths) < MAX_CHANGE_RATIO * median(gaps.iter().map(|gap| gap.abs()).collect())
    }

    /// A reader asks for some at once, waits until its worker has taken one, asks for one more whenever that goes on,
    /// and ends when it has done what was left: as many as were asked for at first. The steps at which it waited, its
    /// good-bye included, and how many answers lie before the worker.
    fn read_ahead(&self, steps: &[u32], last: u32) -> Option<(Vec<u32>, u16)> {
        let run = self.last_run(steps)?;
        let (middle, end) = (run.len() / 2, *run.last()?);
        let interval = (self.begin(end) - self.begin(run[middle])) / (run.len() - 1 - middle) as f64;
        let usual = median(run[middle..].iter().take(MAX_STEPS).map(|&step| self.gap(step)).collect());
        let left = (self.begin(last) - self.begin(end)) / interval;
        let depth = left.round();
        let closes = last > end && !self.spans[last as usize].waits && follows(&self.starts[last as usize]);
        let fits =
            (MIN_READ_AHEAD..=MAX_READ_AHEAD).contains(&depth) && (left - depth).abs() < MAX_ROUNDING * depth.sqrt();
        if !(closes && fits && interval >= MIN_INTERVAL_NS && usual >= MIN_GAP_SHARE * interval) {
            return None;
        }
        // While it asks for those its worker takes some, so that it may ask for more.
        let most = (2.0 * depth * interval / usual) as usize + 2;
        let is_short = |step: &u32| self.gap(*step) < MAX_IDLE_SHARE * usual;
        let asked = &run[1..run.len().min(most + 1)];
        let (short, until) = (asked.iter().filter(|step| is_short(step)).count(), asked.iter().rposition(is_short)?);
        let (at_once, waited) = (1 + short, &run[until + 2..]);
        let idle = waited.iter().filter(|step| is_short(step)).count();
        if 2 * (until + 1) > 3 * short
            || at_once + 1 < depth as usize
            || waited.len() < MIN_STEPS
            || 10 * idle > waited.len()
        {
            return None;
        }
        let ticks = [run[1]].into_iter().chain(waited.iter().copied()).chain([last]).collect();
        Some((ticks, depth as u16 - 1))
    }

    /// The steps of the statement that all of the rest is.
    fn last_run<'a>(&self, steps: &'a [u32]) -> Option<&'a [u32]> {
        let statement = self.statement(*steps.last()?);
        let other = steps.iter().rposition(|&step| self.statement(step) != statement);
        let run = &steps[other.map_or(0, |place| place + 1)..];
        (run.len() > MIN_STEPS + 1).then_some(run)
    }
}

/// Let these steps begin by the clock: so long after the one before.
fn wind(starts: &mut [Start], spans: &[Span], ticks: &[u32]) {
    let Some(&first) = ticks.first() else { return };
    let begin = &mut starts[first as usize];
    *begin = Start::new(begin.worker, begin.after(), Starts::Clock, begin.gap);
    for pair in ticks.windows(2) {
        let tick = &mut starts[pair[1] as usize];
        let length = spans[pair[1] as usize].begin - spans[pair[0] as usize].begin;
        *tick = Start::new(tick.worker, tick.after(), Starts::Tick, length);
    }
}

/// Where some waits were much longer, or shorter, the gaps behind them did not make up for that.
fn follow_answers(intervals: &[f64], gaps: &[f64]) -> bool {
    let waits: Vec<f64> = intervals.iter().zip(gaps).map(|(interval, gap)| interval - gap).collect();
    let (wait, gap) = (median(waits.clone()), median(gaps.to_vec()));
    let apart = waits.iter().zip(gaps).filter(|(each, _)| (*each - wait).abs() >= MIN_WAIT_CHANGE_NS);
    let made_up: Vec<f64> = apart.map(|(each, of)| (gap - of) / (each - wait)).collect();
    made_up.len() >= MIN_WAIT_CHANGES && median(made_up) < MAX_COMPENSATED_SHARE
}

/// How far most are from their median.
fn strays(values: &[f64]) -> f64 {
    let middle = median(values.to_vec());
    median(values.iter().map(|value| (value - middle).abs()).collect())
}

/// The upper one of two in the middle; 0 of none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The correlation of the ranks.
fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let (one, other) = (ranks(one), ranks(other));
    let middle = (one.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>();
    product(&one, &other) / (product(&one, &one) * product(&other, &other)).sqrt()
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    for (rank, place) in order.into_iter().enumerate() {
        ranks[place] = rank as f64;
    }
    ranks
}

#[cfg(test)]
#[path = "clocks_tests.rs"]
mod tests;
