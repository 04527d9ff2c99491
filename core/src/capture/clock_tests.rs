use super::*;

#[test]
fn powers_of_ten() {
    assert_eq!(Clock::default().nanoseconds(0, 7), 7_000);
    assert_eq!(Clock::new(0, 0).nanoseconds(0, 7), 7_000_000_000);
    assert_eq!(Clock::new(9, 0).nanoseconds(1, 0), 1 << 32);
    assert_eq!(Clock::new(12, 0).nanoseconds(0, 7_999), 7);
}

#[test]
fn powers_of_two() {
    assert_eq!(Clock::new(0x80 | 1, 0).nanoseconds(0, 3), 1_500_000_000);
    assert_eq!(Clock::new(0x80 | 30, 0).nanoseconds(0, 1 << 29), 500_000_000);
    assert_eq!(Clock::new(0x80 | 32, 0).nanoseconds(5, 1 << 31), 5_500_000_000);
}

#[test]
fn the_offset_moves_the_start() {
    assert_eq!(Clock::new(6, -3).nanoseconds(0, 5_000_000), 2_000_000_000);
}

#[test]
fn a_clock_that_counts_before_1970_keeps_its_order() {
    let ticks = |microseconds: i64| Clock::default().nanoseconds((microseconds >> 32) as u32, microseconds as u32);
    assert_eq!(ticks(-505_425_287), -505_425_287_000);
}

#[test]
fn no_resolution_and_no_time_overflows() {
    for resolution in 0..=255 {
        for offset in [i64::MIN, -3, 0, 7, i64::MAX] {
            let clock = Clock::new(resolution, offset);
            for (high, low) in [(u32::MAX, u32::MAX), (0, 9), (0x6_0000, 0x1234_5678), (0x7fff_ffff, u32::MAX)] {
                let ticks = (u64::from(high) << 32 | u64::from(low)) as i64;
                let nearest = clock.nearest(ticks).clamp(-TIME_MAX_NS, TIME_MAX_NS);
                assert_eq!(clock.nanoseconds(high, low), nearest);
            }
        }
    }
    assert_eq!(Clock::new(0, 0).nanoseconds(0x7fff_ffff, 0), TIME_MAX_NS);
    assert_eq!(Clock::new(127, 0).nanoseconds(0x7fff_ffff, 0), 0);
}
