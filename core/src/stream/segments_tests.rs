use proptest::prelude::*;

use super::*;

const MS: i64 = 1_000_000;

fn total(segments: &Segments) -> u32 {
    segments.slots().map(|slot| slot.sent.iter().sum::<u32>()).sum()
}

proptest! {
    #[test]
    fn whenever_they_pass_each_counts_once_and_slots_follow_each_other(
        times in prop::collection::vec(prop_oneof![any::<i64>(), 0..1_000_000 * MS], 0..3_000),
    ) {
        let mut segments = Segments::default();
        times.iter().for_each(|&time_ns| segments.sent(Side::Server, time_ns));
        prop_assert_eq!(total(&segments) as usize, times.len());
        let begins: Vec<i64> = segments.slots().map(|slot| slot.begin_ns).collect();
        prop_assert!(begins.is_sorted_by(|one, next| one < next));
    }
}

proptest! {
    #[test]
    fn of_no_slot_more_was_sent_again_than_was_sent(
        packets in prop::collection::vec((0..2_000 * MS, any::<[bool; 4]>()), 0..1_500),
    ) {
        let mut segments = Segments::default();
        for (time_ns, [client, again, has_arrived, had_arrived]) in packets {
            let side = if client { Side::Client } else { Side::Server };
            segments.sent(side, time_ns);
            if again {
                segments.again(side, time_ns, has_arrived);
            }
            if had_arrived {
                segments.had_arrived(side);
            }
        }
        for slot in segments.slots() {
            for side in 0..2 {
                prop_assert!(slot.spurious[side] <= slot.again[side] && slot.again[side] <= slot.sent[side]);
            }
        }
    }
}

#[test]
fn a_long_connection_keeps_few_and_each_in_its_slot() {
    let mut segments = Segments::default();
    for number in 0..100_000 {
        segments.sent(Side::Client, number * 10 * MS);
    }
    assert!(segments.slots.len() <= 512, "{}", segments.slots.len());
    let each = (segments.length_ns() / (10 * MS)) as u32;
    assert!(segments.slots().all(|slot| slot.sent == [each, 0]), "{:?}", segments.slots);
}

#[test]
fn what_had_arrived_counts_where_it_was_sent_again() {
    let mut segments = Segments::default();
    segments.sent(Side::Client, 0);
    segments.again(Side::Client, 0, false);
    segments.sent(Side::Server, 5 * MS);
    segments.had_arrived(Side::Client);
    segments.had_arrived(Side::Client);
    let first = segments.slots().next().unwrap();
    assert_eq!((first.again, first.spurious), ([1, 0], [1, 0]));
}

#[test]
fn a_late_packet_counts_in_its_own_slot() {
    let mut segments = Segments::default();
    [0, 3 * MS, MS].into_iter().for_each(|time_ns| segments.sent(Side::Client, time_ns));
    assert_eq!(segments.slots().map(|slot| slot.sent[0]).collect::<Vec<_>>(), [2, 1]);
}
