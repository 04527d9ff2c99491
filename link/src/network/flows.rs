//! How far the job's connections are, by their addresses.
//!
//! ```text
//! SYN enters the link ──► connecting ──► decided ──► open
//! ```

use std::collections::HashMap;
use std::io;
use std::mem;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::packets::Flow;

/// The job's handshake takes its round trip; after a lost packet TCP tries for two minutes.
const MAX_HANDSHAKE: Duration = Duration::from_secs(150);

/// The one of two ways by which a packet came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    Delayed,
    Direct,
}

/// A SYN that has crossed the link.
#[derive(Debug, PartialEq, Eq)]
pub struct Syn {
    pub packet: Vec<u8>,
    pub path: Path,
    pub arrived: Instant,
}

/// The server's decision, and how long a packet takes there and back.
pub struct Decision {
    pub server: io::Result<TcpStream>,
    pub distance: Duration,
}

enum State {
    /// To the server. Here the SYN waits for its decision.
    Connecting(Option<Syn>),
    /// The job's own handshake is under way. The SYN has been let through, or is still on the link.
    Accepted {
        server: TcpStream,
        distance: Duration,
        passed: bool,
        since: Instant,
    },
    Refused {
        why: io::Error,
        distance: Duration,
        since: Instant,
    },
    Open(Arc<Connection>),
}

/// The action for a SYN that has crossed the link.
#[derive(Debug)]
pub enum Verdict {
    /// A connection to the server must be begun.
    Begin,
    /// It waits, or is a copy of one that waits.
    Wait,
    /// Let it through this long after it has arrived.
    Pass(Duration),
    /// Answer it so long after it has arrived.
    Refuse(io::Error, Duration),
}

/// The stage of a connection, for which the job's segments are.
pub enum Stage {
    Handshake,
    Open(Arc<Connection>),
    Unknown,
}

#[derive(Default)]
pub struct Flows(Mutex<HashMap<Flow, State>>);

impl Flows {
    fn states(&self) -> MutexGuard<'_, HashMap<Flow, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A SYN has entered the link: whether a connection to the server must be begun.
    pub fn enter(&self, flow: Flow) -> bool {
        let mut states = self.states();
        let is_new = !states.contains_key(&flow);
        if is_new {
            states.insert(flow, State::Connecting(None));
        }
        is_new
    }

    /// A SYN has crossed the link. Its copies, which TCP sends when nothing comes back, wait with it.
    pub fn arrive(&self, flow: Flow, syn: Syn) -> Verdict {
        let mut states = self.states();
        match states.get_mut(&flow) {
            None => {
                states.insert(flow, State::Connecting(Some(syn)));
                Verdict::Begin
            }
            Some(State::Connecting(waiting)) => {
                waiting.get_or_insert(syn);
                Verdict::Wait
            }
            Some(State::Accepted { passed, distance, .. }) => {
                Verdict::Pass(if mem::replace(passed, true) { Duration::ZERO } else { *distance })
            }
            Some(State::Refused { .. }) => match states.remove(&flow) {
                Some(State::Refused { why, distance, .. }) => Verdict::Refuse(why, distance),
                _ => Verdict::Wait,
            },
            Some(State::Open(_)) => Verdict::Pass(Duration::ZERO),
        }
    }

    /// The server has decided. The SYN that waits for that, with what to do with it.
    pub fn decide(&self, flow: Flow, decision: Decision) -> Option<(Syn, Verdict)> {
        let (mut states, since, distance) = (self.states(), Instant::now(), decision.distance);
        let Some(State::Connecting(waiting)) =
            take_if(&mut states, flow, |state| matches!(state, State::Connecting(_)))
        else {
            return None;
        };
        match (decision.server, waiting) {
            (Ok(server), waiting) => {
                states.insert(flow, State::Accepted { server, distance, passed: waiting.is_some(), since });
                Some((waiting?, Verdict::Pass(distance)))
            }
            (Err(why), Some(syn)) => Some((syn, Verdict::Refuse(why, distance))),
            (Err(why), None) => {
                states.insert(flow, State::Refused { why, distance, since });
                None
            }
        }
    }

    pub fn is_handshake(&self, flow: Flow) -> bool {
        matches!(self.states().get(&flow), Some(State::Accepted { .. }))
    }

    pub fn stage(&self, flow: Flow) -> Stage {
        match self.states().get(&flow) {
            Some(State::Accepted { .. }) => Stage::Handshake,
            Some(State::Open(connection)) => Stage::Open(connection.clone()),
            _ => Stage::Unknown,
        }
    }

    /// The job's handshake is over: hand out the connection to its server.
    pub fn take_server(&self, flow: Flow) -> Option<TcpStream> {
        match take_if(&mut self.states(), flow, |state| matches!(state, State::Accepted { .. })) {
            Some(State::Accepted { server, .. }) => Some(server),
            _ => None,
        }
    }

    pub fn open(&self, connection: Arc<Connection>) {
        self.states().insert(connection.flow, State::Open(connection));
    }

    pub fn forget(&self, flow: Flow) {
        self.states().remove(&flow);
    }

    /// Forget handshakes that have not ended.
    pub fn give_up(&self, now: Instant) {
        self.states().retain(|_, state| match state {
            State::Accepted { since, .. } | State::Refused { since, .. } => now - *since < MAX_HANDSHAKE,
            State::Connecting(_) | State::Open(_) => true,
        });
    }
}

/// Remove and return the state of a flow, unless it is another than expected.
fn take_if(states: &mut HashMap<Flow, State>, flow: Flow, is_expected: impl Fn(&State) -> bool) -> Option<State> {
    states.get(&flow).is_some_and(is_expected).then(|| states.remove(&flow)).flatten()
}

#[cfg(test)]
#[path = "flows_tests.rs"]
mod tests;
