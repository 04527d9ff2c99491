use proptest::prelude::*;

use super::*;
use crate::protocols::{REGISTRY, Verdict};
use crate::side::Side;

fn named(client: &[u8], server: &[u8]) -> Option<&'static str> {
    name(&Opening { client, server, first: Side::Client, from_start: true })
}

/// A TDS packet.
fn tds_packet(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16 + 8).to_be_bytes();
    [&[kind, 1, length[0], length[1], 0, 0, 1, 0], body].concat()
}

fn mongodb_message(request: u32, answers: u32, operation: u32, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u32 + 16;
    [length, request, answers, operation].into_iter().flat_map(u32::to_le_bytes).chain(body.iter().copied()).collect()
}

fn cql(version: u8, stream: u16, operation: u8, body: &[u8]) -> Vec<u8> {
    let stream = stream.to_be_bytes();
    [&[version, 0, stream[0], stream[1], operation], &(body.len() as u32).to_be_bytes()[..], body].concat()
}

fn dss(correlation: u8, code_point: u16, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u16 + 10;
    let head =
        [length.to_be_bytes(), [0xd0, 1], [0, correlation], (length - 6).to_be_bytes(), code_point.to_be_bytes()];
    [&head.concat()[..], body].concat()
}

/// What begins a connection to each, client and server.
fn openings() -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let field = |text: &str| [text.as_bytes(), &vec![0; 30 - text.len()], &[text.len() as u8]].concat();
    let old_login = [field("host"), field("sa"), field(""), vec![0; 40]].concat();
    let login_5 = [&old_login[..], &[0; 458 - 93 - 40], &[5, 0, 0, 0]].concat();
    let version = b"\0\x01\0\x0bCQL_VERSION\0\x053.0.0";
    let supported = b"\0\x01\0\x0bCQL_VERSION\0\x01\0\x053.4.4";
    let hello = mongodb_message(7, 0, OP_QUERY, b"\0\0\0\0admin.$cmd\0\0\0\0\0\x01\0\0\0\x05\0\0\0\0");
    let binary = |magic| [&[magic, 0x0b][..], &[0; 10], &[9, 9, 9, 9], &[0; 8]].concat();
    let x_answer = [&32_u32.to_le_bytes()[..], &[2], b"....authentication.mechanisms.."].concat();
    let http = |header: &str| format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\n{{}}").into_bytes();
    let get = b"GET / HTTP/1.1\r\n\r\n".to_vec();
    vec![
        ("Sybase ASE", tds_packet(2, &login_5), vec![]),
        ("Sybase ASE", tds_packet(15, &[0x21; 30]), tds_packet(4, &[0xfd; 13])),
        ("Sybase ASE or SQL Server before 7.0", tds_packet(2, &old_login), vec![]),
        ("Sybase ASE or SQL Server before 7.0", tds_packet(1, b"select 1"), tds_packet(4, &[0xfd; 13])),
        ("Sybase ASE or SQL Server before 7.0", tds_packet(3, &[9; 30]), tds_packet(4, &[0xfd; 13])),
        ("MongoDB", hello.clone(), vec![]),
        ("MongoDB", hello, mongodb_message(1, 7, 1, &[0; 30])),
        ("MongoDB", mongodb_message(3, 0, OP_MSG, b"\0\0\0\0\0\x05\0\0\0\0"), vec![]),
        (
            "MongoDB",
            [mongodb_message(8, 0, 2002, &[0; 9]), mongodb_message(9, 0, OP_QUERY, &[0; 9])].concat(),
            mongodb_message(2, 9, 1, &[0; 30]),
        ),
        (
            "Sybase ASE or SQL Server before 7.0",
            [tds_packet(6, b""), tds_packet(1, b"a")].concat(),
            tds_packet(4, &[0xfd; 13]),
        ),
        ("Redis", b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n".to_vec(), b"$-1\r\n".to_vec()),
        ("Memcached", b"get answer\r\n".to_vec(), b"VALUE answer 0 2\r\n42\r\nEND\r\n".to_vec()),
        ("Memcached", b"incr a 1\r\n".to_vec(), b"7\r\n".to_vec()),
        ("Memcached", b"set a 0 0 1\r\n1\r\n".to_vec(), b"STORED\r\n".to_vec()),
        ("Couchbase or Memcached", binary(0x80), binary(0x81)),
        ("Cassandra", cql(4, 0, 1, version), vec![]),
        ("Cassandra", cql(4, 0, 5, b""), cql(0x84, 0, 6, supported)),
        ("Cassandra", cql(4, 9, 7, b"\0\0\0\x01x"), cql(0x84, 9, 8, &[0, 0, 0, 1])),
        ("DB2 or another DRDA server", [dss(1, 0x1041, b"abcd"), dss(2, 0x106d, b"")].concat(), vec![]),
        ("DB2 or another DRDA server", dss(1, 0x2014, b"abcd"), dss(1, 0x220c, b"")),
        ("ClickHouse", b"\0\x11ClickHouse client\x16\x08".to_vec(), vec![]),
        ("ClickHouse", b"\0\x06my-app\x16".to_vec(), b"\0\x0aClickHouse\x16".to_vec()),
        ("MySQL by its X Protocol", vec![1, 0, 0, 0, 1], x_answer),
        ("Neo4j", [&[0x60, 0x60, 0xb0, 0x17, 0, 0, 4, 4][..], &[0; 12]].concat(), vec![0, 0, 4, 4]),
        ("Elasticsearch or OpenSearch", get.clone(), http("X-elastic-product: Elasticsearch")),
        ("Elasticsearch or OpenSearch", b"ES\0\0\0\x10................".to_vec(), vec![]),
        ("Elasticsearch or OpenSearch", get.clone(), http("a: b\r\n\r\n{\"took\":1,\"_shards\":{\"total\":5")),
        ("ClickHouse", get.clone(), http("X-ClickHouse-Query-Id: 1")),
        ("ArangoDB", get.clone(), http("Server: ArangoDB")),
        ("CouchDB", get, http("Server: CouchDB/3.3")),
    ]
}

#[test]
fn each_is_named_by_what_it_says() {
    for (name, client, server) in openings() {
        assert_eq!(named(&client, &server), Some(name), "{client:x?} {server:x?}");
    }
}

#[test]
fn a_client_of_tds_is_known_in_the_middle_of_an_answer() {
    let middle = |client: &[u8]| {
        name(&Opening { client, server: b"\x05rows of before", first: Side::Server, from_start: false })
    };
    let asks = tds_packet(3, &[9; 30]);
    assert_eq!(middle(&asks), Some("Sybase ASE or SQL Server before 7.0"));
    assert_eq!(middle(&[asks.clone(), asks.clone()].concat()), Some("Sybase ASE or SQL Server before 7.0"));
    assert_eq!(middle(&asks[..30]), None);
    assert_eq!(named(&asks, b"\x05rows of before"), None);
}

#[test]
fn none_of_them_is_taken_for_a_protocol_that_is_read() {
    for (name, client, server) in openings() {
        for from_start in [true, false] {
            let opening = Opening { client: &client, server: &server, first: Side::Client, from_start };
            for protocol in REGISTRY {
                assert_ne!((protocol.recognise)(&opening), Verdict::Certain, "{name}: {}", protocol.name);
            }
        }
    }
}

#[test]
fn what_only_looks_alike_stays_unnamed() {
    let alike: [(&[u8], &[u8]); 12] = [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\n"),
        (b"get the door\r\n", b"500 unknown command\r\n"),
        (b"* OK IMAP\r\n", b"a1 LOGIN\r\n"),
        (b"*\r\n$\r\n\r\n", b""),
        (b"\x01\x01\x00\x20\x00\x00\x01\x00short", b"\x04"),
        (b"\x01\x01\x00\x09\x00\x00\x01\x00\xff", b""),
        (&[0x12, 1, 0, 9, 0, 0, 0, 0, 0xff], b""),
        (&[16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0], b""),
        (&[4, 0, 0, 0, 5, 0, 0, 0, 0], b"\x84\0\0\0\x06"),
        (&[0, 10, 0xd0, 1, 0, 1, 0, 4, 0x20, 1], b""),
        (b"\x16\x03\x01\x00\x05hello", b"\x16\x03\x03"),
    ];
    for (client, server) in alike {
        assert_eq!(named(client, server), None, "{client:x?} {server:x?}");
    }
}

#[test]
fn a_name_needs_no_whole_message() {
    let [client, server] = [mongodb_message(5, 0, OP_MSG, &[7; 90]), mongodb_message(6, 5, OP_MSG, &[7; 900])];
    assert_eq!(named(&client, &server[..60]), Some("MongoDB"));
    assert_eq!(named(&client, &mongodb_message(6, 4, OP_MSG, &[7; 90])), None);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_and_few_get_a_name(
        client in proptest::collection::vec(any::<u8>(), 0..80),
        server in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        prop_assert_eq!(named(&client, &server), None);
    }

    #[test]
    fn damage_does_not_make_it_panic(
        opening in proptest::sample::select(openings()),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        length in any::<prop::sample::Index>(),
    ) {
        let (_, mut client, server) = opening;
        for (place, byte) in changes {
            let place = place.index(client.len());
            client[place] = byte;
        }
        named(&client[..length.index(client.len() + 1)], &server);
        named(&server, &client);
    }
}
