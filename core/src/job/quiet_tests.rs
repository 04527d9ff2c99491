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
