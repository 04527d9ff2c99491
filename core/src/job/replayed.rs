//! Where the time of a replay goes: by the same rule as that of what was captured.

use super::abreast::ABREAST;
use super::attribute::{Kind, Parts, attribute};
use super::interval::{counts, interval, kind, ns};
use super::pieces::Pieces;
use super::run::{Kept, Run, Walk};
use super::shared_time::SharedTime;
use super::{Network, Replay, shares};

/// So many steps may be divided at a time, at all RTTs together: each takes 80 bytes meanwhile.
const MOST_STEPS: usize = 1 << 22;

/// The parts of the time that `replay` takes at each RTT (NaN for those as they were); a longer pause of the client than
/// `think_ns` is think time.
///
/// As long as nothing runs beside anything else each step is added up when it is over; else all moments are kept first.
pub fn parts(replay: &Replay, rtts_ns: &[f64], network: &Network, think_ns: f64) -> Vec<Parts> {
    let walk = Walk::new(replay, network);
    let alone = replay.lanes == 1 && replay.steps.locks.is_empty();
    let found = if alone { one_by_one(&walk, rtts_ns, think_ns) } else { None };
    found.unwrap_or_else(|| {
        let steps = replay.steps.len();
        let processors = shares::processors(steps).min(MOST_STEPS / steps.max(1));
        shares::each(processors, rtts_ns, |&rtt_ns| shared(&walk, rtt_ns, think_ns))
    })
}

fn one_by_one(walk: &Walk, rtts_ns: &[f64], think_ns: f64) -> Option<Vec<Parts>> {
    let keeping = |rtts_ns: &[f64]| Run::keeping(walk, rtts_ns, Kept::alone(rtts_ns.len(), think_ns));
    let mut runs: Vec<Run> = rtts_ns.chunks(ABREAST).map(keeping).collect();
    walk.all(&mut runs);
    let parts = runs.iter().zip(rtts_ns.chunks(ABREAST)).map(|(run, rtts_ns)| {
        let (Kept::Alone(alone), over) = (&run.kept, run.latest()) else { return None };
        Some((0..rtts_ns.len()).map(|place| alone.parts(place, over[place])).collect::<Vec<_>>())
    });
    parts.collect::<Option<Vec<_>>>().map(|parts| parts.concat())
}

/// At one RTT.
fn shared(walk: &Walk, rtt_ns: f64, think_ns: f64) -> Parts {
    let room = Vec::with_capacity(walk.replay.steps.len());
    let mut runs = [Run::keeping(walk, &[rtt_ns], Kept::Moments(room))];
    walk.all(&mut runs);
    let [run] = &runs;
    let spans = intervals(walk, run).map(|(_, begin, pieces)| (begin, begin + pieces.all()));
    let shared = SharedTime::of(spans.collect(), None);
    let mut parts = attribute(intervals(walk, run), &shared, |_, _| ());
    let (latest, ended) = (run.latest()[0], run.ended(&walk.replay.order)[0]);
    shared.idle(0, ns(latest)).for_each(|gap| parts.idle(gap as f64, think_ns));
    if ended < latest { parts.times(ended / latest) } else { parts }
}

/// The intervals of all steps; each begins where the one before it on its connection ended.
fn intervals(walk: &Walk, run: &Run) -> impl Iterator<Item = (Kind, i64, Pieces<i64>)> {
    let replay = walk.replay;
    let Kept::Moments(moments) = &run.kept else { unreachable!("the moments are kept") };
    let mut before = vec![0; replay.connections.count()];
    (0..).zip(moments).filter_map(move |(number, &moments)| {
        let step = replay.step(number);
        let before = &mut before[step.connection as usize];
        let (begin, pieces) = interval(replay, walk.network, &step, moments.into(), run.rtt(step.phase), *before);
        *before = begin + pieces.all();
        counts(&step, &pieces).then(|| (kind(replay, &step), begin, pieces))
    })
}
