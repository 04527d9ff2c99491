//! Does the server send its binary log here?
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_replication_binlog_event.html>

use std::ops::RangeInclusive;

use super::framing::{HEADER, OK};
use crate::cursor::{Cursor, TooShort};

/// Bytes of the server in which an event may begin: the one before it may have begun earlier.
const MAX_BYTES_BEFORE_EVENT: usize = 2048;
const EVENT_HEADER_BYTES: u32 = 19;
/// The byte before an event whose receipt the client may have to acknowledge.
const SEMI_SYNC: u8 = 0xef;
/// The types of MySQL, and those of MariaDB.
const EVENT_TYPES: [RangeInclusive<u8>; 2] = [1..=50, 160..=180];

/// Do the server's bytes hold the beginning of an event, with a whole header?
pub fn holds_event(server: &[u8]) -> bool {
    let last = MAX_BYTES_BEFORE_EVENT.min(server.len());
    (0..last).any(|at| server.get(at + HEADER) == Some(&OK) && begins_event(&server[at..]).unwrap_or(false))
}

/// length u24 | sequence u8 | 00 | (EF | flag) | time u32 | type u8 | server u32 | length u32 | end u32 | flags u16 | …
fn begins_event(bytes: &[u8]) -> Result<bool, TooShort> {
    let mut cursor = Cursor::new(bytes);
    let length = cursor.u24_le("length")?;
    cursor.skip(2, "sequence and OK")?;
    let mut before = 1;
    if let [SEMI_SYNC, 0 | 1, ..] = cursor.peek() {
        cursor.skip(2, "whether to acknowledge")?;
        before = 3;
    }
    cursor.skip(4, "time")?;
    let kind = cursor.u8("type")?;
    cursor.skip(4, "server")?;
    let (event, end) = (cursor.u32_le("length")?, cursor.u32_le("end")?);
    cursor.skip(2, "flags")?;
    let is_known = EVENT_TYPES.iter().any(|types| types.contains(&kind));
    let is_whole = event >= EVENT_HEADER_BYTES && event.checked_add(before) == Some(length);
    Ok(is_known && is_whole && (end == 0 || end >= event))
}

#[cfg(test)]
/// An event of a binary log, in its packet.
pub fn event(sequence: u8, kind: u8, body: &[u8], semi_sync: bool) -> Vec<u8> {
    let length = 19 + body.len() as u32;
    let ahead: &[u8] = if semi_sync { &[0, 0xef, 1] } else { &[0] };
    let header = [&[1, 2, 3, 4, kind, 1, 0, 0, 0][..], &length.to_le_bytes(), &(9_000 + length).to_le_bytes(), &[0; 2]];
    let whole = [ahead, &header.concat(), body].concat();
    [&(whole.len() as u32).to_le_bytes()[..3], &[sequence], &whole].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_event_says_its_packets_length() {
        let mut bytes = event(7, 30, &[9; 40], false);
        assert_eq!(begins_event(&bytes), Ok(true));
        bytes[14..18].fill(0xff);
        assert_eq!(begins_event(&bytes), Ok(false));
    }

    proptest! {
        #[test]
        fn random_bytes_hold_no_event(server in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(!holds_event(&server));
        }
    }
}
