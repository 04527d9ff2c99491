//! For tests: the other direction. A TLS 1.3 connection whose secrets are known, its records sealed.

use aes_gcm::aead::{AeadInOut, Nonce};

use super::keylog::{KeyLog, Random};
use super::protection::{Protection, Suite};
use super::record::{APPLICATION_DATA, HANDSHAKE, HEADER, Header};
use crate::side::Side;

pub const RANDOM: Random = [7; 32];
const SECRETS: [(&str, u8); 4] = [
    ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", 1),
    ("SERVER_HANDSHAKE_TRAFFIC_SECRET", 2),
    ("CLIENT_TRAFFIC_SECRET_0", 3),
    ("SERVER_TRAFFIC_SECRET_0", 4),
];

/// A log with the connection's secrets.
pub fn log() -> KeyLog {
    let mut log = KeyLog::default();
    for (label, secret) in SECRETS {
        let line = format!("{label} {} {}\n", "07".repeat(32), format!("{secret:02x}").repeat(32));
        log.add(line.as_bytes());
    }
    log
}

/// One side's keys, and how many records they have sealed.
pub struct Sealer {
    secret: Vec<u8>,
    sequence: u64,
}

impl Sealer {
    pub fn handshake(side: Side) -> Sealer {
        Sealer { secret: vec![1 + side as u8; 32], sequence: 0 }
    }

    pub fn traffic(side: Side) -> Sealer {
        Sealer { secret: vec![3 + side as u8; 32], sequence: 0 }
    }

    pub fn record(&mut self, kind: u8, data: &[u8]) -> Vec<u8> {
        let protection = suite().protection(&self.secret).unwrap();
        let record = protection.seal(self.sequence, kind, data);
        self.sequence += 1;
        record
    }

    /// A KeyUpdate, and the keys behind it.
    pub fn update(&mut self) -> Vec<u8> {
        let record = self.record(HANDSHAKE, &[24, 0, 0, 1, 0]);
        self.secret = suite().hash.next_secret(&self.secret).to_vec();
        self.sequence = 0;
        record
    }
}

fn suite() -> Suite {
    Suite::of(0x1301).unwrap()
}

impl Protection {
    fn seal(&self, sequence: u64, kind: u8, data: &[u8]) -> Vec<u8> {
        let mut sealed = [data, &[kind]].concat();
        let length = sealed.len() + 16;
        let header = Header { content_type: APPLICATION_DATA, minor: 3, length };
        let [high, low] = (length as u16).to_be_bytes();
        let head = [APPLICATION_DATA, 3, 3, high, low];
        let cipher = self.aes_128_gcm().unwrap();
        let nonce: Nonce<aes_gcm::Aes128Gcm> = self.nonce_of(sequence).into();
        let tag = cipher.encrypt_inout_detached(&nonce, &head, sealed.as_mut_slice().into()).unwrap();
        assert_eq!(header.record_length(), HEADER + sealed.len() + tag.len());
        [&head[..], &sealed, &tag].concat()
    }
}

/// What each side says up to its Finished, in this order: ClientHello; ServerHello and the server's Finished; the client's.
pub fn handshake() -> [(Side, Vec<u8>); 3] {
    let extensions = |body: &[u8]| [&(body.len() as u16).to_be_bytes()[..], body].concat();
    let client = [&[3, 3][..], &RANDOM, &[0, 0, 2, 0x13, 0x01, 1, 0], &extensions(&[0, 43, 0, 3, 2, 3, 4])];
    let server = [&[3, 3][..], &[9; 32], &[0, 0x13, 0x01, 0], &extensions(&[0, 43, 0, 2, 3, 4])];
    let clear = |kind: u8, body: Vec<u8>| {
        let message = [&[kind, 0, 0, body.len() as u8][..], &body].concat();
        [&[HANDSHAKE, 3, 3, 0, message.len() as u8][..], &message].concat()
    };
    let finished = [&[20, 0, 0, 32][..], &[0; 32]].concat();
    let mut keys = [Sealer::handshake(Side::Client), Sealer::handshake(Side::Server)];
    let certificate = keys[1].record(HANDSHAKE, &[&[11, 0, 1, 0][..], &[0; 200]].concat());
    let rest = keys[1].record(HANDSHAKE, &[&[0; 56][..], &finished].concat());
    [
        (Side::Client, clear(1, client.concat())),
        (Side::Server, [clear(2, server.concat()), certificate, rest].concat()),
        (Side::Client, keys[0].record(HANDSHAKE, &finished)),
    ]
}
