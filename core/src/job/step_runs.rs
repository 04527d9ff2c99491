//! Quiet steps that follow each other by a lane: what they take together is a sum, at any RTT.
//!
//! Each begins when the one before it is over, and nothing else goes by their lane meanwhile. So the lane is free later
//! by what all of them take themselves, and by a round trip for each.

use super::Replay;
use super::attribute::Sum;
use super::bit_set::BitSet;
use super::step::{Starts, Step};

/// A run of fewer steps is added up as they come.
const MIN_STEPS: usize = 4;

/// Such steps: they are of one connection, and in one phase.
#[derive(Clone, Copy, Debug)]
pub struct StepRun {
    pub last: u32,
    pub connection: u32,
    pub phase: u32,
    pub worker: u32,
    /// How many steps, each of one round trip.
    pub trips: f64,
    /// What they take beside that, ns.
    pub own: f64,
    /// The same of the last one from when its request was sent.
    pub answer: f64,
}

/// All of a job's, in the order of their last steps.
#[derive(Debug, Default)]
pub struct StepRuns {
    pub all: Vec<StepRun>,
    /// Whose steps these are.
    pub steps: BitSet,
}

impl StepRuns {
    pub fn of(replay: &Replay, quiet: &BitSet) -> StepRuns {
        let mut search = Search {
            found: StepRuns { all: Vec::new(), steps: BitSet::of(replay.steps.len()) },
            open: vec![None; replay.connections.count()],
            holder: vec![NO_WORKER; replay.workers],
        };
        if replay.order.ahead.is_empty() {
            (0..replay.steps.len() as u32)
                .for_each(|number| search.step(number, &replay.step(number), quiet.contains(number)));
        }
        search.open.iter_mut().for_each(|open| close(open, &mut search.found.all));
        search.found.all.sort_unstable_by_key(|stretch| stretch.last);
        search.found
    }
}

const NO_WORKER: u32 = u32::MAX;

/// One that may go on.
#[derive(Clone, Copy)]
struct Open {
    stretch: StepRun,
    own: Sum,
    /// The first of its steps.
    first: [u32; MIN_STEPS - 1],
    count: usize,
}

struct Search {
    found: StepRuns,
    /// Of each connection.
    open: Vec<Option<Open>>,
    /// The connection that has one on each lane.
    holder: Vec<u32>,
}

impl Search {
    fn step(&mut self, number: u32, step: &Step, quiet: bool) {
        let adds_up = quiet && step.starts == Starts::After && step.after == step.worker;
        let goes_on = |open: &Open| adds_up && open.stretch.worker == step.worker && open.stretch.phase == step.phase;
        if !self.open[step.connection as usize].as_ref().is_some_and(goes_on) {
            self.end(step.connection);
            self.end(self.holder[step.worker as usize]);
            match step.starts {
                Starts::AfterPush => self.end(step.after),
                _ => self.end(self.holder.get(step.after as usize).copied().unwrap_or(NO_WORKER)),
            }
        }
        if adds_up {
            self.holder[step.worker as usize] = step.connection;
            let open = self.open[step.connection as usize].get_or_insert_with(|| Open::before(step));
            open.add(number, step, &mut self.found.steps);
        }
    }

    /// Something else of the connection, or of its lane, comes between.
    fn end(&mut self, connection: u32) {
        let Some(open) = self.open.get_mut(connection as usize) else { return };
        if let Some(Open { stretch, .. }) = open {
            self.holder[stretch.worker as usize] = NO_WORKER;
        }
        close(open, &mut self.found.all);
    }
}

fn close(open: &mut Option<Open>, all: &mut Vec<StepRun>) {
    let enough = open.take().filter(|open| open.count >= MIN_STEPS);
    all.extend(enough.map(|open| StepRun { own: open.own.ns(), trips: open.count as f64, ..open.stretch }));
}

impl Open {
    fn before(step: &Step) -> Open {
        let Step { connection, phase, worker, .. } = *step;
        let stretch = StepRun { last: 0, connection, phase, worker, trips: 0.0, own: 0.0, answer: 0.0 };
        Open { stretch, own: Sum::default(), first: [0; MIN_STEPS - 1], count: 0 }
    }

    fn add(&mut self, number: u32, step: &Step, steps: &mut BitSet) {
        match self.first.get_mut(self.count) {
            Some(place) => *place = number,
            None => {
                if self.count == MIN_STEPS - 1 {
                    self.first.iter().for_each(|&first| steps.add(first));
                }
                steps.add(number);
            }
        }
        self.count += 1;
        self.stretch.last = number;
        self.stretch.answer = step.service + step.response;
        self.own.add(step.gap + step.request + self.stretch.answer);
    }
}
