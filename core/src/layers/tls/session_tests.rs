use super::keylog::KeyLog;
use super::record::{self, Header};
use super::session::{Read, Session};
use super::tests::bytes;
use super::{Reading, sealing};
use crate::side::Side::{self, Client, Server};

/// RFC 8448 §4, a resumed handshake with early data: ClientHello.
const CLIENT_HELLO: &str = "\
    010001fc03031bc3ceb6bbe39cff938355b5a50adb6db21b7a6af649d7b4bc419d7876487d95000006130113031302010001cd0000000b00\
    09000006736572766572ff01000100000a00140012001d00170018001901000101010201030104003300260024001d0020e4ffb68ac05f8d\
    96c99da26698346c6be16482badddafe051a66b4f18d668f0b002a0000002b0003020304000d0020001e0403050306030203080408050806\
    04010501060102010402050206020202002d00020101001c0002400100150057000000000000000000000000000000000000000000000000\
    0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000\
    00000000000000002900dd00b800b22c035d829359ee5ff7af4ec900000000262a6494dc486d2c8a34cb33fa90bf1b0070ad3c498883c936\
    7c09a2be785abc55cd226097a3a982117283f82a03a143efd3ff5dd36d64e861be7fd61d2827db279cce145077d454a3664d4e6da4d29ee0\
    3725a6a4dafcd0fc67d2aea70529513e3da2677fa5906c5b3f7d8f92f228bda40dda721470f9fbf297b5aea617646fac5c03272e970727c6\
    21a79141ef5f7de6505e5bfbc388e93343694093934ae4d357fad6aacb0021203add4fb2d8fdf822a0ca3cf7678ef5e88dae990141c5924d\
    57bb6fa31b9e5f9d\
";
const SERVER_HELLO: &str = "\
    0200005c03033ccfd2dec890222763472ae8136777c9d7358777bb66e91ea5122495f559ea2d0013010000340029000200000033002400\
    1d0020121761ee42c333e1b9e77b60dd57c2053cd94512ab47f115e86eff50942cea31002b00020304\
";
const EARLY_DATA: &str = "1703030017ab1df420e75c457a7cc5d2844f76d5aee4b4edbf049be0";
/// EncryptedExtensions and Finished.
const SERVER_FINISHED: &str = "\
    1703030061dc48237b4b879f50d0d4d262ea8b4716eb40ddc1eb957e11126e8a7149c2d012d37a7115957e64ce30008b9e0323f2c05a9c\
    1c77b4f37849a695ab255060a33fee770ca95cb8486bfd0843b87024865ca35cc41c4e515c64dcb1369f98635bc7a5\
";
const END_OF_EARLY_DATA: &str = "1703030015aca6fc944841298df99593725f9bf9754429b12f09";
const CLIENT_FINISHED: &str = "\
    170303003500f8b467d14cf22a4b3f0b6ae0d8e6cc8d08e0db3515ef5c2bdf1922eafbb70009964716d834fb70c3d2a56c5b1f5f6bdba6\
    c333cf\
";
const CLIENT_DATA: &str = "\
    1703030043b1cebce242aa201be9ae5e1cb2a9aa4b33d4e866af1edb068919237741aa031d7a74d491c99b9d4e232b74206bc6fbaa04fe\
    78be44a9b4f54320a17eb76992afac3103\
";
const SERVER_DATA: &str = "\
    1703030043275e9f20acff57bc000657d3867df039cccf79047884cf75771746f740b5a83f462a0954c3581393a203a25a7dd14141ef1a\
    37900cdb62ff62dee1ba39ab2590cbf194\
";
const CLIENT_ALERT: &str = "17030300130facce3246bdfc6369838d6a82ae6de5d422dc";
const SECRETS: [(&str, &str); 5] = [
    ("CLIENT_EARLY_TRAFFIC_SECRET", "3fbbe6a60deb66c30a32795aba0eff7eaa10105586e7be5c09678d63b6caab62"),
    ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", "2faac08f851d35fea3604fcb4de82dc62c9b164a70974d0462e27f1ab278700f"),
    ("SERVER_HANDSHAKE_TRAFFIC_SECRET", "fe927ae271312e8bf0275b581c54eef020450dc4ecffaa05a1a35d27518e7803"),
    ("CLIENT_TRAFFIC_SECRET_0", "2abbf2b8e381d23dbebe1dd2a7d16a8bf484cb4950d23fb7fb7fa8547062d9a1"),
    ("SERVER_TRAFFIC_SECRET_0", "cc21f1bf8feb7dd5fa505bd9c4b468a9984d554a993dc49e6d285598fb672691"),
];

fn log_without(left_out: &[&str]) -> KeyLog {
    let mut log = KeyLog::default();
    for (label, secret) in SECRETS.iter().filter(|(label, _)| !left_out.contains(label)) {
        log.add(format!("{label} {} {secret}", &CLIENT_HELLO[12..76]).as_bytes());
    }
    log
}

fn clear(message: &str) -> Vec<u8> {
    let message = bytes(message);
    let [high, low] = (message.len() as u16).to_be_bytes();
    [&[22, 3, 3, high, low][..], &message].concat()
}

fn trace() -> Vec<(Side, Vec<u8>)> {
    vec![
        (Client, clear(CLIENT_HELLO)),
        (Client, bytes(EARLY_DATA)),
        (Server, clear(SERVER_HELLO)),
        (Server, bytes(SERVER_FINISHED)),
        (Client, bytes(END_OF_EARLY_DATA)),
        (Client, bytes(CLIENT_FINISHED)),
        (Client, bytes(CLIENT_DATA)),
        (Server, bytes(SERVER_DATA)),
        (Client, bytes(CLIENT_ALERT)),
    ]
}

/// What was read of each record: its data, or what it is.
fn told(trace: &[(Side, Vec<u8>)], mut keys: KeyLog) -> Vec<Result<Option<Vec<u8>>, Reading>> {
    let mut session = Session::default();
    let mut read = |(side, record): &(Side, Vec<u8>)| {
        let header = Header::read(record).unwrap().unwrap();
        let mut body = record[record::HEADER..].to_vec();
        Ok(match session.read(*side, header, &mut body, &mut keys)? {
            Read::Data(data) => Some(body[data].to_vec()),
            Read::Control | Read::Aside => None,
        })
    };
    trace.iter().map(&mut read).collect()
}

#[test]
fn early_data_and_data_of_rfc_8448_are_read() {
    let data: Vec<u8> = (0..50).collect();
    let expected = [None, Some(b"ABCDEF".to_vec()), None, None, None, None, Some(data.clone()), Some(data), None];
    assert_eq!(told(&trace(), log_without(&[])), expected.map(Ok));
}

#[test]
fn data_is_read_where_secrets_before_it_are_missing() {
    let early = log_without(&["CLIENT_EARLY_TRAFFIC_SECRET"]);
    let told_early = told(&trace(), early);
    assert_eq!(told_early[1], Ok(None));
    assert!(matches!(told_early[6], Ok(Some(_))), "{told_early:?}");
    let handshakes = ["CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET"];
    let told_traffic = told(&trace(), log_without(&handshakes));
    assert!(matches!(told_traffic[6..8], [Ok(Some(_)), Ok(Some(_))]), "{told_traffic:?}");
}

#[test]
fn a_secret_that_is_missing_or_wrong_ends_the_reading_and_says_which() {
    let missing = told(&trace(), log_without(&["SERVER_TRAFFIC_SECRET_0"]));
    assert_eq!(missing[3], Err(Reading::NoSecret));
    let mut wrong = log_without(&["SERVER_HANDSHAKE_TRAFFIC_SECRET"]);
    wrong.add(format!("SERVER_HANDSHAKE_TRAFFIC_SECRET {} {}", &CLIENT_HELLO[12..76], "00".repeat(32)).as_bytes());
    assert_eq!(told(&trace(), wrong)[3], Err(Reading::WrongSecret));
    assert_eq!(told(&trace(), KeyLog::default())[3], Err(Reading::NoSecret));
}

#[test]
fn a_secret_without_a_name_is_claimed_once_by_whom_it_fits() {
    let mut log = KeyLog::default();
    for (id, secret) in [("", "01"), ("0a0b", "02"), ("", "03")] {
        log.add(format!("RSA Session-ID:{id} Master-Key:{}", secret.repeat(48)).as_bytes());
    }
    assert_eq!((log.len(), log.damaged()), (3, 0));
    let mut claim = |byte: u8| log.claim(|secret| (secret.bytes()[0] == byte).then_some(())).is_some();
    assert_eq!([claim(3), claim(3), claim(1), claim(9)], [true, false, true, false]);
    assert!(log.master(&[0; 32], &[]).is_none(), "an empty id is no name");
}

#[test]
fn keys_are_updated_in_either_direction() {
    let (mut client, mut server) = (sealing::Sealer::traffic(Client), sealing::Sealer::traffic(Server));
    let mut trace = sealing::handshake().to_vec();
    for round in 0..3 {
        trace.push((Client, client.record(23, &[round])));
        trace.push((Client, client.update()));
        trace.push((Server, server.record(23, &[round, 9])));
        trace.push((Server, server.update()));
    }
    trace.push((Client, client.record(23, b"last")));
    let data: Vec<Vec<u8>> = told(&trace, sealing::log()).into_iter().filter_map(|read| read.unwrap()).collect();
    assert_eq!(data, [&[0][..], &[0, 9], &[1], &[1, 9], &[2], &[2, 9], b"last"]);
}

#[test]
fn records_go_on_behind_missing_ones_with_new_keys_too() {
    let mut trace = sealing::handshake().to_vec();
    let mut client = sealing::Sealer::traffic(Client);
    trace.push((Client, client.record(23, b"first")));
    let mut session = Session::default();
    let mut keys = sealing::log();
    let mut open = |session: &mut Session, side: Side, record: &[u8], missing: Option<u64>| {
        let mut body = record[5..].to_vec();
        let header = Header::read(record).unwrap().unwrap();
        let read = match missing {
            Some(most) => session.read_ahead(side, header, &mut body, most, &mut keys).map(|(_, read)| read),
            None => session.read(side, header, &mut body, &mut keys).ok(),
        };
        read.and_then(|read| if let Read::Data(data) = read { Some(body[data].to_vec()) } else { None })
    };
    for (side, flight) in &trace {
        let mut rest = &flight[..];
        while !rest.is_empty() {
            let length = Header::read(rest).unwrap().unwrap().record_length();
            open(&mut session, *side, &rest[..length], None);
            rest = &rest[length..];
        }
    }
    (0..20).for_each(|_| drop(client.record(23, b"missing")));
    let behind = client.record(23, b"behind");
    assert_eq!(open(&mut session, Client, &behind, Some(10)), None);
    assert_eq!(open(&mut session, Client, &behind, Some(20)).as_deref(), Some(&b"behind"[..]));
    drop(client.update());
    let updated = client.record(23, b"updated");
    assert_eq!(open(&mut session, Client, &updated, Some(5)).as_deref(), Some(&b"updated"[..]));
}
