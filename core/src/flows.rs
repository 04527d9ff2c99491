//! All TCP connections of a recording: from its segments to the bytes that each side sent.

use std::collections::BTreeMap;

use crate::batch::{Batch, What};
use crate::capture::{Packet, possible_time};
use crate::client_groups::Hosts;
use crate::conversation::{Conversation, Hints};
use crate::disk::{Overflow, Room};
use crate::ledger::{Kept, Round, Share};
use crate::note::{NoteCode, Notes};
use crate::options::Options;
use crate::packet::{Dissected, Flags, Segment};
use crate::protocols::protocol_on;
use crate::side::Side;
use crate::stream::{Connections, Followed, NoRoom, RttSample, Tunnels};
use crate::taps::Taps;

/// What one RTT sample takes where it is analysed; here it is kept in less.
const SAMPLE_BYTES: usize = size_of::<(Side, RttSample)>();

/// The capture's clocks as they would have run, had none ever been set.
#[derive(Debug, Default)]
struct Clock {
    /// Added to all times since the last step, of each place.
    offsets_ns: Vec<i64>,
    steps: u32,
}

impl Clock {
    #[inline]
    fn offset_ns(&self, place: u16) -> i64 {
        self.offsets_ns.get(usize::from(place)).copied().unwrap_or(0)
    }

    /// What a connection says of a place's clock is added to all its times from here on.
    #[inline]
    fn step(&mut self, place: u16, by_ns: Option<i64>) {
        if let Some(more_ns) = by_ns {
            self.steps += 1;
            let place = usize::from(place);
            self.offsets_ns.resize(self.offsets_ns.len().max(place + 1), 0);
            self.offsets_ns[place] = self.offsets_ns[place].saturating_add(more_ns);
        }
    }
}

/// All connections; what their conversations are to know goes into batches.
pub struct Flows<'a> {
    options: &'a Options,
    pub connections: Connections,
    /// No other tap shows anything now, see [`Packet::alone`](crate::capture::Packet).
    pub alone: bool,
    /// Where what comes was captured.
    pub place: u16,
    /// Those of other parts of the recording.
    followed: Followed,
    tunnels: Tunnels,
    /// What several taps show of the same connections.
    pub taps: Taps,
    pub notes: Notes,
    /// Packets by LINKTYPE.
    pub unknown_link_types: BTreeMap<u16, u64>,
    clock: Clock,
    kept: Kept,
    /// What the conversations kept, and how many there were, when they were last heard of.
    conversations: Kept,
    conversed: usize,
    round: Round,
    /// RTT samples that went to the disk, and whose are next.
    pub overflow: Overflow,
    samples_round: Round,
}

impl Flows<'_> {
    pub fn new(options: &Options) -> Flows<'_> {
        Flows {
            options,
            connections: Connections::default(),
            alone: true,
            place: 0,
            followed: Followed::default(),
            tunnels: Tunnels::default(),
            taps: Taps::within(options.limits.taps),
            notes: Notes::default(),
            unknown_link_types: BTreeMap::new(),
            clock: Clock::default(),
            kept: Kept::default(),
            conversations: Kept::default(),
            conversed: 0,
            round: Round::default(),
            overflow: Overflow::within(options.disk.as_ref().map(Room::for_rows)),
            samples_round: Round::default(),
        }
    }

    /// A batch comes back, to be filled anew.
    pub fn begin(&mut self, batch: &Batch) {
        (self.conversations, self.conversed) = (batch.conversations, batch.conversed);
    }

    /// A batch is full.
    pub fn end(&mut self, batch: &mut Batch) {
        batch.connections = self.kept;
        batch.connections.connections += self.followed.kept_bytes() + self.taps.kept_bytes();
    }

    pub fn segment(&mut self, segment: &Segment<'_>, batch: &mut Batch) {
        self.tunnels.pass(segment);
        if self.options.part.as_ref().is_some_and(|part| !part.holds(Hosts::of(segment))) {
            return self.follow(segment);
        }
        let is_server_port = |port| self.options.decode_as.contains_key(&port) || protocol_on(port).is_some();
        let (known, has_room) = (self.connections.len(), self.has_room());
        let Some((number, side)) = self.connections.number_of(segment, &has_room, &is_server_port) else {
            return self.no_room_for_a_connection();
        };
        batch.next_turn();
        let is_new = number == known;
        if is_new {
            let left_out = self.followed.begun() + self.tunnels.numbered();
            if left_out > 0 {
                self.connections.number_newest(number + left_out);
            }
            let hints = self.hints(number, segment);
            batch.add(number, What::Begins(hints, self.connections.stream(number)));
        }
        let connection = self.connections.get_mut(number);
        if self.taps.concerns(number, connection, segment)
            && let Some((other, later_ns)) = self.taps.pass(number, connection, side, segment)
        {
            connection.leave_out(other, side, later_ns);
        }
        let fresh = connection.is_fresh(side, segment);
        let step = connection.clock_step(side, self.place, segment, self.clock.offset_ns(self.place), fresh);
        if connection.leaves_out(side, segment, fresh, self.alone) {
            return self.spare(number, side, segment, batch);
        }
        let corrected;
        self.clock.step(self.place, step);
        let offset_ns = self.clock.offset_ns(self.place);
        let segment = match offset_ns {
            0 => segment,
            _ => {
                let time_ns = possible_time(segment.time_ns.saturating_add(offset_ns));
                corrected = Segment { time_ns, ..*segment };
                &corrected
            }
        };
        if connection.forget_times_before(self.clock.steps) {
            batch.add(number, What::ClockStepped);
        }
        let Some(arrival) = connection.accept(side, segment, fresh) else { return };
        for signal in arrival.signals.into_iter().flatten() {
            batch.add(number, What::Signal(side, signal));
        }
        if let Some(chunk) = arrival.chunk {
            batch.add_chunk(number, &chunk);
        }
        if segment.flags.0 & (Flags::FIN | Flags::RST) != 0 {
            batch.add(number, What::HungUp(side, connection.streams.acknowledged(side.other())));
        }
        if let Some(stall) = arrival.stall {
            batch.add(number, What::Signal(side, stall));
        }
        while let Some(chunk) = connection.streams.release() {
            batch.add_chunk(number, &chunk);
        }
        if let Some(sample) = arrival.sample {
            self.keep(number, side.other(), sample);
        }
        self.keeps(number, batch);
    }

    /// A segment that counts as another tap saw it.
    #[cold]
    fn spare(&mut self, number: usize, side: Side, segment: &Segment<'_>, batch: &mut Batch) {
        let time_ns = possible_time(segment.time_ns.saturating_add(self.clock.offset_ns(self.place)));
        self.connections.get_mut(number).spare(side, &Segment { time_ns, ..*segment });
        self.keeps(number, batch);
    }

    /// A connection may keep more than before.
    #[inline]
    fn keeps(&mut self, number: usize, batch: &mut Batch) {
        self.count(number);
        if self.kept.buffers + self.conversations.buffers > self.options.limits.buffers {
            self.make_room(batch);
        }
    }

    /// A segment of another part of the recording.
    #[inline(never)]
    fn follow(&mut self, segment: &Segment<'_>) {
        let has_room = self.has_room()(self.connections.len());
        match self.followed.pass(segment, self.place, self.clock.offset_ns(self.place), has_room) {
            Ok(step) => self.clock.step(self.place, step),
            Err(NoRoom) => self.no_room_for_a_connection(),
        }
    }

    /// Is there room for one more connection than so many? Those whose conversations were not heard of yet count as if
    /// they spoke.
    #[inline]
    fn has_room(&self) -> impl Fn(usize) -> bool + use<> {
        let (heard, conversed) = (self.kept.connections + self.conversations.connections, self.conversed);
        let most = self.options.limits.connections.saturating_sub(self.followed.kept_bytes() + self.taps.kept_bytes());
        move |connections| heard + (connections - conversed) * Conversation::MOST < most
    }

    /// A segment that has its neighbour's time, as its own is wrong: nothing that it begins or ends can be timed.
    pub fn segment_with_a_wrong_time(&mut self, segment: &Segment<'_>, batch: &mut Batch) {
        let frame = segment.frame;
        self.notes.add_at(NoteCode::ClockOutlier, 1, Some(frame), || {
            format!("the time of frame {frame} is far from that of the packets around it and was replaced by theirs")
        });
        self.clock.steps += 1;
        self.segment(segment, batch);
        self.clock.steps += 1;
    }

    /// A packet that gave no segment: why, where that is a defect.
    pub fn unread_packet(&mut self, packet: &Packet<'_>, dissected: &Dissected<'_>) {
        let frame = packet.frame;
        match dissected {
            Dissected::UnknownLinkType(link_type) => *self.unknown_link_types.entry(*link_type).or_default() += 1,
            Dissected::Encrypted(by) => self.notes.add_at(NoteCode::EncryptedPackets, 1, Some(frame), || {
                format!("packets are encrypted by {by} (first: frame {frame}): their contents are unknown")
            }),
            Dissected::Malformed(why) if !dissected.is_cut(packet) => {
                self.notes.add_at(NoteCode::MalformedPackets, 1, Some(frame), || {
                    format!("packets are damaged and left out (first: frame {frame}: {why})")
                })
            }
            _ => {}
        }
    }

    /// There is no room for more exchanges, and why not on disk either, where it might have been.
    pub fn end_at(&mut self, frame: u64, refusal: Option<&str>) {
        let memory = self.options.limits.memory / 1_000_000;
        let disk = refusal.map(|why| format!(", with no room on disk ({why})")).unwrap_or_default();
        self.notes.add(NoteCode::TooManyExchanges, || {
            format!("exchanges fill {memory} MB at packet {frame}{disk}: everything after it is left out; give more --memory, or split the capture")
        });
    }

    /// An RTT sample, as long as there is room.
    #[inline]
    fn keep(&mut self, number: usize, side: Side, sample: RttSample) {
        if self.kept.samples + SAMPLE_BYTES > self.options.limits.samples {
            self.put_samples_on_disk();
            if self.kept.samples + SAMPLE_BYTES > self.options.limits.samples {
                return self.no_room_for_a_sample();
            }
        }
        self.kept.samples += SAMPLE_BYTES;
        self.connections.get_mut(number).samples.push(side, sample);
    }

    /// Those of one connection after the other, until an eighth of the room is free.
    fn put_samples_on_disk(&mut self) {
        if !self.overflow.takes() || !self.samples_round.is_due(self.kept.samples) {
            return;
        }
        let limit = self.options.limits.samples;
        self.samples_round.ask(self.connections.len(), |number| {
            let samples = &mut self.connections.get_mut(number).samples;
            self.kept.samples -= samples.put_on_disk(&mut self.overflow) * SAMPLE_BYTES;
            self.kept.samples <= limit / 8 * 7
        });
        self.samples_round.end(self.kept.samples <= limit / 8 * 7, limit);
    }

    fn no_room_for_a_sample(&mut self) {
        self.notes.add(NoteCode::TooManySamples, || {
            let samples: usize = self.connections.iter().map(|connection| connection.samples.len()).sum();
            format!("RTT samples beyond the first {samples} are left out; give more --memory")
        });
    }

    fn no_room_for_a_connection(&mut self) {
        let most = self.connections.len() + self.followed.begun();
        self.notes.add(NoteCode::TooManyConnections, || {
            format!(
                "there are more than {most} connections: the packets of further ones are left out; give more --memory, or split the capture"
            )
        });
    }

    /// One connection after the other gives up the bytes that wait behind holes, until an eighth of the room is free.
    fn make_room(&mut self, batch: &mut Batch) {
        if !self.round.is_due(self.kept.buffers) {
            return;
        }
        let (limit, elsewhere) = (self.options.limits.buffers, self.conversations.buffers);
        let most = (limit / 8 * 7).saturating_sub(elsewhere);
        let mut round = std::mem::take(&mut self.round);
        round.ask(self.connections.len(), |number| {
            self.give_up(number, batch);
            self.kept.buffers <= most
        });
        round.end(self.kept.buffers + elsewhere <= limit, self.kept.buffers + limit / 64);
        self.round = round;
    }

    fn give_up(&mut self, number: usize, batch: &mut Batch) {
        let connection = self.connections.get_mut(number);
        if connection.streams.held_bytes() == 0 {
            return;
        }
        batch.next_turn();
        while let Some(chunk) = connection.streams.finish() {
            batch.add_chunk(number, &chunk);
        }
        self.count(number);
        let most = self.options.limits.buffers;
        self.notes.add(NoteCode::TooManyWaiting, || {
            format!("more than {most} bytes waited behind missing packets: some were discarded early")
        });
    }

    /// What a connection keeps now goes into the sum.
    #[inline]
    fn count(&mut self, number: usize) {
        let connection = self.connections.get_mut(number);
        let (connections, buffers) = (connection.kept_bytes(), connection.streams.held_bytes());
        self.kept.count(&mut connection.counted, Share { connections, buffers, requests: 0 });
    }

    fn hints(&mut self, number: usize, segment: &Segment<'_>) -> Hints {
        let connection = self.connections.get_mut(number);
        let port = connection.server.port;
        Hints {
            forced: self.options.decode_as.get(&port).copied(),
            by_port: protocol_on(port),
            oriented: connection.oriented,
            from_start: segment.flags.has(Flags::SYN),
        }
    }
}
