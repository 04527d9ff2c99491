//! What the system knows of a TCP socket: how much of what was written the other side has acknowledged, and how far
//! away it is. Only Linux is asked; elsewhere what was written counts as received.

#![cfg_attr(unix, expect(unsafe_code, reason = "the options of sockets that no library knows"))]

use std::io;
use std::time::Duration;

use socket2::Socket;

/// What a new connection shows of its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathInfo {
    /// Of the handshake's own packets, where they passed once.
    pub rtt: Option<Duration>,
    /// The SYN was sent again.
    pub sent_again: bool,
    /// What each side announces as the largest segment that it takes.
    pub own_mss: u16,
    pub other_mss: u16,
    /// What of that is left for data.
    pub segment: usize,
}

/// Ethernet's.
const USUAL_MSS: u16 = 1460;
/// TCP's timestamps in each segment.
const TIMESTAMPS: u16 = 12;

/// How many of the `written` bytes the other side has acknowledged.
pub fn acknowledged(socket: &Socket, written: u64) -> u64 {
    written.saturating_sub(system::unacknowledged(socket).unwrap_or(0))
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::{c_int, c_void};
    use std::mem;
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    use socket2::Socket;

    use super::{PathInfo, TIMESTAMPS};

    /// Bytes that were written and not acknowledged yet, sent or not; a FIN counts one.
    pub fn unacknowledged(socket: &Socket) -> Option<u64> {
        let mut bytes: c_int = 0;
        // SAFETY: SIOCOUTQ (which is TIOCOUTQ) writes one int.
        let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
        (done == 0).then(|| u64::try_from(bytes).unwrap_or(0))
    }

    pub fn path_info(socket: &Socket) -> Option<PathInfo> {
        let info = tcp_info(socket)?;
        let options = if info.tcpi_options & TIMESTAMPS_USED == 0 { 0 } else { TIMESTAMPS };
        let segment = u16::try_from(info.tcpi_snd_mss).unwrap_or(u16::MAX);
        Some(PathInfo {
            rtt: (info.tcpi_total_retrans == 0 && info.tcpi_rtt > 0)
                .then(|| Duration::from_micros(info.tcpi_rtt.into())),
            sent_again: info.tcpi_total_retrans > 0,
            own_mss: u16::try_from(info.tcpi_advmss).unwrap_or(u16::MAX),
            other_mss: segment.saturating_add(options),
            segment: segment.into(),
        })
    }

    /// `TCPI_OPT_TIMESTAMPS` of linux/tcp.h.
    const TIMESTAMPS_USED: u8 = 1;

    fn tcp_info(socket: &Socket) -> Option<libc::tcp_info> {
        // SAFETY: it holds integers only, for which zero is a value.
        let mut info: libc::tcp_info = unsafe { mem::zeroed() };
        let mut length = mem::size_of_val(&info) as libc::socklen_t;
        let at = (&raw mut info).cast::<c_void>();
        // SAFETY: the system writes no more than `length` bytes; an older one writes fewer, the others stay zero.
        let done =
            unsafe { libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, at, &raw mut length) };
        (done == 0).then_some(info)
    }

    /// Lets the system take hardly more than it can send, so that what was written has mostly left.
    pub fn take_what_can_be_sent(socket: &Socket) {
        let bytes: c_int = MAX_UNSENT_BYTES;
        let at = (&raw const bytes).cast::<c_void>();
        let length = mem::size_of_val(&bytes) as libc::socklen_t;
        // SAFETY: the option is one int. Where the system lacks it, more waits unsent.
        let _ = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, at, length) };
    }

    /// A few segments, so that the sender never runs dry.
    const MAX_UNSENT_BYTES: c_int = 128 * 1024;
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use socket2::Socket;

    use super::PathInfo;

    pub fn unacknowledged(_: &Socket) -> Option<u64> {
        None
    }

    pub fn path_info(_: &Socket) -> Option<PathInfo> {
        None
    }

    pub fn take_what_can_be_sent(_: &Socket) {}
}

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;
pub use system::take_what_can_be_sent;

/// Where a socket failed as this process has too many open: lets it have as many as the system allows. `false` where
/// that was not why, or changes nothing.
///
/// Not done before it is needed: what this process starts inherits it.
#[cfg(unix)]
pub fn opens_more(failure: &io::Error) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    if failure.raw_os_error() != Some(libc::EMFILE) {
        return false;
    }
    // SAFETY: the system writes one `rlimit`.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 || limit.rlim_cur >= limit.rlim_max {
        return false;
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the system reads one `rlimit`.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) == 0 }
}

#[cfg(not(unix))]
pub fn opens_more(_: &io::Error) -> bool {
    false
}

/// What the connection's handshake showed.
pub fn path_info(socket: &Socket) -> PathInfo {
    system::path_info(socket).unwrap_or_else(|| {
        let segment = usize::from(USUAL_MSS - TIMESTAMPS);
        PathInfo { own_mss: USUAL_MSS, other_mss: USUAL_MSS, segment, ..PathInfo::default() }
    })
}
