//! Pieces of work that the processors share.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Going through fewer steps takes no longer than starting a thread.
const MIN_THREADED_STEPS: usize = 1 << 8;

/// How many there are for work that goes through so many steps.
pub fn processors(steps: usize) -> usize {
    if steps < MIN_THREADED_STEPS { 1 } else { thread::available_parallelism().map_or(1, usize::from) }
}

/// What `work` makes of each piece, in their order; so many processors take the next one each, until there is none.
pub fn each<T: Sync, R: Send>(processors: usize, pieces: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let place = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&place| place < pieces.len());
        std::iter::from_fn(place).map(|place| (place, work(&pieces[place]))).collect::<Vec<_>>()
    };
    let mut done = thread::scope(|scope| {
        let helpers = 1..processors.min(pieces.len());
        // Where the system gives no further thread, this one does more.
        let helpers: Vec<_> = helpers.map_while(|_| thread::Builder::new().spawn_scoped(scope, take).ok()).collect();
        let mut done = take();
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|&(place, _)| place);
    done.into_iter().map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_of_pieces_is_in_their_order_on_any_number_of_processors() {
        let pieces: Vec<u64> = (0..100).collect();
        for processors in [0, 1, 2, 3, 200] {
            assert!(each(processors, &pieces, |piece| piece * piece).is_sorted(), "{processors}");
        }
        assert!(each(4, &[], |piece: &u64| *piece).is_empty());
    }

    #[test]
    fn work_that_panics_leaves_nobody_waiting() {
        for processors in [1, 4] {
            let work = |piece: &u64| assert!(*piece < 50, "on purpose");
            let all: Vec<u64> = (0..100).collect();
            assert!(std::panic::catch_unwind(|| each(processors, &all, work)).is_err());
        }
    }
}
