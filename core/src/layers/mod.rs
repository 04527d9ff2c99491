//! What a stream's bytes may be wrapped in between TCP and the protocol's messages. A layer that only one protocol has
//! lies in that protocol's folder.

mod deflate;
mod inflated;
pub mod tls;
mod wrapping;

pub use deflate::DEFLATE;
pub use inflated::{Inflated, MAX_RATIO, is_too_much};
pub use wrapping::{Unwrap, Wrapping};
