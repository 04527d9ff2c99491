//! Which clients wait for the server's FIN.
//!
//! A client that closes its session and continues only after the server's FIN (Node's `await client.end()`) waits for
//! one round trip. No read of the program returns data from it, so like the TCP handshake it is not in the connection's
//! round trips, but in the budget's set-up and in the projection.
//!
//! ```text
//! client   close ────────►                 ◄── SYN of its next connection
//!                               ◄── FIN
//!          left_ns               told_ns   next_ns         told − left: the round trip;  next − told: the pause
//! ```
//!
//! The client's next connection shows it, nothing on its own does. A host waits if, more often than not, it opens
//! that after the FIN, more regularly after the FIN than after its own close, and so soon that chance would rarely have
//! it: a host that pauses for a millisecond without waiting looks alike where the FIN takes just under a millisecond.
//! But a host that has nothing open except the connection that it leaves, and opens the next one before the FIN, waits
//! for none.

use std::collections::HashMap;

use super::UNSEEN;
use crate::passes::lower_median;
use crate::recording::DatabaseConnections;

/// Connections opened after a FIN that show how a host continues.
const MIN_CONNECTIONS: usize = 3;
/// A host that waits pauses after the FIN for at most the second share of the time that this took, where its pauses spread
/// at most by the first share of what they spread behind its close: the longer it pauses, the more regular it is.
const MAX_PAUSE_SHARES: [(f64, f64); 3] = [(1.0, 1.0 / 6.0), (0.6, 1.0 / 4.0), (0.3, 1.0)];

/// A connection that its client left and its server closed, at the times of the client.
struct Goodbye {
    connection: usize,
    left_ns: i64,
    told_ns: i64,
}

/// When a host opened its connections, one entry for each, and those that it left.
#[derive(Default)]
struct Host {
    opened_ns: Vec<i64>,
    goodbyes: Vec<Goodbye>,
}

/// Returns when the server's FIN passed for which each connection's client waited; `UNSEEN` where it waited for none.
///
/// `near_ns` is the part of each connection's RTT between client and capture; `syn_ns`: when its client opened it, before
/// the recording where that is `UNSEEN`; `closed_ns`: when its client closed the session, as the last thing on it.
pub fn awaited_fins(connections: &DatabaseConnections, near_ns: &[i64], syn_ns: &[i64], closed_ns: &[i64]) -> Vec<i64> {
    let is_over = |fin_ns: i64, closed_ns: i64| fin_ns >= closed_ns && fin_ns <= connections.runtime_ns;
    let mut hosts = HashMap::<u32, Host, ahash::RandomState>::default();
    for (connection, of) in connections.all.iter().enumerate() {
        let half_ns = near_ns[connection].div_euclid(2);
        let host = hosts.entry(of.host).or_default();
        host.opened_ns.push(syn_ns[connection].saturating_sub(half_ns)); // of one that is `UNSEEN` before all
        let closed_ns = closed_ns[connection];
        if let Some(fin_ns) = of.fin_ns[1].filter(|&fin_ns| closed_ns != UNSEEN && is_over(fin_ns, closed_ns)) {
            let (left_ns, told_ns) = (closed_ns.saturating_sub(half_ns), fin_ns.saturating_add(half_ns));
            host.goodbyes.push(Goodbye { connection, left_ns, told_ns });
        }
    }
    let mut awaited_ns = vec![UNSEEN; connections.len()];
    for host in hosts.into_values().filter(|host| host.goodbyes.len() >= MIN_CONNECTIONS) {
        let (waits, goodbyes) = host.waits();
        for goodbye in goodbyes.iter().filter(|_| waits) {
            awaited_ns[goodbye.connection] = connections.all[goodbye.connection].fin_ns[1].unwrap_or(UNSEEN);
        }
    }
    awaited_ns
}

impl Host {
    /// Whether it waits for the FINs of those that it left.
    fn waits(mut self) -> (bool, Vec<Goodbye>) {
        self.opened_ns.sort_unstable();
        self.goodbyes.sort_by_key(|goodbye| goodbye.left_ns);
        let (mut followed, mut late) = (0, Vec::new());
        for (left_before, goodbye) in self.goodbyes.iter().enumerate() {
            let opened = self.opened_ns.partition_point(|&opened_ns| opened_ns <= goodbye.left_ns);
            let Some(&next_ns) = self.opened_ns.get(opened) else { continue };
            let is_alone = opened == left_before + 1;
            followed += 1;
            if next_ns >= goodbye.told_ns {
                late.push((goodbye, next_ns));
            } else if is_alone {
                return (false, self.goodbyes);
            }
        }
        let is_often = late.len() >= MIN_CONNECTIONS && 2 * late.len() > followed;
        (is_often && continues_soon(&late) == Some(true), self.goodbyes)
    }
}

/// Whether hosts open the next connection, which each has the time of, after the FIN rather than after the close.
fn continues_soon(late: &[(&Goodbye, i64)]) -> Option<bool> {
    let (took_ns, _) = usual(late.iter().map(|(goodbye, _)| goodbye.told_ns.saturating_sub(goodbye.left_ns)))?;
    let (pause_ns, spread_ns) = usual(late.iter().map(|&(goodbye, next_ns)| next_ns.saturating_sub(goodbye.told_ns)))?;
    let (_, otherwise_ns) = usual(late.iter().map(|&(goodbye, next_ns)| next_ns.saturating_sub(goodbye.left_ns)))?;
    let is_soon = |(most, share): (f64, f64)| {
        spread_ns as f64 <= most * otherwise_ns as f64 && pause_ns as f64 <= share * took_ns as f64
    };
    Some(spread_ns < otherwise_ns && MAX_PAUSE_SHARES.into_iter().any(is_soon))
}

/// The median of lengths, and how far from it they are at the median.
fn usual(lengths_ns: impl Iterator<Item = i64>) -> Option<(i64, i64)> {
    let mut lengths_ns: Vec<i64> = lengths_ns.collect();
    let median_ns = lower_median(&mut lengths_ns)?;
    let off_ns = |length_ns: &i64| i64::try_from(length_ns.abs_diff(median_ns)).unwrap_or(i64::MAX);
    Some((median_ns, lower_median(&mut lengths_ns.iter().map(off_ns).collect::<Vec<_>>())?))
}

#[cfg(test)]
#[path = "awaited_fins_tests.rs"]
mod tests;
