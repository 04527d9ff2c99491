use super::*;
use crate::stream::Mark;

fn chunk(offset: u64, bytes: &[u8]) -> Chunk<'_> {
    let mark = Mark { frame: 1, time_ns: 0 };
    Chunk { side: Side::Client, mark, acknowledged: 0, offset: START + offset, lost: 0, bytes, cut: 0 }
}

fn left(bytes: &[u8]) -> (Vec<u8>, bool) {
    let (chunk, found) = ProxyHeader::default().skip(&chunk(0, bytes), true);
    assert_eq!(chunk.offset + chunk.bytes.len() as u64, START + bytes.len() as u64);
    (chunk.bytes.to_vec(), found)
}

fn version_2(length: u8) -> Vec<u8> {
    [BINARY, &[0x21, 0x11, 0, length]].concat()
}

#[test]
fn both_versions_are_skipped() {
    assert_eq!(left(b"PROXY TCP4 10.0.0.9 10.0.0.2 4000 3306\r\nrest"), (b"rest".to_vec(), true));
    assert_eq!(left(b"PROXY UNKNOWN\r\n"), (vec![], true));
    assert_eq!(left(&[&version_2(2)[..], b"12rest"].concat()), (b"rest".to_vec(), true));
}

#[test]
fn what_only_begins_alike_stays() {
    for bytes in [&b"PROXY and no line end"[..], b"PROX", b"\r\n\r\n\0\r\nQUIT\n", b"", &version_2(0)[..12]] {
        assert_eq!(left(bytes), (bytes.to_vec(), false));
    }
}

#[test]
fn the_header_may_go_on_in_the_next_packet() {
    let mut header = ProxyHeader::default();
    let first = version_2(5);
    assert!(header.skip(&chunk(0, &first), true).0.bytes.is_empty());
    assert_eq!(header.skip(&chunk(16, b"12345rest"), true).0.bytes, b"rest");
    assert_eq!(header.skip(&chunk(25, b"more"), true).0.bytes, b"more");
}

#[test]
fn only_the_beginning_of_a_connection_is_looked_at() {
    let bytes = b"PROXY UNKNOWN\r\n";
    assert!(!ProxyHeader::default().skip(&chunk(0, bytes), false).1);
    assert!(!ProxyHeader::default().skip(&chunk(9, bytes), true).1);
}
