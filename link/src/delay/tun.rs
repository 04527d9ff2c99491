//! A TUN device: a network interface whose packets a program reads and writes.
//!
//! <https://docs.kernel.org/networking/tuntap.html>
//!
//! It is opened without `IFF_VNET_HDR`, so that packets are as they are on a wire: none larger than the MTU, checksums
//! complete. It goes with its file descriptor, however the process ends.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::ioctl::{Updater, ioctl, opcode};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::stamps::Stamps;
use super::{LinkError, Outlet, packet_socket};

const TUN: i16 = 0x0001;
const NO_PACKET_INFORMATION: i16 = 0x1000;
const SET_INTERFACE: rustix::ioctl::Opcode = opcode::write::<c_int>(b'T', 202);

/// `struct ifreq`, as `TUNSETIFF` reads it.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

pub struct Tun {
    file: OwnedFd,
    stamps: Option<Stamps>,
}

impl Tun {
    /// Make the device `name` in the network namespace of the calling thread. It has no address yet, and is down.
    pub fn open(name: &str) -> Result<Self, LinkError> {
        let failed = |why| LinkError::System { what: format!("TUN device {name}"), why };
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = open("/dev/net/tun", flags, Mode::empty())
            .map_err(|why| LinkError::System { what: "/dev/net/tun".into(), why: why.into() })?;
        let name = interface_name(name).map_err(failed)?;
        attach(file.as_fd(), name).map_err(|why| failed(why.into()))?;
        Ok(Self { file, stamps: None })
    }

    /// Open the device in the network namespace of that path: `/run/netns/NAME`, `/proc/PID/ns/net`.
    pub fn open_in(namespace: &Path, name: &str) -> Result<Self, LinkError> {
        let failed = |why: rustix::io::Errno| LinkError::System {
            what: format!("network namespace {}", namespace.display()),
            why: why.into(),
        };
        let there = open(namespace, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
        // A namespace is entered by a thread, for good: by one that ends with that.
        thread::scope(|scope| {
            let opened = scope.spawn(|| {
                move_into_link_name_space(there.as_fd(), Some(LinkNameSpaceType::Network)).map_err(failed)?;
                let device = Self::open(name)?;
                // Without the right to, packets count from when they are read.
                Ok(match packet_socket::copies(name) {
                    Ok(copies) => device.with_copies(copies),
                    Err(_) => device,
                })
            });
            opened.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Tun {
    /// Count packets from when the kernel had them, by this socket of [`packet_socket::copies`].
    pub fn with_copies(self, copies: OwnedFd) -> Self {
        Self { stamps: Some(Stamps::new(copies)), ..self }
    }

    /// How long before now the kernel had this packet, which was just read.
    pub fn age(&self, packet: &[u8]) -> Option<Duration> {
        self.stamps.as_ref()?.age(packet)
    }
}

impl TryFrom<OwnedFd> for Tun {
    type Error = io::Error;

    /// A device that somebody else has opened; each read gives, and each write takes, one packet.
    fn try_from(device: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&device, fcntl_getfl(&device)? | OFlags::NONBLOCK)?;
        Ok(Self { file: device, stamps: None })
    }
}

impl Outlet for Arc<Tun> {
    fn send(&self, packet: &[u8]) -> io::Result<()> {
        rustix::io::write(&**self, packet)?;
        Ok(())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn interface_name(name: &str) -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    match bytes.get_mut(..name.len()) {
        Some(place) if name.len() < 16 && !name.is_empty() && !name.contains('\0') => {
            place.copy_from_slice(name.as_bytes())
        }
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "a name has 1 to 15 bytes")),
    }
    Ok(bytes)
}

#[allow(unsafe_code)]
fn attach(file: BorrowedFd<'_>, name: [u8; 16]) -> rustix::io::Result<()> {
    let mut request = InterfaceRequest { name, flags: TUN | NO_PACKET_INFORMATION, rest: [0; 22] };
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`: 16 bytes of name, then a union of 24, of which it takes the flags.
    unsafe { ioctl(file, Updater::<SET_INTERFACE, InterfaceRequest>::new(&mut request)) }
}
