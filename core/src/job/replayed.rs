//! Where the time of a replay goes: by the same rule as that of what was captured.

use super::attribute::{Kind, Parts, attribute};
use super::interval::ns;
use super::rtt_batch::{RTT_BATCH, Times};
use super::run::{Kept, Pauses, Run, Walk};
use super::shared_time::SharedTime;
use super::side_by_side::SideBySide;
use super::{Network, Replay, shares};

/// So many steps may be divided at a time by all processors together, and of more steps two times all: each takes up to
/// 104 bytes meanwhile, 176 where some wait for locks.
const MAX_STEPS: usize = 1 << 19;
/// RTTs that go through the steps together: more would be faster, but 24 bytes of each step are kept for each.
const RTTS_TOGETHER: usize = 2;

/// The parts of the time of a replay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Divided {
    pub parts: Parts,
    pub own: Own,
}

/// Own time of clients and servers in ns, whoever else was busy meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    pub client: f64,
    pub think: f64,
    pub service: f64,
}

impl Own {
    /// The parts by their names.
    pub fn named(&self) -> [(&'static str, f64); 3] {
        [("client", self.client), ("think", self.think), ("service", self.service)]
    }
}

/// The parts of the time that `replay` takes at each RTT (NaN for those as they were); a longer pause of the client
/// than `think_ns` is think time.
///
/// As long as nothing runs beside anything else each step is added up when it is over; else all intervals are kept
/// first: of each RTT for itself where memory is scarce.
pub fn parts(replay: &Replay, rtts_ns: &[f64], network: &Network, think_ns: f64, scarce: bool) -> Vec<Divided> {
    let walk = Walk::new(replay, network);
    let alone = replay.workers == 1 && replay.steps.locks.is_empty();
    let found = if alone { one_by_one(&walk, rtts_ns, think_ns) } else { None };
    found.unwrap_or_else(|| {
        let steps = replay.steps.len();
        let at_once = if scarce && replay.waits_for_locks() { 1 } else { 2 };
        let processors = shares::processors(steps).min((MAX_STEPS / steps.max(1)).max(at_once));
        let pieces = processors * rtts_ns.len().div_ceil(processors * if scarce { 1 } else { RTTS_TOGETHER });
        let pieces = evenly(rtts_ns, pieces.min(rtts_ns.len()));
        shares::each(processors, &pieces, |rtts_ns| shared(&walk, rtts_ns, think_ns)).concat()
    })
}

/// So many pieces of as many items each; the first ones may have one more.
fn evenly<T>(items: &[T], pieces: usize) -> Vec<&[T]> {
    let begin = |piece: usize| (piece * items.len()).div_ceil(pieces);
    (0..pieces).map(|piece| &items[begin(piece)..begin(piece + 1)]).collect()
}

/// Nobody else was busy.
fn undivided(parts: Parts) -> Divided {
    let Parts { client, think, service, .. } = parts;
    Divided { parts, own: Own { client: client.ns(), think: think.ns(), service: service.ns() } }
}

fn one_by_one(walk: &Walk, rtts_ns: &[f64], think_ns: f64) -> Option<Vec<Divided>> {
    let keeping = |rtts_ns: &[f64]| Run::keeping(walk, rtts_ns, Kept::alone(rtts_ns.len(), think_ns));
    let mut runs: Vec<Run> = rtts_ns.chunks(RTT_BATCH).map(keeping).collect();
    walk.all(&mut runs);
    let parts = runs.iter().zip(rtts_ns.chunks(RTT_BATCH)).map(|(run, rtts_ns)| {
        let (Kept::Alone(alone), over) = (&run.kept, run.latest()) else { return None };
        Some((0..rtts_ns.len()).map(|place| undivided(alone.parts(place, over[place]))).collect::<Vec<_>>())
    });
    parts.collect::<Option<Vec<_>>>().map(|parts| parts.concat())
}

/// At a few RTTs.
fn shared(walk: &Walk, rtts_ns: &[f64], think_ns: f64) -> Vec<Divided> {
    let kept = match walk.replay.waits_for_locks() {
        true => Kept::Moments(Vec::with_capacity(walk.replay.steps.len())),
        false => Kept::SideBySide(Box::new(SideBySide::of(walk.replay, rtts_ns.len()))),
    };
    let mut runs = [Run::keeping(walk, rtts_ns, kept)];
    runs[0].pauses = Some(Pauses::above(think_ns));
    walk.all(&mut runs);
    let [run] = &mut runs;
    let intervals = match std::mem::replace(&mut run.kept, Kept::Nothing) {
        Kept::SideBySide(intervals) => *intervals,
        Kept::Moments(moments) => of_moments(walk, run, rtts_ns.len(), moments),
        Kept::Nothing | Kept::Alone(_) | Kept::Beside => unreachable!("the intervals are kept"),
    };
    let (latest, ended) = (run.latest(), run.ended(&walk.replay.order));
    let pauses = run.pauses.take().unwrap_or_default();
    let parts = (0..rtts_ns.len()).map(|place| {
        let spans = || intervals.at(place).map(|(_, begin, pieces)| (begin, begin + pieces.all()));
        let shared = SharedTime::of(spans(), None);
        let mut parts = attribute(intervals.at(place), &shared, |_, _| ());
        shared.idle(0, ns(latest[place])).for_each(|gap| parts.idle(gap as f64, think_ns));
        let parts = if ended[place] < latest[place] { parts.times(ended[place] / latest[place]) } else { parts };
        let [client, think] = pauses.at(place);
        let work = intervals.at(place).filter(|(kind, ..)| *kind == Kind::Work);
        let service = work.map(|(.., pieces)| pieces.service as f64).sum();
        Divided { parts, own: Own { client, think, service } }
    });
    parts.collect()
}

/// Who waited for a lock was over only when others were, so intervals are known when all are.
fn of_moments(walk: &Walk, run: &Run, rtts: usize, moments: Vec<[Times; 4]>) -> SideBySide {
    let mut found = SideBySide::of(walk.replay, rtts);
    for (number, moments) in (0..).zip(&moments) {
        let step = walk.replay.step(number);
        found.add(walk.replay, walk.network, &step, moments, run.rtt(step.phase));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_as_long_as_each_other_and_nothing_is_left_out() {
        let lengths =
            |of: usize, pieces| evenly(&vec![(); of], pieces).iter().map(|piece| piece.len()).collect::<Vec<_>>();
        assert_eq!(lengths(10, 4), [3, 2, 3, 2]);
        assert!(lengths(0, 0).is_empty());
        assert_eq!(lengths(3, 3), [1, 1, 1]);
    }
}
