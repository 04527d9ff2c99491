//! One connection's two byte streams, put back in order.
//!
//! Segments in order are handed on at once, without a copy. Two kinds wait: those behind a hole of their own stream,
//! and those that acknowledge bytes of the other side which the capture has not shown yet (an answer captured before
//! its question). A hole whose bytes were acknowledged was received, so it will not be sent again: the capture missed
//! it, and after a short grace for packets captured out of order it is given up as `lost`. A hole that was never
//! acknowledged waits for its retransmission.

mod other_taps;
mod waiting;

use std::collections::BTreeMap;

use super::rtt::{Acknowledged, Acknowledging, InFlight};
use super::{Chunk, Mark, START};
use crate::packet::{Flags, Segment};
use crate::side::Side;
use other_taps::OtherTapBytes;
use waiting::Waiting;

/// Where the handshake's RTT is not known: as Wireshark takes it.
const MIN_RETRANSMISSION_NS: i64 = 3_000_000;
/// Duplicate acknowledgments after which a sender sends again (RFC 5681 §3.2).
const FAST_RETRANSMISSION: u32 = 3;

#[derive(Debug)]
pub struct Reassembly {
    /// What the client sends, and what the server does.
    streams: [Stream; 2],
    /// What `release` handed out last, kept so that the chunk can borrow from it.
    released: Vec<u8>,
    waiting_bytes: usize,
    /// What other taps show.
    spare: Option<Box<OtherTapBytes>>,
    /// A retransmission comes no sooner behind a later segment: the handshake's RTT.
    pub soonest_retransmission_ns: i64,
    /// Packets that each side sent again.
    pub retransmissions: [u64; 2],
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
    /// There are none, or of no interest.
    #[default]
    Nothing,
    /// At most one byte, which was acknowledged before (RFC 9293 §3.8.4).
    KeepAlive,
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
            spare: None,
            soonest_retransmission_ns: MIN_RETRANSMISSION_NS,
            retransmissions: [0; 2],
            lost_bytes: 0,
            gaps: 0,
        }
    }
}

/// An ACK of a RST says nothing of what was received.
#[inline]
fn acknowledges(segment: &Segment<'_>) -> bool {
    segment.flags.0 & (Flags::ACK | Flags::RST) == Flags::ACK
}

/// A side's first byte is a keep-alive of a connection that was there before the capture, where it comes alone and is
/// 0: no message of any protocol is that short.
fn looks_like_keep_alive(segment: &Segment<'_>) -> bool {
    let alone = segment.wire_length == 1 && segment.flags.0 & (Flags::SYN | Flags::FIN | Flags::RST) == 0;
    alone && segment.payload.iter().all(|&byte| byte == 0)
}

impl Stream {
    /// The stream offset of a sequence number, the nearest one to where the stream is; wraps at 2^32 (RFC 9293 §3.4).
    #[inline]
    fn offset(&self, sequence: u32) -> Option<u64> {
        let expected = self.first?.wrapping_add(self.next as u32);
        let distance = sequence.wrapping_sub(expected) as i32;
        self.next.checked_add_signed(i64::from(distance))
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
        if let Some(spare) = &mut self.spare {
            spare.pass(segment.time_ns);
        }
        let syn = segment.flags.has(Flags::SYN);
        let sequence = segment.sequence.wrapping_add(u32::from(syn));
        let stream = self.stream_mut(side);
        stream.first.get_or_insert(sequence.wrapping_add(u32::from(looks_like_keep_alive(segment))));
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

    /// Payload bytes that this side sent, each once, seen or not.
    pub fn bytes_sent(&self, side: Side) -> u64 {
        self.stream(side).next - START
    }

    /// The client was the server all along.
    pub fn swap_sides(&mut self) {
        self.streams.swap(0, 1);
        self.retransmissions.swap(0, 1);
        self.spare.iter_mut().for_each(|spare| spare.swap_sides());
    }

    #[inline]
    fn stream(&self, side: Side) -> &Stream {
        &self.streams[side as usize]
    }

    #[inline]
    fn stream_mut(&mut self, side: Side) -> &mut Stream {
        &mut self.streams[side as usize]
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
        let by = Acknowledging { offset: received, time_ns: segment.time_ns, pure, echo: segment.echo };
        (true, peer.in_flight.acknowledged(by))
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
                (true, _) => Sending::KeepAlive,
                (_, true) => Sending::Overtaken,
                _ => {
                    self.retransmissions[side as usize] += 1;
                    Sending::Again
                }
            };
        }
        stream.highest = end;
        if stream.acknowledged < end {
            stream.in_flight.sent(end, segment.time_ns, segment.timestamp);
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
}
