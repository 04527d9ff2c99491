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
mod tests {
    use proptest::prelude::*;

    use super::super::Sending;
    use super::*;
    use crate::stream::START;
    use crate::stream::tests::segment;

    const MS: i64 = 1_000_000;
    const REQUEST: &[u8] = b"request";
    const ANSWER: &[u8] = b"the answer";

    /// What one side sends at a time, as the other end received so much before it.
    fn sent(ms: i64, at: usize, payload: &'static [u8], received: usize) -> Segment<'static> {
        Segment {
            frame: (ms + 3) as u64,
            time_ns: ms * MS,
            sequence: at as u32,
            acknowledgment: received as u32,
            payload,
            wire_length: payload.len() as u32,
            ..segment(Flags::ACK)
        }
    }

    /// A client that connects, asks and is answered so often, each packet 1 ms after the other.
    fn dialogue(turns: usize) -> Vec<(Side, Segment<'static>)> {
        let syn = |ms, flags| Segment { flags: Flags(flags), sequence: u32::MAX, ..sent(ms, 0, b"", 0) };
        let connects = [(Side::Client, syn(-2, Flags::SYN)), (Side::Server, syn(-1, Flags::SYN | Flags::ACK))];
        let turn = |turn: usize| {
            let (asked, answered, ms) = (turn * REQUEST.len(), turn * ANSWER.len(), turn as i64 * 2);
            let answer = sent(ms + 1, answered, ANSWER, asked + REQUEST.len());
            [(Side::Client, sent(ms, asked, REQUEST, answered)), (Side::Server, answer)]
        };
        connects.into_iter().chain((0..turns).flat_map(turn)).collect()
    }

    /// What is read: side, bytes, and how many were lost before them.
    type Read = Vec<(Side, Vec<u8>, u64)>;

    /// What is read where a connection's own tap (`true`) and another one show these packets.
    fn read(shown: &[(bool, Side, Segment<'static>)]) -> (Reassembly, Read) {
        let (mut streams, mut read) = (Reassembly::default(), Read::new());
        streams.expect_spare();
        for (own, side, segment) in shown {
            if !own {
                streams.spare(*side, segment);
                continue;
            }
            let chunk = streams.accept(*side, segment).chunk;
            read.extend(chunk.map(|chunk| (chunk.side, chunk.bytes.to_vec(), chunk.lost)));
            while let Some(chunk) = streams.release() {
                read.push((chunk.side, chunk.bytes.to_vec(), chunk.lost));
            }
        }
        while let Some(chunk) = streams.finish() {
            read.push((chunk.side, chunk.bytes.to_vec(), chunk.lost));
        }
        (streams, read)
    }

    fn whole(turns: usize) -> Read {
        dialogue(turns).into_iter().skip(2).map(|(side, segment)| (side, segment.payload.to_vec(), 0)).collect()
    }

    /// Both taps in the order of their times, the other one's so much later; without those that each has missed.
    fn both(turns: usize, later_ms: i64, missed: [&[usize]; 2]) -> Vec<(bool, Side, Segment<'static>)> {
        let packets = || dialogue(turns).into_iter().enumerate();
        let own = packets().filter(|(number, _)| !missed[0].contains(number));
        let other = packets().filter(|(number, _)| !missed[1].contains(number));
        let own = own.map(|(_, (side, segment))| (segment.time_ns, true, side, segment));
        let other = other.map(|(_, (side, segment))| (segment.time_ns + later_ms * MS, false, side, segment));
        let mut all: Vec<_> = own.chain(other).collect();
        all.sort_by_key(|&(time_ns, ..)| time_ns);
        all.into_iter().map(|(_, own, side, segment)| (own, side, segment)).collect()
    }

    #[test]
    fn what_the_first_tap_missed_is_read_from_the_other_one_with_its_time() {
        for later_ms in [-40, 0, 40, 400] {
            let (streams, read) = read(&both(300, later_ms, [&[2, 3, 7, 100, 101, 102], &[8, 99]]));
            assert!(read == whole(300), "{later_ms}");
            assert_eq!((streams.gaps, streams.retransmissions, streams.held_bytes()), (0, [0; 2], 0));
        }
    }

    #[test]
    fn what_both_missed_is_lost_and_no_more() {
        let (streams, read) = read(&both(300, 5, [&[2, 3, 4], &[3]]));
        assert_eq!((streams.gaps, streams.lost_bytes), (1, ANSWER.len() as u64));
        assert_eq!(read.iter().map(|(.., lost)| lost).sum::<u64>(), ANSWER.len() as u64);
    }

    #[test]
    fn what_was_lost_between_the_taps_is_read_when_it_is_sent_again() {
        let [(asks, request), (answers, answer)] = [dialogue(1)[2], dialogue(1)[3]];
        let again = Segment { frame: 300, time_ns: 300 * MS, ..answer };
        let shown = [(true, asks, request), (false, asks, request), (false, answers, answer), (true, answers, again)];
        let mut streams = Reassembly::default();
        streams.accept(asks, &request);
        streams.spare(asks, &request);
        streams.spare(answers, &answer);
        assert_eq!(streams.release(), None, "nobody has acknowledged it");
        let chunk = streams.accept(answers, &again).chunk.unwrap();
        assert_eq!((chunk.mark.frame, chunk.bytes), (300, ANSWER));
        assert_eq!(read(&shown).1, whole(1));
    }

    #[test]
    fn longer_segments_of_the_other_tap_are_read_as_far_as_they_are_missing() {
        let (a, b) = (sent(0, 0, b"ab", 0), sent(9, 4, b"ef", 0));
        let joined = sent(1, 0, b"abcdef", 0);
        let acknowledges = (true, Side::Server, sent(10, 0, b"", 6));
        let shown = [(true, Side::Client, a), (false, Side::Client, joined), (true, Side::Client, b), acknowledges];
        let bytes: Vec<_> = read(&shown).1.into_iter().map(|(_, bytes, _)| bytes).collect();
        assert_eq!(bytes, [b"ab", b"cd", b"ef"]);
    }

    #[test]
    fn where_the_first_tap_ends_the_other_one_goes_on() {
        let mut streams = Reassembly::default();
        let packets = &dialogue(4)[2..];
        for (number, (side, segment)) in packets.iter().enumerate() {
            match number {
                2..6 => streams.spare(*side, segment),
                _ => assert_eq!(streams.accept(*side, segment).sending, Sending::New),
            }
            if number == 5 {
                streams.use_spare();
            }
        }
        let released: Vec<_> = std::iter::from_fn(|| streams.release().map(|chunk| chunk.bytes.len())).collect();
        assert_eq!(released.iter().sum::<usize>(), 3 * (REQUEST.len() + ANSWER.len()));
        assert_eq!(streams.bytes_sent(Side::Client), 4 * REQUEST.len() as u64);
    }

    #[test]
    fn nothing_is_kept_that_was_read_nor_without_end() {
        let mut streams = Reassembly::default();
        streams.accept(Side::Client, &sent(0, 0, REQUEST, 0));
        streams.spare(Side::Client, &sent(1, 0, REQUEST, 0));
        assert_eq!(streams.held_bytes(), 0);
        for number in 1..=2 * WAITING_SEGMENTS {
            streams.spare(Side::Client, &sent(1, number * REQUEST.len(), REQUEST, 0));
        }
        assert_eq!(streams.held_bytes(), WAITING_SEGMENTS * (REQUEST.len() + WAITING_OVERHEAD));
        streams.forget_spare();
        assert_eq!(streams.held_bytes(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever the first tap missed before the last packets, all of it is there where the other one missed none of
        /// that.
        #[test]
        fn two_taps_lose_what_both_missed(
            missed in prop::collection::vec(0_usize..3, 2..380),
            later_ms in -300_i64..300,
        ) {
            let by = |tap| missed.iter().enumerate().skip(2).filter(|&(_, &by)| by == tap).map(|(at, _)| at).collect::<Vec<_>>();
            let (streams, read) = read(&both(200, later_ms, [&by(1), &by(2)]));
            prop_assert_eq!((streams.gaps, streams.bytes_sent(Side::Server) + START), (0, 200 * ANSWER.len() as u64 + START));
            prop_assert!(read == whole(200));
        }
    }
}
