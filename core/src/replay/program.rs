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
            connections: vec![Follow::default(); replay.job.connections()],
            pending: vec![Pending::Nothing; replay.lanes],
            holders: replay.locks.iter().flat_map(|lock| [lock.holder, lock.waiter]).collect(),
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
        turn.trips == 1.0 && self.replay.segments(turn).iter().all(|&segments| segments <= FEW_SEGMENTS)
    }

    /// The turn is the last of its lane's chain; the one before it is in its midst now.
    fn hold(&mut self, number: u32, turn: &Turn, before: f64) {
        let times = match &self.replay.changes {
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
