//! Sockets that send whole packets out of a device.
//!
//! <https://man7.org/linux/man-pages/man7/packet.7.html>

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::addr::{SocketAddrArg, SocketAddrLen, SocketAddrOpaque};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, netdevice, socket_with};

/// `struct sockaddr_ll`.
#[repr(C)]
struct LinkLayer {
    family: u16,
    /// 0: it receives nothing.
    protocol: u16,
    interface: i32,
    hardware: u16,
    packet: u8,
    length: u8,
    address: [u8; 8],
}

#[allow(unsafe_code)]
// SAFETY: the pointer is to a whole `struct sockaddr_ll` that lives as long as the call.
unsafe impl SocketAddrArg for LinkLayer {
    unsafe fn with_sockaddr<R>(&self, call: impl FnOnce(*const SocketAddrOpaque, SocketAddrLen) -> R) -> R {
        call(std::ptr::from_ref(self).cast(), size_of::<Self>() as SocketAddrLen)
    }
}

/// What is written to it leaves by that device of the calling thread's namespace; of the loopback device it comes back.
pub fn device_socket(device: &str) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    let address = LinkLayer {
        family: AddressFamily::PACKET.as_raw(),
        protocol: 0,
        interface: netdevice::name_to_index(&socket, device)? as i32,
        hardware: 0,
        packet: 0,
        length: 0,
        address: [0; 8],
    };
    bind(&socket, &address)?;
    Ok(socket)
}
