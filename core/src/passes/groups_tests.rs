use super::*;

#[test]
fn a_row_is_known_by_the_first_one_like_it() {
    assert_eq!(first_alike(&[7, -9, 7, i64::MIN, -9]), [0, 1, 0, 3, 1]);
    assert!(first_alike(&[]).is_empty());
}

#[test]
fn rows_with_equal_keys_have_one_number() {
    assert_eq!(numbered(&[&[7, 9, 7], &[1, 1, 1]], 3), [0, 1, 0]);
    assert!(numbered(&[&[]], 0).is_empty());
}

#[test]
fn a_list_of_all_numbers_tells_the_same() {
    let (narrow, wide): (Vec<i64>, Vec<i64>) = (0..100).map(|row| (row * 7 % 5 - 2, (row % 3) << 40)).unzip();
    let of_wide = numbered(&[&wide, &narrow], 100);
    let ranks: Vec<i64> = wide.iter().map(|value| value >> 40).collect();
    assert_eq!(numbered(&[&ranks, &narrow], 100), of_wide);
    assert_eq!((of_wide[0], of_wide.iter().max()), (0, Some(&14)));
}

#[test]
fn values_are_counted_in_their_order_however_far_apart() {
    assert_eq!(counted(&[7, 3, 7]), (vec![3, 7], vec![1, 2]));
    assert_eq!(counted(&[i64::MAX, -1, i64::MAX]), (vec![-1, i64::MAX], vec![1, 2]));
    assert_eq!(counted(&[i64::MAX; 2]), (vec![i64::MAX], vec![2]));
    assert_eq!(counted(&[]), (vec![], vec![]));
}

#[test]
fn a_value_counts_once_in_each_group() {
    assert_eq!(distinct(&[5, 5, 6, 5], 7, &[0, 3, 4]), [2, 1]);
}
