//! A hash of literals.

/// The same in every run (FNV-1a).
#[derive(Debug, Default)]
pub struct Hash(u64);

impl Hash {
    /// Go on from the value of an earlier hash.
    pub fn from(value: u64) -> Hash {
        Hash(value)
    }

    /// Add one literal; where it ends matters.
    pub fn add(&mut self, literal: &[u8]) {
        let begin = if self.0 == 0 { 0xcbf2_9ce4_8422_2325 } else { self.0 };
        let mix = |hash: u64, byte: u64| (hash ^ byte).wrapping_mul(0x100_0000_01b3);
        let hash = literal.iter().fold(begin, |hash, byte| mix(hash, u64::from(*byte)));
        self.0 = mix(hash, 0x100).max(1);
    }

    /// 0 if nothing was added.
    pub fn value(&self) -> u64 {
        self.0
    }
}
