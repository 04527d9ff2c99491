//! The whole flow on one screen: a recording in, its tables out.

use std::sync::atomic::Ordering;

use crate::capture::{CaptureError, Recording, Source};
use crate::flows::Flows;
pub use crate::flows::Options;
pub use crate::ledger::Limits;
use crate::packet::{Dissected, Dissector};
use crate::table::Tables;

/// Packets between two looks at the cancel flag.
const CANCEL_INTERVAL: u64 = 4096;

/// Read a recording from its first packet to its last.
pub fn read(mut recording: Recording, options: &Options) -> Tables {
    let mut flows = Flows::new(options);
    let mut dissector = Dissector::within(options.limits.fragments);
    while let Some(packet) = recording.next_packet() {
        if packet.frame % CANCEL_INTERVAL == 0 && options.cancel.load(Ordering::Relaxed) {
            break;
        }
        let mut is_cut = false;
        dissector.dissect(packet, |dissected| {
            is_cut |= dissected.is_cut(&packet);
            match dissected {
                Dissected::Tcp(segment) => flows.segment(&segment),
                other => flows.unread_packet(&packet, &other),
            }
        });
        if is_cut {
            recording.note_cut();
        }
        if flows.is_full() {
            break;
        }
    }
    flows.finish(recording, &dissector)
}

/// Open `sources` as one recording and read it.
pub fn open_and_read(sources: Vec<Source>, options: &Options) -> Result<Tables, CaptureError> {
    Ok(read(Recording::open(sources)?, options))
}
