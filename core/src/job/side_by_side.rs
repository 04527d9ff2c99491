//! The intervals of steps that run side by side, as a replay leaves them: 24 bytes each at each RTT.

use super::Replay;
use super::attribute::Kind;
use super::interval::{counts, interval, kind};
use super::network::Network;
use super::pieces::Pieces;
use super::rtt_batch::{RTT_BATCH, Times};
use super::step::Step;

/// The intervals of all steps so far, in their order.
pub struct SideBySide {
    /// At each RTT.
    rtts: Vec<Packed>,
    kinds: Vec<Kind>,
    /// When each connection's are over.
    over: Vec<[i64; RTT_BATCH]>,
}

#[derive(Default)]
struct Packed {
    intervals: Vec<Interval>,
    /// What does not fit.
    others: Vec<(i64, Pieces<i64>)>,
}

/// One of four pieces; of one that does not fit, `request` is its place among the others.
#[derive(Clone, Copy)]
struct Interval {
    begin: i64,
    request: u32,
    network: u32,
    service: u32,
    response: u32,
}

/// Stand for the begin of what does not fit, and of what does not count.
const OTHER: i64 = i64::MIN;
const NOTHING: i64 = i64::MIN + 1;

impl SideBySide {
    /// None yet, at so many RTTs.
    pub fn of(replay: &Replay, rtts: usize) -> SideBySide {
        let steps = replay.steps.len();
        let packed = || Packed { intervals: Vec::with_capacity(steps), others: Vec::new() };
        SideBySide {
            rtts: (0..rtts).map(|_| packed()).collect(),
            kinds: Vec::with_capacity(steps),
            over: vec![[0; RTT_BATCH]; replay.connections.count()],
        }
    }

    /// The next step; each begins where the one before it on its connection ended.
    pub fn add(&mut self, replay: &Replay, network: &Network, step: &Step, moments: &[Times; 4], rtt: Times) {
        self.kinds.push(kind(replay, step));
        let over = &mut self.over[step.connection as usize];
        for (place, (packed, over)) in self.rtts.iter_mut().zip(over).enumerate() {
            let moments = moments.map(|at| at.0[place]);
            let (begin, pieces) = interval(replay, network, step, moments.into(), rtt.0[place], *over);
            *over = begin + pieces.all();
            packed.push(begin, pieces, counts(step, &pieces));
        }
    }

    /// At one of the RTTs: the kind of each that counts, when it begins and its pieces.
    pub fn at(&self, place: usize) -> impl Iterator<Item = (Kind, i64, Pieces<i64>)> {
        let packed = &self.rtts[place];
        let each = self.kinds.iter().zip(&packed.intervals).filter(|(_, interval)| interval.begin != NOTHING);
        each.map(|(&kind, interval)| {
            let (begin, pieces) = packed.unpacked(interval);
            (kind, begin, pieces)
        })
    }
}

impl Packed {
    fn push(&mut self, begin: i64, pieces: Pieces<i64>, counts: bool) {
        let Pieces { request, network, service, response, .. } = pieces;
        let is_usual =
            (request | network | service | response) >> u32::BITS == 0 && begin > NOTHING && !pieces.is_rare();
        let [request, network, service, response] = [request, network, service, response].map(|piece| piece as u32);
        let usual = Interval { begin, request, network, service, response };
        let interval = match (counts, is_usual) {
            (true, true) => usual,
            (true, false) => {
                self.others.push((begin, pieces));
                Interval { begin: OTHER, request: self.others.len() as u32 - 1, ..usual }
            }
            (false, _) => Interval { begin: NOTHING, ..usual },
        };
        self.intervals.push(interval);
    }

    fn unpacked(&self, interval: &Interval) -> (i64, Pieces<i64>) {
        match interval.begin {
            OTHER => self.others[interval.request as usize],
            begin => (begin, interval.pieces()),
        }
    }
}

impl Interval {
    fn pieces(&self) -> Pieces<i64> {
        let [request, network, service, response] =
            [self.request, self.network, self.service, self.response].map(i64::from);
        Pieces { request, network, service, response, ..Pieces::default() }
    }
}
