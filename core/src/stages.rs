//! Stages that work side by side, each on a batch of its own.
//!
//! Every batch passes all stages, and every stage takes the batches in their order: what comes out depends neither on the
//! number of threads nor on which of them does what when. A thread takes whatever can be done next, so that none waits
//! while there is work; but the first stage stays with the thread that asked for all this, since what it reads may be a
//! Python object that only this thread can interrupt.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Batches under way. The first stage gets each of them back, with what the others found, so many batches later.
pub const BATCHES: usize = 4;
/// So many batches are done without help: starting threads takes longer than a small capture.
const ALONE: u64 = 8;

/// One of the stages behind the first.
pub type Stage<'a, B> = Box<dyn FnMut(&mut B) + Send + 'a>;

/// Runs `first` until it returns false, and each of its batches through the `later` stages, on so many threads.
pub fn run<B: Default + Send>(threads: usize, mut first: impl FnMut(&mut B) -> bool, later: Vec<Stage<'_, B>>) {
    let helpers = threads.saturating_sub(1).min(later.len());
    let line = Line::new(later);
    thread::scope(|scope| {
        let mut ahead = 1;
        while let Some((stage, number)) = line.wait_for_work(ahead) {
            if number == ALONE && stage == 0 && helpers > 0 {
                ahead = BATCHES as u64;
                // Where the system gives no further thread, this one does all.
                (0..helpers).for_each(|_| drop(thread::Builder::new().spawn_scoped(scope, || line.help())));
            }
            let failure = Failure(&line);
            match stage {
                0 => line.pass_first(number, &mut first),
                _ => line.pass(stage, number),
            }
            std::mem::forget(failure);
        }
    });
}

struct Line<'a, B> {
    batches: [Mutex<B>; BATCHES],
    later: Vec<Mutex<Stage<'a, B>>>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// How many batches have passed each stage, the first one among them.
    passed: Vec<u64>,
    busy: Vec<bool>,
    /// No further batch begins.
    ended: bool,
    /// A stage has panicked.
    failed: bool,
}

impl State {
    /// The stage and the number of the batch that can be worked on next; a new one only while fewer are under way than
    /// `ahead`, else what is nearest to the end.
    fn next(&self, ahead: u64) -> Option<(usize, u64)> {
        let last = self.passed.len() - 1;
        let waits = |&stage: &usize| !self.busy[stage] && self.passed[stage] < self.passed[stage - 1];
        let stage = match !self.ended && self.passed[0] - self.passed[last] < ahead {
            true => Some(0),
            false => (1..=last).rev().find(waits),
        };
        stage.map(|stage| (stage, self.passed[stage]))
    }

    fn is_over(&self) -> bool {
        self.failed || (self.ended && self.passed.first() == self.passed.last())
    }
}

impl<'a, B: Default> Line<'a, B> {
    fn new(later: Vec<Stage<'a, B>>) -> Line<'a, B> {
        let stages = later.len() + 1;
        let state = State { passed: vec![0; stages], busy: vec![false; stages], ended: false, failed: false };
        let later = later.into_iter().map(Mutex::new).collect();
        Line { batches: Default::default(), later, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Work for a thread other than the first, until there is no more.
    fn help(&self) {
        while let Some((stage, number)) = self.wait_for_work(0) {
            let failure = Failure(self);
            self.pass(stage, number);
            std::mem::forget(failure);
        }
    }

    /// What is to be done next, or `None` at the end.
    fn wait_for_work(&self, ahead: u64) -> Option<(usize, u64)> {
        let mut state = lock(&self.state);
        loop {
            if state.is_over() {
                return None;
            }
            if let Some((stage, number)) = state.next(ahead) {
                state.busy[stage] = true;
                return Some((stage, number));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn pass_first(&self, number: u64, first: &mut impl FnMut(&mut B) -> bool) {
        let more = first(&mut self.batch(number));
        self.done(0, !more);
    }

    fn pass(&self, stage: usize, number: u64) {
        lock(&self.later[stage - 1])(&mut self.batch(number));
        self.done(stage, false);
    }

    fn done(&self, stage: usize, ended: bool) {
        let mut state = lock(&self.state);
        state.passed[stage] += 1;
        state.busy[stage] = false;
        state.ended |= ended;
        self.changed.notify_all();
    }

    fn batch(&self, number: u64) -> MutexGuard<'_, B> {
        lock(&self.batches[number as usize % BATCHES])
    }
}

/// Dropped only where a stage panics: then nobody waits for it.
struct Failure<'a, 'b, B>(&'a Line<'b, B>);

impl<B> Drop for Failure<'_, '_, B> {
    fn drop(&mut self) {
        lock(&self.0.state).failed = true;
        self.0.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "stages_tests.rs"]
mod tests;
