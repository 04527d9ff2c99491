//! A link that is slow on purpose: what one TUN device sends, the other receives, later.
//!
//! ```text
//! client's namespace                                                   server's namespace
//!   TCP ── IP ── TUN ──► mover: schedule, packets in flight ──► TUN ── IP ── TCP
//!                TUN ◄── mover: schedule, packets in flight ◄── TUN
//! ```
//!
//! Whole IP packets are moved, so TCP is real from end to end: its handshake, its acknowledgments, its windows and its
//! retransmissions take the link's time. Each direction has a thread and a [`Schedule`] of its own and half of the RTT.
//!
//! The schedule knows no clock. All else needs Linux; on other systems [`Tun::open`] says so.

mod counts;
mod schedule;
mod settings;

pub use counts::Counts;
pub use schedule::{Fate, Schedule};
pub use settings::Settings;

#[cfg(target_os = "linux")]
mod awake;
#[cfg(target_os = "linux")]
mod counters;
#[cfg(target_os = "linux")]
mod flight;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod mover;
#[cfg(target_os = "linux")]
pub(crate) mod packet_socket;
#[cfg(target_os = "linux")]
pub(crate) mod stamps;
#[cfg(target_os = "linux")]
mod stop;
#[cfg(target_os = "linux")]
mod tun;
#[cfg(target_os = "linux")]
mod wake_ups;

#[cfg(target_os = "linux")]
pub use {link::Link, tun::Tun};

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Link, Tun};

/// Where packets leave a link: a device, or what stands before it.
pub trait Outlet: Send {
    /// Prepare for a packet that has entered the link: it is sent later.
    fn expect(&self, _packet: &[u8]) {}

    /// Hand over one packet.
    fn send(&self, packet: &[u8]) -> std::io::Result<()>;

    /// Finish what was sent: for now no more is due.
    fn flush(&self) {}
}

/// Writes into the device that a link's thread reads, whenever that thread lets it.
#[cfg(target_os = "linux")]
pub trait Source: Send {
    /// What becomes readable when there is something to write.
    fn awaited(&self) -> std::os::fd::BorrowedFd<'_>;

    /// Write some of it, and return how long that has waited for this thread; `None` if there is nothing.
    fn write(&mut self) -> Option<std::time::Duration>;

    /// There may be more to write, of which `awaited` says nothing.
    fn has_more(&self) -> bool;
}

/// Why there is no link.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("{what}: {why}")]
    System { what: String, why: std::io::Error },
    #[error("a link of TUN devices needs Linux")]
    NeedsLinux,
}
