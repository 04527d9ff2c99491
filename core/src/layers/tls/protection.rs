//! How a record is protected, and how it is opened: AEAD ciphers (RFC 8446 §5.2, RFC 5288, RFC 6655, RFC 7905) and CBC
//! with HMAC (RFC 5246 §6.2.3.2, encrypt-then-MAC RFC 7366).
//!
//! ```text
//! explicit nonce [8] | ciphertext | tag [16]                     AES-GCM and AES-CCM up to TLS 1.2 (CCM_8: tag [8])
//! ciphertext | tag [16]                                          ChaCha20-Poly1305, and everything in TLS 1.3
//! initialisation vector [16] | ciphertext of (data | MAC | padding)                          CBC, MAC then encrypt
//! initialisation vector [16] | ciphertext of (data | padding) | MAC                          CBC, encrypt then MAC
//! ```
//!
//! Nothing that is not authentic is handed out.

use std::ops::Range;

use aes::cipher::{BlockModeDecrypt, InnerIvInit};
use aes::{Aes128Dec, Aes256Dec};
use aes_gcm::aead::array::typenum::{U8, U12, U16};
use aes_gcm::aead::{AeadInOut, KeyInit, Nonce, Tag};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use ccm::Ccm;
use chacha20poly1305::ChaCha20Poly1305;
use hmac::Hmac;
use sha1::Sha1;
use sha2::{Sha256, Sha384};
use zeroize::Zeroizing;

use super::record::{APPLICATION_DATA, Header};
use super::schedule::{Bytes, Hash};
use super::suites;

/// What a cipher suite encrypts with, and derives its keys with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite {
    cipher: Cipher,
    pub hash: Hash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
    Aes128Ccm,
    Aes256Ccm,
    Aes128Ccm8,
    Aes256Ccm8,
    Aes128Cbc(MacHash),
    Aes256Cbc(MacHash),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MacHash {
    Sha1,
    Sha256,
    Sha384,
}

/// Those whose names begin alike, the longer first.
const CIPHERS: [(&str, Cipher); 7] = [
    ("AES_128_GCM_", Cipher::Aes128Gcm),
    ("AES_256_GCM_", Cipher::Aes256Gcm),
    ("CHACHA20_POLY1305_", Cipher::ChaCha20Poly1305),
    ("AES_128_CCM_8", Cipher::Aes128Ccm8),
    ("AES_256_CCM_8", Cipher::Aes256Ccm8),
    ("AES_128_CCM", Cipher::Aes128Ccm),
    ("AES_256_CCM", Cipher::Aes256Ccm),
];

const BLOCK: usize = 16;
/// The part of a nonce that a record of TLS 1.2 tells.
const EXPLICIT_NONCE: usize = 8;
const NONCE: usize = 12;
/// The type of the content, behind a record's data in TLS 1.3.
const INNER_TYPE: usize = 1;

impl Suite {
    /// What the suite with this number does, where it can be read.
    pub fn of(number: u16) -> Option<Suite> {
        Suite::named(&suites::name(number))
    }

    /// The names say it all: `TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384`, `TLS_CHACHA20_POLY1305_SHA256`.
    fn named(name: &str) -> Option<Suite> {
        let name = name.split_once("_WITH_").map_or(name.strip_prefix("TLS_")?, |(_, after)| after);
        let hash = if name.ends_with("_SHA384") { Hash::Sha384 } else { Hash::Sha256 };
        let aead = CIPHERS.iter().find(|(begins, _)| name.starts_with(begins)).map(|(_, cipher)| *cipher);
        Some(Suite { cipher: aead.or_else(|| cbc_named(name))?, hash })
    }

    /// All that a traffic secret of TLS 1.3 may belong to before the server has chosen.
    pub fn with_secret_of(length: usize) -> impl Iterator<Item = Suite> {
        let known = [
            Suite { cipher: Cipher::Aes128Gcm, hash: Hash::Sha256 },
            Suite { cipher: Cipher::ChaCha20Poly1305, hash: Hash::Sha256 },
            Suite { cipher: Cipher::Aes256Gcm, hash: Hash::Sha384 },
        ];
        known.into_iter().filter(move |suite| suite.hash.length() == length)
    }

    fn key_length(self) -> usize {
        match self.cipher {
            Cipher::Aes128Gcm | Cipher::Aes128Ccm | Cipher::Aes128Ccm8 | Cipher::Aes128Cbc(_) => 16,
            _ => 32,
        }
    }

    fn mac_length(self) -> usize {
        match self.cipher {
            Cipher::Aes128Cbc(mac) | Cipher::Aes256Cbc(mac) => mac.length(),
            _ => 0,
        }
    }

    fn fixed_iv_length(self) -> usize {
        match self.cipher {
            Cipher::ChaCha20Poly1305 => NONCE,
            Cipher::Aes128Cbc(_) | Cipher::Aes256Cbc(_) => 0,
            _ => NONCE - EXPLICIT_NONCE,
        }
    }

    /// How both sides of a TLS 1.2 connection protect their records, the client's first.
    pub fn protections(
        self,
        master: &[u8],
        client_random: &[u8; 32],
        server_random: &[u8; 32],
        encrypt_then_mac: bool,
    ) -> Option<[Protection; 2]> {
        let (mac, key, iv) = (self.mac_length(), self.key_length(), self.fixed_iv_length());
        let block = self.hash.key_block(master, client_random, server_random, 2 * (mac + key + iv));
        let part = |from: usize, length: usize| block.get(from..from + length);
        let of = |side: usize| {
            let mac_key = part(side * mac, mac)?;
            let opener = Opener::new(self.cipher, part(2 * mac + side * key, key)?, mac_key, encrypt_then_mac)?;
            let iv = Zeroizing::new(part(2 * (mac + key) + side * iv, iv)?.to_vec());
            Some(Protection { opener, iv, explicit: self.explicit_nonce(), is_1_3: false })
        };
        Some([of(0)?, of(1)?])
    }

    fn explicit_nonce(self) -> usize {
        match self.cipher {
            Cipher::ChaCha20Poly1305 => 0,
            Cipher::Aes128Cbc(_) | Cipher::Aes256Cbc(_) => BLOCK,
            _ => EXPLICIT_NONCE,
        }
    }

    /// How records are protected under a traffic secret of TLS 1.3.
    pub fn protection(self, secret: &[u8]) -> Option<Protection> {
        let key = self.hash.expand_label(secret, "key", self.key_length());
        let iv = self.hash.expand_label(secret, "iv", NONCE);
        let is_aead = !matches!(self.cipher, Cipher::Aes128Cbc(_) | Cipher::Aes256Cbc(_));
        let opener = Opener::new(self.cipher, &key, &[], false).filter(|_| is_aead)?;
        Some(Protection { opener, iv, explicit: 0, is_1_3: true })
    }
}

fn cbc_named(name: &str) -> Option<Cipher> {
    let (cipher, mac) = name.split_once("_CBC_")?;
    let mac = match mac {
        "SHA" => MacHash::Sha1,
        "SHA256" => MacHash::Sha256,
        "SHA384" => MacHash::Sha384,
        _ => return None,
    };
    match cipher {
        "AES_128" => Some(Cipher::Aes128Cbc(mac)),
        "AES_256" => Some(Cipher::Aes256Cbc(mac)),
        _ => None,
    }
}

impl MacHash {
    fn length(self) -> usize {
        match self {
            MacHash::Sha1 => 20,
            MacHash::Sha256 => 32,
            MacHash::Sha384 => 48,
        }
    }
}

/// How one side protects its records until its keys change.
pub struct Protection {
    opener: Opener,
    /// What nonces are made of.
    iv: Bytes,
    /// How many bytes of its own a record begins with.
    explicit: usize,
    is_1_3: bool,
}

/// What a record held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    pub content_type: u8,
    /// Where the data lies in the bytes that were opened.
    pub data: Range<usize>,
}

impl Protection {
    /// What it keeps.
    pub const KEPT: usize = 2 << 10;

    /// Opens a record in place: `body` is all of it behind its header. `None`: it is not authentic, and nothing of it is
    /// left.
    pub fn open(&self, sequence: u64, header: Header, body: &mut [u8]) -> Option<Opened> {
        let opened = self.try_open(sequence, header, body);
        if opened.is_none() {
            body.fill(0);
        }
        opened
    }

    fn try_open(&self, sequence: u64, header: Header, body: &mut [u8]) -> Option<Opened> {
        let (explicit, sealed) = body.split_at_mut_checked(self.explicit)?;
        let data = match &self.opener {
            Opener::Aead(aead) => {
                let length = sealed.len().checked_sub(aead.tag_length())?;
                let (data, tag) = sealed.split_at_mut(length);
                let aad = if self.is_1_3 { record_header(header) } else { additional_data(sequence, header, length) };
                let aad = aad.get(if self.is_1_3 { 0..5 } else { 0..13 })?;
                aead.open(&self.nonce(sequence, explicit), aad, data, tag)?;
                length
            }
            Opener::Cbc(cbc) => cbc.open(sequence, header, explicit, sealed)?,
        };
        let data = self.explicit..self.explicit + data;
        if !self.is_1_3 {
            return Some(Opened { content_type: header.content_type, data });
        }
        // The type is the last byte that is not padding.
        let last = body.get(data.clone())?.iter().rposition(|byte| *byte != 0)?;
        Some(Opened { content_type: *body.get(data.start + last)?, data: data.start..data.start + last })
    }

    fn nonce(&self, sequence: u64, explicit: &[u8]) -> [u8; NONCE] {
        let mut nonce = [0; NONCE];
        let (fixed, last) = nonce.split_at_mut(NONCE - EXPLICIT_NONCE);
        if explicit.is_empty() {
            last.copy_from_slice(&sequence.to_be_bytes());
            nonce.iter_mut().zip(self.iv.iter()).for_each(|(byte, iv)| *byte ^= iv);
        } else {
            fixed.iter_mut().zip(self.iv.iter()).for_each(|(byte, iv)| *byte = *iv);
            last.iter_mut().zip(explicit).for_each(|(byte, told)| *byte = *told);
        }
        nonce
    }

    #[cfg(test)]
    pub fn aes_128_gcm(&self) -> Option<&Aes128Gcm> {
        if let Opener::Aead(Aead::Aes128Gcm(cipher)) = &self.opener { Some(cipher) } else { None }
    }

    #[cfg(test)]
    pub fn nonce_of(&self, sequence: u64) -> [u8; NONCE] {
        self.nonce(sequence, &[])
    }

    /// How many bytes of data a record so long holds, where its length alone says so (in TLS 1.3 unless it is padded).
    pub fn data_length(&self, length: usize) -> Option<usize> {
        let Opener::Aead(aead) = &self.opener else { return None };
        let inner = if self.is_1_3 { INNER_TYPE } else { 0 };
        length.checked_sub(self.explicit + aead.tag_length() + inner)
    }

    /// Where in a record's body its data begins.
    pub fn data_start(&self) -> usize {
        self.explicit
    }

    /// In TLS 1.3 all records that are protected say that they hold data.
    pub fn protects(&self, header: Header) -> bool {
        !self.is_1_3 || header.content_type == APPLICATION_DATA
    }
}

fn record_header(header: Header) -> [u8; 13] {
    let mut bytes = [0; 13];
    let [high, low] = (header.length as u16).to_be_bytes();
    bytes[..5].copy_from_slice(&[header.content_type, 3, header.minor, high, low]);
    bytes
}

/// What TLS 1.2 authenticates beside the data.
fn additional_data(sequence: u64, header: Header, length: usize) -> [u8; 13] {
    let mut bytes = [0; 13];
    let (number, rest) = bytes.split_at_mut(8);
    number.copy_from_slice(&sequence.to_be_bytes());
    let [high, low] = (length as u16).to_be_bytes();
    rest.copy_from_slice(&[header.content_type, 3, header.minor, high, low]);
    bytes
}

enum Opener {
    Aead(Aead),
    Cbc(Box<Cbc>),
}

impl Opener {
    fn new(cipher: Cipher, key: &[u8], mac_key: &[u8], encrypt_then_mac: bool) -> Option<Opener> {
        let aead = match cipher {
            Cipher::Aes128Gcm => Aead::Aes128Gcm(keyed(key)?),
            Cipher::Aes256Gcm => Aead::Aes256Gcm(keyed(key)?),
            Cipher::ChaCha20Poly1305 => Aead::ChaCha20Poly1305(keyed(key)?),
            Cipher::Aes128Ccm => Aead::Aes128Ccm(keyed(key)?),
            Cipher::Aes256Ccm => Aead::Aes256Ccm(keyed(key)?),
            Cipher::Aes128Ccm8 => Aead::Aes128Ccm8(keyed(key)?),
            Cipher::Aes256Ccm8 => Aead::Aes256Ccm8(keyed(key)?),
            Cipher::Aes128Cbc(mac) | Cipher::Aes256Cbc(mac) => {
                let block = match cipher {
                    Cipher::Aes128Cbc(_) => Block::Aes128(keyed(key)?),
                    _ => Block::Aes256(keyed(key)?),
                };
                return Some(Opener::Cbc(Box::new(Cbc { block, mac: Mac::new(mac, mac_key)?, encrypt_then_mac })));
            }
        };
        Some(Opener::Aead(aead))
    }
}

fn keyed<C: KeyInit>(key: &[u8]) -> Option<Box<C>> {
    C::new_from_slice(key).ok().map(Box::new)
}

enum Aead {
    Aes128Gcm(Box<Aes128Gcm>),
    Aes256Gcm(Box<Aes256Gcm>),
    ChaCha20Poly1305(Box<ChaCha20Poly1305>),
    Aes128Ccm(Box<Ccm<aes::Aes128, U16, U12>>),
    Aes256Ccm(Box<Ccm<aes::Aes256, U16, U12>>),
    Aes128Ccm8(Box<Ccm<aes::Aes128, U8, U12>>),
    Aes256Ccm8(Box<Ccm<aes::Aes256, U8, U12>>),
}

impl Aead {
    fn tag_length(&self) -> usize {
        match self {
            Aead::Aes128Ccm8(_) | Aead::Aes256Ccm8(_) => 8,
            _ => 16,
        }
    }

    fn open(&self, nonce: &[u8; NONCE], aad: &[u8], data: &mut [u8], tag: &[u8]) -> Option<()> {
        match self {
            Aead::Aes128Gcm(cipher) => open(cipher.as_ref(), nonce, aad, data, tag),
            Aead::Aes256Gcm(cipher) => open(cipher.as_ref(), nonce, aad, data, tag),
            Aead::ChaCha20Poly1305(cipher) => open(cipher.as_ref(), nonce, aad, data, tag),
            Aead::Aes128Ccm(cipher) => open(cipher.as_ref(), nonce, aad, data, tag),
            Aead::Aes256Ccm(cipher) => open(cipher.as_ref(), nonce, aad, data, tag),
            Aead::Aes128Ccm8(cipher) => open(cipher.as_ref(), nonce, aad, data, tag),
            Aead::Aes256Ccm8(cipher) => open(cipher.as_ref(), nonce, aad, data, tag),
        }
    }
}

fn open<C: AeadInOut>(cipher: &C, nonce: &[u8; NONCE], aad: &[u8], data: &mut [u8], tag: &[u8]) -> Option<()> {
    let nonce: &Nonce<C> = nonce.as_slice().try_into().ok()?;
    let tag: &Tag<C> = tag.try_into().ok()?;
    cipher.decrypt_inout_detached(nonce, aad, data.into(), tag).ok()
}

struct Cbc {
    block: Block,
    mac: Mac,
    encrypt_then_mac: bool,
}

enum Block {
    Aes128(Box<Aes128Dec>),
    Aes256(Box<Aes256Dec>),
}

impl Cbc {
    /// How many bytes of data `sealed`, opened in place, begins with.
    fn open(&self, sequence: u64, header: Header, iv: &[u8], sealed: &mut [u8]) -> Option<usize> {
        let tag_length = self.mac.length();
        if self.encrypt_then_mac {
            let (sealed, tag) = sealed.split_at_mut(sealed.len().checked_sub(tag_length)?);
            let aad = additional_data(sequence, header, iv.len() + sealed.len());
            self.mac.verify(&[&aad, iv, sealed], tag)?;
            self.decrypt(iv, sealed)?;
            return unpadded(sealed);
        }
        self.decrypt(iv, sealed)?;
        let length = unpadded(sealed)?.checked_sub(tag_length)?;
        let (data, rest) = sealed.split_at(length);
        self.mac.verify(&[&additional_data(sequence, header, length), data], rest.get(..tag_length)?)?;
        Some(length)
    }

    fn decrypt(&self, iv: &[u8], sealed: &mut [u8]) -> Option<()> {
        match &self.block {
            Block::Aes128(block) => decrypt_blocks(block.as_ref(), iv, sealed),
            Block::Aes256(block) => decrypt_blocks(block.as_ref(), iv, sealed),
        }
    }
}

fn decrypt_blocks<B>(block: &B, iv: &[u8], sealed: &mut [u8]) -> Option<()>
where
    B: aes::cipher::BlockCipherDecrypt + aes::cipher::BlockSizeUser<BlockSize = U16>,
{
    let (blocks, []) = aes::Block::slice_as_chunks_mut(sealed) else { return None };
    let iv: &aes::Block = iv.try_into().ok()?;
    cbc::Decryptor::inner_iv_init(block, iv).decrypt_blocks(blocks);
    Some(())
}

/// How long the data is that stands before its padding: `n` bytes of the value `n`, and one more.
fn unpadded(data: &[u8]) -> Option<usize> {
    let padding = *data.last()?;
    let length = data.len().checked_sub(usize::from(padding) + 1)?;
    data.get(length..)?.iter().all(|byte| *byte == padding).then_some(length)
}

/// HMAC, its key taken in already.
enum Mac {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
    Sha384(Hmac<Sha384>),
}

impl Mac {
    fn new(hash: MacHash, key: &[u8]) -> Option<Mac> {
        Some(match hash {
            MacHash::Sha1 => Mac::Sha1(Hmac::new_from_slice(key).ok()?),
            MacHash::Sha256 => Mac::Sha256(Hmac::new_from_slice(key).ok()?),
            MacHash::Sha384 => Mac::Sha384(Hmac::new_from_slice(key).ok()?),
        })
    }

    fn length(&self) -> usize {
        match self {
            Mac::Sha1(_) => MacHash::Sha1.length(),
            Mac::Sha256(_) => MacHash::Sha256.length(),
            Mac::Sha384(_) => MacHash::Sha384.length(),
        }
    }

    fn verify(&self, parts: &[&[u8]], tag: &[u8]) -> Option<()> {
        match self {
            Mac::Sha1(mac) => verify(mac.clone(), parts, tag),
            Mac::Sha256(mac) => verify(mac.clone(), parts, tag),
            Mac::Sha384(mac) => verify(mac.clone(), parts, tag),
        }
    }
}

fn verify<M: hmac::Mac>(mut mac: M, parts: &[&[u8]], tag: &[u8]) -> Option<()> {
    parts.iter().for_each(|part| mac.update(part));
    mac.verify_slice(tag).ok()
}
