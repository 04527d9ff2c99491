//! Steps in which no window has a part.
//!
//! A client that asks, waits, and asks again takes its own time and a round trip for every step, whatever the RTT is,
//! as long as its messages fit the smallest window: each finds its sender at rest, and leaves the window as it was.
//! Such steps are *quiet*: what they take is added to when the one before was over, and what the network's senders do
//! need not be followed. Only the last one before a step that is not quiet is: that one goes on from there. Those that
//! follow each other by a lane are a sum (`step_runs.rs`).

use super::Replay;
use super::bit_set::BitSet;
use super::bulk::FEW_SEGMENTS;
use super::step::{Starts, Step};
use super::step_body::is_exchange;
use super::step_runs::StepRuns;

/// Which steps of a job are quiet.
#[derive(Debug, Default)]
pub struct Quiet {
    bits: BitSet,
    count: usize,
    pub stretches: StepRuns,
}

impl Quiet {
    pub fn of(replay: &Replay) -> Quiet {
        let mut search = Search {
            replay,
            found: Quiet { bits: BitSet::of(replay.steps.len()), ..Quiet::default() },
            connections: vec![Before::default(); replay.connections.count()],
            holders: replay.steps.locks.iter().flat_map(|lock| [lock.holder, lock.waiter]).collect(),
            next_bulk: 0,
            next_lock: 0,
        };
        search.holders.sort_unstable();
        (0..replay.steps.len() as u32).for_each(|number| search.step(number));
        Quiet { stretches: StepRuns::of(replay, &search.found.bits), ..search.found }
    }

    pub fn contains(&self, number: u32) -> bool {
        self.bits.contains(number)
    }

    /// How many steps are quiet.
    pub fn count(&self) -> usize {
        self.count
    }

    fn add(&mut self, number: u32) {
        self.bits.add(number);
        self.count += 1;
    }

    fn remove(&mut self, number: u32) {
        self.bits.remove(number);
        self.count -= 1;
    }
}

/// What the steps so far of a connection let the next one be.
#[derive(Clone, Copy, Default)]
struct Before {
    /// It has had a step.
    used: bool,
    /// A lane that is never free before all of them are over.
    worker: Option<u32>,
    phase: u32,
    /// The last step waited for one round trip and moved no window.
    steady: bool,
    /// It found both senders at rest, and left them so.
    at_rest: bool,
    /// How long after its end messages of the steps so far may still be sent, without a round trip between.
    late: f64,
    /// It is quiet, unless the next one is not.
    quiet: Option<u32>,
}

struct Search<'a> {
    replay: &'a Replay,
    found: Quiet,
    connections: Vec<Before>,
    /// Steps that hold a lock or wait for one, ascending.
    holders: Vec<u32>,
    next_bulk: usize,
    next_lock: usize,
}

impl Search<'_> {
    fn step(&mut self, number: u32) {
        let step = self.replay.step(number);
        let before = self.connections[step.connection as usize];
        let simple = self.is_simple(number, &step);
        let steady = simple && self.is_steady(&step);
        let at_rest = steady && before.steady && before.is_followed_by(&step);
        let quiet = at_rest && before.at_rest;
        if quiet {
            self.found.add(number);
        } else if let Some(last) = before.quiet {
            self.found.remove(last);
        }
        self.connections[step.connection as usize] = Before {
            used: true,
            worker: before.lane_with(&step),
            phase: step.phase,
            steady,
            at_rest,
            late: before.late_after(&step),
            quiet: quiet.then_some(number),
        };
        self.release(number);
    }

    /// Who waited for a lock of this step is over later.
    fn release(&mut self, number: u32) {
        let locks = &self.replay.steps.locks;
        while let Some(lock) = locks.get(self.next_lock).filter(|lock| lock.holder == number) {
            if lock.waiter < number {
                let waiter = self.replay.step(lock.waiter);
                let connection = &mut self.connections[waiter.connection as usize];
                connection.worker = connection.worker.filter(|&worker| worker == waiter.worker);
            }
            self.next_lock += 1;
        }
    }

    /// Nothing but its round trip and the windows depends on the RTT.
    fn is_simple(&mut self, number: u32, step: &Step) -> bool {
        step.answered
            && !matches!(step.starts, Starts::Clock | Starts::Tick | Starts::AfterPush)
            && !step.whole
            && is_exchange(step.row)
            && self.replay.silence_of(step.row).is_none()
            && step.stalled_before <= 0.0
            && step.stalled_within <= 0.0
            && self.holders.binary_search(&number).is_err()
            && !self.has_bulk(number)
    }

    /// Steps come in their order, as their bulks do.
    fn has_bulk(&mut self, number: u32) -> bool {
        let bulks = &self.replay.bulks;
        while bulks.get(self.next_bulk).is_some_and(|bulk| bulk.step < number) {
            self.next_bulk += 1;
        }
        bulks.get(self.next_bulk).is_some_and(|bulk| bulk.step == number)
    }

    /// It waits for a round trip, and its messages move no window.
    fn is_steady(&self, step: &Step) -> bool {
        step.trips == 1.0 && self.replay.segments(step.row).iter().all(|&segments| segments <= FEW_SEGMENTS)
    }
}

impl Before {
    /// The next step of the connection begins and ends after all before it, and so do its messages, a round trip later
    /// for each that it waits: at any RTT.
    fn is_followed_by(&self, step: &Step) -> bool {
        let after_all = match step.starts {
            Starts::After => {
                self.worker == Some(step.after)
                    && step.gap >= self.late
                    && step.gap + step.request + step.service >= 0.0
            }
            Starts::AfterOther => self.late <= 0.0 && step.request + step.service >= 0.0,
            Starts::AtFirst | Starts::With | Starts::Clock | Starts::Tick | Starts::AfterPush => false,
        };
        after_all && self.phase == step.phase && step.request >= 0.0 && step.response >= 0.0
    }

    /// A step that was answered sooner than the RTT ends before its request at a shorter one, and whatever follows may
    /// take its time until that is caught up.
    fn late_after(&self, step: &Step) -> f64 {
        let own = -(step.service + step.response);
        let before = match step.starts {
            Starts::After => self.late - (step.gap + step.request + step.service + step.response),
            Starts::AfterOther | Starts::AtFirst | Starts::With | Starts::Clock | Starts::Tick | Starts::AfterPush => {
                self.late
            }
        };
        own.max(before).max(0.0)
    }

    /// The lane that is never free before the step is over, and all before it.
    fn lane_with(&self, step: &Step) -> Option<u32> {
        let begins_after_all = match step.starts {
            Starts::After => self.worker == Some(step.after) && step.gap >= 0.0,
            Starts::AfterOther | Starts::Clock | Starts::Tick | Starts::AfterPush => true,
            Starts::AtFirst | Starts::With => false,
        };
        let grows = step.request >= 0.0
            && step.request + step.service >= 0.0
            && step.response >= 0.0
            && step.stalled_before <= 0.0
            && step.stalled_within <= 0.0;
        let holds = !self.used || self.worker == Some(step.worker) || begins_after_all && grows;
        holds.then_some(step.worker)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::job::tests::{Made, NETWORK};
    use crate::job::{Changes, Effect, Network, Waiting};

    const MS: f64 = 1e6;
    /// Sums are rounded elsewhere than times that are added one by one.
    const PICOSECOND: f64 = 1e-3;
    /// Of an exchange: its connection, then what it took in µs: the client before it, its request, the server beyond an
    /// RTT of 1 ms, and its response; the segments of both; what is left of its wait when it is fixed.
    type Asked = (u32, [i64; 4], [f64; 2], f64);

    fn exchanges() -> impl Strategy<Value = Vec<Asked>> {
        let times = (
            prop_oneof![8 => 0..900_i64, 1 => 200_000..900_000_i64],
            prop_oneof![9 => Just(0), 1 => 0..500_i64],
            prop_oneof![9 => 0..900_i64, 1 => -900..0_i64],
            prop_oneof![9 => Just(0), 1 => 0..500_i64],
        );
        let segments = || prop_oneof![12 => Just(1.0), 3 => 0.1..5.0, 1 => 5.0..80.0];
        let left = prop_oneof![3 => Just(1.0), 5 => Just(0.0), 1 => 0.0..1.0];
        let exchange = (0..3_u32, times, [segments(), segments()], left);
        let exchange = exchange.prop_map(|(row, (gap, request, service, response), segments, left)| {
            (row.saturating_sub(1), [gap, request, service, response], segments, left)
        });
        proptest::collection::vec(exchange, 1..120)
    }

    /// Two connections, each of which asks again when it was answered.
    fn job(mut exchanges: Vec<Asked>) -> (Made, Changes<'static>) {
        exchanges.sort_by_key(|&(connection, ..)| connection);
        let (count, mut now, mut job) = (exchanges.len(), [0; 2], Made::with(2, MS));
        for &(connection, [gap, request, service, response], segments, _) in &exchanges {
            let now = &mut now[connection as usize];
            let asked = *now + 1000 * gap;
            let sent = asked + 1000 * request;
            let answered = sent + 1000 * (1000 + service);
            *now = answered + 1000 * response;
            let exchange = job.exchange(connection, [asked, sent, answered, *now]);
            (exchange.segments, exchange.alone) = (segments, segments);
        }
        let saved: Vec<f64> = exchanges.iter().map(|&(.., left)| 1.0 - left).collect();
        let (rows, stall_ns) = ((0..count as i64).collect(), vec![0.0; count].into());
        let fix = Effect { rows, saved: saved.into(), stall_ns, service: 1.0, ..Effect::default() };
        (job, Changes { effects: vec![fix], ..Changes::default() })
    }

    impl Replay {
        /// Each step walked.
        fn walked(&self) -> Replay {
            Replay { quiet: Arc::default(), ..self.clone() }
        }
    }

    proptest! {
        #[test]
        fn what_adds_up_takes_as_long_as_when_it_is_walked(
            exchanges in exchanges(), waiting in 0..3_usize, listens in any::<bool>(),
        ) {
            let (mut job, changes) = job(exchanges);
            let told = job.exchanges.iter_mut().filter(|exchange| listens && exchange.connection == 1);
            told.for_each(|exchange| exchange.since_push = 0.2 * MS);
            let waiting = [Waiting::Evidence, Waiting::Independent, Waiting::Chained][waiting];
            let replay = job.replay(waiting);
            let walked = replay.walked().calibrated(&NETWORK);
            prop_assert_eq!(&*replay.halvings, &*walked.halvings);
            let rtts = [0.0, 0.01, 0.3, 1.0, 2.5, 15.0, 100.0].map(|ms| [ms * MS, 0.0]);
            let networks = [NETWORK, Network { growth: 1.5, baseline: -1, ..NETWORK }, Network { restarts: false, ..NETWORK }];
            for network in networks {
                let fixed = replay.changed(&job.job(), &changes).unwrap();
                for (added, walked) in [(&replay, &walked), (&fixed, &fixed.walked())] {
                    let both = added.run(&rtts, &network).into_iter().zip(walked.run(&rtts, &network));
                    for (added, walked) in both {
                        prop_assert!((added - walked).abs() <= PICOSECOND, "{added} {walked}");
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_job_is_the_same_in_whatever_way_its_steps_waited_before(exchanges in exchanges(), waiting in 0..3_usize) {
            let (job, _) = job(exchanges);
            let ways = [Waiting::Evidence, Waiting::Independent, Waiting::Chained];
            let found = job.replay(ways[waiting]);
            for (way, otherwise) in ways.into_iter().zip(found.waiting(&job.job(), &ways, &NETWORK).unwrap()) {
                let anew = job.replay(way);
                let otherwise = otherwise.unwrap_or_else(|| found.clone());
                let rtts = [0.0, 0.3, 1.0, 15.0].map(|ms| [ms * MS, 0.0]);
                prop_assert_eq!(otherwise.run(&rtts, &NETWORK), anew.run(&rtts, &NETWORK));
            }
        }
    }

    proptest! {
        #[test]
        fn the_parts_of_a_replay_sum_to_what_it_takes(exchanges in exchanges(), alone in any::<bool>()) {
            let of_one = |(connection, times, segments, left)| (if alone { 0 } else { connection }, times, segments, left);
            let (job, changes) = job(exchanges.into_iter().map(of_one).collect());
            let replay = job.replay(Waiting::Evidence);
            let rtts = [f64::NAN, 0.0, 0.3 * MS, MS, 15.0 * MS, 100.0 * MS];
            for network in [NETWORK, Network { loss: 0.01, ..NETWORK }, Network { bandwidth: 1e7, ..NETWORK }] {
                for replay in [replay.clone(), replay.changed(&job.job(), &changes).unwrap()] {
                    let over = replay.run(&rtts.map(|rtt_ns| [rtt_ns, 0.0]), &network);
                    let parts = |rtts: &[f64]| replay.parts(rtts, &network, 500.0 * MS, rtts.len() == 1);
                    for ((all, over), rtt) in parts(&rtts).iter().zip(over).zip(rtts) {
                        let named = all.parts.named().map(|(name, part)| (name != "setup_network", part.ns()));
                        let one = parts(&[rtt])[0].parts.named().map(|(name, part)| (name != "setup_network", part.ns()));
                        prop_assert!(replay.workers == 1 || one == named, "whichever RTTs it is asked for with");
                        prop_assert!(named.iter().all(|&(_, part)| part >= 0.0));
                        let sum: f64 = named.iter().filter(|(counts, _)| *counts).map(|(_, part)| part).sum();
                        prop_assert!((sum - over).abs() < 1.0, "{sum} {over}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_request_that_ends_after_its_early_answer_still_counts_for_the_steps_after_the_next() {
        let at_once = |segments| (0, [0; 4], [segments, 1.0], 1.0);
        let early = (0, [478, 0, -478, 0], [4.0, 1.0], 1.0);
        let (job, _) = job(vec![early, at_once(4.0), at_once(1.0), at_once(1.0), at_once(1.0)]);
        let replay = job.replay(Waiting::Evidence);
        let rtts = [[0.0, 0.0], [0.01 * MS, 0.0]];
        assert_eq!(replay.run(&rtts, &NETWORK), replay.walked().run(&rtts, &NETWORK));
    }

    #[test]
    fn of_a_client_that_only_waits_all_is_a_sum_but_the_beginning() {
        let (job, _) = job(vec![(0, [50, 0, 100, 0], [1.0, 1.0], 1.0); 1000]);
        let replay = job.replay(Waiting::Evidence);
        assert_eq!(replay.quiet.count(), 998);
        let stretches: Vec<f64> = replay.quiet.stretches.all.iter().map(|stretch| stretch.trips).collect();
        assert_eq!(stretches, [998.0]);
    }
}
