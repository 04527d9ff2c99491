use proptest::prelude::*;

use super::*;

#[test]
fn equal_rows_stay_in_their_order() {
    assert_eq!(order(&[&[1, 0, 1, 0]], 4), [1, 3, 0, 2]);
}

#[test]
fn without_keys_nothing_moves() {
    assert_eq!(order(&[], 3), [0, 1, 2]);
}

#[test]
fn rows_with_equal_keys_stand_together() {
    assert_eq!(groups(&[&[7, 9, 7], &[1, 1, 1]], 3), (vec![0, 2, 1], vec![0, 2, 3]));
}

#[test]
fn without_rows_there_is_no_group() {
    assert_eq!(groups(&[&[]], 0).1, [0]);
}

proptest! {
    #[test]
    fn it_is_the_order_of_a_stable_sort(rows in prop::collection::vec((any::<i64>(), -3..3_i64), 0..200)) {
        let (wide, narrow): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
        let few: Vec<i64> = wide.iter().map(|value| value % 7).collect();
        let some: Vec<i64> = wide.iter().map(|value| value >> 24).collect();
        for keys in [vec![&narrow, &wide], vec![&few, &narrow], vec![&wide, &narrow], vec![&some, &few, &wide]] {
            let keys: Vec<&[i64]> = keys.into_iter().map(Vec::as_slice).collect();
            let of_row = |&row: &i64| keys.iter().map(|key| key[row as usize]).collect::<Vec<_>>();
            let mut expected: Vec<i64> = (0..rows.len() as i64).collect();
            expected.sort_by_key(of_row);
            let (grouped, starts) = groups(&keys, rows.len());
            prop_assert_eq!(&grouped, &expected);
            prop_assert_eq!(order(&keys, rows.len()), expected);
            let edges = grouped.windows(2).filter(|pair| of_row(&pair[0]) != of_row(&pair[1])).count();
            prop_assert_eq!(starts.len(), if rows.is_empty() { 1 } else { edges + 2 });
            let alike = starts.windows(2).all(|edges| {
                let group = &grouped[edges[0] as usize..edges[1] as usize];
                group.iter().all(|row| of_row(row) == of_row(&group[0]))
            });
            prop_assert!(alike);
        }
    }
}
