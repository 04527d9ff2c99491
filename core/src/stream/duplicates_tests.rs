use super::*;
use crate::stream::tests::segment;

fn is_copy(change: impl Fn(&mut Segment<'static>)) -> bool {
    let first = Segment { identification: 7, wire_length: 10, ..segment(Flags::ACK) };
    let mut duplicates = Duplicates::default();
    duplicates.remember(Side::Client, &first);
    let mut second = Segment { time_ns: first.time_ns + 50_000, ..first };
    change(&mut second);
    duplicates.has(Side::Client, &second)
}

#[test]
fn the_same_packet_is_a_copy() {
    assert!(is_copy(|_| ()));
}

#[test]
fn a_retransmission_has_another_identification() {
    assert!(!is_copy(|segment| segment.identification = 8));
}

#[test]
fn a_copy_does_not_come_after_a_timeout() {
    assert!(!is_copy(|segment| segment.time_ns += 200_000_000));
}

#[test]
fn without_identification_data_is_told_by_time_and_acknowledgments_not_at_all() {
    let hold = |length, later_ns| {
        let first = Segment { wire_length: length, ..segment(Flags::ACK) };
        let mut duplicates = Duplicates::default();
        duplicates.remember(Side::Client, &first);
        duplicates.has(Side::Client, &Segment { time_ns: first.time_ns + later_ns, ..first })
    };
    assert!(hold(10, 20_000));
    assert!(!hold(10, 5_000_000));
    assert!(!hold(0, 20_000));
}

#[test]
fn only_the_last_segments_are_remembered() {
    let mut duplicates = Duplicates::default();
    let numbered = |identification| Segment { identification, wire_length: 1, ..segment(Flags::ACK) };
    for identification in 1..=100 {
        duplicates.remember(Side::Client, &numbered(identification));
    }
    assert_eq!(duplicates.recent.len(), REMEMBERED);
    let is_held = |identification| duplicates.has(Side::Client, &numbered(identification));
    assert!(is_held(100) && is_held(69) && !is_held(68));
}
