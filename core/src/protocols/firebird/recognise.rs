//! Is it Firebird? By `connect`, by an event on an auxiliary connection, or by whole packets in the middle.

use super::framing::{Plausibility, plausible};
use super::objects::Objects;
use super::wire::{BUFFER_MAX, Stop, Wire};
use super::{VERSIONS, operations as op, responses};
use crate::protocols::{Layer, Opening, Verdict};
use crate::side::Side;

/// `connect` begins with itself, a number (the operation it is for, where it is set), its version, the client's machine
/// and the length of the database's name.
const CONNECT_HEAD: usize = 20;
const NAME_MAX: u32 = 4096;

pub fn recognise(opening: &Opening<'_>) -> Verdict {
    if opening.first == Side::Server && is_event(opening.server) {
        return Verdict::Certain;
    }
    match (is_connect(opening.client), opening.from_start) {
        (Verdict::NotThis, false) => in_the_middle(opening),
        (verdict, _) => verdict,
    }
}

/// What the bytes are wrapped in where the beginning was not captured.
pub fn layer(opening: &Opening<'_>) -> Option<Layer> {
    if opening.first == Side::Server && is_event(opening.server) {
        return Some(Layer::Push);
    }
    let encrypted = !opening.from_start && looks_encrypted(opening) && reading(opening.client) == Plausibility::No;
    encrypted.then_some(Layer::Encrypted { login: &[] })
}

fn is_connect(client: &[u8]) -> Verdict {
    let wire = &mut Wire::new(client);
    let mut next = || wire.number("head").ok();
    let told = [next(), next(), next(), next(), next()];
    let fits = match told {
        [Some(op::CONNECT), _, version, machine, name] => {
            version.is_none_or(|version| [2, 3].contains(&version))
                && machine.is_none_or(|machine| machine < 256)
                && name.is_none_or(|length| length <= NAME_MAX)
        }
        [None, ..] => b"\0\0\0\x01".starts_with(client),
        _ => false,
    };
    match fits {
        false => Verdict::NotThis,
        true if client.len() >= CONNECT_HEAD => Verdict::Certain,
        true => Verdict::Unsure,
    }
}

/// On the auxiliary connection the server only sends events, unasked:
/// `52 | h database | buf (01, then name and count of each event) | …`
fn is_event(server: &[u8]) -> bool {
    let mut wire = Wire::new(server);
    let mut head = || -> Result<bool, Stop> {
        let is_event = wire.number("operation")? == op::EVENT;
        wire.handle("database")?;
        let events = wire.buffer(BUFFER_MAX, "events")?;
        Ok(is_event && is_event_block(events))
    };
    head() == Ok(true)
}

fn is_event_block(block: &[u8]) -> bool {
    let [1, events @ ..] = block else {
        return false;
    };
    let mut rest = events;
    while let [length, more @ ..] = rest {
        const COUNT: usize = 4;
        match more.get(usize::from(*length) + COUNT..) {
            Some(after) if *length > 0 => rest = after,
            _ => return false,
        }
    }
    block.len() > 1
}

fn in_the_middle(opening: &Opening<'_>) -> Verdict {
    let answered = !opening.server.is_empty();
    match reading(opening.client) {
        Plausibility::Whole { .. } if answered && responses::is_packet(opening.server) => Verdict::Certain,
        Plausibility::Whole { telling: true } if !answered => Verdict::Certain,
        Plausibility::Whole { .. } | Plausibility::Cut if !answered || responses::is_packet(opening.server) => {
            Verdict::Unsure
        }
        _ if looks_encrypted(opening) => Verdict::Unsure,
        _ => Verdict::NotThis,
    }
}

/// How the client's bytes read, in whichever version they read best.
fn reading(client: &[u8]) -> Plausibility {
    let objects = Objects::default();
    let read = |version| plausible(client, version, &objects);
    let whole = VERSIONS.into_iter().map(read).find(|reading| matches!(reading, Plausibility::Whole { .. }));
    whole.unwrap_or_else(|| read(super::USUAL_VERSION))
}

/// Ciphers keep the length, and every packet is a multiple of 4 bytes long. Text and TLS are no ciphertext of ours.
fn looks_encrypted(opening: &Opening<'_>) -> bool {
    let looks = |bytes: &[u8]| {
        let text = bytes.iter().take(64).all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
        let tls = crate::layers::tls::record::is_record(bytes);
        !bytes.is_empty() && bytes.len().is_multiple_of(4) && !text && !tls
    };
    !opening.from_start && looks(opening.client) && (opening.server.is_empty() || looks(opening.server))
}
