//! From secrets to keys: the pseudorandom function of TLS 1.2 (RFC 5246 §5, §6.3) and HKDF-Expand-Label of TLS 1.3
//! (RFC 8446 §7.1, §7.3).
//!
//! A key log tells the master secret of TLS 1.2, and the traffic secrets of TLS 1.3; how they came about (and whether
//! the master secret is an extended one, RFC 7627) need not be known.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Sha256, Sha384};
use zeroize::Zeroizing;

/// What a cipher suite derives its keys with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    Sha256,
    Sha384,
}

pub type Bytes = Zeroizing<Vec<u8>>;

impl Hash {
    /// How long its output is, and a secret of TLS 1.3 with it.
    pub fn length(self) -> usize {
        match self {
            Hash::Sha256 => 32,
            Hash::Sha384 => 48,
        }
    }

    fn hmac(self, key: &[u8], parts: &[&[u8]]) -> Bytes {
        match self {
            Hash::Sha256 => hmac::<Hmac<Sha256>>(key, parts),
            Hash::Sha384 => hmac::<Hmac<Sha384>>(key, parts),
        }
    }

    /// The key block of a TLS 1.2 connection: its first `length` bytes.
    pub fn key_block(self, master: &[u8], client_random: &[u8; 32], server_random: &[u8; 32], length: usize) -> Bytes {
        let seed = [b"key expansion".as_slice(), server_random, client_random];
        let mut block = Zeroizing::new(Vec::with_capacity(length + self.length()));
        let mut a = self.hmac(master, &seed);
        while block.len() < length {
            block.extend_from_slice(&self.hmac(master, &[&a, seed[0], seed[1], seed[2]]));
            a = self.hmac(master, &[&a]);
        }
        block.truncate(length);
        block
    }

    /// HKDF-Expand-Label with an empty context. Nothing that is derived is longer than the hash, so one block does.
    pub fn expand_label(self, secret: &[u8], label: &str, length: usize) -> Bytes {
        let length = length.min(self.length());
        let label_length = [("tls13 ".len() + label.len()) as u8];
        let length_bytes = (length as u16).to_be_bytes();
        let info: [&[u8]; 6] = [&length_bytes, &label_length, b"tls13 ", label.as_bytes(), &[0], &[1]];
        let mut output = self.hmac(secret, &info);
        output.truncate(length);
        output
    }

    /// The traffic secret behind a key update (RFC 8446 §7.2).
    pub fn next_secret(self, secret: &[u8]) -> Bytes {
        self.expand_label(secret, "traffic upd", self.length())
    }
}

fn hmac<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Bytes {
    // HMAC takes keys of any length.
    let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) else { return Bytes::default() };
    parts.iter().for_each(|part| mac.update(part));
    Zeroizing::new(mac.finalize().into_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::tls::tests::bytes;

    #[test]
    fn a_traffic_secret_becomes_the_key_of_rfc_8448() {
        let secret = bytes("b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21");
        let key = Hash::Sha256.expand_label(&secret, "key", 16);
        let iv = Hash::Sha256.expand_label(&secret, "iv", 12);
        assert_eq!(*key, bytes("dbfaa693d1762c5b666af5d950258d01"));
        assert_eq!(*iv, bytes("5bd3c71b836e0b76bb73265f"));
    }

    #[test]
    fn the_pseudorandom_function_gives_its_published_output() {
        // The vector for P_SHA256 that the TLS working group's list has: label "test label" there, so the block is
        // made of a seed that holds it.
        let secret = bytes("9bbe436ba940f017b17652849a71db35");
        let seed = bytes("a0ba9f936cda311827a6f796ffd5198c");
        let mut output = Vec::new();
        let mut a = Hash::Sha256.hmac(&secret, &[b"test label", &seed]);
        for _ in 0..2 {
            output.extend_from_slice(&Hash::Sha256.hmac(&secret, &[&a, b"test label", &seed]));
            a = Hash::Sha256.hmac(&secret, &[&a]);
        }
        assert_eq!(output[..16], bytes("e3f229ba727be17b8d122620557cd453"));
    }
}
