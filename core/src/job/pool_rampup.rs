//! Pools that are filled while they work: each connection is opened when the one before it is set up.
//!
//! Lanes tell nothing of that, as the connection before has gone on with the pool's work. But if a client's connections
//! are opened one after the other, each so long after the set-up of the one before as all others, that is no chance
//! (docs/model.md C.5).

use std::collections::BTreeMap;

use super::step::{Span, Start, Starts};
use super::workers::Waiting;

/// At least this many openings in a row show that a pool is filled.
const MIN_OPENINGS: usize = 3;
/// Each opening takes between the usual time divided and multiplied by this.
const MAX_DELAY_RATIO: f64 = 2.0;

/// A connection of a client: its first step, the last of its set-up, and when it was over.
struct Opening {
    first: usize,
    last: usize,
    over: f64,
}

/// Let connections open when the one before them is set up, where they do so again and again.
pub fn find(starts: &mut [Start], spans: &[Span], connections: usize, waiting: Waiting) {
    if waiting == Waiting::Independent || connections <= MIN_OPENINGS {
        return;
    }
    let mut clients: BTreeMap<u32, Vec<Opening>> = BTreeMap::new();
    let mut of_connection: Vec<Option<usize>> = vec![None; connections];
    for (step, span) in spans.iter().enumerate() {
        let (opened, place) = (clients.entry(span.client).or_default(), &mut of_connection[span.connection as usize]);
        match *place {
            Some(place) => {
                let of = &mut opened[place];
                (of.last, of.over) = (if span.setup { step } else { of.last }, of.over.max(span.end));
            }
            None => {
                *place = Some(opened.len());
                opened.push(Opening { first: step, last: step, over: span.end });
            }
        }
    }
    let mut free = starts.iter().map(|start| start.worker + 1).max().unwrap_or(0);
    let mut places = BTreeMap::new();
    for opened in clients.into_values() {
        if !in_turn(&opened, starts, spans) {
            continue;
        }
        for two in opened.windows(2) {
            let (first, gap) = (two[1].first, spans[two[1].first].begin - spans[two[0].last].end);
            starts[first] = Start::new(starts[first].worker, free, Starts::AfterOther, gap);
            places.insert(two[0].last, free);
            free += 1;
        }
    }
    if !places.is_empty() {
        set_apart(starts, &places);
    }
}

/// Whether each is opened when the one before it is set up, in the same way, and that one goes on. Where all of them
/// follow answers anyway, as lanes have it, they do not.
fn in_turn(opened: &[Opening], starts: &[Start], spans: &[Span]) -> bool {
    let set_up = opened.iter().all(|of| spans[of.first].setup);
    let goes_on = |two: &[Opening]| two[0].over > spans[two[1].first].begin;
    let follows = |of: &Opening| starts[of.first].starts() != Starts::AtFirst;
    if opened.len() <= MIN_OPENINGS || !set_up || !opened.windows(2).all(goes_on) || opened[1..].iter().all(follows) {
        return false;
    }
    let gap = |two: &[Opening]| spans[two[1].first].begin - spans[two[0].last].end;
    let gaps = super::groups::sorted(opened.windows(2).map(gap));
    let usual = gaps[gaps.len() / 2];
    gaps[0] > 0.0 && gaps[0] >= usual / MAX_DELAY_RATIO && gaps[gaps.len() - 1] <= usual * MAX_DELAY_RATIO
}

/// Steps that end at `places` of their own; what follows their lanes follows those, until the lanes go on.
fn set_apart(starts: &mut [Start], places: &BTreeMap<usize, u32>) {
    let mut at: BTreeMap<u32, u32> = BTreeMap::new();
    for (step, start) in starts.iter_mut().enumerate() {
        let place = at.get(&start.after()).filter(|_| matches!(start.starts(), Starts::After | Starts::AfterOther));
        if let Some(&place) = place {
            *start = Start::new(start.worker, place, Starts::AfterOther, start.gap);
        }
        at.remove(&start.worker);
        if let Some(&place) = places.get(&step) {
            at.insert(start.worker, place);
            *start = Start::new(place, start.after(), start.starts(), start.gap);
        }
    }
}

#[cfg(test)]
#[path = "pool_rampup_tests.rs"]
mod tests;
