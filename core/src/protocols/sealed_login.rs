//! Logins inside TLS, which are told from what follows by how long the server's answers are; and messages that nobody
//! waits for.

use std::ops::RangeInclusive;

/// The login of a protocol that begins it as soon as TLS is spoken.
#[derive(Debug)]
pub struct SealedLogin {
    /// Where the server has answered with so many plain bytes, is it the client's turn to go on with its login?
    pub goes_on: fn(answer: &RangeInclusive<u64>) -> bool,
    /// Messages of exactly so many plain bytes ask for nothing and answer nothing.
    pub asides: Option<u64>,
}
