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
