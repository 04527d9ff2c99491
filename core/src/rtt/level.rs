//! Responses that are alike: what takes as long for each is the path, or work that a server does for each.

use std::collections::HashMap;

use super::agreement::{
    AGREEMENT_SHARE, CLEAR_NS, FASTER_QUANTILE, HOST_NS, MIN_BOUNDS, MIN_CONSISTENT, of_several, rank_of_several,
};
use super::values::{Counted, NO_STATEMENT, Values};

/// Responses to one statement must be this many to measure an RTT by themselves (to several statements: [`MIN_BOUNDS`]).
pub const MIN_UNIFORM: u64 = 20;
/// The faster quarter of the responses is uniform if it spreads by at most this share of them.
pub const UNIFORM_SPREAD: f64 = 0.05;

/// The level of the faster responses.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    pub ns: f64,
    /// The faster ones are alike, and many or of several statements.
    pub is_uniform: bool,
    /// The statements that are answered at this level, where the faster ones are alike.
    pub kinds: u64,
}

impl Level {
    /// The level of `responses`, beside `late` acknowledgments and what was `measured`.
    pub fn of(responses: &Values, late: &Values, measured: f64, tick_ns: i64) -> Level {
        let ns = of_several(responses, 1);
        let slack = slack(ns, measured) + tick_ns as f64;
        let is_alike = are_alike(responses, late, ns, slack);
        let kinds = if is_alike { kinds(responses, ns, slack) } else { 0 };
        let is_uniform = is_alike && (responses.count() >= MIN_UNIFORM || kinds >= MIN_CONSISTENT);
        Level { ns, is_uniform, kinds }
    }
}

/// Whether responses to several statements are alike, and clearly longer than `otherwise_ns`: no server takes that for
/// each.
pub fn is_no_work(responses: &Values, otherwise_ns: f64) -> bool {
    let level = Level::of(responses, &Values::default(), otherwise_ns, 0);
    level.kinds >= MIN_CONSISTENT && level.ns - otherwise_ns > AGREEMENT_SHARE * otherwise_ns + CLEAR_NS
}

/// How far apart responses that are alike may be: less where they are hardly longer than what was measured.
fn slack(level: f64, measured: f64) -> f64 {
    let beyond = if level > measured { level - measured } else { f64::INFINITY };
    (UNIFORM_SPREAD * level).min(AGREEMENT_SHARE * beyond).max(HOST_NS)
}

/// The faster ones are alike, five at least, and no late ACKs show that their sender took that time itself.
fn are_alike(responses: &Values, late: &Values, level: f64, slack: f64) -> bool {
    let fifth = of_several(responses, MIN_BOUNDS);
    if fifth.is_nan() {
        return false;
    }
    let faster = responses.quantile(FASTER_QUANTILE).max(fifth);
    let worked = late.count() >= MIN_CONSISTENT && of_several(late, 1) < (1.0 - AGREEMENT_SHARE) * faster;
    faster - level <= slack && !worked
}

/// How many statements are answered at this level.
///
/// All else (logins, pings, preparations) counts as two where it is no faster: no statement takes as long for each.
fn kinds(responses: &Values, level: f64, slack: f64) -> u64 {
    let same = |&(statement, floor): &(u32, f64)| {
        floor >= level - slack && (statement == NO_STATEMENT || floor <= level + slack)
    };
    floors(responses).iter().filter(|each| same(each)).map(|each| if each.0 == NO_STATEMENT { 2 } else { 1 }).sum()
}

/// The low response of each statement that no single one decides.
fn floors(responses: &Values) -> Vec<(u32, f64)> {
    let mut left = HashMap::<u32, u64, ahash::RandomState>::default();
    for &Counted { statement, times, .. } in responses.all() {
        *left.entry(statement).or_default() += u64::from(times);
    }
    left.values_mut().for_each(|count| *count = rank_of_several(*count, 1) + 1);
    let mut floors = Vec::with_capacity(left.len());
    for &Counted { ns, statement, times } in responses.all() {
        let Some(rank) = left.get_mut(&statement).filter(|rank| **rank > 0) else { continue };
        *rank = rank.saturating_sub(u64::from(times));
        if *rank == 0 {
            floors.push((statement, ns as f64));
        }
    }
    floors
}
