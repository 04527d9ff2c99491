//! Which exchange lies within which: of two connections one by one, or by the statements of many.

use super::rows::{Rows, Statement};
use crate::recording::NULL;

/// The proxies that a connection may belong to, by number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Side {
    /// The one that it asks.
    pub front: Option<u32>,
    /// The one that asks on it.
    pub back: Option<u32>,
}

/// Pairs of exchanges of an outer and an inner connection, the first with the first, where both have as many and one lies
/// within the other.
pub fn pairs_in_turn(rows: &Rows, outer: u32, inner: u32) -> impl Iterator<Item = [u32; 2]> {
    let (outer, inner) = (rows.of_connection(outer), rows.of_connection(inner));
    let is_alike = outer.len() == inner.len();
    outer.zip(inner).filter(move |&(outer, inner)| is_alike && is_within(rows, inner, outer)).map(<[u32; 2]>::from)
}

/// An exchange lies within another one, whose response may have begun before.
fn is_within(rows: &Rows, inner: u32, outer: u32) -> bool {
    let [outer, inner] = [outer, inner].map(|row| &rows.all[row as usize]);
    outer.request_ns != NULL
        && inner.response_ns != NULL
        && outer.request_ns <= inner.request_ns
        && inner.response_ns <= outer.response_end_ns
}

/// A statement on one side of a proxy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    proxy: u32,
    statement: Statement,
    request_ns: i64,
    is_inner: bool,
    row: u32,
}

impl Entry {
    fn is_alike(&self, other: &Entry) -> bool {
        (self.proxy, self.statement) == (other.proxy, other.statement)
    }
}

/// Pairs of exchanges with the same statement through the same proxy, of which one lies within the other.
///
/// Several that are asked for the same at once go on in the order in which they came.
pub fn nested_pairs(rows: &Rows, sides: &[Side]) -> Vec<[u32; 2]> {
    let mut all = Vec::new();
    for (row, of) in (0..).zip(&rows.all) {
        let Some(statement) = of.statement else { continue };
        let Side { front, back } = sides[of.connection as usize];
        let entry = |proxy, is_inner| Entry { proxy, statement, request_ns: of.request_ns, is_inner, row };
        all.extend(front.map(|proxy| entry(proxy, false)));
        all.extend(back.map(|proxy| entry(proxy, true)));
    }
    all.sort_unstable();
    let (mut pairs, mut before) = (Vec::new(), &[][..]);
    for run in all.chunk_by(|one, next| one.is_alike(next) && one.is_inner == next.is_inner) {
        let follows = before.first().is_some_and(|first: &Entry| first.is_alike(&run[0]));
        if follows && run[0].is_inner {
            let last = &before[before.len() - before.len().min(run.len())..];
            pairs.extend(last.iter().zip(run).map(|(outer, inner)| [outer.row, inner.row]));
        }
        before = run;
    }
    let response_ns = |row: u32| rows.all[row as usize].response_ns;
    pairs.retain(|&[outer, inner]| response_ns(inner) <= response_ns(outer)); // requests are in order already
    pairs
}
