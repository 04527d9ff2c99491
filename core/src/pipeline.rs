//! The whole flow on one screen: a recording in, its tables out.

use std::io;
use std::sync::atomic::Ordering;

use crate::batch::Batch;
use crate::capture::{CaptureError, CutPacket, Leaps, Packet, Recording, Source, possible_time};
use crate::conversations::Conversations;
use crate::ending::Ending;
use crate::flows::Flows;
pub use crate::ledger::Limits;
use crate::ledger::Most;
use crate::note::Notes;
pub use crate::options::Options;
use crate::packet::{Dissected, Dissector};
use crate::stages::{self, BATCHES};
use crate::table::{ExchangeColumns, Tables};

/// Packets between two looks at whether to go on.
const CANCEL_INTERVAL: u64 = 4096;

/// Open `sources` as one recording and read it.
pub fn open_and_read(sources: Vec<Source>, options: &Options) -> Result<Tables, CaptureError> {
    read(Recording::open(sources)?, options).map_err(CaptureError::Kept)
}

/// Read a recording from its first packet to its last. Fails where what was kept on disk cannot be read back.
pub fn read(recording: Recording, options: &Options) -> io::Result<Tables> {
    let mut packets = Packets::new(recording, options);
    let mut conversations = Conversations::new(options);
    let mut exchanges = ExchangeColumns::within(&options.limits, options.disk.as_ref());
    let pack = |batch: &mut Batch| packets.pack(batch);
    let converse = Box::new(|batch: &mut Batch| {
        conversations.read(batch);
        if let Some(live) = &options.live {
            live.take(batch.packets(), &batch.finished, &conversations.common.statements, conversations.all.len());
        }
    });
    let tabulate = Box::new(|batch: &mut Batch| tabulate(batch, &mut exchanges));
    stages::run(options.threads(), pack, vec![converse, tabulate]);
    let Packets { recording, dissector, flows, .. } = packets;
    let notes = Notes::default();
    Ending { options, flows, conversations, exchanges, notes }.tables(recording, &dissector)
}

/// The first stage: from the recording's packets to the bytes of each connection.
struct Packets<'a> {
    options: &'a Options,
    recording: Recording,
    leaps: Leaps,
    dissector: Dissector,
    flows: Flows<'a>,
    /// The number of the last packet.
    frame: u64,
}

impl Packets<'_> {
    fn new(recording: Recording, options: &Options) -> Packets<'_> {
        Packets {
            options,
            recording,
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
        batch.read = self.recording.consumed().load(Ordering::Relaxed);
        more
    }

    /// False where the recording ends, or is to end, before the batch is full.
    fn fill(&mut self, batch: &mut Batch) -> bool {
        let Packets { recording, leaps, dissector, flows, .. } = self;
        while recording.advance() {
            if let Some(key_log) = recording.take_key_log() {
                batch.add_secrets(key_log);
            }
            let Some(mut packet) = recording.packet() else { return false };
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
                recording.note_cut(cut);
            }
            if let Some(cut) = cut {
                recording.note_cut(cut);
            }
            let is_full = batch.pass();
            if is_time && recording.stopped() {
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
        cut.into_iter().for_each(|cut| self.recording.note_cut(cut));
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
fn tabulate(batch: &mut Batch, exchanges: &mut ExchangeColumns) {
    batch.finished.iter().for_each(|exchange| exchanges.take(exchange));
    batch.exchanges = exchanges.kept_bytes();
    if batch.refusal.is_none() {
        batch.refusal = exchanges.refusal();
    }
}
