use proptest::prelude::*;

use super::*;

fn worths(shared: &SharedTime, intervals: &[(i64, i64)]) -> Vec<f64> {
    intervals.iter().map(|&(begin, length)| shared.share_of(begin, length)).collect()
}

#[test]
fn two_side_by_side_share_each_instant() {
    let shared = SharedTime::of([(0, 10), (20, 30), (4, 10)].into_iter(), None);
    assert_eq!(worths(&shared, &[(0, 10), (4, 6), (20, 10), (6, 2)]), [7.0, 3.0, 10.0, 1.0]);
    assert_eq!(shared.idle(-2, 35).collect::<Vec<_>>(), [10, 2, 5]);
    assert_eq!(side_by_side([(0, 10, 7.0), (0, 10, 10.0), (1, 6, 3.0)].into_iter(), 3), [false, true, false]);
    let of_no_length = [(0, 0, 0.0), (0, 10, 5.0), (0, 0, 0.0)];
    assert_eq!(side_by_side(of_no_length.into_iter(), 1), [true], "what takes no time runs beside nothing, and alone");
}

#[test]
fn one_after_the_other_each_is_worth_what_it_takes_until_all_is_over() {
    let shared = SharedTime::of([(0, 4), (6, 9)].into_iter(), Some(8));
    assert!(shared.alone());
    assert_eq!(worths(&shared, &[(0, 4), (6, 3)]), [4.0, 2.0]);
    assert_eq!(shared.idle(0, 8).collect::<Vec<_>>(), [2]);
}

#[test]
fn without_intervals_all_is_idle() {
    let shared = SharedTime::of([].into_iter(), None);
    assert_eq!(shared.idle(0, 5).collect::<Vec<_>>(), [5]);
}

proptest! {
    #[test]
    fn all_together_are_worth_the_time_in_which_any_went_on(
        intervals in prop::collection::vec((0..1000_i64, 0..50_i64), 1..40),
    ) {
        let whole = || intervals.iter().map(|(begin, length)| (*begin, begin + length));
        let busy = (0..2000).filter(|&at| whole().any(|(begin, end)| begin <= at && at < end)).count() as f64;
        let shared = SharedTime::of(whole(), None);
        let worth: f64 = worths(&shared, &intervals).iter().sum();
        prop_assert!((worth - busy).abs() < 1e-6, "{worth} {busy}");
        let idle: i64 = shared.idle(0, 2000).sum();
        prop_assert_eq!(busy as i64 + idle, 2000);
    }
}
