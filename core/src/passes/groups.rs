//! What is alike, and what each group holds.

/// Of an empty slot.
const NONE: u32 = u32::MAX;

/// The first row with the same value as each.
pub fn first_alike(values: &[i64]) -> Vec<i64> {
    let hashes = ahash::RandomState::new();
    let mut firsts = vec![NONE; (2 * values.len()).next_power_of_two()];
    let first_like = |(row, &value): (u32, &i64)| {
        let mut slot = hashes.hash_one(value) as usize;
        loop {
            slot &= firsts.len() - 1;
            let first = &mut firsts[slot];
            if *first == NONE {
                *first = row;
            }
            if values[*first as usize] == value {
                return i64::from(*first);
            }
            slot += 1;
        }
    };
    (0..).zip(values).map(first_like).collect()
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
    fn a_row_is_known_by_the_first_one_like_it() {
        assert_eq!(first_alike(&[7, -9, 7, i64::MIN, -9]), [0, 1, 0, 3, 1]);
        assert!(first_alike(&[]).is_empty());
    }

    #[test]
    fn a_value_counts_once_in_each_group() {
        assert_eq!(distinct(&[5, 5, 6, 5], 7, &[0, 3, 4]), [2, 1]);
    }
}
