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
#[path = "proxy_tests.rs"]
mod tests;
