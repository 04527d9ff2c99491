//! Some of many steps.

/// A bit for each step.
#[derive(Debug, Default)]
pub struct BitSet(Vec<u64>);

impl BitSet {
    pub fn of(steps: usize) -> BitSet {
        BitSet(vec![0; steps.div_ceil(64)])
    }

    pub fn contains(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|bits| bits >> (number % 64) & 1 == 1)
    }

    pub fn add(&mut self, number: u32) {
        self.0[number as usize / 64] |= 1 << (number % 64);
    }

    pub fn remove(&mut self, number: u32) {
        self.0[number as usize / 64] &= !(1 << (number % 64));
    }
}
