//! Packets to build dialogues of.

use super::login;

pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    packet.push(sequence);
    packet.extend(payload);
    packet
}

/// Packets numbered from `first` on.
pub fn packets(first: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let numbers = std::iter::successors(Some(first), |number| Some(number.wrapping_add(1)));
    numbers.zip(payloads).flat_map(|(number, payload)| packet(number, payload)).collect()
}

pub fn command(code: u8, payload: &[u8]) -> Vec<u8> {
    packet(0, &[&[code], payload].concat())
}

pub fn query(sql: &str) -> Vec<u8> {
    command(0x03, sql.as_bytes())
}

pub fn prepare(sql: &str) -> Vec<u8> {
    command(0x16, sql.as_bytes())
}

pub fn execute(id: u32, flags: u8, binds: &[u8]) -> Vec<u8> {
    command(0x17, &[&id.to_le_bytes()[..], &[flags, 1, 0, 0, 0], binds].concat())
}

pub fn with_id(code: u8, id: u32) -> Vec<u8> {
    command(code, &id.to_le_bytes())
}

pub fn fetch(id: u32, rows: u32) -> Vec<u8> {
    command(0x1c, &[id.to_le_bytes(), rows.to_le_bytes()].concat())
}

pub const DEFINITION: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\x81\0\0\0\0";
pub const EOF: &[u8] = b"\xfe\0\0\x02\0";
pub const EOF_CURSOR: &[u8] = b"\xfe\0\0\x42\0";
pub const EOF_MORE: &[u8] = b"\xfe\0\0\x0a\0";
pub const OK: &[u8] = b"\0\0\0\x02\0\0\0";
pub const OK_FE: &[u8] = b"\xfe\0\0\x02\0\0\0";
pub const OK_FE_CURSOR: &[u8] = b"\xfe\0\0\x42\0\0\0";
pub const OK_3_AFFECTED: &[u8] = b"\0\x03\0\x02\0\0\0";
pub const OK_3_AFFECTED_MORE: &[u8] = b"\0\x03\0\x0a\0\0\0";
pub const DUPLICATE: &[u8] = b"\xff\x26\x04#23000Duplicate entry";
/// Statement 1 with one column and one parameter.
pub const PREPARED: &[u8] = b"\0\x01\0\0\0\x01\0\x01\0\0\0\0";

pub const BASE: u32 = login::PROTOCOL_41 | login::SECURE_CONNECTION | login::PLUGIN_AUTH;
pub const MODERN: u32 = BASE | login::DEPRECATE_EOF | login::QUERY_ATTRIBUTES;

pub fn greeting(capabilities: u32) -> Vec<u8> {
    let [a, b, c, d] = capabilities.to_le_bytes();
    let fixed = [&b"\x0a8.0.33\0\x07\0\0\0abcdefgh\0"[..], &[a, b, 45, 2, 0, c, d, 21], &[0; 10]].concat();
    packet(0, &[&fixed, &b"ijklmnopqrst\0mysql_native_password\0"[..]].concat())
}

pub fn login_request(sequence: u8, capabilities: u32, tail: &[u8]) -> Vec<u8> {
    packet(sequence, &[&capabilities.to_le_bytes()[..], &[0, 0, 0, 1, 45], &[0; 23], tail].concat())
}

pub const LAB: &[u8] = b"lab\0\x06huntermysql_native_password\0";
