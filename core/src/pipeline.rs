//! The whole flow on one screen: a recording in, its tables out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::capture::{CaptureError, Recording, Source};
use crate::conversation::Forced;
use crate::flows::Flows;
use crate::packet::{Dissected, Dissector};
use crate::table::Tables;

/// Packets between two looks at the cancel flag.
const CANCEL_INTERVAL: u64 = 4096;

/// What is kept of all connections together, however hostile the capture; the limits of one connection or one table
/// stand where they are kept (docs/hostile-input.md lists all).
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// TCP connections, at about 1 KB each.
    pub connections: usize,
    /// Bytes that wait behind holes.
    pub waiting_bytes: usize,
    /// Requests without an answer, at about 400 bytes each.
    pub unanswered: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections: 1_000_000, waiting_bytes: 256 << 20, unanswered: 1_000_000 }
    }
}

/// What a user may ask of the reading.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keep the statements as they were sent, literals included.
    pub show_literals: bool,
    /// Server port → what to read it as.
    pub decode_as: BTreeMap<u16, Forced>,
    /// Set from outside to stop early; what was read so far comes back.
    pub cancel: Arc<AtomicBool>,
    pub limits: Limits,
}

/// Read a recording from its first packet to its last.
pub fn read(mut recording: Recording, options: &Options) -> Tables {
    let mut flows = Flows::new(options);
    let mut dissector = Dissector::new();
    while let Some(packet) = recording.next_packet() {
        if packet.frame % CANCEL_INTERVAL == 0 && options.cancel.load(Ordering::Relaxed) {
            break;
        }
        match dissector.segment(packet) {
            Dissected::Tcp(segment) => flows.segment(&segment),
            Dissected::UnknownLinkType(link_type) => flows.unknown_link_type(link_type),
            Dissected::Malformed(_) | Dissected::Other => {}
        }
    }
    flows.finish(recording, &dissector)
}

/// Open `sources` as one recording and read it.
pub fn open_and_read(sources: Vec<Source>, options: &Options) -> Result<Tables, CaptureError> {
    Ok(read(Recording::open(sources)?, options))
}
