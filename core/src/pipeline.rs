//! The whole flow on one screen: captures in, their tables out.

use std::io;
use std::sync::atomic::Ordering;

use crate::batch::Batch;
use crate::capture::{CaptureError, Captures, CutPacket, Leaps, Packet, Source, possible_time};
use crate::conversations::Conversations;
use crate::ending::Ending;
use crate::flows::Flows;
pub use crate::ledger::Limits;
use crate::ledger::Most;
use crate::note::Notes;
pub use crate::options::Options;
use crate::packet::{Dissected, Dissector};
use crate::recording::{ExchangeRows, Tables};
use crate::stages::{self, BATCHES};

/// Packets between two looks at whether to go on.
const CANCEL_INTERVAL: u64 = 4096;

/// Open `sources` as one recording and read it.
pub fn open_and_read(sources: Vec<Source>, options: &Options) -> Result<Tables, CaptureError> {
    read(Captures::open(sources)?, options).map_err(CaptureError::Kept)
}

/// Read captures from their first packet to its last. Fails where what was kept on disk cannot be read back.
pub fn read(captures: Captures, options: &Options) -> io::Result<Tables> {
    let mut packets = Packets::new(captures, options);
    let mut conversations = Conversations::new(options);
    let mut exchanges = ExchangeRows::within(&options.limits, options.disk.as_ref());
    let pack = |batch: &mut Batch| packets.pack(batch);
    let converse = Box::new(|batch: &mut Batch| {
        conversations.read(batch);
        if let Some(live) = &options.live {
            live.take(batch.packets(), &batch.finished, &conversations.common.statements, conversations.all.len());
        }
    });
    let tabulate = Box::new(|batch: &mut Batch| tabulate(batch, &mut exchanges));
    stages::run(options.threads(), pack, vec![converse, tabulate]);
    let Packets { captures, dissector, flows, .. } = packets;
    let notes = Notes::default();
    Ending { options, flows, conversations, exchanges, notes }.tables(captures, &dissector)
}

/// The first stage: from the captures' packets to the bytes of each connection.
struct Packets<'a> {
    options: &'a Options,
    captures: Captures,
    leaps: Leaps,
    dissector: Dissector,
    flows: Flows<'a>,
    /// The number of the last packet.
    frame: u64,
}

impl Packets<'_> {
    fn new(captures: Captures, options: &Options) -> Packets<'_> {
        Packets {
            options,
            captures,
            leaps: Leaps::default(),
            dissector: Dissector::within(options.limits.fragments),
            flows: Flows::new(options),
            frame: 0,
        }
    }

    /// Fills a batch; false where it is the last one.
    fn pack(&mut self, batch: &mut Batch) -> bool {
        self.flows.begin(batch);
        let room = self.options.limits.room(batch.kept_bytes());
        let is_full = room.is_none() && !batch.finished.is_empty();
        let most = Most::within(room.unwrap_or_default(), BATCHES);
        batch.begin(if self.options.live.is_some() { Most { packets: 1, ..most } } else { most });
        if is_full {
            self.flows.end_at(self.frame, batch.refusal.as_deref());
        }
        let more = !is_full && self.fill(batch);
        if !more {
            self.end(batch);
        }
        self.flows.end(batch);
        batch.read = self.captures.consumed().load(Ordering::Relaxed);
        more
    }

    /// False where the captures end, or are to end, before the batch is full.
    fn fill(&mut self, batch: &mut Batch) -> bool {
        let Packets { captures, leaps, dissector, flows, .. } = self;
        while captures.advance() {
            if let Some(key_log) = captures.take_key_log() {
                batch.add_secrets(key_log);
            }
            let Some(mut packet) = captures.packet() else { return false };
            let is_time = packet.frame % CANCEL_INTERVAL == 0;
            if is_time && self.options.cancel.load(Ordering::Relaxed) {
                return false;
            }
            self.frame = packet.frame;
            let held = leaps.release(Some(packet.time_ns));
            let held_cut = held.and_then(|(mut held, timed)| pass(&mut held, timed, dissector, flows, batch));
            let cut = match leaps.hold(&packet) {
                true => None,
                false => pass(&mut packet, true, dissector, flows, batch),
            };
            if let Some(cut) = held_cut {
                captures.note_cut(cut);
            }
            if let Some(cut) = cut {
                captures.note_cut(cut);
            }
            let is_full = batch.pass();
            if is_time && captures.stopped() {
                return false;
            }
            if is_full {
                return true;
            }
        }
        false
    }

    /// No packet tells any more whether the time of the one before it is wrong.
    fn end(&mut self, batch: &mut Batch) {
        let held = self.leaps.release(None);
        let cut =
            held.and_then(|(mut held, timed)| pass(&mut held, timed, &mut self.dissector, &mut self.flows, batch));
        cut.into_iter().for_each(|cut| self.captures.note_cut(cut));
    }
}

/// One packet; `timed`: its time is its own. Comes back where some of its IP datagram was not captured.
#[inline]
fn pass(
    packet: &mut Packet<'_>,
    timed: bool,
    dissector: &mut Dissector,
    flows: &mut Flows<'_>,
    batch: &mut Batch,
) -> Option<CutPacket> {
    packet.time_ns = possible_time(packet.time_ns);
    let packet = &*packet;
    (flows.alone, flows.place) = (packet.alone, packet.place);
    let mut is_cut = false;
    dissector.dissect(packet, |dissected| {
        is_cut |= dissected.is_cut(packet);
        match dissected {
            Dissected::Tcp(segment) if timed => flows.segment(segment, batch),
            Dissected::Tcp(segment) => flows.segment_with_a_wrong_time(segment, batch),
            other => flows.unread_packet(packet, other),
        }
    });
    is_cut.then_some(CutPacket {
        frame: packet.frame,
        length: packet.bytes.len(),
        original_length: packet.original_length,
    })
}

/// The last stage: exchanges become rows.
fn tabulate(batch: &mut Batch, exchanges: &mut ExchangeRows) {
    batch.finished.iter().for_each(|exchange| exchanges.take(exchange));
    batch.exchanges = exchanges.kept_bytes();
    if batch.refusal.is_none() {
        batch.refusal = exchanges.refusal();
    }
}
