//! Exchanges of which a packet is missing in the capture, given the times that they had as far as others tell.
//!
//! A request without its answer, or an answer without its request, waited like its siblings, between the packets before
//! and after it; where there is none, all that time, since nobody knows what of it the client took. A job is replayed
//! with all the round trips that it made. What was measured stays as it is.

use super::UNSEEN;
use super::piece::Piece;
use crate::exchange::Wait;
use crate::recording::Column;

/// Something of the row is missing for which the client waited.
pub fn may_be_missing(piece: &Piece, place: usize) -> bool {
    !piece.is_complete(place) && piece.at(Column::round_trips, place) > 0 && piece.wait(place) == Wait::Own
}

/// Fill in the times of a piece's packets; `usual_ns`, of each connection, is what an exchange waits for a round trip.
pub fn fill_in(times: &mut [Vec<i64>; 4], piece: &Piece, usual_ns: &[f64]) {
    let rows = piece.rows.len();
    let same =
        |one: usize, other: usize| one < rows && other < rows && piece.connection(one) == piece.connection(other);
    let [no_answer, no_request] = {
        let [request, request_end, response, _] = &*times;
        let lacks = |place: usize, answer: bool| {
            may_be_missing(piece, place)
                && match answer {
                    // nothing shows that the last one was answered at all
                    true => request_end[place] != UNSEEN && response[place] == UNSEEN && same(place, place + 1),
                    false => {
                        request[place] == UNSEEN && response[place] != UNSEEN && same(place, place.wrapping_sub(1))
                    }
                }
        };
        [true, false].map(|answer| (0..rows).map(|place| lacks(place, answer)).collect::<Vec<bool>>())
    };
    let usual = |place: usize| usual_ns[piece.connection(place)] * piece.at(Column::round_trips, place) as f64;
    let [request, request_end, response, response_end] = times;
    let begins =
        |place: usize, response: &[i64]| if request[place] == UNSEEN { response[place] } else { request[place] };
    let captured = response.clone();
    for place in (0..rows).filter(|&place| no_answer[place]) {
        let (next, sent) = (begins(place + 1, &captured), request_end[place]);
        if next == UNSEEN {
            continue;
        }
        let after = if no_request[place + 1] { or_zero(usual(place + 1)) } else { 0.0 };
        let room = (next - sent) as f64 - after;
        let waited = usual(place).min(room).max(0.0).min((next - sent).max(0) as f64);
        (response[place], response_end[place]) = (sent + waited as i64, sent + waited as i64);
    }
    for place in (0..rows).filter(|&place| no_request[place]) {
        let (before, answered) = (response_end[place - 1].max(request_end[place - 1]), response[place]);
        let earliest = if before == UNSEEN { answered } else { before.min(answered) };
        let usual = usual(place);
        let sent = if usual.is_nan() { earliest } else { ((answered as f64 - usual).max(earliest as f64)) as i64 };
        (request[place], request_end[place]) = (sent, sent);
    }
}

fn or_zero(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}
