//! Rows with equal keys stand together.

use std::collections::HashMap;

use super::order::order;

/// Rows in the order of their groups and, within one, as they came. Groups are numbered in the order of their keys.
pub struct Groups {
    /// The rows.
    pub order: Vec<u32>,
    /// Where each group begins in `order`; at last, where the last one ends.
    pub starts: Vec<u32>,
}

impl Groups {
    /// Group rows by their keys.
    pub fn of(keys: &[&[i64]], rows: usize) -> Groups {
        let order = order(keys, rows);
        let apart = |pair: &[u32]| keys.iter().any(|key| key[pair[0] as usize] != key[pair[1] as usize]);
        let edges = order.windows(2).enumerate().filter(|(_, pair)| apart(pair)).map(|(place, _)| place as u32 + 1);
        let ends = (!order.is_empty()).then_some(order.len() as u32);
        let starts = std::iter::once(0).chain(edges).chain(ends).collect();
        Groups { order, starts }
    }
}

/// The first row with the same value as each.
pub fn first_alike(values: &[i64]) -> Vec<i64> {
    let mut first = HashMap::with_hasher(ahash::RandomState::new());
    values.iter().zip(0..).map(|(value, row)| *first.entry(value).or_insert(row)).collect()
}

/// How many different numbers below `count` stand in each group: `numbers[starts[g]..starts[g + 1]]` for group g.
pub fn distinct(numbers: &[i64], count: usize, starts: &[i64]) -> Vec<i64> {
    let mut last_seen = vec![0; count]; // in the group before this one, as they count from 1
    let of_group = |(group, edges): (usize, &[i64])| {
        let is_new = |&&number: &&i64| std::mem::replace(&mut last_seen[number as usize], group + 1) <= group;
        numbers[edges[0] as usize..edges[1] as usize].iter().filter(is_new).count() as i64
    };
    starts.windows(2).enumerate().map(of_group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_equal_keys_stand_together() {
        let groups = Groups::of(&[&[7, 9, 7], &[1, 1, 1]], 3);
        assert_eq!((groups.order, groups.starts), (vec![0, 2, 1], vec![0, 2, 3]));
    }

    #[test]
    fn without_rows_there_is_no_group() {
        assert_eq!(Groups::of(&[&[]], 0).starts, [0]);
    }

    #[test]
    fn a_row_is_known_by_the_first_one_like_it() {
        assert_eq!(first_alike(&[7, -9, 7, i64::MIN, -9]), [0, 1, 0, 3, 1]);
    }

    #[test]
    fn a_value_counts_once_in_each_group() {
        assert_eq!(distinct(&[5, 5, 6, 5], 7, &[0, 3, 4]), [2, 1]);
    }
}
