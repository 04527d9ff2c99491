//! TLS between a stream and its messages, the same for every protocol: <https://www.rfc-editor.org/rfc/rfc8446> (1.3)
//! and <https://www.rfc-editor.org/rfc/rfc5246> (1.2).
//!
//! Records and the first handshake messages are in clear; what they tell is in [`TlsFacts`].

pub mod facts;
pub mod handshake;
pub mod hello;
mod keylog;
mod protection;
pub mod record;
mod schedule;
pub mod sealed;
mod session;
mod suites;
#[cfg(test)]
pub mod sealing;
#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod tests;

pub use facts::{Handshake, Reading, TlsFacts};
pub use keylog::{KeyLog, Label, Random, Secret};
pub use session::{Missing, Read, Session};
