//! The order of rows by several keys, stable.
//!
//! What the keys differ in is joined to one number a row. Where that takes up to 32 bits, it is sorted by radix with the
//! row behind it, a walk for each 11 bits; where it takes more (hashes, times), numbers are compared within the 2048
//! buckets of their highest bits: that takes fewer walks.

use std::cmp::Ordering;

use super::radix::{DIGIT, begins, by_radix};

/// Bits of a row, and of what is sorted by radix with it.
const ROW: u32 = u32::BITS;

/// A column with the least of its values, and how many bits it takes to tell how far the others are above it.
struct Key<'a> {
    values: &'a [i64],
    least: i64,
    bits: u32,
}

impl<'a> Key<'a> {
    fn of(values: &'a [i64]) -> Key<'a> {
        let (least, most) =
            values.iter().fold((i64::MAX, i64::MIN), |(least, most), &value| (least.min(value), most.max(value)));
        let bits = if values.is_empty() { 0 } else { u64::BITS - most.abs_diff(least).leading_zeros() };
        Key { values, least, bits }
    }

    /// Put it into `numbers`, from a bit on.
    fn join(&self, numbers: &mut [u64], bit: u32) {
        if self.bits > 0 {
            let join = |(number, value): (&mut u64, &i64)| *number |= (value.wrapping_sub(self.least) as u64) << bit;
            numbers.iter_mut().zip(self.values).for_each(join);
        }
    }
}

/// How rows are sorted.
enum Sorted<'a> {
    /// They were.
    Already,
    /// By numbers of the keys and, behind them, the row.
    Numbers(Vec<u64>),
    /// By keys that are wider.
    Wide(Vec<Key<'a>>),
}

impl<'a> Sorted<'a> {
    fn by(keys: &[&'a [i64]], rows: usize) -> Sorted<'a> {
        if are_in_order(keys, rows) {
            return Sorted::Already;
        }
        let keys: Vec<Key> = keys.iter().map(|key| Key::of(key)).collect();
        let bits: u32 = keys.iter().map(|key| key.bits).sum();
        if bits > u64::BITS - ROW {
            return Sorted::Wide(keys);
        }
        let (mut numbers, mut begin): (Vec<u64>, _) = ((0..rows as u64).collect(), ROW);
        for key in keys.iter().rev() {
            key.join(&mut numbers, begin);
            begin += key.bits;
        }
        by_radix(&mut numbers, &mut Vec::new(), ROW..begin);
        Sorted::Numbers(numbers)
    }

    fn order(self, rows: usize) -> Vec<i64> {
        match self {
            Sorted::Already => (0..rows as i64).collect(),
            Sorted::Numbers(numbers) => numbers.into_iter().map(|number| i64::from(number as u32)).collect(),
            Sorted::Wide(keys) => by_value(keys, rows),
        }
    }
}

/// The rows in the order of their keys, the first key first; rows with equal keys stay in their order.
pub fn order(keys: &[&[i64]], rows: usize) -> Vec<i64> {
    Sorted::by(keys, rows).order(rows)
}

/// The same, and where each run of equal keys begins; at last, where the last one ends.
pub fn groups(keys: &[&[i64]], rows: usize) -> (Vec<i64>, Vec<i64>) {
    let sorted = Sorted::by(keys, rows);
    if let Sorted::Numbers(numbers) = &sorted {
        let starts = starts(numbers, |one, other| one >> ROW != other >> ROW);
        return (sorted.order(rows), starts);
    }
    let order = sorted.order(rows);
    let starts = starts(&order, |&one, &other| keys.iter().any(|key| key[one as usize] != key[other as usize]));
    (order, starts)
}

/// A number for each row that tells its keys apart, in their order, and of how many; `None` where that is above `most`.
pub fn joined(keys: &[&[i64]], rows: usize, most: u64) -> Option<(Vec<u64>, usize)> {
    let keys: Vec<Key> = keys.iter().map(|key| Key::of(key)).collect();
    let count = 1_u64.checked_shl(keys.iter().map(|key| key.bits).sum()).filter(|&count| count <= most)?;
    let (mut numbers, mut begin) = (vec![0; rows], 0);
    for key in keys.iter().rev() {
        key.join(&mut numbers, begin);
        begin += key.bits;
    }
    Some((numbers, count as usize))
}

fn are_in_order(keys: &[&[i64]], rows: usize) -> bool {
    let before = |row: usize| keys.iter().map(|key| key[row - 1].cmp(&key[row])).find(|order| order.is_ne());
    (1..rows).all(|row| before(row) != Some(Ordering::Greater))
}

#[inline]
fn starts<T>(sorted: &[T], apart: impl Fn(&T, &T) -> bool) -> Vec<i64> {
    let mut starts = vec![0];
    (1..sorted.len())
        .filter(|&place| apart(&sorted[place - 1], &sorted[place]))
        .for_each(|place| starts.push(place as i64));
    starts.extend((!sorted.is_empty()).then_some(sorted.len() as i64));
    starts
}

/// The rows by keys that are wide: by as many of them at a time as fit in a number, the last ones first.
fn by_value(mut keys: Vec<Key>, rows: usize) -> Vec<i64> {
    let mut order: Vec<i64> = (0..rows as i64).collect();
    while !keys.is_empty() {
        let (mut numbers, mut bits) = (vec![0; rows], 0);
        while let Some(key) = keys.pop_if(|key| bits + key.bits <= u64::BITS) {
            key.join(&mut numbers, bits);
            bits += key.bits;
        }
        if !order.iter().map(|&row| numbers[row as usize]).is_sorted() {
            order = by_number(&numbers, bits, &order);
        }
    }
    order
}

fn by_number(numbers: &[u64], bits: u32, order: &[i64]) -> Vec<i64> {
    let bucket = |number: u64| (number >> bits.saturating_sub(DIGIT)) as usize;
    let mut next = [0; 1 << DIGIT];
    numbers.iter().for_each(|&number| next[bucket(number)] += 1);
    begins(&mut next);
    let mut sorted = vec![(0, 0); order.len()];
    for (place, &row) in (0_u32..).zip(order) {
        let number = numbers[row as usize];
        let next = &mut next[bucket(number)];
        sorted[*next as usize] = (number, place);
        *next += 1;
    }
    let mut begin = 0;
    for end in next {
        sorted[begin..end as usize].sort_unstable();
        begin = end as usize;
    }
    sorted.into_iter().map(|(_, place)| order[place as usize]).collect()
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
