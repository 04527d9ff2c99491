//! Is it Oracle? A CONNECT at the beginning, a call in a packet of exactly its length later on.

use super::calls;
use super::connect::Connect;
use super::framing::{DataFlags, Form, HEADER, Header, Kind};
use super::native;
use crate::protocols::{Opening, Verdict};

/// TTC messages that only a client sends.
const PROTOCOL: &[u8] = &[0x01, 0x06];
const FAST_AUTHENTICATION: u8 = 0x22;
const DATA_FLAGS: usize = 2;

pub fn recognise(opening: &Opening<'_>) -> Verdict {
    let client = opening.client;
    if client.is_empty() {
        return from_server(opening.server);
    }
    if client.len() < HEADER {
        return if may_begin(client) { Verdict::Unsure } else { Verdict::NotThis };
    }
    let Some(header) = Header::read(None, client) else {
        return Verdict::NotThis;
    };
    match header.kind {
        Kind::Connect if header.form == Form::Small => connect(client, header),
        Kind::Data => data(client, header),
        Kind::Marker if header.length == 11 && client.len() >= 11 => Verdict::Unsure,
        _ => Verdict::NotThis,
    }
}

/// Before the client has spoken, a server's packet is a hint at most.
fn from_server(server: &[u8]) -> Verdict {
    if server.is_empty() || server.len() < HEADER && may_begin(server) {
        return Verdict::Unsure;
    }
    if Header::read(None, server).is_some() { Verdict::Unsure } else { Verdict::NotThis }
}

/// The first bytes of a header: a short length, a checksum of zero.
fn may_begin(bytes: &[u8]) -> bool {
    let small = bytes.iter().skip(2).take(2).all(|&byte| byte == 0 || byte == 4);
    let large = bytes.iter().take(2).all(|&byte| byte == 0);
    small || large
}

fn connect(client: &[u8], header: Header) -> Verdict {
    match Connect::read(&client[HEADER..]) {
        Ok(connect) if connect.is_plausible() => Verdict::Certain,
        Ok(_) => Verdict::NotThis,
        Err(_) if (client.len() as u64) < header.length => Verdict::Unsure,
        Err(_) => Verdict::NotThis,
    }
}

fn data(client: &[u8], header: Header) -> Verdict {
    let Some(message) = client.get(HEADER + DATA_FLAGS..) else {
        return Verdict::Unsure;
    };
    let flags = DataFlags(u16::from_be_bytes([client[HEADER], client[HEADER + 1]]));
    if begins_call(message) && is_alone(client, header) {
        return Verdict::Certain;
    }
    // Perhaps the end of a long request, or an encrypted one.
    let known_flags = flags.0 & !0x3fff == 0;
    let whole = client.len() as u64 >= header.length && is_alone(client, header);
    if known_flags && whole { Verdict::Unsure } else { Verdict::NotThis }
}

/// A client's TTC message of a kind that begins a request.
pub fn begins_call(message: &[u8]) -> bool {
    let function = calls::Header::known(message).is_some();
    let logon = message.starts_with(PROTOCOL) || message.starts_with(native::MAGIC);
    function || logon || matches!(message, [FAST_AUTHENTICATION, 1, ..])
}

/// Does the packet end where the bytes end, or where another packet begins?
fn is_alone(client: &[u8], header: Header) -> bool {
    let length = header.length as usize;
    match client.get(length..) {
        None => true,
        Some(rest) if rest.len() < HEADER => rest.is_empty() || may_begin(rest),
        Some(rest) => Header::read(Some(header.form), rest).is_some(),
    }
}

/// A request certainly begins here: a CONNECT, or a packet with a call.
pub fn resumes(bytes: &[u8]) -> bool {
    let Some(header) = Header::read(None, bytes) else {
        return false;
    };
    match header.kind {
        Kind::Connect => Connect::read(&bytes[HEADER..]).is_ok_and(|connect| connect.is_plausible()),
        Kind::Data => bytes.get(HEADER + DATA_FLAGS..).is_some_and(begins_call) && is_alone(bytes, header),
        _ => false,
    }
}

/// Does the packet end where the bytes end?
pub fn is_whole(bytes: &[u8]) -> bool {
    Header::read(None, bytes).is_some_and(|header| header.length == bytes.len() as u64)
}

/// In mid-connection: is what the client sends nothing that TTC could be?
pub fn is_encrypted(opening: &Opening<'_>) -> bool {
    let Some(header) = Header::read(None, opening.client) else {
        return false;
    };
    let message = opening.client.get(HEADER + DATA_FLAGS..).unwrap_or_default();
    let whole = opening.client.len() as u64 >= header.length;
    !opening.from_start && header.kind == Kind::Data && whole && message.len() >= 16 && !begins_call(message)
}

#[cfg(test)]
#[path = "recognise_tests.rs"]
mod tests;
