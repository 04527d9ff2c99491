//! One connection's two byte streams, put back in order.
//!
//! Segments in order are handed on at once, without a copy. Two kinds wait: those behind a hole of their own stream,
//! and those that acknowledge bytes of the other side which the capture has not shown yet (an answer captured before
//! its question). A hole whose bytes were acknowledged was received, so it will not be sent again: the capture missed
//! it, and after a short grace for packets captured out of order it is given up as `lost`. A hole that was never acknowledged
//! waits for its retransmission.

use std::collections::BTreeMap;

use super::rtt::{Acknowledged, InFlight};
use super::{Chunk, Mark, START};
use crate::packet::{Flags, Segment};
use crate::side::Side;

/// Segments that wait on one connection before an acknowledged hole is given up.
const GRACE_SEGMENTS: usize = 32;
/// Bytes that wait on one connection before any hole is given up: more than the largest windows in use.
const WAITING_BYTES: usize = 16 << 20;
/// What a waiting segment costs beside its bytes.
const WAITING_OVERHEAD: usize = 128;
/// Segments that wait on one connection before any hole is given up.
const WAITING_SEGMENTS: usize = 16_384;
/// Where the handshake's RTT is not known: as Wireshark takes it.
const SOONEST_RETRANSMISSION_NS: i64 = 3_000_000;
/// Duplicate acknowledgments after which a sender sends again (RFC 5681 §3.2).
const FAST_RETRANSMISSION: u32 = 3;

#[derive(Debug)]
pub struct Reassembly {
    /// What the client sends, and what the server does.
    streams: [Stream; 2],
    /// What `release` handed out last, kept so that the chunk can borrow from it.
    released: Vec<u8>,
    waiting_bytes: usize,
    /// A retransmission comes no sooner behind a later segment: the handshake's RTT.
    pub soonest_retransmission_ns: i64,
    pub retransmissions: u64,
    pub lost_bytes: u64,
    pub gaps: u32,
}

/// What a segment brought.
#[derive(Debug, Default)]
pub struct Accepted<'a> {
    /// Bytes that can be read now.
    pub chunk: Option<Chunk<'a>>,
    /// The RTT between the capture point and the *receiver* of the acknowledged data, or a bound of it.
    pub acknowledged: Option<Acknowledged>,
    pub sending: Sending,
    /// It acknowledges once more what it did before, while data is on its way.
    pub duplicate_ack: bool,
}

/// How the data of a segment relate to what their side sent before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sending {
    /// There are none, or of no interest: keep-alives (RFC 9293 §3.8.4: at most one byte, already acknowledged).
    #[default]
    Nothing,
    New,
    /// Sent again.
    Again,
    /// A later segment came before it: overtaken on the way, or captured late.
    Overtaken,
}

#[derive(Debug)]
struct Stream {
    /// The sequence number of the stream's first byte; `None` until a packet shows it.
    first: Option<u32>,
    /// A segment of this side's own has set `first`.
    spoke: bool,
    /// Bytes before this one were handed on or given up.
    next: u64,
    /// The end of the farthest segment seen.
    highest: u64,
    /// The other side has acknowledged everything before this.
    acknowledged: u64,
    /// How often the other side has said so again, while data was on its way.
    duplicate_acks: u32,
    window: u16,
    /// Where the FIN stands: the byte it counts for is none.
    end: Option<u64>,
    waiting: BTreeMap<u64, Waiting>,
    in_flight: InFlight,
}

#[derive(Debug)]
struct Waiting {
    mark: Mark,
    acknowledged: u64,
    bytes: Vec<u8>,
    cut: u64,
}

impl Default for Stream {
    fn default() -> Stream {
        Stream {
            first: None,
            spoke: false,
            next: START,
            highest: START,
            acknowledged: START,
            duplicate_acks: 0,
            window: 0,
            end: None,
            waiting: BTreeMap::new(),
            in_flight: InFlight::default(),
        }
    }
}

impl Default for Reassembly {
    fn default() -> Reassembly {
        Reassembly {
            streams: Default::default(),
            released: Vec::new(),
            waiting_bytes: 0,
            soonest_retransmission_ns: SOONEST_RETRANSMISSION_NS,
            retransmissions: 0,
            lost_bytes: 0,
            gaps: 0,
        }
    }
}

impl Waiting {
    fn length(&self) -> u64 {
        self.bytes.len() as u64 + self.cut
    }
}

/// An ACK of a RST says nothing of what was received.
#[inline]
fn acknowledges(segment: &Segment<'_>) -> bool {
    segment.flags.0 & (Flags::ACK | Flags::RST) == Flags::ACK
}

impl Stream {
    /// The stream offset of a sequence number, the nearest one to where the stream is; wraps at 2^32 (RFC 9293 §3.4).
    #[inline]
    fn offset(&self, sequence: u32) -> Option<u64> {
        let expected = self.first?.wrapping_add(self.next as u32);
        let distance = sequence.wrapping_sub(expected) as i32;
        self.next.checked_add_signed(i64::from(distance))
    }

    fn open_hole_was_received(&self) -> bool {
        self.acknowledged > self.next
    }

    /// Bytes that were sent before the farthest ones: did they pass before, or were they only overtaken? They come too
    /// soon behind the segment that overtook them to be sent again because of it.
    fn was_overtaken(&self, offset: u64, end: u64, time_ns: i64, soonest_ns: i64) -> bool {
        let unseen = offset >= self.next
            && self.waiting.range(..=offset).next_back().is_none_or(|(&start, waiting)| start + waiting.length() < end);
        let overtaker = self.waiting.range(end..).next();
        unseen
            && self.duplicate_acks < FAST_RETRANSMISSION
            && overtaker.is_some_and(|(_, later)| time_ns.saturating_sub(later.mark.time_ns) < soonest_ns)
    }
}

impl Reassembly {
    /// Does a SYN with this sequence number begin the connection that is here, or another one on the same ports?
    pub fn is_new_connection(&self, side: Side, sequence: u32) -> bool {
        let stream = self.stream(side);
        stream.spoke && stream.first != Some(sequence.wrapping_add(1))
    }

    /// Take a segment. Bytes that can be read at once come back; afterwards ask [`Reassembly::release`] for bytes that
    /// it set free.
    #[inline]
    pub fn accept<'a>(&mut self, side: Side, segment: &Segment<'a>) -> Accepted<'a> {
        if self.is_stray(side, segment) {
            return Accepted::default();
        }
        let syn = segment.flags.has(Flags::SYN);
        let sequence = segment.sequence.wrapping_add(u32::from(syn));
        let stream = self.stream_mut(side);
        stream.first.get_or_insert(sequence);
        stream.spoke = true;
        let Some(offset) = stream.offset(sequence) else {
            return Accepted::default();
        };
        let end = offset + u64::from(segment.wire_length);
        if segment.flags.has(Flags::FIN) {
            stream.end.get_or_insert(end);
        }
        let same_window = std::mem::replace(&mut stream.window, segment.window) == segment.window;
        let received = self.received(side, segment);
        let (acknowledges_more, acknowledged) = self.acknowledge(side, received, segment);
        if segment.wire_length == 0 || segment.flags.has(Flags::RST) {
            let duplicate_ack = same_window && !acknowledges_more && self.is_duplicate_ack(side, received, segment);
            return Accepted { acknowledged, duplicate_ack, ..Accepted::default() };
        }
        let sending = self.note_sending(side, offset, end, segment);
        let chunk = self.in_order(side, offset, end, received, segment);
        if chunk.is_none() && end > self.stream(side).next {
            self.wait(side, offset, received, segment);
        }
        Accepted { chunk, acknowledged, sending, duplicate_ack: false }
    }

    /// Nothing in this segment is new: it may have been there before.
    #[inline]
    pub fn brings_nothing_new(&self, side: Side, segment: &Segment<'_>) -> bool {
        let stream = self.stream(side);
        let Some(offset) = stream.offset(segment.sequence) else { return false };
        match segment.wire_length {
            0 => self.acknowledged_offset(side, segment) <= self.stream(side.other()).acknowledged,
            length => offset + u64::from(length) <= stream.highest,
        }
    }

    /// So much of what this side sent has the other side acknowledged, as a stream offset.
    pub fn acknowledged(&self, side: Side) -> u64 {
        self.stream(side).acknowledged
    }

    /// The other side has received everything that this side sent.
    pub fn is_acknowledged(&self, side: Side) -> bool {
        let stream = self.stream(side);
        stream.acknowledged >= stream.highest
    }

    /// Where ports are used again, a late segment of the connection before can follow the new SYN: it acknowledges
    /// nothing that the new connection has sent.
    #[inline]
    fn is_stray(&self, side: Side, segment: &Segment<'_>) -> bool {
        let peer = self.stream(side.other());
        if self.stream(side).first.is_some() {
            return false;
        }
        let Some(first) = peer.first.filter(|_| peer.spoke) else { return false };
        let acknowledged = START + u64::from(segment.acknowledgment.wrapping_sub(first));
        !segment.flags.has(Flags::SYN) && acknowledged > peer.highest + 1
    }

    /// The next bytes that an earlier segment had to wait with, or `None` when nothing is free.
    #[inline]
    pub fn release(&mut self) -> Option<Chunk<'_>> {
        let nothing = self.waiting() == 0 && self.released.capacity() == 0;
        if nothing { None } else { self.release_when(false) }
    }

    /// At the end of the recording nothing more will come: as `release`, giving up every hole.
    pub fn finish(&mut self) -> Option<Chunk<'_>> {
        self.release_when(true)
    }

    /// What is kept of segments that wait, their bookkeeping included.
    #[inline]
    pub fn held_bytes(&self) -> usize {
        self.waiting_bytes + self.waiting() * WAITING_OVERHEAD
    }

    /// Payload bytes that this side sent, each once, seen or not.
    pub fn bytes_sent(&self, side: Side) -> u64 {
        self.stream(side).next - START
    }

    /// The client was the server all along.
    pub fn swap_sides(&mut self) {
        self.streams.swap(0, 1);
    }

    fn release_when(&mut self, finishing: bool) -> Option<Chunk<'_>> {
        self.drop_outdated();
        if let Some(side) = [Side::Client, Side::Server].into_iter().find(|&side| self.is_free(side)) {
            return self.hand_out(side);
        }
        let blocked = self.longest_waiting();
        match blocked {
            Some(side) if finishing || self.patience_is_over(side) => self.give_up(side),
            None if finishing => self.unseen_end(),
            _ => {
                self.released = Vec::new();
                None
            }
        }
    }

    #[inline]
    fn stream(&self, side: Side) -> &Stream {
        &self.streams[side as usize]
    }

    #[inline]
    fn stream_mut(&mut self, side: Side) -> &mut Stream {
        &mut self.streams[side as usize]
    }

    /// Segments that wait.
    #[inline]
    fn waiting(&self) -> usize {
        self.streams[0].waiting.len() + self.streams[1].waiting.len()
    }

    /// What `side` acknowledges of the other side's bytes, as a stream offset; 0 where it says nothing. The first
    /// acknowledgment tells where a stream begins that was not seen yet.
    #[inline]
    fn received(&mut self, side: Side, segment: &Segment<'_>) -> u64 {
        if acknowledges(segment) {
            self.stream_mut(side.other()).first.get_or_insert(segment.acknowledgment);
        }
        self.acknowledged_offset(side, segment)
    }

    #[inline]
    fn acknowledged_offset(&self, side: Side, segment: &Segment<'_>) -> u64 {
        if !acknowledges(segment) {
            return 0;
        }
        let peer = self.stream(side.other());
        let offset = peer.offset(segment.acknowledgment).unwrap_or(0);
        peer.end.map_or(offset, |end| offset.min(end))
    }

    /// `side` has received so much: is that more than before, and how long did it take?
    #[inline]
    fn acknowledge(&mut self, side: Side, received: u64, segment: &Segment<'_>) -> (bool, Option<Acknowledged>) {
        let peer = self.stream_mut(side.other());
        if received <= peer.acknowledged {
            return (false, None);
        }
        peer.acknowledged = received;
        peer.duplicate_acks = 0;
        let pure = segment.wire_length == 0 && !segment.flags.has(Flags::FIN);
        (true, peer.in_flight.acknowledged(received, segment.time_ns, pure))
    }

    /// RFC 5681 §2: nothing but the acknowledgment that was there before, while data is on its way.
    fn is_duplicate_ack(&mut self, side: Side, received: u64, segment: &Segment<'_>) -> bool {
        let pure = segment.flags.0 & (Flags::SYN | Flags::FIN | Flags::RST) == 0;
        let peer = self.stream_mut(side.other());
        let duplicate = pure && received == peer.acknowledged && peer.highest > received;
        peer.duplicate_acks += u32::from(duplicate);
        duplicate
    }

    #[inline]
    fn note_sending(&mut self, side: Side, offset: u64, end: u64, segment: &Segment<'_>) -> Sending {
        let soonest_ns = self.soonest_retransmission_ns;
        let stream = self.stream_mut(side);
        if end <= stream.highest {
            let keep_alive = segment.wire_length <= 1 && end == stream.highest && stream.acknowledged >= end;
            let overtaken = stream.was_overtaken(offset, end, segment.time_ns, soonest_ns);
            stream.in_flight.resent(offset);
            return match (keep_alive, overtaken) {
                (true, _) => Sending::Nothing,
                (_, true) => Sending::Overtaken,
                _ => {
                    self.retransmissions += 1;
                    Sending::Again
                }
            };
        }
        stream.highest = end;
        if stream.acknowledged < end {
            stream.in_flight.sent(end, segment.time_ns);
        }
        Sending::New
    }

    /// A side hangs up: no room is kept for what may come.
    pub fn shrink(&mut self) {
        self.streams.iter_mut().for_each(|stream| stream.in_flight.shrink());
    }

    /// The capture's clock was set: what is in flight gives no sample.
    pub fn forget_times(&mut self) {
        for stream in &mut self.streams {
            stream.in_flight = InFlight::default();
        }
    }

    /// The usual case: the very bytes that come next, and nothing unseen that they answer.
    #[inline]
    fn in_order<'a>(
        &mut self,
        side: Side,
        offset: u64,
        end: u64,
        acknowledged: u64,
        segment: &Segment<'a>,
    ) -> Option<Chunk<'a>> {
        let answers_the_unseen = acknowledged > self.stream(side.other()).next;
        let stream = self.stream_mut(side);
        if offset > stream.next || end <= stream.next || answers_the_unseen {
            return None;
        }
        let known = (stream.next - offset) as usize;
        let bytes = segment.payload.get(known..).unwrap_or_default();
        let offset = std::mem::replace(&mut stream.next, end);
        let cut = end - offset - bytes.len() as u64;
        let mark = Mark { frame: segment.frame, time_ns: segment.time_ns };
        Some(Chunk { side, mark, acknowledged, offset, lost: 0, bytes, cut })
    }

    fn wait(&mut self, side: Side, offset: u64, acknowledged: u64, segment: &Segment<'_>) {
        let waiting = Waiting {
            mark: Mark { frame: segment.frame, time_ns: segment.time_ns },
            acknowledged,
            bytes: segment.payload.to_vec(),
            cut: u64::from(segment.wire_length).saturating_sub(segment.payload.len() as u64),
        };
        self.waiting_bytes += waiting.bytes.len();
        let stream = self.stream_mut(side);
        let known = stream.waiting.get(&offset).map_or(0, Waiting::length);
        let loser = if known >= waiting.length() { Some(waiting) } else { stream.waiting.insert(offset, waiting) };
        self.waiting_bytes -= loser.map_or(0, |waiting| waiting.bytes.len());
    }

    fn drop_outdated(&mut self) {
        for side in [Side::Client, Side::Server] {
            let stream = self.stream_mut(side);
            let mut dropped = 0;
            while let Some(entry) = stream.waiting.first_entry() {
                if entry.key() + entry.get().length() > stream.next {
                    break;
                }
                dropped += entry.remove().bytes.len();
            }
            self.waiting_bytes -= dropped;
        }
    }

    fn is_free(&self, side: Side) -> bool {
        let peer_next = self.stream(side.other()).next;
        let stream = self.stream(side);
        let first = stream.waiting.first_key_value();
        first.is_some_and(|(&offset, waiting)| offset <= stream.next && waiting.acknowledged <= peer_next)
    }

    /// The side whose first waiting segment was captured earliest.
    fn longest_waiting(&self) -> Option<Side> {
        let frame = |side| self.stream(side).waiting.first_key_value().map(|(_, waiting)| waiting.mark.frame);
        match (frame(Side::Client), frame(Side::Server)) {
            (Some(client), Some(server)) if server < client => Some(Side::Server),
            (Some(_), _) => Some(Side::Client),
            (None, server) => server.map(|_| Side::Server),
        }
    }

    fn patience_is_over(&self, side: Side) -> bool {
        let segments = self.waiting();
        let stream = self.stream(side);
        let peer = self.stream(side.other());
        // In a capture of one direction nothing is acknowledged.
        let proven = stream.open_hole_was_received() || peer.open_hole_was_received() || !peer.spoke;
        (proven && segments > GRACE_SEGMENTS) || segments > WAITING_SEGMENTS || self.waiting_bytes > WAITING_BYTES
    }

    fn hand_out(&mut self, side: Side) -> Option<Chunk<'_>> {
        let stream = self.stream_mut(side);
        let (offset, waiting) = stream.waiting.pop_first()?;
        let lost = offset.saturating_sub(stream.next);
        let known = stream.next.saturating_sub(offset);
        let end = offset + waiting.length();
        stream.next = end;
        self.note_loss(lost);
        self.waiting_bytes -= waiting.bytes.len();
        self.released = waiting.bytes;
        let bytes = self.released.get(known as usize..).unwrap_or_default();
        let offset = offset + known;
        let cut = end - offset - bytes.len() as u64;
        Some(Chunk { side, mark: waiting.mark, acknowledged: waiting.acknowledged, offset, lost, bytes, cut })
    }

    /// Give up the hole that `side`'s first waiting segment waits for: first what it answers, then what precedes it.
    fn give_up(&mut self, side: Side) -> Option<Chunk<'_>> {
        let peer = side.other();
        match (self.unseen_before(side), self.unseen_before(peer)) {
            (Some((until, mark)), _) if !self.waits_at_its_place(peer) => Some(self.lose(peer, until, mark)),
            (Some(_), Some((until, mark))) if !self.waits_at_its_place(side) => Some(self.lose(side, until, mark)),
            _ => self.hand_out(side),
        }
    }

    /// Up to where the other side's bytes are missing that `side`'s first waiting segment answers, and the packet that
    /// proves it. Bytes that wait themselves are not missing.
    fn unseen_before(&self, side: Side) -> Option<(u64, Mark)> {
        let (_, waiting) = self.stream(side).waiting.first_key_value()?;
        let peer = self.stream(side.other());
        let peer_waits_at = peer.waiting.first_key_value().map_or(u64::MAX, |(&offset, _)| offset);
        (waiting.acknowledged > peer.next).then(|| (waiting.acknowledged.min(peer_waits_at), waiting.mark))
    }

    /// `side`'s first waiting segment continues its stream: only what it answers is missing.
    fn waits_at_its_place(&self, side: Side) -> bool {
        let stream = self.stream(side);
        stream.waiting.first_key_value().is_some_and(|(&offset, _)| offset <= stream.next)
    }

    /// Bytes that were acknowledged at the very end and never seen (a byte more may be an unseen FIN).
    fn unseen_end(&mut self) -> Option<Chunk<'_>> {
        let side = [Side::Client, Side::Server].into_iter().find(|&side| {
            let stream = self.stream(side);
            stream.acknowledged > stream.next + 1
        })?;
        let until = self.stream(side).acknowledged;
        Some(self.lose(side, until, Mark { frame: 0, time_ns: i64::MIN }))
    }

    fn lose(&mut self, side: Side, until: u64, mark: Mark) -> Chunk<'static> {
        let stream = self.stream_mut(side);
        let lost = until - stream.next;
        stream.next = until;
        self.note_loss(lost);
        Chunk { side, mark, acknowledged: 0, offset: until, lost, bytes: &[], cut: 0 }
    }

    fn note_loss(&mut self, lost: u64) {
        self.lost_bytes += lost;
        self.gaps += u32::from(lost > 0);
    }
}
