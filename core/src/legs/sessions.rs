//! One session on both sides of a proxy: the server made up the same token for both connections.
//!
//! One packet proves it, whatever else was captured, where each leg asks another server. A token that two connections to
//! the same server share was not made up for one of them, unless each of ten answers and more is the same on both and
//! lies within the other in time: NAT that changes the client's address alone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::io;

use super::pairs::pairs_in_turn;
use super::rows::Rows;
use crate::recording::DatabaseConnections;

/// Both legs of a session are open at the same time, except for what the clocks of two machines differ by.
const MAX_CLOCK_ERROR_NS: i64 = 1_000_000_000;
/// NAT is recognised by at least 10 answers that are the same on both sides.
const MIN_ANSWERS: usize = 10;

/// Bytes of the request and of the response of each exchange.
pub type Sizes = [Vec<i64>; 2];

/// Some connections share a session: NAT may change the client's address alone.
pub fn recur(connections: &DatabaseConnections) -> bool {
    let mut known = HashSet::<u64, ahash::RandomState>::default();
    connections.all.iter().filter_map(|connection| connection.session).any(|session| !known.insert(session))
}

/// The connection with the same session for each connection, that is nearer to the application.
///
/// Who waits for the other waits longer, whatever the clocks say.
pub fn outer_legs(
    connections: &DatabaseConnections,
    rows: &Rows,
    sizes: impl FnOnce() -> io::Result<Sizes>,
) -> io::Result<Vec<Option<u32>>> {
    let (mut outer_leg, mut doubtful) = (vec![None; connections.len()], Vec::new());
    for mut legs in shared_sessions(connections) {
        let is_made_up_for_one = servers(connections, &legs) == legs.len();
        let start_ns = |leg: u32| connections.all[leg as usize].start_ns;
        legs.sort_by_cached_key(|&leg| (Reverse(usual_wait_ns(rows, leg)), start_ns(leg)));
        for pair in legs.windows(2).filter(|pair| are_open_together(connections, pair[0], pair[1])) {
            match is_made_up_for_one {
                true => outer_leg[pair[1] as usize] = Some(pair[0]),
                false => doubtful.push([pair[0], pair[1]]),
            }
        }
    }
    if !doubtful.is_empty() {
        let sizes = sizes()?;
        doubtful.retain(|&[outer, inner]| is_rewritten(rows, &sizes, outer, inner));
        doubtful.into_iter().for_each(|[outer, inner]| outer_leg[inner as usize] = Some(outer));
    }
    Ok(outer_leg)
}

/// The connections of each session that several have.
fn shared_sessions(connections: &DatabaseConnections) -> impl Iterator<Item = Vec<u32>> {
    let mut legs = BTreeMap::<u64, Vec<u32>>::new();
    for (place, connection) in (0..).zip(&connections.all) {
        connection.session.into_iter().for_each(|session| legs.entry(session).or_default().push(place));
    }
    legs.into_values().filter(|legs| legs.len() > 1)
}

/// How many servers these connections ask.
fn servers(connections: &DatabaseConnections, legs: &[u32]) -> usize {
    legs.iter().map(|&leg| connections.all[leg as usize].server).collect::<HashSet<_>>().len()
}

/// The median wait on a connection, 0 where none is known.
fn usual_wait_ns(rows: &Rows, connection: u32) -> i64 {
    let timed = rows.rows_of(connection).iter().filter(|row| row.is_answered() && row.waited_ns() >= 0);
    let mut waits: Vec<i64> = timed.map(|row| row.waited_ns()).collect();
    let middle = waits.len().saturating_sub(1) / 2;
    if waits.is_empty() { 0 } else { *waits.select_nth_unstable(middle).1 }
}

fn are_open_together(connections: &DatabaseConnections, one: u32, other: u32) -> bool {
    let [one, other] = [one, other].map(|leg| &connections.all[leg as usize]);
    let begins_before_end = |start_ns: i64, end_ns: i64| start_ns <= end_ns.saturating_add(MAX_CLOCK_ERROR_NS);
    begins_before_end(one.start_ns, other.end_ns) && begins_before_end(other.start_ns, one.end_ns)
}

/// NAT changes the client's address alone: all answered exchanges lie within exchanges of as many bytes there.
fn is_rewritten(rows: &Rows, sizes: &Sizes, outer: u32, inner: u32) -> bool {
    let has_same_sizes = |&[outer, inner]: &[u32; 2]| sizes.iter().all(|of| of[outer as usize] == of[inner as usize]);
    let same = pairs_in_turn(rows, outer, inner).filter(has_same_sizes).count();
    let answered = |leg: u32| rows.rows_of(leg).iter().filter(|row| row.is_answered()).count();
    same >= MIN_ANSWERS && same == answered(outer) && same == answered(inner)
}
