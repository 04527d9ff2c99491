//! Where packets leave for a namespace.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::write;

use super::packets::is_ipv6_loopback;
use crate::delay::{Outlet, Tun};

/// Ethernet's header as the loopback device has it: no addresses, then the type of IPv6.
const LOOPBACK_HEADER: [u8; 14] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x86, 0xdd];

/// A TUN device. IPv6 takes nothing that is from or to ::1 from any device but the loopback device, so such a packet
/// goes there, too: on the TUN device only those who capture see it.
#[derive(Clone)]
pub struct Door {
    pub device: Arc<Tun>,
    pub loopback: Arc<OwnedFd>,
}

impl Outlet for Door {
    fn send(&self, packet: &[u8]) -> io::Result<()> {
        write(&*self.device, packet)?;
        if is_ipv6_loopback(packet) {
            write(&*self.loopback, &[&LOOPBACK_HEADER, packet].concat())?;
        }
        Ok(())
    }
}
