use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn groups_ascend(rows in prop::collection::vec((0..3_i64, any::<i64>(), any::<bool>()), 0..2000), narrow: u32) {
        let groups: Vec<i64> = rows.iter().map(|row| row.0).collect();
        let known: Vec<bool> = rows.iter().map(|row| row.2).collect();
        for bits in [narrow % 64, 33] {
            let values: Vec<i64> = rows.iter().map(|row| row.1 >> bits).collect();
            let mut expected: Vec<(i64, i64)> = groups.iter().copied().zip(values.iter().copied()).collect();
            expected.sort_unstable();
            let (sorted, starts) = ascending(Some(&groups), &values, None, 4);
            prop_assert_eq!(&sorted, &expected.iter().map(|row| row.1).collect::<Vec<_>>());
            let begins = |group| expected.partition_point(|row| row.0 < group) as i64;
            prop_assert_eq!(starts, (0..5).map(begins).collect::<Vec<_>>());
            let mut some: Vec<i64> = values.iter().zip(&known).filter(|row| *row.1).map(|row| *row.0).collect();
            some.sort_unstable();
            prop_assert_eq!(ascending(None, &values, Some(&known), 1).0, some);
        }
    }
}

#[test]
fn a_quantile_is_a_value_of_its_group() {
    let (values, starts) = ([10, 20, 30, 40, 7], [0, 4, 5]);
    let quantiles = [0.0, 0.5, 0.51, 1.0].map(|fraction| quantile(&values, &starts, fraction));
    assert_eq!(quantiles, [[10.0, 7.0], [20.0, 7.0], [30.0, 7.0], [40.0, 7.0]]);
    assert!(quantile(&values, &[3, 3], 0.5)[0].is_nan());
}
