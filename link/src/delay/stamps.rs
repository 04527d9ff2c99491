//! The kernel's times of packets and bytes: the thread that reads them wakes up later.
//!
//! A socket beside the device receives a copy of each packet that the device is given, in the same order, with the time
//! at which that happened. A packet whose copy is missing counts from when it was read.

use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libc::{c_int, c_void, timespec};

/// The first bytes of a packet, its headers, tell it from the next one of the same length.
const HEAD_BYTES: usize = 64;
const CONTROL_BYTES: usize = 64;

/// The copies of what one device was given.
pub struct Stamps(OwnedFd);

impl Stamps {
    /// `socket` is of [`super::packet_socket::copies`].
    pub fn new(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// How long before now the kernel gave this packet to the device. The copies before its own are of packets that
    /// the device dropped.
    pub fn age(&self, packet: &[u8]) -> Option<Duration> {
        let mut head = [0; HEAD_BYTES];
        loop {
            let (length, sent) = receive(&self.0, &mut head, libc::MSG_TRUNC).ok()?;
            let known = length.min(HEAD_BYTES);
            if length == packet.len() && packet.starts_with(&head[..known]) {
                return age(sent?);
            }
        }
    }
}

/// How long ago that was; the system's clock may have been set meanwhile.
pub fn age(time: SystemTime) -> Option<Duration> {
    SystemTime::now().duration_since(time).ok()
}

/// Read from a socket that has `SO_TIMESTAMPNS`: the length, and when the kernel received the (last of the) bytes.
#[allow(unsafe_code)]
pub fn receive(socket: &impl AsRawFd, buffer: &mut [u8], flags: c_int) -> io::Result<(usize, Option<SystemTime>)> {
    #[repr(align(8))]
    struct Control(MaybeUninit<[u8; CONTROL_BYTES]>);
    let mut control = Control(MaybeUninit::uninit());
    let mut place = libc::iovec { iov_base: buffer.as_mut_ptr().cast::<c_void>(), iov_len: buffer.len() };
    // SAFETY: it holds integers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut place;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast::<c_void>();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: the message points to one buffer and one place for control messages, with their lengths.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags | libc::MSG_DONTWAIT) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel has written `msg_controllen` bytes of whole control messages.
    let first = unsafe { libc::CMSG_FIRSTHDR(&raw const message).as_ref() };
    let stamp =
        first.filter(|header| (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS));
    // SAFETY: a control message of that kind holds one `timespec`.
    let stamp = stamp.map(|header| unsafe { libc::CMSG_DATA(header).cast::<timespec>().read_unaligned() });
    Ok((length, stamp.and_then(|time| time_of_day(&time))))
}

fn time_of_day(time: &timespec) -> Option<SystemTime> {
    let since = Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    UNIX_EPOCH.checked_add(since)
}

#[cfg(test)]
#[path = "stamps_tests.rs"]
mod tests;
