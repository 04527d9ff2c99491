//! Sorting by counting.

use std::mem;
use std::ops::Range;

/// Bits that are sorted by at a time: the places of 2048 buckets stay in the nearest cache.
pub const DIGIT: u32 = 11;

/// Sort by these bits of each number, of which none are set above; those that are equal there stay in their order.
/// `others` is room for as many.
pub fn by_radix<T: Copy + Default + Into<u64>>(numbers: &mut Vec<T>, others: &mut Vec<T>, bits: Range<u32>) {
    others.resize(numbers.len(), T::default());
    let width = bits.len().div_ceil(bits.len().div_ceil(DIGIT as usize).max(1)).max(1);
    for shift in bits.step_by(width) {
        let digit = |number: T| (number.into() >> shift) as usize & ((1 << width) - 1);
        let mut next = [0; 1 << DIGIT];
        numbers.iter().for_each(|&number| next[digit(number)] += 1);
        begins(&mut next);
        for &number in numbers.iter() {
            let next = &mut next[digit(number)];
            others[*next as usize] = number;
            *next += 1;
        }
        mem::swap(numbers, others);
    }
}

/// From how many each bucket holds, where it begins.
pub fn begins(counts: &mut [u32]) {
    let mut begin = 0;
    for count in counts {
        begin += mem::replace(count, begin);
    }
}
