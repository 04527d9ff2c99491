//! No connection of the job is opened before the real one to its server is: a refusal is a refusal, and the handshake
//! takes the link's time and that to the server.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedSender;

use super::outlets::Door;
use super::packets::{Flow, Seen, look};
use crate::delay::Outlet;

/// What became of an opening.
enum State {
    Connecting,
    /// The server has accepted, at this time; the job's own handshake is under way.
    Connected(TcpStream, Instant),
    /// Bytes are copied both ways.
    Open,
}

/// A SYN that waits for the server.
pub struct Opening {
    pub flow: Flow,
    pub packet: Vec<u8>,
    pub path: Path,
}

/// By which of the two ways a packet came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    Delayed,
    Direct,
}

#[derive(Default)]
pub struct Flows(Mutex<HashMap<Flow, State>>);

impl Flows {
    fn states(&self) -> MutexGuard<'_, HashMap<Flow, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server has accepted; the time tells this opening from later ones of the same port.
    pub fn connected(&self, flow: Flow, server: TcpStream) -> Instant {
        let now = Instant::now();
        self.states().insert(flow, State::Connected(server, now));
        now
    }

    /// The job's handshake is over: hand out the connection to its server.
    pub fn open(&self, flow: Flow) -> Option<TcpStream> {
        match self.states().insert(flow, State::Open) {
            Some(State::Connected(server, _)) => Some(server),
            _ => None,
        }
    }

    /// The handshake of what was `connected` then has not ended.
    pub fn give_up(&self, flow: Flow, then: Instant) {
        let mut states = self.states();
        if matches!(states.get(&flow), Some(State::Connected(_, since)) if *since == then) {
            states.remove(&flow);
        }
    }

    pub fn forget(&self, flow: Flow) {
        self.states().remove(&flow);
    }
}

/// The end of a way: packets for `door` pass, openings wait.
pub struct Gate {
    pub flows: Arc<Flows>,
    pub openings: UnboundedSender<Opening>,
    pub door: Door,
    pub path: Path,
}

impl Outlet for Gate {
    fn send(&self, packet: &[u8]) -> io::Result<()> {
        match look(packet) {
            Seen::Opening(flow, _) if self.holds(flow, packet) => Ok(()),
            _ => self.door.send(packet),
        }
    }
}

impl Gate {
    /// Its copies, which TCP sends when nothing comes back, wait with it.
    fn holds(&self, flow: Flow, packet: &[u8]) -> bool {
        let mut states = self.flows.states();
        match states.get(&flow) {
            Some(State::Connecting) => true,
            Some(_) => false,
            None => {
                let opening = Opening { flow, packet: packet.to_vec(), path: self.path };
                let taken = self.openings.send(opening).is_ok();
                if taken {
                    states.insert(flow, State::Connecting);
                }
                taken
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn an_opening_that_is_over_does_not_end_a_later_one_of_the_same_port() {
        let runtime = Builder::new_current_thread().enable_io().build().expect("a runtime");
        let server = || {
            runtime.block_on(async {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a listener");
                TcpStream::connect(listener.local_addr().expect("its address")).await.expect("a connection")
            })
        };
        let (flows, address) = (Flows::default(), "10.0.0.1:1".parse().expect("an address"));
        let flow = Flow { client: address, server: address };
        let first = flows.connected(flow, server());
        assert!(flows.open(flow).is_some());
        flows.forget(flow);
        flows.connected(flow, server());
        flows.give_up(flow, first);
        assert!(flows.open(flow).is_some());
        flows.forget(flow);
        let third = flows.connected(flow, server());
        flows.give_up(flow, third);
        assert!(flows.open(flow).is_none(), "its own handshake never ended");
    }
}
