//! The direct way: packets are moved as soon as they are read.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::io::{Errno, read};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::datagrams::Datagrams;
use super::gate::Gate;
use super::packets::{Seen, look};
use crate::delay::{Outlet, Tun};

const MAX_PACKET_BYTES: usize = 65_536;
/// Then others have their turn.
const BATCH: usize = 32;

/// Until the device is gone.
pub async fn pump(from: Arc<Tun>, to: impl Outlet) -> io::Result<()> {
    #[allow(unsafe_code)]
    // SAFETY: the device stays open and the same as long as it is registered: `from` outlives it.
    let device = unsafe { AsyncFd::register_with_interest(from.as_fd(), Interest::READABLE) }?;
    let mut buffer = vec![0; MAX_PACKET_BYTES];
    loop {
        let mut ready = device.readable().await?;
        for _ in 0..BATCH {
            match read(ready.get_inner(), &mut buffer) {
                Ok(length) => {
                    to.expect(&buffer[..length]);
                    let _ = to.send(&buffer[..length]);
                }
                Err(Errno::AGAIN) => {
                    ready.clear_ready();
                    break;
                }
                Err(Errno::INTR) => {}
                Err(gone) => return Err(gone.into()),
            }
        }
        to.flush();
        tokio::task::yield_now().await;
    }
}

/// Datagrams leave here, all else at the gate.
pub struct Outside {
    pub datagrams: Arc<Datagrams>,
    pub gate: Gate,
}

impl Outlet for Outside {
    fn expect(&self, packet: &[u8]) {
        self.gate.expect(packet);
    }

    fn flush(&self) {
        self.gate.flush();
    }

    fn send(&self, packet: &[u8]) -> io::Result<()> {
        if let Seen::Datagram(flow, payload) = look(packet) {
            self.datagrams.take(flow, payload, packet);
            return Ok(());
        }
        self.gate.send(packet)
    }
}
