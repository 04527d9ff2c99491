//! Handshakes of real servers, as they were sent.

use super::handshake::{CERTIFICATE, HandshakeMessage};
use super::hello::{ClientHello, ServerHello, certificate_subject};
use super::record::{self, CHANGE_CIPHER_SPEC, Header};
use super::{Handshake, TlsFacts};
use crate::side::Side::{self, Client, Server};

/// mariadb-client with TLS 1.2: no name, no session.
const CLIENT_1_2: &str = "\
    160301009d0100009903038d53de3dfadbf11250ab9fdbf3f931e236df31f2aa6967aa5704555b176b9d4700001ec02cc030c02bc02f\
    cca9cca8c024c028c023c027009f009e006b006700ff01000052000b000403000102000a000c000a001d0017001e0019001800230000\
    0016000000170000000d002a0028040305030603080708080809080a080b080408050806040105010601030303010302040205020602\
";

/// ServerHello and Certificate of MariaDB's answer, a record each.
const SERVER_1_2: &str = "\
    16030300410200003d030325e0731b66c360562e1b9e7289a51d2217fa03e8fa41a7db444f574e4752440100c030000015ff01000100\
    000b0004030001020023000000170000160303030b0b000307000304000301308202fd308201e5a003020102021430df7eb8e58f644d\
    b2f6058c26f775578ee3a847300d06092a864886f70d01010b0500300e310c300a06035504030c036c6162301e170d32363131323130\
    38303833325a170d3236313232313038303833325a300e310c300a06035504030c036c616230820122300d06092a864886f70d010101\
    05000382010f003082010a0282010100d5f98d097d1700c9f60e7a11595e9d4cc696dd8f023f78f684fbd6a0635e3c350c5d83cca039\
    6f50944b33500051194eacf446bcc72403184d5fba509856d266ac143bee24bfaf769129c579c5832aca1927808991e866d7d560d4ce\
    adbb04b005bbe272bddc4185c3bc2c29d1ac73e18d38caffcb0c993ebbc1f0a5ab7a4c5e2d0884dfe31ccfca16410d244a48e422faab\
    4d23aebd876c1da856979b15bddb341e17939344c0fe46dd76e58c4948cdc96a1a21ee58fefc09160730b0449f90b38d309cc26239e0\
    c740ab5a847794f2db15c10e6685c025c1a4ce1d70e878f2dd35566cd00af6db4a478f3c3eb14f93aeccccb14e6c689ffcaf283ad54b\
    30010203010001a3533051301d0603551d0e04160414239bb76e9f3b2f31c2747d6e6e9cd9c95da3e0a6301f0603551d230418301680\
    14239bb76e9f3b2f31c2747d6e6e9cd9c95da3e0a6300f0603551d130101ff040530030101ff300d06092a864886f70d01010b050003\
    820101003203b3b8cee49251a43f10bd554c6af2ca84e37315c85cc6e0dbf6081409083883f237d12be65f6632420f589464973b0865\
    81b96dc391695399887e345ea6630bd22ecc1caceecb9fdd8a3e47adb98238a9078d42fdc0943f20d28c91d789900c161d2ca60a8824\
    5c7fb52c2c334ea7a64f8a832a4cce80d803283946315b914a2341be6b0dc74f8059a8200f74dea995811af8e9a47eb00c785534b629\
    5ffa0e3ed9107a592aeea02d204a97c79b7d99f15b07d4177e8d65a2aed025461ae395743982d5db8f8b6902e7f7d3fe96704fe97d57\
    10a789f89b26699164d533b7d0b808a8b9a447dabcadc3a0ecf1e2ecee272f3700e88313d1999e22d842fef3\
";

/// With TLS 1.3.
const CLIENT_1_3: &str = "\
    16030100dc010000d80303bb4debe67ad22b5bedc531c8196758024322c84741071982e74895c5795f8eb620114a2a6c264e7325ec69\
    91d082e5717c3371feea40abf8f24810072ce787970c000813021303130100ff01000087000b000403000102000a00160014001d0017\
    001e0019001801000101010201030104002300000016000000170000000d001e001c040305030603080708080809080a080b08040805\
    0806040105010601002b0003020304002d00020101003300260024001d0020aa60237cd07af20185c840fe09b3225b11d40aa7d2c751\
    497e1096ac4d18b43e\
";

/// ServerHello and ChangeCipherSpec.
const SERVER_1_3: &str = "\
    160303007a020000760303aa3a3f39ead2d0c9cfeda104aeaca874412b7e7f624e632b1b2e8ea0a956aa6a20114a2a6c264e7325ec69\
    91d082e5717c3371feea40abf8f24810072ce787970c130200002e002b0002030400330024001d00201c42b522a8a790adcb632324a9\
    eeaf33c0ee8afe17cfba65d62527cc08f55865140303000101\
";

/// The HelloRetryRequest of MySQL 9.7, and ChangeCipherSpec.
const RETRY_1_3: &str = "\
    1603030058020000540303cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c20fde68bb1b5fc15bf9201\
    61ae9fcad54bcfbba36fc8d76b6caecea08b7a89a389130100000c002b00020304003300020017140303000101\
";

pub fn bytes(hex: &str) -> Vec<u8> {
    let digit = |digit: u8| (digit as char).to_digit(16).unwrap() as u8;
    hex.as_bytes().chunks(2).map(|two| digit(two[0]) << 4 | digit(two[1])).collect()
}

/// Type and body of each record.
fn records(hex: &str) -> Vec<(u8, Vec<u8>)> {
    let (bytes, mut at, mut records) = (bytes(hex), 0, Vec::new());
    while at < bytes.len() {
        let header = Header::read(&bytes[at..]).unwrap().unwrap();
        records.push((header.content_type, bytes[at + record::HEADER..at + header.record_length()].to_vec()));
        at += header.record_length();
    }
    records
}

/// What is known after these flights, each record handed on in pieces of so many bytes.
fn facts(flights: &[(Side, &str)], piece: usize) -> (TlsFacts, Handshake) {
    let (mut facts, mut handshake) = (TlsFacts::default(), Handshake::default());
    for &(side, flight) in flights {
        for (kind, body) in records(flight) {
            match kind {
                CHANGE_CIPHER_SPEC => handshake.change_cipher_spec(side, &mut facts),
                _ => body.chunks(piece).for_each(|part| handshake.record(side, part, &mut facts, |_| {})),
            }
        }
    }
    (facts, handshake)
}

/// A ServerHello of this version, suite and session id, with these extensions.
fn server_hello(version: [u8; 2], suite: u16, session_id: &[u8], extensions: &[u8]) -> Vec<u8> {
    let length = (extensions.len() as u16).to_be_bytes();
    let [high, low] = suite.to_be_bytes();
    let id = [&[session_id.len() as u8][..], session_id].concat();
    let body = [&version[..], &[7; 32], &id, &[high, low, 0], &length, extensions].concat();
    [&[2, 0, 0, body.len() as u8][..], &body].concat()
}

#[test]
fn a_full_handshake_of_tls_1_2_shows_all_there_is() {
    for piece in [1, 7, usize::MAX] {
        let (facts, handshake) = facts(&[(Client, CLIENT_1_2), (Server, SERVER_1_2)], piece);
        assert_eq!(facts.version, Some("TLSv1.2"));
        assert_eq!(facts.cipher_suite_name().as_deref(), Some("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"));
        assert_eq!(facts.certificate_subject.as_deref(), Some("CN=lab"));
        assert_eq!((facts.server_name, facts.resumed), (None, Some(false)));
        assert_eq!(facts.client_random.map(|random| random[..4].to_vec()), Some(vec![0x8d, 0x53, 0xde, 0x3d]));
        let server = handshake.server_hello.unwrap();
        assert!(!server.encrypt_then_mac);
    }
}

#[test]
fn tls_1_3_says_its_version_in_an_extension_and_hides_the_certificate() {
    let (facts, handshake) = facts(&[(Client, CLIENT_1_3), (Server, SERVER_1_3)], usize::MAX);
    assert_eq!(facts.version, Some("TLSv1.3"));
    assert_eq!(facts.cipher_suite_name().as_deref(), Some("TLS_AES_256_GCM_SHA384"));
    assert_eq!((facts.certificate_subject, facts.resumed), (None, Some(false)));
    let client = handshake.client_hello.unwrap();
    assert_eq!(client.session_id.len(), 32);
}

#[test]
fn a_request_to_begin_once_more_chooses_nothing() {
    let (_, handshake) = facts(&[(Client, CLIENT_1_3), (Server, RETRY_1_3)], usize::MAX);
    assert!(handshake.server_hello.is_none());
    let retry = records(RETRY_1_3).remove(0).1;
    assert!(ServerHello::read(&retry[4..]).unwrap().is_retry_request());
    let (facts, _) = facts(&[(Client, CLIENT_1_3), (Server, RETRY_1_3), (Server, SERVER_1_3)], usize::MAX);
    assert_eq!((facts.version, facts.resumed), (Some("TLSv1.3"), Some(false)));
}

#[test]
fn a_session_is_resumed_where_the_server_encrypts_without_a_certificate() {
    let resumed = |messages: &[&[u8]]| {
        let (mut facts, mut handshake) = (TlsFacts::default(), Handshake::default());
        handshake.record(Server, &server_hello([3, 3], 0xc02f, &[5; 32], &[]), &mut facts, |_| {});
        messages.iter().for_each(|message| handshake.record(Server, message, &mut facts, |_| {}));
        handshake.change_cipher_spec(Server, &mut facts);
        handshake.record(Server, &[11, 0, 0, 0], &mut facts, |_| panic!("it is encrypted"));
        facts.resumed
    };
    assert_eq!(resumed(&[]), Some(true));
    assert_eq!(resumed(&[&[4, 0, 0, 6, 0, 0, 0, 0, 0, 0]]), Some(true), "with a new ticket");
    assert_eq!(resumed(&[&[14, 0, 0, 0]]), Some(false), "a key agreed upon before, and no session");
}

#[test]
fn tls_1_3_resumes_with_the_key_that_the_server_chooses() {
    let (mut facts, mut handshake) = (TlsFacts::default(), Handshake::default());
    let extensions = [0, 43, 0, 2, 3, 4, 0, 41, 0, 2, 0, 0];
    handshake.record(Server, &server_hello([3, 3], 0x1301, &[], &extensions), &mut facts, |_| {});
    assert_eq!((facts.version, facts.resumed), (Some("TLSv1.3"), Some(true)));
}

#[test]
fn where_the_certificate_may_be_lost_nobody_knows_whether_a_session_was_resumed() {
    let (mut facts, mut handshake) = (TlsFacts::default(), Handshake::default());
    handshake.record(Server, &server_hello([3, 3], 0xc02f, &[], &[]), &mut facts, |_| {});
    handshake.lose(Server);
    handshake.change_cipher_spec(Server, &mut facts);
    assert_eq!(facts.resumed, None);
}

#[test]
fn the_host_that_the_client_means_is_shown_without_what_steers_a_terminal() {
    let mut hello = vec![3, 3];
    hello.extend([1; 32]);
    hello.extend([0, 0, 2, 0x13, 1, 1, 0]);
    let name = b"db\x1b[31m.example.com";
    let length = name.len() as u8;
    hello.extend([0, length + 9, 0, 0, 0, length + 5, 0, length + 3, 0, 0, length]);
    hello.extend(name);
    let read = ClientHello::read(&hello).unwrap();
    assert_eq!(read.server_name.as_deref(), Some("db\u{fffd}[31m.example.com"));
}

#[test]
fn every_message_is_handed_on_as_it_was_sent() {
    let mut sent = Vec::new();
    let mut take = |message: HandshakeMessage<'_>| sent.extend_from_slice(message.raw);
    let mut handshake = Handshake::default();
    for (_, body) in records(SERVER_1_2) {
        body.chunks(11).for_each(|part| handshake.record(Server, part, &mut TlsFacts::default(), &mut take));
    }
    let all: Vec<u8> = records(SERVER_1_2).into_iter().flat_map(|(_, body)| body).collect();
    assert_eq!(sent, all);
}

#[test]
fn damage_anywhere_is_never_more_than_a_fact_that_is_missing() {
    let bodies = [CLIENT_1_2, CLIENT_1_3, SERVER_1_2, SERVER_1_3].map(|hex| records(hex).remove(0).1);
    for body in &bodies {
        for end in 0..body.len() {
            let _ = (ClientHello::read(&body[..end]), ServerHello::read(&body[..end]));
        }
        for place in 0..body.len() {
            let mut damaged = body.clone();
            damaged[place] ^= 0xff;
            let _ = (ClientHello::read(&damaged[4..]), ServerHello::read(&damaged[4..]));
        }
    }
    let certificate = records(SERVER_1_2).remove(1).1;
    assert_eq!(certificate[0], CERTIFICATE);
    for place in 4..certificate.len() {
        assert_eq!(certificate_subject(&certificate[4..place]), None);
        let mut damaged = certificate.clone();
        damaged[place] ^= 0xff;
        let _ = certificate_subject(&damaged[4..]);
    }
}
