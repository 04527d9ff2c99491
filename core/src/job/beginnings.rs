//! When each connection was opened and who spoke first on it, with what follows of a packet that was not captured.

use super::UNSEEN;
use super::logins::{Before, Login, Unseen, unseen_logins};
use super::recorded::Phases;
use crate::protocols::protocol_named;
use crate::recording::{DatabaseConnection, DatabaseConnections};

/// The beginning of a connection. Times are ns since the recording began, `None` where it was not captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beginning {
    /// May be earlier than the first packet that was captured.
    pub syn_ns: Option<i64>,
    pub syn_ack_ns: Option<i64>,
    /// The server spoke first.
    pub is_greeted: bool,
    pub unseen: Unseen,
}

impl Beginning {
    /// As it was captured.
    pub fn of(connection: &DatabaseConnection) -> Beginning {
        Beginning {
            syn_ns: connection.syn_ns,
            syn_ack_ns: connection.syn_ack_ns,
            is_greeted: connection.is_greeted,
            unseen: Unseen::default(),
        }
    }

    /// With both packets where one of them was captured, `beyond_ns` apart, and the SYN/ACK before the first exchange.
    fn completed(mut self, beyond_ns: i64, first_ns: i64) -> Beginning {
        match (self.syn_ns, self.syn_ack_ns) {
            (None, Some(syn_ack_ns)) => self.syn_ns = Some(syn_ack_ns.saturating_sub(beyond_ns)),
            (Some(syn_ns), None) if first_ns != UNSEEN => {
                self.syn_ack_ns = Some(syn_ns.saturating_add(beyond_ns).min(first_ns.max(syn_ns)));
            }
            _ => {}
        }
        self
    }

    /// When its SYN/ACK passed, if its whole TCP handshake is known.
    fn shaken_ns(&self) -> Option<i64> {
        self.syn_ns.and(self.syn_ack_ns)
    }
}

/// Returns the beginnings of all connections of which no time is left out: one packet of a TCP handshake shows when the
/// other one passed, and the logins of others what one took that was captured in part. `opening`: the first phase of each.
pub fn completed(
    connections: &DatabaseConnections,
    opening: &[u32],
    phases: &Phases,
    logins: &[Login],
) -> Vec<Beginning> {
    let completed = |((of, &phase), login): ((&DatabaseConnection, &u32), &Login)| {
        Beginning::of(of).completed(phases.beyond_ns(phase), login.first_ns)
    };
    let mut beginnings: Vec<Beginning> = connections.all.iter().zip(opening).zip(logins).map(completed).collect();
    let misses = |of: &DatabaseConnection, beginning: &Beginning| of.lost_bytes > 0 && beginning.shaken_ns().is_some();
    if !connections.all.iter().zip(&beginnings).any(|(of, beginning)| misses(of, beginning)) {
        return beginnings;
    }
    let greets: Vec<bool> = connections.protocols.iter().map(|name| greets(name)).collect();
    for ((of, beginning), login) in connections.all.iter().zip(&mut beginnings).zip(logins) {
        let greets = greets.get(of.protocol as usize).is_some_and(|&greets| greets);
        beginning.is_greeted |= greets && login.is_asked_first && misses(of, beginning);
    }
    let before = beginnings.iter().zip(opening).map(|(beginning, &phase)| {
        let rtt_ns = phases.baseline_ns[phase as usize];
        let rtt_ns = if rtt_ns.is_nan() { 0.0 } else { rtt_ns };
        Before { shaken_ns: beginning.shaken_ns(), is_greeted: beginning.is_greeted, rtt_ns }
    });
    let unseen = unseen_logins(connections, &before.collect::<Vec<_>>(), logins);
    beginnings.iter_mut().zip(unseen).for_each(|(beginning, unseen)| beginning.unseen = unseen);
    beginnings
}

/// Servers of this protocol say something before their clients do.
fn greets(protocol: &str) -> bool {
    protocol_named(protocol).is_some_and(|protocol| protocol.greets)
}

#[cfg(test)]
#[path = "beginnings_tests.rs"]
mod tests;
