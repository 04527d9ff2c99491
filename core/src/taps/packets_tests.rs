use super::*;

const MS: i64 = 1_000_000;

fn data(ms: i64, sequence: u32, length: u32) -> Segment<'static> {
    let end = |port| crate::packet::Endpoint { address: std::net::Ipv4Addr::LOCALHOST.into(), port };
    Segment {
        frame: 1,
        time_ns: ms * MS,
        tap: 0,
        source: end(40_000),
        destination: end(3306),
        identification: 0,
        sequence,
        acknowledgment: 1,
        flags: Flags(Flags::ACK),
        window: 0,
        maximum_segment_size: None,
        window_scale: None,
        timestamp: Some(7),
        echo: None,
        came_twice: false,
        payload: &[],
        wire_length: length,
    }
}

/// What two taps tell of the segments, each with its tap.
fn sightings(segments: &[(usize, Segment<'static>)]) -> Vec<Sighting> {
    let (mut packets, mut sightings) = (Packets::default(), Vec::new());
    for (slot, segment) in segments {
        let name = Name::of(segment).unwrap();
        packets.pass((*slot, 2), segment, name, true, &mut |each| sightings.push(each));
    }
    packets.end(2, &mut |each| sightings.push(each));
    assert!(packets.numbers.is_empty());
    sightings
}

fn both(ms: i64, whole: bool, overtaken: bool) -> Sighting {
    Sighting::Both { slots: (0, 1), difference_ns: ms * MS, whole, overtaken }
}

#[test]
fn the_difference_is_the_second_tap_s_less_the_first_one_s() {
    let found = sightings(&[(0, data(0, 0, 5)), (1, data(3, 0, 5)), (1, data(4, 5, 5)), (0, data(6, 5, 5))]);
    assert_eq!(found, [both(3, true, false), both(-2, true, false)]);
}

#[test]
fn what_passed_one_tap_between_two_that_passed_both_is_alone() {
    let lost = [(0, data(0, 0, 5)), (0, data(1, 5, 5)), (0, data(2, 10, 5)), (1, data(3, 0, 5)), (1, data(5, 10, 5))];
    assert_eq!(sightings(&lost), [both(3, true, false), both(3, true, false), Sighting::Alone { by: 0, not: 1 }]);
    assert_eq!(sightings(&lost[..4]), [both(3, true, false)], "the second tap may have ended");
}

#[test]
fn pieces_of_a_longer_segment_are_not_lost() {
    let (first, pieces, last) = (data(0, 0, 5), [data(1, 5, 5), data(1, 10, 5), data(1, 15, 5)], data(2, 20, 5));
    let [one, two, three] = pieces;
    let later = |segment: Segment<'static>| Segment { time_ns: segment.time_ns + 3 * MS, ..segment };
    let joined = Segment { wire_length: 15, ..one };
    let (before, after) = (both(3, true, false), both(3, false, false));
    let divided = [(0, first), (0, joined), (0, last), (1, later(first)), (1, later(one)), (1, later(two))];
    let divided = [&divided[..], &[(1, later(three)), (1, later(last))]].concat();
    assert_eq!(sightings(&divided), [before, after, before]);
    let united = [(0, first), (0, one), (0, two), (0, three), (0, last), (1, later(first)), (1, later(joined))];
    let united = [&united[..], &[(1, later(last))]].concat();
    assert_eq!(sightings(&united), [before, after, before]);
}

#[test]
fn what_comes_in_another_order_was_overtaken() {
    let found = sightings(&[(0, data(0, 0, 5)), (0, data(0, 5, 5)), (1, data(3, 5, 5)), (1, data(4, 0, 5))]);
    assert_eq!(found, [both(3, true, false), both(4, true, true)]);
}

#[test]
fn what_was_sent_again_with_the_same_numbers_has_no_time() {
    let bare = |ms| Segment { timestamp: None, ..data(ms, 0, 5) };
    assert_eq!(sightings(&[(0, bare(0)), (0, bare(300)), (1, bare(303))]), []);
    assert_eq!(sightings(&[(0, bare(0)), (0, bare(0)), (1, bare(3))]), [both(3, true, false)], "a copy");
}

#[test]
fn nothing_is_compared_for_longer_than_a_second_nor_kept_without_end() {
    assert_eq!(sightings(&[(0, data(0, 0, 5)), (1, data(1_100, 0, 5))]), []);
    let (mut packets, mut ignore) = (Packets::default(), |_| ());
    for number in 0..2 * MAX_PACKETS as u32 {
        let segment = data(0, number, 1);
        packets.pass((0, 2), &segment, Name::of(&segment).unwrap(), true, &mut ignore);
    }
    assert_eq!((packets.len(), packets.numbers.len()), (MAX_PACKETS, MAX_PACKETS));
}
