//! Rows as exchanges of a job: with what their messages fill, and the times of packets that were not captured.

use super::UNSEEN;
use super::exchange::Exchange;
use super::facts::Facts;
use super::missing;
use super::piece::{PURPOSES, Piece, TIMES};
use super::transfer::INITIAL_WINDOW;
use crate::exchange::Wait;
use crate::protocols::Purpose;
use crate::recording::Column;

/// Some rows, as far as others tell of them.
pub struct Filled<'a> {
    pub piece: Piece<'a>,
    facts: &'a Facts,
    /// How many segments each request, and each response, fills.
    segments: [Vec<f64>; 2],
}

impl<'a> Filled<'a> {
    pub fn new(piece: Piece<'a>, facts: &'a Facts) -> Filled<'a> {
        let mut filled = Filled { piece, facts, segments: [Vec::new(), Vec::new()] };
        filled.segments = [
            filled.segments(Column::request_wire_bytes, Column::request_time, Column::request_end_time),
            filled.segments(Column::response_wire_bytes, Column::response_time, Column::response_end_time),
        ];
        if let Some(usual) = &facts.usual_ns {
            let mut times = TIMES.map(|time| filled.piece.columns[time as usize].clone());
            missing::fill_in(&mut times, &filled.piece, usual);
            TIMES.into_iter().zip(times).for_each(|(time, times)| filled.piece.columns[time as usize] = times);
        }
        filled
    }

    pub fn each(&self, take: &mut dyn FnMut(&Exchange)) {
        (0..self.piece.rows.len()).for_each(|place| take(&self.exchange(place)));
    }

    /// How many segments messages fill; one that begins in the last packet of another fills it with that.
    fn segments(&self, sizes: Column, begins: Column, ends: Column) -> Vec<f64> {
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

    /// How many segments its bytes fill, whatever shares their packets.
    fn alone(&self, sizes: Column, place: usize) -> f64 {
        self.piece.at(sizes, place) as f64 / self.piece.of.connections.segment_bytes[self.piece.connection(place)]
    }

    /// A row.
    pub fn exchange(&self, place: usize) -> Exchange {
        let [connection, phase] = self.piece.owners[place];
        let [request, request_end, response, response_end] = TIMES.map(|time| self.piece.at(time, place));
        let purpose = self.piece.purpose(place);
        let statement = usize::try_from(self.piece.at(Column::fingerprint, place)).ok();
        let ends = statement.and_then(|statement| self.piece.of.ends.get(statement)).is_some_and(|&ends| ends);
        let streams = self.piece.at(Column::streamed_bytes, place) as f64;
        Exchange {
            row: (self.piece.rows.start + place) as u32,
            connection,
            phase,
            request,
            request_end,
            response,
            response_end,
            waited: self.piece.at(Column::waited_ns, place),
            round_trips: self.piece.at(Column::round_trips, place) as u32,
            setup: purpose == Purpose::Setup,
            complete: self.piece.is_complete(place),
            ends_transaction: purpose == Purpose::End || (purpose == Purpose::Execute && ends),
            shared: self.piece.wait(place) == Wait::Shared,
            deferred: self.piece.wait(place) == Wait::Deferred,
            streamed: streams > INITIAL_WINDOW * self.piece.of.connections.segment_bytes[connection as usize],
            statement: statement.map_or(0, |statement| statement as u32 + 1) * PURPOSES + purpose as u32,
            segments: [self.segments[0][place], self.segments[1][place]],
            alone: [Column::request_wire_bytes, Column::response_wire_bytes].map(|sizes| self.alone(sizes, place)),
            stalled: self.stalled(place),
            lost_before: self.piece.at(Column::lost_before_ns, place),
            silent: self.piece.at(Column::silent_ns, place) as f64,
            request_silent: self.piece.at(Column::request_silent_ns, place) as f64,
            paced: self.facts.pacing.of(&self.piece, place),
            since_push: self.piece.at(Column::since_push_ns, place) as f64,
            resent: self.piece.at(Column::retransmissions, place) > 0,
            was_stalled: self.piece.at(Column::stalled_ns, place) != 0,
            kind: statement.map_or_else(|| self.piece.command(place), |statement| statement as u64),
        }
    }

    /// How long it was held up for an ACK timer: behind a request that has no answer the wait lies in the client time
    /// before it; else between the packets of its request or of its response.
    fn stalled(&self, place: usize) -> [f64; 2] {
        let stalled = self.piece.at(Column::stalled_ns, place);
        let is_clean = self.piece.is_complete(place) && self.piece.at(Column::retransmissions, place) == 0;
        if stalled == 0 || !is_clean || self.piece.purpose(place) == Purpose::Setup {
            return [0.0; 2];
        }
        let [request, request_end, response, response_end] = TIMES.map(|time| self.piece.at(time, place));
        let answered = response != UNSEEN && response_end - response >= stalled;
        let inside = request_end.wrapping_sub(request) >= stalled || answered;
        if inside { [0.0, stalled as f64] } else { [stalled as f64, 0.0] }
    }
}

/// The part of its packets that a message fills; `together`: with the messages that share its last one.
pub fn in_packets(alone: f64, together: f64) -> f64 {
    alone + (together.ceil() - together)
}
