//! What other taps show of a connection. The connection's own tap counts; but bytes that it missed, though they were
//! received, are there where another one has seen them.

use std::collections::BTreeMap;

use super::Reassembly;
use super::waiting::{WAITING_BYTES, WAITING_OVERHEAD, WAITING_SEGMENTS, Waiting};
use crate::packet::{Flags, Segment};
use crate::side::Side;
use crate::stream::{Chunk, HORIZON_NS, Mark};

/// Of a connection that other taps may show.
#[derive(Debug, Default)]
pub struct OtherTapBytes {
    sides: [Shown; 2],
    bytes: usize,
    /// The latest time that any tap has shown.
    now_ns: i64,
}

#[derive(Debug, Default)]
struct Shown {
    /// What was not read yet.
    segments: BTreeMap<u64, Waiting>,
    /// The other taps have shown what was sent up to here.
    until: u64,
}

impl OtherTapBytes {
    pub fn swap_sides(&mut self) {
        self.sides.swap(0, 1);
    }

    pub fn held_bytes(&self) -> usize {
        let segments: usize = self.sides.iter().map(|shown| shown.segments.len()).sum();
        self.bytes + segments * WAITING_OVERHEAD
    }

    pub fn pass(&mut self, time_ns: i64) {
        self.now_ns = self.now_ns.max(time_ns);
    }

    /// Where the first segment of a side begins.
    fn begins(&self, side: Side) -> Option<u64> {
        self.sides[side as usize].segments.keys().next().copied()
    }

    fn has_room(&self) -> bool {
        self.bytes <= WAITING_BYTES && self.sides.iter().all(|shown| shown.segments.len() < WAITING_SEGMENTS)
    }

    fn keep(&mut self, side: Side, offset: u64, waiting: Waiting) {
        self.bytes += waiting.bytes.len();
        let before = self.sides[side as usize].segments.insert(offset, waiting);
        self.bytes -= before.map_or(0, |before| before.bytes.len());
    }

    fn take(&mut self, side: Side) -> Option<(u64, Waiting)> {
        let (offset, waiting) = self.sides[side as usize].segments.pop_first()?;
        self.bytes -= waiting.bytes.len();
        Some((offset, waiting))
    }

    /// What was read is not needed any more.
    fn drop_outdated(&mut self, side: Side, next: u64) {
        while self.sides[side as usize].segments.first_key_value().is_some_and(|(at, each)| at + each.length() <= next)
        {
            self.take(side);
        }
    }
}

impl Reassembly {
    /// Other taps may show the connection: what they will have shown is waited for, where this one has missed
    /// something.
    #[inline]
    pub fn expect_spare(&mut self) {
        if self.spare.is_none() {
            self.spare = Some(Box::default());
        }
    }

    /// What it takes, bytes that wait counted apart.
    pub fn spare_bytes(&self) -> usize {
        self.spare.as_ref().map_or(0, |_| size_of::<OtherTapBytes>())
    }

    /// A segment of another tap; its time is what the connection's own tap would have said.
    pub fn spare(&mut self, side: Side, segment: &Segment<'_>) {
        let syn = segment.flags.has(Flags::SYN);
        let sequence = segment.sequence.wrapping_add(u32::from(syn));
        if syn {
            self.stream_mut(side).first.get_or_insert(sequence);
        }
        let next = self.stream(side).next;
        let Some(offset) = self.stream(side).offset(sequence) else { return };
        let acknowledged = self.acknowledged_offset(side, segment);
        let spare = self.spare.get_or_insert_default();
        spare.pass(segment.time_ns);
        spare.drop_outdated(side, next);
        let end = offset + u64::from(segment.wire_length);
        let shown = &mut spare.sides[side as usize];
        shown.until = shown.until.max(end);
        let is_whole = segment.payload.len() == segment.wire_length as usize;
        let known = shown.segments.get(&offset).map_or(0, Waiting::length);
        if is_whole && end > next && u64::from(segment.wire_length) > known && spare.has_room() {
            spare.keep(side, offset, Waiting::new(segment, acknowledged));
        }
    }

    /// The other taps are all there is: what they have shown is the connection's own.
    pub fn use_spare(&mut self) {
        for side in Side::BOTH {
            while let Some((offset, waiting)) = self.spare.as_mut().and_then(|spare| spare.take(side)) {
                self.keep_waiting(side, offset, waiting);
            }
        }
    }

    /// Nothing is kept of them.
    pub fn forget_spare(&mut self) {
        if let Some(spare) = &mut self.spare {
            spare.bytes = 0;
            spare.sides.iter_mut().for_each(|shown| shown.segments.clear());
        }
    }

    /// Bytes of `side` up to `until` are missing, as `mark` proves: may another tap show them yet?
    pub fn may_be_spared(&self, (side, until, mark): (Side, u64, Mark)) -> bool {
        self.spare.as_ref().is_some_and(|spare| {
            spare.sides[side as usize].until < until && spare.now_ns.saturating_sub(mark.time_ns) < HORIZON_NS
        })
    }

    /// Where another tap's bytes of `side` begin, before `until`.
    pub fn spared_from(&mut self, side: Side, until: u64) -> Option<u64> {
        let next = self.stream(side).next;
        let spare = self.spare.as_mut()?;
        spare.drop_outdated(side, next);
        spare.begins(side).map(|begins| begins.max(next)).filter(|&begins| begins < until)
    }

    /// What the next bytes of `side` that another tap has shown acknowledge.
    pub fn spared_acknowledges(&self, side: Side) -> u64 {
        let first = self.spare.as_ref().and_then(|spare| spare.sides[side as usize].segments.values().next());
        first.map_or(0, |waiting| waiting.acknowledged)
    }

    /// The next bytes of `side`, as another tap has shown them: up to `until`, and no later than `mark`.
    pub fn hand_out_spared(&mut self, side: Side, until: u64, mark: Mark) -> Option<Chunk<'_>> {
        let next = self.stream(side).next;
        let spare = self.spare.as_mut()?;
        let (offset, mut waiting) = spare.take(side)?;
        let end = (offset + waiting.length()).min(until);
        let rest = waiting.bytes.split_off((end - offset) as usize);
        if !rest.is_empty() {
            spare.keep(side, end, Waiting { bytes: rest, ..waiting });
        }
        let latest_ns = if mark.frame > 0 { mark.time_ns } else { i64::MAX };
        let mark = Mark { time_ns: waiting.mark.time_ns.min(latest_ns), ..waiting.mark };
        self.stream_mut(side).next = end;
        self.released = waiting.bytes;
        let bytes = self.released.get((next - offset) as usize..).unwrap_or_default();
        Some(Chunk { side, mark, acknowledged: waiting.acknowledged, offset: next, lost: 0, bytes, cut: 0 })
    }
}

#[cfg(test)]
#[path = "other_taps_tests.rs"]
mod tests;
