//! The PROXY protocol: a load balancer names, before all else, the client it speaks for.
//!
//! <https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>
//!
//! ```text
//! "PROXY " text "\r\n"                                                 version 1, at most 107 bytes
//! 0D 0A 0D 0A 00 0D 0A 51 55 49 54 0A | 2x | family u8 | length u16 | …    version 2
//! ```

use crate::side::Side;
use crate::stream::{Chunk, START};

const TEXT: &[u8] = b"PROXY ";
const LONGEST_TEXT: usize = 107;
const BINARY: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const BINARY_HEADER: usize = 16;

/// Takes the header off the client's stream.
#[derive(Debug, Default)]
pub struct ProxyHeader {
    /// The header's bytes that are still to come.
    rest: u64,
}

impl ProxyHeader {
    /// The chunk without what the header takes of it; true where a header begins here. `from_start`: the connection's
    /// beginning was captured.
    pub fn skip<'a>(&mut self, chunk: &Chunk<'a>, from_start: bool) -> (Chunk<'a>, bool) {
        if chunk.side != Side::Client || chunk.lost > 0 {
            return (*chunk, false);
        }
        let begins = from_start && chunk.offset == START;
        let length = if begins { header_length(chunk.bytes) } else { self.rest };
        let here = length.min(chunk.bytes.len() as u64);
        self.rest = length - here;
        let bytes = &chunk.bytes[here as usize..];
        (Chunk { offset: chunk.offset + here, bytes, ..*chunk }, begins && length > 0)
    }
}

/// How long the header is that `bytes` begin with; 0 for none.
fn header_length(bytes: &[u8]) -> u64 {
    if bytes.starts_with(TEXT) {
        let end = bytes.iter().take(LONGEST_TEXT).position(|&byte| byte == b'\n');
        return end.map_or(0, |end| end as u64 + 1);
    }
    match bytes.first_chunk::<BINARY_HEADER>() {
        Some(head) if head.starts_with(BINARY) && head[12] >> 4 == 2 => {
            BINARY_HEADER as u64 + u64::from(u16::from_be_bytes([head[14], head[15]]))
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
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
}
