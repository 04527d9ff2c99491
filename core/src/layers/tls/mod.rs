//! TLS between the stream and the protocol inside of it.

mod keylog;

pub use keylog::{KeyLog, Label, Random, Secret};
