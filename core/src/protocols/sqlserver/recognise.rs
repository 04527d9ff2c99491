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
        let is_begin = Kind::of(client[0]).is_some() || client[0] == sessions::MARK;
        return if is_begin { Verdict::Unsure } else { Verdict::NotThis };
    }
    if client[0] == sessions::MARK && !opening.from_start {
        return sessions::recognise(client);
    }
    let Ok(packet) = Packet::header(client) else { return Verdict::NotThis };
    match packet.kind {
        Kind::Prelogin if prelogin::is_options(packet.body, packet.length - HEADER) => Verdict::Certain,
        Kind::Prelogin if framing::is_handshake(client) => Verdict::Certain,
        Kind::Login if login::is_login(packet.body, packet.length - HEADER) => Verdict::Certain,
        Kind::Prelogin | Kind::Login if packet.body.len() < packet.length - HEADER => Verdict::Unsure,
        _ if !framing::begins_request(client, false) => Verdict::NotThis,
        // Sybase's packets look alike, but have no headers before what is asked.
        _ if packet.kind.asks() && framing::has_headers(packet.body) && (server.is_empty() || is_answer(server)) => {
            Verdict::Certain
        }
        // Nor do they hold UTF-16.
        Kind::Batch if is_wide(packet.body) && (server.is_empty() || is_answer(server)) => Verdict::Certain,
        Kind::Call if is_call(packet.body) && (server.is_empty() || is_answer(server)) => Verdict::Certain,
        _ if server.is_empty() || is_answer(server) => Verdict::Unsure,
        _ => Verdict::NotThis,
    }
}

/// UTF-16, of which most is ASCII.
fn is_wide(body: &[u8]) -> bool {
    let mut pairs = body.chunks_exact(2).take(16);
    pairs.len() > 2 && pairs.all(|pair| pair[1] == 0 && matches!(pair[0], b' '..=b'~' | b'\t' | b'\r' | b'\n'))
}

/// What is called begins the request, by its number or its name: of TDS 7.0 and 7.1, which have no headers before it.
fn is_call(body: &[u8]) -> bool {
    match *body {
        [0xff, 0xff, 1..=15, 0, ..] => true,
        [length, 0, ref name @ ..] => name.get(..2 * usize::from(length)).is_some_and(is_wide),
        _ => false,
    }
}

/// A packet of the server.
fn is_answer(server: &[u8]) -> bool {
    let is_answer = |packet: Packet<'_>| packet.kind == Kind::Answer;
    server.first() == Some(&sessions::MARK)
        || server.first() == Some(&(Kind::Answer as u8))
            && (server.len() < HEADER || Packet::header(server).is_ok_and(is_answer))
}
