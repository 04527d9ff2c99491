//! Bounds the tries where nobody says where a part begins.
//!
//! TTC says neither where the end of a response begins nor where a text does: many places are tried, in several ways
//! each. All tries of a connection are paid from what its bytes are worth, so that bytes that look like many beginnings
//! cost no more than others. Who has spent all finds nothing until more bytes come.

use std::cell::Cell;

/// Steps are numbers read, chunks of texts, or [`BYTES_PER_STEP`] of a text looked at.
const INITIAL_STEPS: u64 = 1 << 16;
const STEPS_PER_BYTE: u64 = 16;
/// Bytes that are looked at in one step.
const BYTES_PER_STEP: usize = 16;

#[derive(Clone, Debug)]
pub struct Effort(Cell<u64>);

impl Default for Effort {
    fn default() -> Effort {
        Effort(Cell::new(INITIAL_STEPS))
    }
}

impl Effort {
    /// More bytes have come.
    pub fn earn(&self, bytes: usize) {
        self.0.set(self.0.get().saturating_add(STEPS_PER_BYTE * bytes as u64));
    }

    /// `None` where so many steps are not left.
    pub fn spend(&self, steps: usize) -> Option<()> {
        let left = self.0.get().checked_sub(steps as u64)?;
        self.0.set(left);
        Some(())
    }

    /// Look at so many bytes.
    pub fn look(&self, bytes: usize) -> Option<()> {
        self.spend(1 + bytes / BYTES_PER_STEP)
    }
}
