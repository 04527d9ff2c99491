//! The statements that a proxy runs by itself: no application has sent them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::io;

use crate::recording::{Column, NULL, Recording};

/// Statements of a proxy that are named.
const MAX_STATEMENTS: usize = 3;

/// The waiting exchanges of proxies with servers that pass on none of an application.
pub fn own_rows(connection: &[u32], round_trips: &[i64], is_inner: &[bool], inner: &[Option<u32>]) -> Vec<u32> {
    let mut passes_on = vec![false; inner.len()];
    inner.iter().flatten().for_each(|&inner| passes_on[inner as usize] = true);
    let is_own = |&row: &usize| is_inner[connection[row] as usize] && !passes_on[row] && round_trips[row] > 0;
    (0..inner.len()).filter(is_own).map(|row| row as u32).collect()
}

/// Runs of a statement.
struct Runs {
    count: usize,
    begin_ns: i64,
    first: u32,
}

/// The round trips of such exchanges whose statement no application runs, and the most frequent of these statements; of
/// several that run as often those that ran first, whatever their number.
pub fn own_statements(
    recording: &Recording,
    own: Vec<u32>,
    connection: &[u32],
    round_trips: &[i64],
    is_inner: &[bool],
) -> io::Result<(u64, Vec<u32>)> {
    if own.is_empty() {
        return Ok((0, Vec::new()));
    }
    let numbers = |column| recording.exchanges.all_numbers(column);
    let (fingerprints, complete) = (numbers(Column::fingerprint)?, numbers(Column::complete)?);
    let (request_ns, response_ns) = (numbers(Column::request_time)?, numbers(Column::response_time)?);
    let of_application = fingerprints.iter().zip(connection).filter(|(_, connection)| !is_inner[**connection as usize]);
    let of_application: HashSet<i64, ahash::RandomState> =
        of_application.map(|(&fingerprint, _)| fingerprint).collect();
    let (mut trips, mut runs) = (0, BTreeMap::<u32, Runs>::new());
    for row in own {
        let place = row as usize;
        let Ok(fingerprint) = u32::try_from(fingerprints[place]) else { continue };
        if complete[place] != 1 || of_application.contains(&fingerprints[place]) {
            continue;
        }
        trips += round_trips[place] as u64;
        let begin_ns = if request_ns[place] == NULL { response_ns[place] } else { request_ns[place] };
        let runs = runs.entry(fingerprint).or_insert(Runs { count: 0, begin_ns, first: row });
        (runs.count, runs.begin_ns) = (runs.count + 1, runs.begin_ns.min(begin_ns));
    }
    let mut statements: Vec<_> = runs.into_iter().collect();
    statements.sort_by_key(|(_, runs)| (Reverse(runs.count), runs.begin_ns, runs.first));
    Ok((trips, statements.into_iter().take(MAX_STATEMENTS).map(|(statement, _)| statement).collect()))
}
