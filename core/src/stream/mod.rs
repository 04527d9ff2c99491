//! TCP: from segments to the bytes each side sent, in order, with what is missing said.
//!
//! A stream's bytes come as [`Chunk`]s. What the capture did not see becomes a length, never a guess: `lost` for
//! packets that were never captured, `cut` for the end of a packet that the snap length took.

mod advertised;
mod clock;
mod connection;
mod connections;
mod duplicates;
mod followed;
mod handshake;
mod pace;
mod readings;
mod reassembly;
mod rtt;
mod samples;
mod segments;
mod socks;
mod taps;
mod anomalies;

pub use advertised::Advertised;
pub use anomalies::{Anomalies, Tally};
pub use connection::{Connection, State};
pub use connections::Connections;
pub use followed::{Followed, NoRoom};
pub use handshake::Handshake;
pub use pace::{Kind, Signal};
pub use reassembly::Reassembly;
pub use rtt::RttSample;
pub use samples::{Place, Samples};
pub use segments::Slot;
pub use socks::Tunnels;

use crate::side::Side;

/// The offset of the first byte of each stream that was seen. Not 0, so that acknowledgments of bytes before it have
/// offsets, too.
pub const START: u64 = 1 << 32;

/// A packet that another tap has not shown for so long does not come there any more: their clocks may differ by less.
pub const HORIZON_NS: i64 = 1_000_000_000;

/// A packet as an event on the time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub frame: u64,
    pub time_ns: i64,
}

/// The next bytes of one side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    pub side: Side,
    /// The packet that carried the bytes (for `lost` alone: the one that proved the loss).
    pub mark: Mark,
    /// How many bytes of the other side the sender had received when it sent this.
    pub acknowledged: u64,
    /// Where `bytes` begin in the side's stream.
    pub offset: u64,
    /// Bytes that were sent before these and never captured.
    pub lost: u64,
    pub bytes: &'a [u8],
    /// Bytes that followed in the same packet, beyond the snap length.
    pub cut: u64,
}

#[cfg(test)]
mod tests {
    use crate::packet::{Endpoint, Flags, Segment};

    /// A segment for tests to change.
    pub fn segment(flags: u8) -> Segment<'static> {
        let end = |port| Endpoint { address: std::net::Ipv4Addr::LOCALHOST.into(), port };
        Segment {
            frame: 1,
            time_ns: 1_000_000_000,
            tap: 0,
            source: end(40_000),
            destination: end(3306),
            identification: 0,
            sequence: 0,
            acknowledgment: 0,
            flags: Flags(flags),
            window: 1_000,
            maximum_segment_size: None,
            window_scale: None,
            timestamp: None,
            echo: None,
            came_twice: false,
            payload: &[],
            wire_length: 0,
        }
    }
}
