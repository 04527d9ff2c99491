//! How much what is compressed inside a capture may become, all of it together: what takes time is what comes out, and
//! a compressed file of compressed packets holds a million times its size.

use crate::cursor::Lost;

/// Up to so much the ratio is not looked at.
const MIN_SUSPECT_BYTES: u64 = 256 << 20;
/// Real captures stay below 50; lz4 cannot do more than 255, zlib no more than 1032.
pub const MAX_RATIO: u64 = 200;

/// Does so much come out of `read` bytes as of no real capture?
pub fn is_too_much(read: u64, written: u64) -> bool {
    written > MIN_SUSPECT_BYTES && written / MAX_RATIO > read
}

/// What all layers of a recording have become, and how much was read for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inflated {
    /// Bytes of the files, as they lie there.
    pub read: u64,
    written: u64,
    refused: u64,
}

impl Inflated {
    /// Before more is decompressed.
    pub fn may_grow(&mut self) -> Result<(), Lost> {
        if !is_too_much(self.read, self.written) {
            return Ok(());
        }
        self.refused += 1;
        Err(Lost(format!("its compressed packets become more than {MAX_RATIO} times what was read")))
    }

    /// So many bytes came out.
    pub fn add(&mut self, written: usize) {
        self.written += written as u64;
    }

    /// How many pieces of compressed streams were not decompressed.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_may_grow_by_any_ratio_and_more_of_it_when_more_is_read() {
        let mut inflated = Inflated { read: 1_000, ..Inflated::default() };
        inflated.add(256 << 20);
        assert!(inflated.may_grow().is_ok());
        inflated.add(1);
        assert!(inflated.may_grow().is_err());
        inflated.read = 2 << 20;
        assert!(inflated.may_grow().is_ok());
        assert_eq!(inflated.refused(), 1);
    }
}
