//! What every layer is and does.

use crate::cursor::Lost;

/// One direction of a wrapped stream.
pub trait Unwrap: Send {
    /// Take in the next raw bytes, however they were cut, and append what they hold to `plain`.
    fn unwrap(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), Lost>;

    /// Bytes are missing: begin anew with the next ones.
    fn reset(&mut self);

    /// What it keeps for the moment.
    fn kept_bytes(&self) -> usize;
}

/// A kind of layer: each direction of a connection gets one of its own.
#[derive(Clone, Copy, Debug)]
pub struct Wrapping {
    /// What the connection's `compression` is called, where nothing said so before.
    pub name: &'static str,
    pub begin: fn() -> Box<dyn Unwrap>,
}

impl PartialEq for Wrapping {
    fn eq(&self, other: &Wrapping) -> bool {
        self.name == other.name
    }
}

impl Eq for Wrapping {}
