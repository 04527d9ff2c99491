//! Is it SQL Server? A pre-login or a login at the beginning, requests that are answered in kind later on.

use super::framing::{self, HEADER, Kind, Packet};
use super::{login, prelogin, sessions};
use crate::protocols::{Opening, Verdict};

pub fn recognise(opening: &Opening<'_>) -> Verdict {
    let (client, server) = (opening.client, opening.server);
    if client.is_empty() {
        return if server.is_empty() || is_answer(server) { Verdict::Unsure } else { Verdict::NotThis };
    }
    if client.len() < HEADER {
        return if Kind::of(client[0]).is_some() || client[0] == sessions::MARK {
            Verdict::Unsure
        } else {
            Verdict::NotThis
        };
    }
    if sessions::begins_request(client) && !opening.from_start {
        return Verdict::Certain;
    }
    let Ok(packet) = Packet::header(client) else { return Verdict::NotThis };
    match packet.kind {
        Kind::Prelogin if prelogin::is_options(packet.body, packet.length - HEADER) => Verdict::Certain,
        Kind::Prelogin if framing::is_handshake(client) => Verdict::Certain,
        Kind::Login if login::is_login(packet.body, packet.length - HEADER) => Verdict::Certain,
        Kind::Prelogin | Kind::Login if packet.body.len() < packet.length - HEADER => Verdict::Unsure,
        _ if !framing::begins_request(client) => Verdict::NotThis,
        // Sybase's packets look alike, but have no headers before what is asked.
        _ if packet.kind.asks() && has_headers(packet.body) && (server.is_empty() || is_answer(server)) => {
            Verdict::Certain
        }
        // Nor do they hold UTF-16.
        Kind::Batch if is_wide(packet.body) && (server.is_empty() || is_answer(server)) => Verdict::Certain,
        _ if server.is_empty() || is_answer(server) => Verdict::Unsure,
        _ => Verdict::NotThis,
    }
}

/// Headers u32 | header u32 | type u16 …: of TDS 7.2 and later.
pub fn has_headers(body: &[u8]) -> bool {
    let [a, b, c, d, e, f, g, h, kind, 0, ..] = *body else { return false };
    let (all, first) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    (10..=0xffff).contains(&all) && (6..=all - 4).contains(&first) && (1..=3).contains(&kind)
}

/// UTF-16, of which most is ASCII.
fn is_wide(body: &[u8]) -> bool {
    let mut pairs = body.chunks_exact(2).take(16);
    pairs.len() > 2 && pairs.all(|pair| pair[1] == 0 && matches!(pair[0], b' '..=b'~' | b'\t' | b'\r' | b'\n'))
}

/// A packet of the server.
fn is_answer(server: &[u8]) -> bool {
    let is_answer = |packet: Packet<'_>| packet.kind == Kind::Answer;
    server.first() == Some(&(Kind::Answer as u8))
        && (server.len() < HEADER || Packet::header(server).is_ok_and(is_answer))
}
