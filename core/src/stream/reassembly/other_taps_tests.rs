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
