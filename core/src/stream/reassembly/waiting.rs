//! Segments that wait, for a hole before them or for what they answer, and how long.

use super::{Reassembly, Stream};
use crate::packet::Segment;
use crate::side::Side;
use crate::stream::{Chunk, Mark};

/// Segments that wait on one connection before an acknowledged hole is given up.
const GRACE_SEGMENTS: usize = 32;
/// Bytes that wait on one connection before any hole is given up: more than the largest windows in use.
const WAITING_BYTES: usize = 16 << 20;
/// What a waiting segment costs beside its bytes.
const WAITING_OVERHEAD: usize = 128;
/// Segments that wait on one connection before any hole is given up.
const WAITING_SEGMENTS: usize = 16_384;

#[derive(Debug)]
pub struct Waiting {
    pub mark: Mark,
    acknowledged: u64,
    bytes: Vec<u8>,
    cut: u64,
}

impl Waiting {
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
        self.waiting_bytes + self.waiting() * WAITING_OVERHEAD
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

    /// Segments that wait.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.streams[0].waiting.len() + self.streams[1].waiting.len()
    }

    pub(super) fn wait(&mut self, side: Side, offset: u64, acknowledged: u64, segment: &Segment<'_>) {
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
