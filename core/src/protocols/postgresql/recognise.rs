//! Is it PostgreSQL?

use super::{framing, startup};
use crate::layers::tls::record;
use crate::protocols::{Opening, Verdict};
use crate::side::Side;

pub fn recognise(opening: &Opening<'_>) -> Verdict {
    if record::is_handshake(opening.client) && startup::asks_for_postgresql(opening.client) {
        return Verdict::Certain;
    }
    match (opening.from_start, opening.first) {
        (true, Side::Server) => Verdict::NotThis,
        (true, Side::Client) => startup::recognise(opening.client),
        (false, _) => recognise_middle(opening),
    }
}

/// The capture began late, or something was lost.
fn recognise_middle(opening: &Opening<'_>) -> Verdict {
    let begins = startup::recognise(opening.client);
    let ready = opening.client.is_empty() && framing::ends_ready(opening.server);
    if begins == Verdict::Certain || ready || framing::begins_request(opening.client) {
        return Verdict::Certain;
    }
    let (side, bytes) = match opening.client {
        [] => (Side::Server, opening.server),
        client => (Side::Client, client),
    };
    match framing::frame(side, bytes) {
        Ok(_) => Verdict::Unsure,
        Err(_) if bytes.is_empty() => Verdict::Unsure,
        Err(_) if side == Side::Server => Verdict::NotThis,
        Err(_) => begins,
    }
}
