//! Where the time of a replay goes: by the same rule as that of what was captured.

use super::abreast::ABREAST;
use super::attribute::{Kind, Parts, attribute};
use super::interval::{counts, interval, kind, ns};
use super::pieces::Pieces;
use super::run::{Kept, Run, Walk};
use super::shared_time::SharedTime;
use super::{Network, Replay, shares};

/// Processors divide so many in all at a time, each 50 bytes beside its moments.
const MOST_STEPS: usize = 1 << 24;

/// The parts of the time that `replay` takes at each RTT (NaN for those as they were); a longer pause of the client than
/// `think_ns` is think time.
///
/// As long as nothing runs beside anything else each step is added up when it is over; else all moments are kept first.
pub fn parts(replay: &Replay, rtts_ns: &[f64], network: &Network, think_ns: f64) -> Vec<Parts> {
    let walk = Walk::new(replay, network);
    let alone = replay.lanes == 1 && replay.steps.locks.is_empty();
    let found = if alone { one_by_one(&walk, rtts_ns, think_ns) } else { None };
    found.unwrap_or_else(|| {
        let processors = shares::processors(replay.steps.len()).min(MOST_STEPS / replay.steps.len().max(1)).max(1);
        let pieces: Vec<_> = rtts_ns.chunks(ABREAST.div_ceil(processors)).collect();
        shares::each(processors, &pieces, |rtts_ns| shared(&walk, rtts_ns, think_ns)).concat()
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

fn shared(walk: &Walk, rtts_ns: &[f64], think_ns: f64) -> Vec<Parts> {
    let room = Vec::with_capacity(walk.replay.steps.len() * rtts_ns.len());
    let mut runs = [Run::keeping(walk, rtts_ns, Kept::Moments(rtts_ns.len(), room))];
    walk.all(&mut runs);
    let [run] = &runs;
    (0..rtts_ns.len()).map(|place| At { walk, run, place }.parts(think_ns)).collect()
}

/// A replay at one of the RTTs of a run.
struct At<'a> {
    walk: &'a Walk<'a>,
    run: &'a Run,
    place: usize,
}

impl At<'_> {
    fn parts(&self, think_ns: f64) -> Parts {
        let spans = self.intervals().map(|(_, begin, pieces)| (begin, begin + pieces.all()));
        let shared = SharedTime::of(spans.collect(), None);
        let mut parts = attribute(self.intervals(), &shared, |_, _| ());
        shared.idle(0, ns(self.run.latest()[self.place])).for_each(|gap| parts.idle(gap as f64, think_ns));
        parts
    }

    /// The intervals of all steps; each begins where the one before it on its connection ended.
    fn intervals(&self) -> impl Iterator<Item = (Kind, i64, Pieces<i64>)> {
        let replay = self.walk.replay;
        let Kept::Moments(rtts, moments) = &self.run.kept else { unreachable!("the moments are kept") };
        let mut before = vec![0; replay.connections.count()];
        (0..).zip(moments.iter().skip(self.place).step_by(*rtts)).filter_map(move |(number, &moments)| {
            let step = replay.step(number);
            let before = &mut before[step.connection as usize];
            let rtt = self.run.rtt(step.phase, self.place);
            let (begin, pieces) = interval(replay, self.walk.network, &step, moments.into(), rtt, *before);
            *before = begin + pieces.all();
            counts(&step, &pieces).then(|| (kind(replay, &step), begin, pieces))
        })
    }
}
