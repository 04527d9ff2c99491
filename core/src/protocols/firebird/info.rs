//! The answers to information requests: `item u8 | length u16le | bytes` … until `1` (end) or `2` (truncated).

use crate::cursor::Cursor;

const END: u8 = 1;
const TRUNCATED: u8 = 2;

/// The server's version as it names itself, asked of a database.
const VERSION: u8 = 12;
const FIREBIRD_VERSION: u8 = 103;
/// The same, asked of the services manager.
const SERVICE_VERSION: u8 = 55;
/// How many rows a statement touched: `kind u8 | length u16le | number` for each kind.
const RECORDS: u8 = 23;
const INSERTED: u8 = 14;
const UPDATED: u8 = 15;
const DELETED: u8 = 16;

/// The items of an answer, as far as they can be read.
fn items(data: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut cursor = Cursor::new(data);
    std::iter::from_fn(move || {
        let item = cursor.u8("item").ok().filter(|item| ![END, TRUNCATED].contains(item))?;
        let length = cursor.u16_le("length").ok()?;
        Some((item, cursor.take(length.into(), "value").ok()?))
    })
}

/// `LI-V3.0.11.33637 Firebird 3.0` from the answer to `info_database`.
pub fn server_version(data: &[u8]) -> Option<String> {
    let (_, value) = items(data).find(|(item, _)| matches!(*item, VERSION | FIREBIRD_VERSION))?;
    // A count of strings, then each with its length.
    let [_, length, text @ ..] = value else {
        return None;
    };
    printable(text.get(..usize::from(*length))?)
}

/// The same from the answer to `service_info`.
pub fn service_version(data: &[u8]) -> Option<String> {
    let (_, value) = items(data).find(|(item, _)| *item == SERVICE_VERSION)?;
    printable(value)
}

fn printable(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let fits = !text.is_empty() && text.len() < 200 && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
}

/// Rows that a statement inserted, updated or deleted, from the answer to `info_sql`.
pub fn affected_rows(data: &[u8]) -> Option<u64> {
    let (_, value) = items(data).find(|(item, _)| *item == RECORDS)?;
    let changed = items(value).filter(|(kind, _)| matches!(*kind, INSERTED | UPDATED | DELETED));
    Some(changed.map(|(_, number)| little_endian(number)).fold(0, u64::saturating_add))
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_tells_how_many_rows_were_changed() {
        let answer = b"\x17\x1d\0\x0f\x04\0\x02\0\0\0\x10\x04\0\0\0\0\0\x0d\x04\0\x09\0\0\0\x0e\x04\0\x01\0\0\0\x01";
        assert_eq!(affected_rows(answer), Some(3));
        assert_eq!(affected_rows(b"\x17\x00"), None);
    }

    #[test]
    fn an_answer_tells_the_servers_version() {
        assert_eq!(server_version(b"\x67\x06\0\x01\x04LI-V\x01").as_deref(), Some("LI-V"));
        assert_eq!(service_version(b"\x37\x04\0LI-V\x01").as_deref(), Some("LI-V"));
        assert_eq!(server_version(b"\x67\xff\xff\x01"), None);
    }
}
