//! The whole flow on one screen: a recording in, its tables out.

use std::sync::atomic::Ordering;

use crate::capture::{CaptureError, CutPacket, Leaps, Packet, Recording, Source, possible_time};
use crate::flows::Flows;
pub use crate::flows::Options;
pub use crate::ledger::Limits;
use crate::packet::{Dissected, Dissector};
use crate::table::Tables;

/// Packets between two looks at whether to go on.
const CANCEL_INTERVAL: u64 = 4096;

/// Read a recording from its first packet to its last.
pub fn read(mut recording: Recording, options: &Options) -> Tables {
    let mut flows = Flows::new(options);
    let mut dissector = Dissector::within(options.limits.fragments);
    let mut leaps = Leaps::default();
    while let Some(packet) = recording.next_packet() {
        let is_time = packet.frame % CANCEL_INTERVAL == 0;
        if is_time && options.cancel.load(Ordering::Relaxed) {
            break;
        }
        let held = leaps.release(Some(packet.time_ns));
        let held_cut = held.and_then(|(held, timed)| pass(held, timed, &mut dissector, &mut flows));
        let is_held = leaps.hold(&packet);
        let cut = if is_held { None } else { pass(packet, true, &mut dissector, &mut flows) };
        [held_cut, cut].into_iter().flatten().for_each(|cut| recording.note_cut(cut));
        if flows.is_full() || (is_time && recording.stopped()) {
            break;
        }
    }
    let held = leaps.release(None);
    let cut = held.and_then(|(held, timed)| pass(held, timed, &mut dissector, &mut flows));
    cut.into_iter().for_each(|cut| recording.note_cut(cut));
    flows.finish(recording, &dissector)
}

/// One packet; `timed`: its time is its own. Comes back where some of its IP datagram was not captured.
#[inline]
fn pass(packet: Packet<'_>, timed: bool, dissector: &mut Dissector, flows: &mut Flows<'_>) -> Option<CutPacket> {
    let packet = Packet { time_ns: possible_time(packet.time_ns), ..packet };
    let mut is_cut = false;
    dissector.dissect(packet, |dissected| {
        is_cut |= dissected.is_cut(&packet);
        match dissected {
            Dissected::Tcp(segment) if timed => flows.segment(&segment),
            Dissected::Tcp(segment) => flows.segment_with_a_wrong_time(&segment),
            other => flows.unread_packet(&packet, &other),
        }
    });
    is_cut.then_some(CutPacket {
        frame: packet.frame,
        length: packet.bytes.len(),
        original_length: packet.original_length,
    })
}

/// Open `sources` as one recording and read it.
pub fn open_and_read(sources: Vec<Source>, options: &Options) -> Result<Tables, CaptureError> {
    Ok(read(Recording::open(sources)?, options))
}
