use super::*;

fn resolution(times_ns: impl IntoIterator<Item = i64>) -> Resolution {
    let mut times_ns = times_ns.into_iter();
    let mut resolution = Resolution::default();
    let mut previous_ns = times_ns.next().unwrap();
    resolution.begin(previous_ns);
    for time_ns in times_ns {
        resolution.pass(previous_ns.abs_diff(time_ns));
        previous_ns = time_ns;
    }
    resolution
}

fn coarse_ns(times_ns: impl IntoIterator<Item = i64>) -> Option<u64> {
    resolution(times_ns).coarse_ns()
}

#[test]
fn whole_milliseconds_are_coarse() {
    assert_eq!(coarse_ns((0..20).map(|n| 1_700_000_000_003_000_000 + n * n * 1_000_000)), Some(1_000_000));
    assert_eq!(coarse_ns((0..20).map(|n| n * n * 10_000_000)), Some(10_000_000));
}

#[test]
fn microseconds_are_fine() {
    let times = (0..20).map(|n| 5_000 + n * 7_001_000);
    assert_eq!(coarse_ns(times.clone()), None);
    assert_eq!(resolution(times).tick_ns(), Some(1_000));
}

#[test]
fn whole_seconds_are_the_coarsest_clock() {
    for apart_ns in [1_000_000_000, 30_000_000_000] {
        let seconds = resolution((0..4).map(|n| n * apart_ns));
        assert_eq!((seconds.coarse_ns(), seconds.tick_ns()), (Some(1_000_000_000), Some(1_000_000_000)));
    }
    assert_eq!(resolution((0..3).map(|n| n * 1_000_000_000)).tick_ns(), None);
}

#[test]
fn a_tick_that_is_no_whole_millisecond_shows_in_its_steps() {
    assert_eq!(coarse_ns((0..40).map(|n| 123_000 + n / 2 * 15_625_000)), Some(15_625_000));
}

#[test]
fn files_that_follow_each_other_show_what_they_show_as_one() {
    let clocks: [fn(i64) -> i64; 3] =
        [|n| 5_000 + n * 7_001_000, |n| n * n * 10_000_000, |n| 123_000 + n / 2 * 15_625_000];
    for clock in clocks {
        for length in [1, 2, 3, 7, 20, 40] {
            let mut joined = Resolution::default();
            for first in (0..40).step_by(length) {
                let times = (first as i64..40).take(length).map(clock);
                let between = (first > 0).then(|| clock(first as i64).abs_diff(clock(first as i64 - 1)));
                joined.join(&resolution(times), between);
            }
            assert_eq!(joined, resolution((0..40).map(clock)));
        }
    }
}

#[test]
fn a_few_packets_prove_nothing() {
    assert_eq!(coarse_ns((0..15).map(|n| n * 1_000_000)), None);
    assert_eq!(coarse_ns((0..40).map(|_| 7_000_000)), None);
}
