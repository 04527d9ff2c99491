//! What a stream's bytes may be wrapped in between TCP and the protocol's messages.

pub mod deflate;
pub mod mysql_compression;

pub use deflate::Deflate;
pub use mysql_compression::MysqlCompression;

use crate::protocols::Lost;

/// One direction of a wrapped stream.
pub trait Unwrap: Send {
    /// Take in the next raw bytes, however they were cut, and append what they hold to `plain`.
    fn unwrap(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), Lost>;

    /// Bytes are missing: begin anew with the next ones.
    fn reset(&mut self);
}
