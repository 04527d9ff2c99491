use proptest::prelude::*;

use super::*;
use crate::passes;

fn few() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(prop_oneof![0..20_i64, 0..1_000_000_i64], 0..60)
}

proptest! {
    #[test]
    fn counted_values_say_what_all_of_them_do(all in few(), fraction in 0.0..=1.0) {
        let values = Values::of(all.iter().copied());
        let (sorted, starts) = passes::ascending(None, &all, None, 1);
        let same = |one: f64, other: f64| one == other || one.is_nan() && other.is_nan();
        prop_assert!(same(values.quantile(fraction), passes::quantile(&sorted, &starts, fraction)[0]));
        prop_assert!(same(values.densest_half(), passes::densest_half(&sorted, &starts)[0]));
        prop_assert!(same(values.mean(), all.iter().sum::<i64>() as f64 / all.len() as f64));
        prop_assert_eq!(values.count(), all.len() as u64);
        prop_assert_eq!((values.least(), values.most()), (sorted.first().copied(), sorted.last().copied()));
        let [front, back] = [&all[..all.len() / 2], &all[all.len() / 2..]].map(|part| Values::of(part.iter().copied()));
        prop_assert_eq!(Values::joined([&back, &front]), values);
    }
}

#[test]
fn very_many_different_values_are_off_by_less_than_a_bin() {
    let all: Vec<i64> = (0..200_000).map(|number| 1_000_000 + number * 7_919 % 9_000_001).collect();
    let values = Values::of_statements(all.iter().map(|&ns| (ns, (ns % 50_000) as u32)));
    assert!(values.all().len() <= MAX_DISTINCT && values.count() == 200_000);
    let (sorted, starts) = passes::ascending(None, &all, None, 1);
    for fraction in [0.0, 0.05, 0.25, 0.5, 0.9, 1.0] {
        let [exact, found] = [passes::quantile(&sorted, &starts, fraction)[0], values.quantile(fraction)];
        assert!((found - exact).abs() <= exact / 4096.0, "{fraction}: {found} for {exact}");
    }
}

#[test]
fn the_typical_one_is_dense_or_low_and_the_mean_where_the_clock_is_coarse() {
    let typical = |all: &[i64], tick_ns| Values::of(all.iter().copied()).typical(tick_ns);
    let late = [100, 101, 102, 103, 104, 105, 150, 180, 400, 5_000];
    assert_eq!(typical(&late, 1), 102.0, "the mean of 100 to 104");
    assert_eq!(typical(&late[..9], 1), 102.0, "the lower quarter of fewer");
    assert_eq!(typical(&[0, 0, 1_000], 1_000), 1_000.0 / 3.0);
    assert_eq!(typical(&[9_000, 10_000, 11_000], 1_000), 9_000.0, "a tick is a tenth of the mean, no more");
    assert!(typical(&[], 1_000).is_nan());
}

#[test]
fn values_of_any_size_find_room_in_bins_that_are_wide_enough() {
    let mut next = 1_u64;
    let mut any = move |octaves: u64| {
        next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (next >> 1 >> (next % octaves)) as i64
    };
    for octaves in [1, 40, 62] {
        let values = Values::of_statements((0..400_000).map(|number| (any(octaves), number)));
        assert!(values.all().len() <= MAX_DISTINCT && values.count() == 400_000, "{octaves}");
        assert!(values.all().len() > MAX_DISTINCT / 32, "{octaves}: {}", values.all().len());
    }
}

#[test]
fn many_countings_share_their_room() {
    let ns = |number: i64| 1_000_000 + number * 7_919 % 9_000_001;
    let mut countings = Countings { most: 2_000, ..Countings::of(40) };
    for number in 0..100_000 {
        countings.add((number % 40) as usize, ns(number), number as u32);
        assert!(countings.all.iter().map(|counting| counting.counted.len()).sum::<usize>() <= 2_000);
    }
    for (own, values) in (0..).zip(countings.take()) {
        let exact = Values::of((own..100_000).step_by(40).map(ns));
        assert_eq!(values.count(), exact.count());
        for fraction in [0.05, 0.5, 0.95] {
            let (found, exact) = (values.quantile(fraction), exact.quantile(fraction));
            assert!((found - exact).abs() <= exact / 8.0, "{fraction}: {found} for {exact}");
        }
    }
}

#[test]
fn more_countings_than_there_is_room_for_keep_what_cannot_be_joined() {
    let mut countings = Countings { most: 10, ..Countings::of(100) };
    (0..2_000).for_each(|number| countings.add(number % 100, 1 << (number % 60), 0));
    assert_eq!(countings.take().map(|values| values.count()).sum::<u64>(), 2_000);
}
