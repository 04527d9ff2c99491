use proptest::prelude::*;

use super::*;
use crate::disk::Room;

fn all(kept: &Samples, disk: &Overflow) -> Vec<(Side, RttSample)> {
    let mut all = Vec::new();
    kept.each(disk, |side, sample| all.push((side, sample))).unwrap();
    all
}

fn sample() -> impl Strategy<Value = (Side, RttSample)> {
    let time_ns = prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>(), 0..1_000_000_000i64];
    let side = prop_oneof![Just(Side::Client), Just(Side::Server)];
    let numbers = (0..=i64::MAX, 1..=1024u32, 0..=1024u32);
    (side, time_ns, numbers).prop_map(|(side, time_ns, (rtt_ns, segments, others))| {
        (side, RttSample { time_ns, rtt_ns, segments, in_flight: segments + others })
    })
}

proptest! {
    #[test]
    fn what_was_kept_comes_back_wherever_it_was(
        samples in prop::collection::vec(sample(), 0..6_000),
        room in prop_oneof![Just(0), 0..200_000u64, Just(u64::MAX)],
        swap: bool,
    ) {
        let mut kept = Samples::default();
        let mut disk = Overflow::within(Some(Room { folder: std::env::temp_dir(), bytes: room }));
        let mut gone = 0;
        for (number, &(side, sample)) in samples.iter().enumerate() {
            kept.push(side, sample);
            if number % 1_000 == 999 {
                gone += kept.put_on_disk(&mut disk);
            }
        }
        prop_assert!(gone <= samples.len() && (gone == 0 || room > 0));
        let side_of = |side: Side| if swap { side.other() } else { side };
        if swap {
            kept.swap_sides();
        }
        let expected: Vec<_> = samples.iter().map(|&(side, sample)| (side_of(side), sample)).collect();
        prop_assert_eq!(all(&kept, &disk), expected);
    }

    #[test]
    fn whatever_is_read_back_ends(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let kept = Samples { bytes, ..Samples::default() };
        drop(kept.each(&Overflow::default(), |_, _| {}));
    }
}

#[test]
fn a_usual_sample_takes_ten_bytes_at_most() {
    let mut kept = Samples::default();
    for number in 0..1_000 {
        let time_ns = 1_700_000_000_000_000_000 + number * 5_000_000;
        kept.push(Side::Client, RttSample { time_ns, rtt_ns: 1_200_000, segments: 1, in_flight: 1 });
    }
    assert!(kept.bytes.len() <= 10 * 1_000);
}

#[test]
fn what_is_no_longer_on_disk_is_an_error() {
    let room = Room { folder: std::env::temp_dir(), bytes: u64::MAX };
    let (mut kept, mut disk) = (Samples::default(), Overflow::within(Some(room)));
    let sample = RttSample { time_ns: 1_700_000_000_000_000_000, rtt_ns: 1_200_000, segments: 1, in_flight: 1 };
    (0..1_000).for_each(|_| kept.push(Side::Client, sample));
    assert_eq!(kept.put_on_disk(&mut disk), 1_000);
    assert_eq!(all(&kept, &disk).len(), 1_000);
    assert!(kept.each(&Overflow::default(), |_, _| {}).is_err());
}
