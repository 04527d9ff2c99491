//! What lost packets added to the wait for an answer, and to the answer itself.
//!
//! An exchange with retransmissions is longer than its clean siblings: that excess is loss. Of a packet that was lost
//! before the capture point only the second copy passes, like any other packet. What it cost shows beside sure losses:
//! a wait that is longer than its siblings by as much as a sure time-out of the same path was probably one, too.

use std::collections::HashMap;

use ahash::RandomState;

use super::exchange::Exchange;
use super::facts::median;

/// The shortest retransmission time-out in use (Linux), less what clocks and timers are off; as in `core/src/stream`.
const MIN_TIMEOUT_NS: i64 = 190_000_000;
/// A time-out differs by at most this share from the nearest certain one: it follows the RTT and how that varies.
const MAX_TIMEOUT_SPREAD: f64 = 0.1;
/// At most this many losses before the capture point go with each that is certain behind it.
const MAX_PER_CERTAIN_LOSS: usize = 3;

/// Exchanges in which a loss may show.
#[derive(Debug, Default)]
pub struct Usable {
    rows: Vec<Row>,
    hit: bool,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    row: u32,
    connection: u32,
    /// Its statement, or its command.
    kind: u64,
    hit: bool,
    /// One round trip, and nothing stalled it.
    waits_once: bool,
}

/// What of each row is loss, in ns.
#[derive(Debug, Default)]
pub struct Losses {
    /// Of the wait for its answer, and of the time in which the answer came.
    pub found: Vec<(u32, [i64; 2])>,
    /// No retransmission of these was captured.
    pub probable: Vec<u32>,
}

impl Usable {
    /// The next exchange; `lost_nothing`: all that was sent again on its connection had arrived.
    pub fn add(&mut self, exchange: &Exchange, lost_nothing: bool) {
        if exchange.setup || !exchange.complete {
            return;
        }
        let hit = exchange.resent && !lost_nothing;
        let waits_once = !hit && exchange.round_trips == 1 && !exchange.was_stalled;
        self.hit |= hit;
        let Exchange { row, connection, kind, .. } = *exchange;
        self.rows.push(Row { row, connection, kind, hit, waits_once });
    }

    /// Tell the loss in what each row waited beyond the network (`service`) and what its answer took; `path` is that of
    /// each connection.
    pub fn losses(&self, service: &[i64], response: &[i64], path: &[u32]) -> Losses {
        if !self.hit {
            return Losses::default();
        }
        let waits = self.excess(service);
        let answers = self.excess(response);
        let probable = self.like_timeouts(&waits, path);
        let mut losses = Losses::default();
        for (place, row) in self.rows.iter().enumerate() {
            if row.hit || probable[place] {
                losses.found.push((row.row, [waits[place], if row.hit { answers[place] } else { 0 }]));
            }
            if probable[place] {
                losses.probable.push(row.row);
            }
        }
        losses
    }

    /// How much longer each is than the median of the clean ones of its kind, else of all.
    fn excess(&self, lengths: &[i64]) -> Vec<i64> {
        let clean = || self.rows.iter().filter(|row| !row.hit);
        let length = |row: &Row| lengths[row.row as usize];
        let mut all: Vec<i64> = clean().map(length).collect();
        let overall = if all.is_empty() { f64::INFINITY } else { median(&mut all) };
        let mut of_kinds: HashMap<u64, Vec<i64>, RandomState> = HashMap::default();
        clean().for_each(|row| of_kinds.entry(row.kind).or_default().push(length(row)));
        let middle = |mut lengths: Vec<i64>| {
            lengths.sort_unstable();
            lengths[lengths.len().div_ceil(2) - 1] as f64
        };
        let usual: HashMap<u64, f64, RandomState> =
            of_kinds.into_iter().map(|(kind, lengths)| (kind, middle(lengths))).collect();
        let excess = |row: &Row| {
            let usual = usual.get(&row.kind).copied().unwrap_or(overall);
            (length(row) - usual.min(length(row) as f64) as i64).max(0)
        };
        self.rows.iter().map(excess).collect()
    }

    /// Which clean ones are longer by a time-out; none on paths where other waits are about as long, too.
    fn like_timeouts(&self, excess: &[i64], path: &[u32]) -> Vec<bool> {
        let rows = || self.rows.iter().zip(excess).map(|(row, &excess)| (row, path[row.connection as usize], excess));
        let mut sure: HashMap<u32, Vec<i64>, RandomState> = HashMap::default();
        let long = rows().filter(|(row, _, excess)| row.hit && *excess >= MIN_TIMEOUT_NS);
        long.for_each(|(_, path, excess)| sure.entry(path).or_default().push(excess));
        sure.values_mut().for_each(|lengths| lengths.sort_unstable());
        let may_be = |row: &Row, excess: i64| row.waits_once && 2 * excess >= MIN_TIMEOUT_NS;
        let apart = |path: u32, excess: i64| sure.get(&path).map_or(f64::INFINITY, |sure| nearest(sure, excess));
        let alike = |path: u32, excess: i64| excess >= MIN_TIMEOUT_NS && apart(path, excess) <= MAX_TIMEOUT_SPREAD;
        let mut counts: HashMap<u32, [usize; 2], RandomState> = HashMap::default();
        for (_, path, excess) in rows().filter(|(row, _, excess)| may_be(row, *excess)) {
            let [matching, beside] = counts.entry(path).or_default();
            match alike(path, excess) {
                true => *matching += 1,
                false => *beside += usize::from(apart(path, excess) <= 1.0),
            }
        }
        let few = |path: u32| {
            let [matching, beside] = counts.get(&path).copied().unwrap_or_default();
            matching > beside && matching <= MAX_PER_CERTAIN_LOSS * sure.get(&path).map_or(0, Vec::len)
        };
        rows().map(|(row, path, excess)| may_be(row, excess) && alike(path, excess) && few(path)).collect()
    }
}

/// How far a length is from the nearest of the `sure` ones, which ascend, in parts of that.
fn nearest(sure: &[i64], length: i64) -> f64 {
    let place = sure.partition_point(|&sure| sure < length);
    let neighbours = sure[place.saturating_sub(1)..sure.len().min(place + 1)].iter();
    neighbours.map(|&sure| (length - sure).abs() as f64 / sure as f64).fold(f64::INFINITY, f64::min)
}
