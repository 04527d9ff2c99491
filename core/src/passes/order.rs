//! The order of rows by several keys, stable: by radix, a walk for each 11 bits in which the values of a key differ.
//! Values that differ in more than a few times as many (hashes) are compared instead, within the 2048 buckets of their
//! highest bits: that takes fewer walks.

/// Bits that are sorted by at a time: the places of 2048 buckets stay in the nearest cache.
const DIGIT: u32 = 11;
/// Digits that take less time than comparing.
const FEW_DIGITS: usize = 3;

/// The rows in the order of their keys, the first key first; rows with equal keys stay in their order.
pub fn order(keys: &[&[i64]], rows: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..u32::try_from(rows).unwrap_or(u32::MAX)).collect();
    let mut spare = Vec::new();
    for key in keys.iter().rev() {
        by_key(key, &mut order, &mut spare);
    }
    order
}

fn by_key(key: &[i64], order: &mut Vec<u32>, spare: &mut Vec<u32>) {
    if order.iter().map(|&row| key[row as usize]).is_sorted() {
        return;
    }
    let least = key.iter().copied().min().unwrap_or(0);
    let widest = key.iter().map(|&value| value.abs_diff(least)).max().unwrap_or(0);
    let bits = u64::BITS - widest.leading_zeros();
    let shifts: Vec<u32> = (0..bits).step_by(DIGIT as usize).collect();
    if shifts.len() > FEW_DIGITS {
        return by_value(key, order, |value| digit(value.abs_diff(least), bits - DIGIT));
    }
    let mut buckets = vec![[0_u32; 1 << DIGIT]; shifts.len()];
    for &value in key {
        for (counts, shift) in buckets.iter_mut().zip(&shifts) {
            counts[digit(value.abs_diff(least), *shift)] += 1;
        }
    }
    for (counts, shift) in buckets.iter_mut().zip(shifts) {
        spare.resize(order.len(), 0);
        begins(counts);
        for &row in order.iter() {
            let next = &mut counts[digit(key[row as usize].abs_diff(least), shift)];
            spare[*next as usize] = row;
            *next += 1;
        }
        std::mem::swap(order, spare);
    }
}

fn by_value(key: &[i64], order: &mut Vec<u32>, bucket: impl Fn(i64) -> usize) {
    let mut next = [0; 1 << DIGIT];
    key.iter().for_each(|&value| next[bucket(value)] += 1);
    begins(&mut next);
    let mut rows = vec![(0, 0); order.len()];
    for (place, &row) in (0_u32..).zip(&*order) {
        let value = key[row as usize];
        let next = &mut next[bucket(value)];
        rows[*next as usize] = (value, place);
        *next += 1;
    }
    let mut begin = 0;
    for end in next {
        rows[begin..end as usize].sort_unstable();
        begin = end as usize;
    }
    *order = rows.into_iter().map(|(_, place)| order[place as usize]).collect();
}

/// From how many each bucket holds, where it begins.
fn begins(counts: &mut [u32]) {
    let mut begin = 0;
    for count in counts {
        begin += std::mem::replace(count, begin);
    }
}

fn digit(value: u64, shift: u32) -> usize {
    (value >> shift) as usize & ((1 << DIGIT) - 1)
}

#[cfg(test)]
mod tests {
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

    proptest! {
        #[test]
        fn it_is_the_order_of_a_stable_sort(rows in prop::collection::vec((any::<i64>(), -3..3_i64), 0..200)) {
            let (wide, narrow): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
            let mut expected: Vec<u32> = (0..rows.len() as u32).collect();
            expected.sort_by_key(|&row| (narrow[row as usize], wide[row as usize]));
            prop_assert_eq!(order(&[&narrow, &wide], rows.len()), expected.clone());
            expected.sort_by_key(|&row| (wide[row as usize] % 7, narrow[row as usize], row));
            let few: Vec<i64> = wide.iter().map(|value| value % 7).collect();
            prop_assert_eq!(order(&[&few, &narrow], rows.len()), expected.clone());
            expected.sort_by_key(|&row| (wide[row as usize], narrow[row as usize], row));
            prop_assert_eq!(order(&[&wide, &narrow], rows.len()), expected);
        }
    }
}
