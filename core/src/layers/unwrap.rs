//! What every layer does.

use crate::cursor::Lost;

/// One direction of a wrapped stream.
pub trait Unwrap: Send {
    /// Take in the next raw bytes, however they were cut, and append what they hold to `plain`.
    fn unwrap(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), Lost>;

    /// Bytes are missing: begin anew with the next ones.
    fn reset(&mut self);
}
