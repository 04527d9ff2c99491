use proptest::prelude::*;

use super::*;

const SECOND_NS: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;
const NONE: [i64; 0] = [];

/// Measurements, so many of each level, in ns, a second apart.
fn series(levels: &[(usize, i64)]) -> Vec<Measurement> {
    let ns = levels.iter().flat_map(|&(count, ns)| std::iter::repeat_n(ns, count));
    (0..).zip(ns).map(|(place, ns)| measured(place * SECOND_NS, ns)).collect()
}

fn measured(time_ns: i64, ns: i64) -> Measurement {
    Measurement { time_ns, place: 0, ns, statement: 0 }
}

/// When the level changed, in seconds.
fn changed(levels: &[(usize, i64)]) -> Vec<i64> {
    let series = series(levels);
    changes(&series, &series).into_iter().map(|time_ns| time_ns / SECOND_NS).collect()
}

#[test]
fn a_level_that_moves_for_good_has_changed_and_there_and_back_are_two_changes() {
    assert_eq!(changed(&[(30, 5 * MS), (30, 20 * MS)]), [30]);
    assert_eq!(changed(&[(30, 20 * MS), (30, 5 * MS)]), [30]);
    assert_eq!(changed(&[(30, 5 * MS), (30, 20 * MS), (30, 5 * MS)]), [30, 60]);
}

#[test]
fn what_is_little_or_short_or_an_episode_is_no_change() {
    assert_eq!(changed(&[(60, 5 * MS)]), NONE);
    assert_eq!(changed(&[(30, 5 * MS), (30, 6 * MS)]), NONE, "little");
    assert_eq!(changed(&[(30, 100_000), (30, 500_000)]), NONE, "what busy hosts add");
    assert_eq!(changed(&[(9, 5 * MS), (9, 20 * MS)]), NONE, "few");
    assert_eq!(changed(&[(190, 5 * MS), (10, 20 * MS)]), NONE, "a twentieth of the time");
    assert_eq!(changed(&[(40, 5 * MS), (20, 20 * MS), (40, 5 * MS)]), NONE, "an episode");
    let to_and_fro: Vec<_> = (0..30).map(|turn| (2, if turn % 2 == 0 { 5 * MS } else { 20 * MS })).collect();
    assert_eq!(changed(&to_and_fro), NONE);
}

#[test]
fn levels_that_spread_into_each_other_are_one() {
    let spread: Vec<_> = (0..80).map(|at| (1, if at < 40 { 5 } else { 8 } * MS + at * 7 % 11 * MS)).collect();
    assert_eq!(changed(&spread), NONE);
}

#[test]
fn responses_say_when_exactly() {
    let direct: Vec<_> = (0..40).map(|at| measured(at * 10 * SECOND_NS, if at < 20 { 5 } else { 20 } * MS)).collect();
    let responses: Vec<_> =
        (0..400).map(|at| measured(at * SECOND_NS, if at < 193 || at == 196 { 6 } else { 21 } * MS)).collect();
    assert_eq!(changes(&direct, &responses), [193 * SECOND_NS]);
    assert_eq!(changes(&direct, &[]), [200 * SECOND_NS]);
}

#[test]
fn of_very_many_some_are_enough() {
    let [count, level, long] = [50_000, 5 * MS, 20 * MS];
    let all = series(&[(count as usize, level), (count as usize, long)]);
    assert_eq!(thin(&all).len(), MAX_SAMPLES);
    assert_eq!(changes(&all, &all), [count * SECOND_NS]);
}

proptest! {
    #[test]
    fn a_later_clock_changes_nothing_and_no_order_of_one_level_is_a_change(
        levels in prop::collection::vec((1..60_usize, 1..40_i64), 1..6), later_ns in 0..1_i64 << 50, seed in 0..1_000_usize
    ) {
        let of = series(&levels.iter().map(|&(count, ms)| (count, ms * MS)).collect::<Vec<_>>());
        let later: Vec<_> = of.iter().map(|each| measured(each.time_ns + later_ns, each.ns)).collect();
        let found = changes(&of, &of);
        let expected: Vec<_> = found.iter().map(|time_ns| time_ns + later_ns).collect();
        prop_assert_eq!(changes(&later, &later), expected);
        prop_assert!(found.is_sorted() && found.iter().all(|time_ns| of.iter().any(|each| each.time_ns == *time_ns)));
        let one_level: Vec<_> = (0..of.len()).map(|at| (1, 5 * MS + ((at + seed) * 7_919 % 101) as i64)).collect();
        prop_assert_eq!(changed(&one_level), NONE);
    }
}
