//! What of a job has to be walked turn by turn, and what adds up.
//!
//! A client that asks, waits, and asks again takes its own time and a round trip for every turn, whatever the RTT is,
//! as long as its messages fit the smallest window: each finds its sender at rest, and leaves the window as it was.
//! Such turns of a connection are a *chain*: their times add up, so does what pauses do to the windows, and only its
//! ends are walked. Turns that nothing but the windows can hold up are a *stretch*. All else is walked turn by turn, by
//! the rules in `run.rs`: transfers, pipelines, locks, stalls, what another connection waits for.

use std::mem;

use super::run::FEW_SEGMENTS;
use super::transfer::halvings;
use super::turn::{GOODBYE, HANDSHAKE, Starts, Turn};
use super::{Halvings, Replay};

/// The steps of a job, in their order.
#[derive(Debug, Default)]
pub struct Program {
    pub steps: Vec<Step>,
    pub chains: Vec<Chain>,
    /// The turns of each stretch.
    pub stretches: Vec<Vec<u32>>,
    /// Of turns in chains: how often pauses halved the windows.
    pub halvings: Vec<(u32, Halvings)>,
}

/// By its number.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Turn(u32),
    Chain(u32),
    Stretch(u32),
}

/// Turns of one connection, each of which waits for one round trip behind the one before.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    pub turns: Vec<u32>,
    pub halvings: Halvings,
}

impl Program {
    pub fn of(replay: &Replay) -> Program {
        let mut builder = Builder {
            replay,
            program: Program::default(),
            connections: vec![Follow::default(); replay.connections.len()],
            pending: vec![Pending::Nothing; replay.lanes],
            holders: replay.turns.locks.iter().flat_map(|lock| [lock.holder, lock.waiter]).collect(),
            next_bulk: 0,
        };
        builder.holders.sort_unstable();
        (0..replay.turns.len() as u32).for_each(|number| builder.turn(number));
        (0..replay.lanes as u32).for_each(|lane| builder.let_go(lane));
        builder.program
    }

    /// How many turns all RTTs go through abreast.
    pub fn in_chains(&self) -> usize {
        self.chains.iter().map(|chain| chain.turns.len()).sum()
    }
}

/// What the last turn of a connection lets the next one be.
#[derive(Clone, Copy, Default)]
struct Follow {
    lane: Option<u32>,
    /// It was on several lanes.
    moved: bool,
    phase: u32,
    /// The last turn waited for one round trip and moved no window.
    steady: bool,
    /// It found both senders at rest, and left them so.
    at_rest: bool,
    /// What it took after its round trip.
    tail: f64,
}

/// What of a lane is not among the steps yet, as it is not known what follows.
#[derive(Clone, Default)]
enum Pending {
    #[default]
    Nothing,
    /// The last turn of a chain is walked, unless another one follows.
    Chain(Chain, u32, Halvings),
    Stretch(Vec<u32>),
}

struct Builder<'a> {
    replay: &'a Replay,
    program: Program,
    connections: Vec<Follow>,
    /// Of each lane.
    pending: Vec<Pending>,
    /// Turns that hold a lock or wait for one, ascending.
    holders: Vec<u32>,
    next_bulk: usize,
}

impl Builder<'_> {
    fn turn(&mut self, number: u32) {
        let turn = self.replay.turn(number);
        let before = self.connections[turn.connection as usize];
        let simple = self.is_simple(number, &turn);
        let steady = simple && self.is_steady(&turn);
        let follows = simple && before.is_followed_by(&turn);
        let at_rest = follows && steady && before.steady;
        if at_rest && before.at_rest {
            self.hold(number, &turn, before.tail);
        } else if follows {
            self.stretch(number, turn.lane);
        } else {
            let lanes = [Some(turn.lane), Some(turn.after), before.lane];
            lanes.into_iter().flatten().for_each(|lane| self.let_go(lane));
            self.program.steps.push(Step::Turn(number));
        }
        self.connections[turn.connection as usize] = Follow {
            lane: Some(turn.lane),
            moved: before.moved || before.lane.is_some_and(|lane| lane != turn.lane),
            phase: turn.phase,
            steady,
            at_rest,
            tail: turn.service + turn.response,
        };
    }

    /// Nothing but its round trip and the windows depends on the RTT.
    fn is_simple(&mut self, number: u32, turn: &Turn) -> bool {
        turn.answered
            && !turn.whole
            && turn.row != HANDSHAKE
            && turn.row != GOODBYE
            && turn.stalled_before <= 0.0
            && turn.stalled_within <= 0.0
            && self.holders.binary_search(&number).is_err()
            && !self.has_bulk(number)
    }

    /// Turns come in their order, as their bulks do.
    fn has_bulk(&mut self, number: u32) -> bool {
        let bulks = &self.replay.bulks;
        while bulks.get(self.next_bulk).is_some_and(|bulk| bulk.turn < number) {
            self.next_bulk += 1;
        }
        bulks.get(self.next_bulk).is_some_and(|bulk| bulk.turn == number)
    }

    /// It waits for a round trip, and its messages move no window.
    fn is_steady(&self, turn: &Turn) -> bool {
        turn.trips == 1.0 && self.replay.segments(turn.row).iter().all(|&segments| segments <= FEW_SEGMENTS)
    }

    /// The turn is the last of its lane's chain; the one before it is in its midst now.
    fn hold(&mut self, number: u32, turn: &Turn, before: f64) {
        let times = match &self.replay.left {
            Some(_) => self.replay.halvings[number as usize],
            None => [halvings(before + turn.gap), halvings(turn.gap + turn.request + turn.service)],
        };
        if let Pending::Chain(chain, last, halved) = &mut self.pending[turn.lane as usize] {
            chain.turns.push(*last);
            if *halved != [0; 2] {
                self.program.halvings.push((*last, *halved));
                chain.halvings = [0, 1].map(|side: usize| chain.halvings[side].saturating_add(halved[side]));
            }
            (*last, *halved) = (number, times);
        } else {
            self.let_go(turn.lane);
            self.pending[turn.lane as usize] = Pending::Chain(Chain::default(), number, times);
        }
    }

    fn stretch(&mut self, number: u32, lane: u32) {
        if let Pending::Stretch(numbers) = &mut self.pending[lane as usize] {
            numbers.push(number);
            return;
        }
        self.let_go(lane);
        self.pending[lane as usize] = Pending::Stretch(vec![number]);
    }

    /// Something else than its next turn needs to know when the lane's last turn was over.
    fn let_go(&mut self, lane: u32) {
        let Program { steps, chains, stretches, .. } = &mut self.program;
        match mem::take(&mut self.pending[lane as usize]) {
            Pending::Nothing => {}
            Pending::Chain(chain, last, _) => {
                if !chain.turns.is_empty() {
                    steps.push(Step::Chain(chains.len() as u32));
                    chains.push(chain);
                }
                steps.push(Step::Turn(last));
            }
            Pending::Stretch(turns) if turns.len() < FEW_TURNS => steps.extend(turns.into_iter().map(Step::Turn)),
            Pending::Stretch(turns) => {
                steps.push(Step::Stretch(stretches.len() as u32));
                stretches.push(turns);
            }
        }
    }
}

impl Follow {
    /// The next turn of the connection begins and ends after the turn before it, and so do its messages, a round trip
    /// later for each that it waits: at any RTT.
    fn is_followed_by(&self, turn: &Turn) -> bool {
        self.lane == Some(turn.lane)
            && !self.moved
            && self.phase == turn.phase
            && turn.starts == Starts::After
            && turn.after == turn.lane
            && turn.gap >= 0.0
            && turn.request >= 0.0
            && turn.response >= 0.0
            && self.tail + turn.gap >= 0.0
            && turn.gap + turn.request + turn.service >= 0.0
    }
}

/// Fewer turns in a row are walked as quickly as they add up.
const FEW_TURNS: usize = 4;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::replay::tests::NETWORK;
    use crate::replay::{Changes, Job, Network, UNSEEN, Waiting};

    const MS: f64 = 1e6;
    /// Of an exchange: its connection, then what it took in µs: the client before it, its request, the server beyond an
    /// RTT of 1 ms, and its response; the segments of both; what is left of its wait when it is fixed.
    type Exchange = (u32, [i64; 4], [f64; 2], f64);

    fn exchanges() -> impl Strategy<Value = Vec<Exchange>> {
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
    fn job(mut exchanges: Vec<Exchange>) -> (Job<'static>, Changes<'static>) {
        exchanges.sort_by_key(|&(connection, ..)| connection);
        let count = exchanges.len();
        let mut now = [0; 2];
        let times = exchanges.iter().map(|&(connection, [gap, request, service, response], ..)| {
            let now = &mut now[connection as usize];
            let asked = *now + 1000 * gap;
            let sent = asked + 1000 * request;
            let answered = sent + 1000 * (1000 + service);
            *now = answered + 1000 * response;
            [asked, sent, answered, *now]
        });
        let times: Vec<[i64; 4]> = times.collect();
        let of = |place: usize| times.iter().map(|times| times[place]).collect::<Vec<i64>>().into();
        let of_two = |value: f64| vec![value; 2].into();
        let segments = |side: usize| exchanges.iter().map(|&(_, _, sizes, _)| sizes[side]).collect::<Vec<f64>>().into();
        let whole = || vec![1.0; count].into();
        let alone = vec![1; count].into();
        let job = Job {
            baseline_ns: of_two(MS),
            low_ns: of_two(0.9 * MS),
            high_ns: of_two(1.1 * MS),
            opening: vec![0, 1].into(),
            client: vec![0; 2].into(),
            opened_ns: vec![UNSEEN; 2].into(),
            established_ns: vec![UNSEEN; 2].into(),
            closed_ns: vec![UNSEEN; 2].into(),
            server_first: vec![false; 2].into(),
            near_ns: of_two(0.0),
            segment_bytes: of_two(1448.0),
            client_window_bytes: of_two(f64::INFINITY),
            server_window_bytes: of_two(f64::INFINITY),
            connection: exchanges.iter().map(|&(connection, ..)| connection).collect::<Vec<u32>>().into(),
            phase: exchanges.iter().map(|&(connection, ..)| connection).collect::<Vec<u32>>().into(),
            request_ns: of(0),
            request_end_ns: of(1),
            response_ns: of(2),
            response_end_ns: of(3),
            round_trips: alone,
            stalled_before_ns: vec![0.0; count].into(),
            stalled_within_ns: vec![0.0; count].into(),
            request_segments: segments(0),
            response_segments: segments(1),
            setup: vec![false; count].into(),
            ends_transaction: vec![false; count].into(),
            shared: vec![false; count].into(),
            deferred: vec![false; count].into(),
        };
        let changes = Changes {
            closed: vec![false; 2].into(),
            trips: exchanges.iter().map(|&(.., left)| left).collect::<Vec<f64>>().into(),
            gap: whole(),
            service: exchanges.iter().map(|&(.., left)| left).collect::<Vec<f64>>().into(),
            stalled_before: vec![true; count].into(),
            stalled_within: vec![true; count].into(),
            request_segments: job.request_segments.clone(),
            response_segments: job.response_segments.clone(),
        };
        (job, changes)
    }

    impl Replay {
        /// Each turn walked.
        fn walked(&self) -> Replay {
            let steps = (0..self.turns.len() as u32).map(Step::Turn).collect();
            Replay { program: Arc::new(Program { steps, ..Program::default() }), ..self.clone() }
        }
    }

    proptest! {
        #[test]
        fn what_adds_up_takes_as_long_as_when_it_is_walked(exchanges in exchanges(), waiting in 0..3_usize) {
            let (job, changes) = job(exchanges);
            let waiting = [Waiting::Evidence, Waiting::Independent, Waiting::Chained][waiting];
            let replay = Replay::new(&job, waiting, &NETWORK);
            let walked = replay.walked().learned(&NETWORK);
            prop_assert_eq!(&*replay.halvings, &*walked.halvings);
            let rtts = [0.0, 0.01, 0.3, 1.0, 2.5, 15.0, 100.0].map(|ms| ms * MS);
            let networks = [NETWORK, Network { growth: 1.5, baseline: -1, ..NETWORK }, Network { restarts: false, ..NETWORK }];
            for network in networks {
                prop_assert_eq!(replay.run(&rtts, &network), walked.run(&rtts, &network));
                let fixed = replay.changed(&changes).unwrap();
                prop_assert_eq!(fixed.run(&rtts, &network), fixed.walked().run(&rtts, &network));
            }
        }
    }

    proptest! {
        #[test]
        fn a_job_is_the_same_in_whatever_way_its_turns_waited_before(exchanges in exchanges(), waiting in 0..3_usize) {
            let (job, _) = job(exchanges);
            let ways = [Waiting::Evidence, Waiting::Independent, Waiting::Chained];
            let found = Replay::new(&job, ways[waiting], &NETWORK);
            for way in ways {
                let (anew, otherwise) = (Replay::new(&job, way, &NETWORK), found.waiting(&job, way, &NETWORK).unwrap());
                let rtts = [0.0, 0.3, 1.0, 15.0].map(|ms| ms * MS);
                prop_assert_eq!(otherwise.run(&rtts, &NETWORK), anew.run(&rtts, &NETWORK));
            }
        }
    }

    #[test]
    fn a_client_that_only_waits_is_one_chain() {
        let (job, _) = job(vec![(0, [50, 0, 100, 0], [1.0, 1.0], 1.0); 1000]);
        let replay = Replay::new(&job, Waiting::Evidence, &NETWORK);
        assert_eq!((replay.program.chains.len(), replay.program.in_chains()), (1, 997));
        assert_eq!(replay.program.steps.len(), 4, "three turns and the chain");
    }
}
