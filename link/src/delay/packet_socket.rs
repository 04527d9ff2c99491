//! Sockets that send whole packets out of a device, or receive a copy of each packet that a device is given to send.
//!
//! <https://man7.org/linux/man-pages/man7/packet.7.html>

use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::{c_int, c_void, sock_filter, sock_fprog, socklen_t};
use rustix::net::addr::{SocketAddrArg, SocketAddrLen, SocketAddrOpaque};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, netdevice, socket_with, sockopt};

/// Packets of every protocol.
const EVERY_PROTOCOL: u16 = (libc::ETH_P_ALL as u16).to_be();
/// What waits in a socket that receives; the kernel may grant less.
const RECEIVED_BYTES: usize = 4 << 20;
/// Accepts whole packets that leave, and no others: the device's packets in the other direction are copied, too.
const OUTGOING_ONLY: [sock_filter; 4] = [
    instruction(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0, (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32),
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::PACKET_OUTGOING as u32),
    instruction(libc::BPF_RET | libc::BPF_K, 0, u32::MAX),
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0),
];

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

/// Open a socket; what is written to it leaves by that device of the calling thread's namespace, and if that is the
/// loopback device comes back.
pub fn sender(device: &str) -> io::Result<OwnedFd> {
    let socket = open()?;
    bind_to(&socket, device, 0)?;
    Ok(socket)
}

/// Open a socket that receives a copy of each packet that the device is given to send, with the kernel's time.
pub fn copies(device: &str) -> io::Result<OwnedFd> {
    let socket = open()?;
    set_option(&socket, libc::SO_TIMESTAMPNS, &1 as &c_int)?;
    let filter = sock_fprog { len: OUTGOING_ONLY.len() as u16, filter: OUTGOING_ONLY.as_ptr().cast_mut() };
    set_option(&socket, libc::SO_ATTACH_FILTER, &filter)?;
    if sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVED_BYTES).is_err() {
        sockopt::set_socket_recv_buffer_size(&socket, RECEIVED_BYTES)?;
    }
    bind_to(&socket, device, EVERY_PROTOCOL)?;
    Ok(socket)
}

fn open() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?)
}

fn bind_to(socket: &OwnedFd, device: &str, protocol: u16) -> io::Result<()> {
    let address = LinkLayer {
        family: AddressFamily::PACKET.as_raw(),
        protocol,
        interface: netdevice::name_to_index(socket, device)? as i32,
        hardware: 0,
        packet: 0,
        length: 0,
        address: [0; 8],
    };
    Ok(bind(socket, &address)?)
}

/// Set an option of `SOL_SOCKET`, for which T is the kernel's type.
#[allow(unsafe_code)]
pub fn set_option<T>(socket: &impl AsRawFd, name: c_int, value: &T) -> io::Result<()> {
    let at = std::ptr::from_ref(value).cast::<c_void>();
    let length = size_of_val(value) as socklen_t;
    // SAFETY: the system reads no more than the value, which lives as long as the call, as does what it points to.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, at, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

const fn instruction(code: u32, jump_if_false: u8, value: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: jump_if_false, k: value }
}
