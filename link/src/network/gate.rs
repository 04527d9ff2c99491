//! No connection of the job is opened before the real one to its server is: a refusal is a refusal, and the handshake
//! takes the link's time and that to the server. The real one is begun when the job's SYN enters the link.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::connection::PIECE_BYTES;
use super::flows::{Path, Syn, Verdict};
use super::forward::Far;
use super::outlets::Door;
use super::packets::{Flow, Seen, look};
use crate::delay::Outlet;

/// The end of a way: packets for `door` pass, openings wait, and what they carry goes on to the servers at once.
pub struct Gate {
    far: Arc<Far>,
    door: Door,
    path: Path,
    /// Connections whose bytes, ends or handshakes were let through and not looked for yet.
    touched: RefCell<Vec<Flow>>,
    buffer: RefCell<Vec<u8>>,
}

impl Gate {
    pub fn new(far: Arc<Far>, door: Door, path: Path) -> Self {
        Self { far, door, path, touched: RefCell::default(), buffer: RefCell::new(vec![0; PIECE_BYTES]) }
    }

    fn touch(&self, flow: Flow) {
        let mut touched = self.touched.borrow_mut();
        if !touched.contains(&flow) {
            touched.push(flow);
        }
    }
}

impl Outlet for Gate {
    fn expect(&self, packet: &[u8]) {
        if let Seen::Opening(flow, _) = look(packet)
            && self.far.flows.enter(flow)
        {
            self.far.begin(flow);
        }
    }

    fn send(&self, packet: &[u8]) -> io::Result<()> {
        match look(packet) {
            Seen::Opening(flow, _) => {
                let syn = || Syn { packet: packet.to_vec(), path: self.path, arrived: Instant::now() };
                match self.far.flows.arrive(flow, syn()) {
                    Verdict::Wait => {}
                    Verdict::Begin => self.far.begin(flow),
                    verdict => self.far.follow(syn(), verdict),
                }
                Ok(())
            }
            Seen::Segment(flow, carries) => {
                self.door.send(packet)?;
                if carries || self.far.flows.is_handshake(flow) {
                    self.touch(flow);
                }
                Ok(())
            }
            _ => self.door.send(packet),
        }
    }

    fn flush(&self) {
        let mut buffer = self.buffer.borrow_mut();
        for flow in self.touched.borrow_mut().drain(..) {
            self.far.pass_there(flow, &mut buffer);
        }
    }
}
