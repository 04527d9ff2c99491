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
#[path = "quiet_tests.rs"]
mod tests;
