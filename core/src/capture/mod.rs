//! Capture files and pipes, read as one recording in time order.

mod annotate;
mod blocks;
mod clock;
mod dialect;
mod error;
mod facts;
mod foreign;
mod lz4;
mod order;
mod packed;
mod pcap;
mod pcapng;
mod reader;
mod record;
mod recording;
mod source;
mod ticks;
mod window;
mod zstd;

pub use annotate::{AnnotateError, Comments, annotate};
pub use blocks::{Name, Secret};
pub use error::CaptureError;
pub use facts::CaptureFile;
pub use recording::Recording;
pub use source::Source;

/// One captured packet, borrowed from the reader until the next one is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The number Wireshark gives it: 1 for the first packet of the recording.
    pub frame: u64,
    /// Nanoseconds since 1970-01-01 UTC, as the capture says.
    pub time_ns: i64,
    /// The tcpdump.org LINKTYPE of its interface.
    pub link_type: u16,
    /// What was captured.
    pub bytes: &'a [u8],
    /// Its length on the wire, at least `bytes.len()`.
    pub original_length: u32,
}
