//! What is alike, and what each group holds.

use super::order::{groups, joined};

/// Of an empty slot.
const NONE: u32 = u32::MAX;

/// Where no more than so many values a row are possible, a list of them takes the place of sorting.
const SPARSE: u64 = 4;

/// A number for each distinct combination of keys, from 0 on in their order.
pub fn numbered(keys: &[&[i64]], rows: usize) -> Vec<i64> {
    if let Some((joined, count)) = joined(keys, rows, SPARSE * rows as u64) {
        let mut number_of = vec![0; count];
        joined.iter().for_each(|&number| number_of[number as usize] = 1);
        let mut next = 0;
        number_of.iter_mut().for_each(|number| next += std::mem::replace(number, next));
        return joined.into_iter().map(|number| number_of[number as usize]).collect();
    }
    let (order, starts) = groups(keys, rows);
    let mut numbers = vec![0; rows];
    for (number, edges) in (0..).zip(starts.windows(2)) {
        order[edges[0] as usize..edges[1] as usize].iter().for_each(|&row| numbers[row as usize] = number);
    }
    numbers
}

/// The distinct values in their order, and how often each occurs.
pub fn counted(values: &[i64]) -> (Vec<i64>, Vec<i64>) {
    let (least, most) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
    let range = most.abs_diff(least);
    if range <= SPARSE * values.len() as u64 {
        let mut counts = vec![0; range as usize + 1];
        values.iter().for_each(|&value| counts[value.abs_diff(least) as usize] += 1);
        return (0..).zip(counts).filter(|&(_, count)| count > 0).map(|(above, count)| (least + above, count)).unzip();
    }
    let (order, starts) = groups(&[values], values.len());
    starts.windows(2).map(|edges| (values[order[edges[0] as usize] as usize], edges[1] - edges[0])).unzip()
}

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
#[path = "groups_tests.rs"]
mod tests;
