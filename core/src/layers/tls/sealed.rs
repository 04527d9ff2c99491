//! How long what a record holds was before it was encrypted: no suite hides it, but for a block's padding.

use std::ops::RangeInclusive;

use super::hello::{ServerHello, TLS_1_0, TLS_1_3};
use super::suites;

/// The most that a record held (RFC 8446 §5.1, RFC 5246 §6.2.1): a longer message goes on in the next one.
pub const PLAIN_MAX: u64 = 1 << 14;

/// What a suite adds to the plain bytes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// It always adds as much.
    least: u64,
    /// Up to a whole block it adds so much more.
    padding: u64,
    /// How long the message is that proves that the handshake was not tampered with (TLS 1.3): a hash, its header before it.
    pub finished: u64,
    pub version: u16,
}

impl Overhead {
    /// Of the suite that the server has chosen.
    pub fn of(hello: &ServerHello) -> Overhead {
        let name = suites::name(hello.cipher_suite);
        let version = hello.version;
        let finished = 4 + if name.ends_with("SHA384") { 48 } else { 32 };
        let tag = if name.contains("CCM_8") { 8 } else { 16 };
        let (least, padding) = match () {
            // The type of what the record holds stands behind it (RFC 8446 §5.2).
            () if version == TLS_1_3 => (1 + tag, 0),
            () if name.contains("CHACHA20") => (tag, 0),
            // Before it stands the part of the nonce that changes (RFC 5288 §3).
            () if name.contains("GCM") || name.contains("CCM") => (8 + tag, 0),
            () if name.contains("CBC") => {
                let block =
                    if name.contains("AES") || name.contains("CAMELLIA") || name.contains("ARIA") { 16 } else { 8 };
                let initial = if version > TLS_1_0 { block } else { 0 };
                (initial + code(&name) + 1, block - 1)
            }
            () => (code(&name), 0),
        };
        Overhead { least, padding, finished, version }
    }

    /// How many plain bytes a record holds whose header says this length.
    pub fn plain(&self, length: u64) -> RangeInclusive<u64> {
        let most = length.saturating_sub(self.least);
        most.saturating_sub(self.padding)..=most
    }
}

/// How long the message authentication code is.
fn code(suite: &str) -> u64 {
    match suite {
        _ if suite.ends_with("MD5") => 16,
        _ if suite.ends_with("SHA256") => 32,
        _ if suite.ends_with("SHA384") => 48,
        _ => 20,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::tls::hello::TLS_1_2;

    fn plain(version: u16, cipher_suite: u16, length: u64) -> RangeInclusive<u64> {
        Overhead::of(&ServerHello { version, cipher_suite, ..ServerHello::default() }).plain(length)
    }

    #[test]
    fn an_authenticated_cipher_shows_how_long_the_message_is() {
        assert_eq!(plain(TLS_1_3, 0x1302, 28), 11..=11, "OK of MySQL");
        assert_eq!(plain(TLS_1_2, 0xc030, 35), 11..=11, "AES-GCM");
        assert_eq!(plain(TLS_1_2, 0xcca8, 27), 11..=11, "ChaCha20-Poly1305");
        assert_eq!(plain(TLS_1_3, 0x1305, 20), 11..=11, "AES-CCM with a short tag");
    }

    #[test]
    fn a_block_cipher_shows_it_but_for_the_padding() {
        assert_eq!(plain(TLS_1_2, 0x003d, 64), 0..=15, "16 + 32 + 16");
        assert_eq!(plain(TLS_1_2, 0xc014, 80), 28..=43, "16 + 20 + 44");
        assert_eq!(plain(TLS_1_0, 0x000a, 40), 12..=19, "20 + 20, of 3DES before TLS 1.1");
    }

    #[test]
    fn a_length_that_is_too_short_for_its_suite_is_none() {
        assert_eq!(plain(TLS_1_3, 0x1301, 3), 0..=0);
    }
}
