//! Segments that wait, for a hole before them or for what they answer, and how long.

use super::{Reassembly, Stream};
use crate::packet::Segment;
use crate::side::Side;
use crate::stream::{Chunk, Mark};

/// Segments that wait on one connection before an acknowledged hole is given up.
const GRACE_SEGMENTS: usize = 32;
/// Bytes that wait on one connection before any hole is given up: more than the largest windows in use.
pub const WAITING_BYTES: usize = 16 << 20;
/// What a waiting segment costs beside its bytes.
pub const WAITING_OVERHEAD: usize = 128;
/// Segments that wait on one connection before any hole is given up.
pub const WAITING_SEGMENTS: usize = 16_384;

#[derive(Debug)]
pub struct Waiting {
    pub mark: Mark,
    pub(super) acknowledged: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) cut: u64,
}

impl Waiting {
    pub(super) fn new(segment: &Segment<'_>, acknowledged: u64) -> Waiting {
        Waiting {
            mark: Mark { frame: segment.frame, time_ns: segment.time_ns },
            acknowledged,
            bytes: segment.payload.to_vec(),
            cut: u64::from(segment.wire_length).saturating_sub(segment.payload.len() as u64),
        }
    }

    pub fn length(&self) -> u64 {
        self.bytes.len() as u64 + self.cut
    }
}

impl Stream {
    fn open_hole_was_received(&self) -> bool {
        self.acknowledged > self.next
    }
}

impl Reassembly {
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
        let spare = self.spare.as_ref().map_or(0, |spare| spare.held_bytes());
        self.waiting_bytes + self.waiting() * WAITING_OVERHEAD + spare
    }

    fn release_when(&mut self, finishing: bool) -> Option<Chunk<'_>> {
        self.drop_outdated();
        if let Some(side) = [Side::Client, Side::Server].into_iter().find(|&side| self.is_free(side)) {
            return self.hand_out(side);
        }
        let blocked = self.longest_waiting();
        match blocked {
            Some(side) if finishing || self.patience_is_over(side) => self.give_up(side),
            None if finishing && self.end_is_missing().is_some() => self.unseen_end(),
            _ => {
                if finishing {
                    self.forget_spare();
                }
                self.released = Vec::new();
                None
            }
        }
    }

    /// Segments that wait.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.streams[0].waiting.len() + self.streams[1].waiting.len()
    }

    pub(super) fn wait(&mut self, side: Side, offset: u64, acknowledged: u64, segment: &Segment<'_>) {
        self.keep_waiting(side, offset, Waiting::new(segment, acknowledged));
    }

    pub(super) fn keep_waiting(&mut self, side: Side, offset: u64, waiting: Waiting) {
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
        let is_due = || !self.hole(side).is_some_and(|hole| self.may_be_spared(hole));
        (proven && segments > GRACE_SEGMENTS && is_due())
            || segments > WAITING_SEGMENTS
            || self.waiting_bytes > WAITING_BYTES
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

    /// Give up the hole that `side`'s first waiting segment waits for, but for what other taps have seen of it: first what
    /// it answers, then what precedes it.
    fn give_up(&mut self, side: Side) -> Option<Chunk<'_>> {
        match self.hole(side) {
            Some((of, until, mark)) if self.spared_from(of, until).is_some() => return self.fill(of, until, mark),
            _ => (),
        }
        match self.unseen(side) {
            Some((of, until, mark)) => Some(self.lose(of, until, mark)),
            None => self.hand_out(side),
        }
    }

    /// Whose bytes are missing, up to where, and the packet that proves it.
    fn hole(&self, side: Side) -> Option<(Side, u64, Mark)> {
        self.unseen(side).or_else(|| {
            let (&offset, waiting) = self.stream(side).waiting.first_key_value()?;
            (offset > self.stream(side).next).then_some((side, offset, waiting.mark))
        })
    }

    /// What `side`'s first waiting segment answers, or what the other's does.
    fn unseen(&self, side: Side) -> Option<(Side, u64, Mark)> {
        let peer = side.other();
        match (self.unseen_before(side), self.unseen_before(peer)) {
            (Some((until, mark)), _) if !self.waits_at_its_place(peer) => Some((peer, until, mark)),
            (Some(_), Some((until, mark))) if !self.waits_at_its_place(side) => Some((side, until, mark)),
            _ => None,
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
        let (side, until) = self.end_is_missing()?;
        let mark = Mark { frame: 0, time_ns: i64::MIN };
        match self.spared_from(side, until) {
            Some(_) => self.fill(side, until, mark),
            None => Some(self.lose(side, until, mark)),
        }
    }

    fn end_is_missing(&self) -> Option<(Side, u64)> {
        let acknowledged = |side| self.stream(side).acknowledged;
        let is_missing = |&side: &Side| acknowledged(side) > self.stream(side).next + 1;
        Side::BOTH.into_iter().find(is_missing).map(|side| (side, acknowledged(side)))
    }

    /// Other taps have seen some of these bytes; what none has seen is lost.
    fn fill(&mut self, side: Side, until: u64, mark: Mark) -> Option<Chunk<'_>> {
        let peer = side.other();
        let answers = self.spared_acknowledges(side);
        if answers > self.stream(peer).next && self.spared_from(peer, answers) == Some(self.stream(peer).next) {
            return self.hand_out_spared(peer, answers, mark);
        }
        match self.spared_from(side, until) {
            Some(from) if from > self.stream(side).next => Some(self.lose(side, from, mark)),
            _ => self.hand_out_spared(side, until, mark),
        }
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
