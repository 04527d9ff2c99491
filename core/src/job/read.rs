//! Rows of the exchanges' table as exchanges of a job.

use super::UNSEEN;
use super::columns::{Of, Piece, TIMES};
use super::exchange::Exchange;
use super::facts::Facts;
use super::missing;
use super::transfer::INITIAL_WINDOW;
use crate::exchange::Wait;
use crate::protocols::Purpose;

/// An exchange's number of what it asks for begins with as many for the purposes alone.
pub const PURPOSES: u32 = Purpose::ALL.len() as u32;

/// Some rows, with what their messages fill and the times of packets that were not captured, as far as others tell.
pub struct Read<'a> {
    pub piece: Piece<'a>,
    ends: &'a [bool],
    facts: &'a Facts,
    segments: [Vec<f64>; 2],
}

impl<'a> Read<'a> {
    pub fn new(piece: Piece<'a>, ends: &'a [bool], facts: &'a Facts) -> Read<'a> {
        let mut read = Read { piece, ends, facts, segments: [Vec::new(), Vec::new()] };
        read.segments = [
            read.filled(Of::RequestBytes, Of::Request, Of::RequestEnd),
            read.filled(Of::ResponseBytes, Of::Response, Of::ResponseEnd),
        ];
        if let Some(usual) = &facts.usual_ns {
            let mut times = TIMES.map(|time| read.piece.columns[time as usize].numbers.clone());
            missing::fill_in(&mut times, &read.piece, usual);
            TIMES.into_iter().zip(times).for_each(|(of, times)| read.piece.columns[of as usize].numbers = times);
        }
        read
    }

    /// How many segments messages fill; one that begins in the last packet of another fills it with that.
    fn filled(&self, sizes: Of, begins: Of, ends: Of) -> Vec<f64> {
        let mut filled: Vec<f64> = (0..self.piece.rows.len()).map(|place| self.alone(sizes, place)).collect();
        let (mut first, mut together) = (0, 0.0_f64);
        for place in 0..filled.len() {
            if place > 0 && self.piece.at(begins, place) != self.piece.at(ends, place - 1) {
                filled[first] = in_packets(filled[first], together);
                (first, together) = (place, 0.0);
            }
            together += filled[place];
        }
        if let Some(first) = filled.get_mut(first) {
            *first = in_packets(*first, together);
        }
        filled
    }

    /// The same of its bytes alone.
    fn alone(&self, sizes: Of, place: usize) -> f64 {
        self.piece.at(sizes, place) as f64 / self.piece.connections.segment_bytes[self.piece.connection(place)]
    }

    pub fn exchange(&self, place: usize) -> Exchange {
        let piece = &self.piece;
        let [connection, phase] = piece.places[place];
        let [request, request_end, response, response_end] = TIMES.map(|time| piece.at(time, place));
        let purpose = piece.purpose(place);
        let fingerprint = piece.at(Of::Fingerprint, place);
        let statement = usize::try_from(fingerprint).ok();
        let ends = statement.and_then(|statement| self.ends.get(statement)).is_some_and(|&ends| ends);
        let streams = piece.at(Of::Streamed, place) as f64;
        Exchange {
            row: (piece.rows.start + place) as u32,
            connection,
            phase,
            request,
            request_end,
            response,
            response_end,
            waited: piece.at(Of::Waited, place),
            round_trips: piece.at(Of::RoundTrips, place) as u32,
            setup: purpose == Purpose::Setup,
            complete: piece.is_complete(place),
            ends_transaction: purpose == Purpose::End || (purpose == Purpose::Execute && ends),
            shared: piece.wait(place) == Wait::Shared,
            deferred: piece.wait(place) == Wait::Deferred,
            streamed: streams > INITIAL_WINDOW * piece.connections.segment_bytes[connection as usize],
            statement: statement.map_or(0, |statement| statement as u32 + 1) * PURPOSES + purpose as u32,
            segments: [self.segments[0][place], self.segments[1][place]],
            alone: [Of::RequestBytes, Of::ResponseBytes].map(|sizes| self.alone(sizes, place)),
            stalled: self.stalled(place),
            lost_before: piece.at(Of::LostBefore, place),
            silent: piece.at(Of::Silent, place) as f64,
            request_silent: piece.at(Of::RequestSilent, place) as f64,
            paced: self.facts.pacing.of(piece, place),
            since_push: piece.at(Of::SincePush, place) as f64,
            resent: piece.at(Of::Retransmissions, place) > 0,
            was_stalled: piece.at(Of::Stalled, place) != 0,
            kind: statement.map_or_else(|| piece.command(place), |statement| statement as u64),
        }
    }

    /// How long it was held up for an ACK timer: behind a request that has no answer the wait lies in the client time
    /// before it; else between the packets of its request or of its response.
    fn stalled(&self, place: usize) -> [f64; 2] {
        let piece = &self.piece;
        let stalled = piece.at(Of::Stalled, place);
        let is_clean = piece.is_complete(place) && piece.at(Of::Retransmissions, place) == 0;
        if stalled == 0 || !is_clean || piece.purpose(place) == Purpose::Setup {
            return [0.0; 2];
        }
        let [request, request_end, response, response_end] = TIMES.map(|time| piece.at(time, place));
        let answered = response != UNSEEN && response_end - response >= stalled;
        let inside = request_end.wrapping_sub(request) >= stalled || answered;
        if inside { [0.0, stalled as f64] } else { [stalled as f64, 0.0] }
    }
}

/// What a message fills of the packets that it begins; `together`: with those that share its last one.
pub fn in_packets(alone: f64, together: f64) -> f64 {
    alone + (together.ceil() - together)
}
