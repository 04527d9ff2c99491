//! What fixes take out of a job: round trips, and the parts of client and server time that go with them.

use super::columns::columns;
use super::distinct::Distinct;
use super::recorded::Connections;
use super::turn::{Starts, Turn};

columns! {
    /// What is left of a job when fixes are made: parts from 0 (gone) to 1 (as it was).
    Changes
    connections {
        /// Not opened any more.
        closed: bool,
    }
    exchanges {
        /// Of its round trips, or of its share in those of the exchange that it was sent behind.
        trips: f64,
        /// Of the client's time before its request.
        gap: f64,
        service: f64,
        /// The waits for a delayed ACK before its request, and within request and response, are left.
        stalled_before: bool,
        stalled_within: bool,
        /// What its request and its response fill from now on: what travels together shares packets.
        request_segments: f64,
        response_segments: f64,
    }
}

/// The changes as they are kept while the job is replayed.
#[derive(Debug)]
pub struct Left {
    closed: Vec<bool>,
    rows: Distinct<Row>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    trips: f64,
    gap: f64,
    service: f64,
    /// Whether the stalls before it and within it are left.
    stalls: [bool; 2],
}

impl Left {
    /// Take the columns, which fit the job.
    pub fn of(changes: &Changes, connections: &Connections) -> Result<Left, &'static str> {
        if !changes.fits(connections.len(), connections.exchanges()) {
            return Err("the columns of the changes do not fit the job");
        }
        let row = |row: usize| Row {
            trips: changes.trips[row],
            gap: changes.gap[row],
            service: changes.service[row],
            stalls: [changes.stalled_before[row], changes.stalled_within[row]],
        };
        let key = |row: Row| ([row.trips, row.gap, row.service].map(f64::to_bits), row.stalls);
        Ok(Left { closed: changes.closed.to_vec(), rows: Distinct::of(connections.exchanges(), row, key) })
    }

    /// What is left of a turn. Its bytes are sent all the same.
    pub fn of_turn(&self, turn: &Turn, rtt: f64) -> Turn {
        let mut turn = *turn;
        if turn.unseen {
            if self.closed[turn.connection as usize] {
                (turn.trips, turn.service) = (0.0, turn.service.min(0.0));
            }
            return turn;
        }
        let left = self.rows.get(turn.row);
        let [before, within] = left.stalls;
        turn.trips = left.trips;
        turn.unstall_within(within, rtt);
        turn.service *= if turn.service > 0.0 { left.service } else { 1.0 };
        let stall = turn.unstall_before(before, rtt);
        if !matches!(turn.starts, Starts::With | Starts::Tick | Starts::Told) && turn.gap > 0.0 {
            turn.gap *= left.gap;
        }
        turn.gap += stall;
        turn
    }
}

impl Turn {
    /// Take the stall, and the round trip that was waited with it, out of the gap; return what is left of both.
    pub(super) fn unstall_before(&mut self, left: bool, rtt: f64) -> f64 {
        if self.stalled_before <= 0.0 || self.gap < self.stalled_before {
            return 0.0;
        }
        let stall = self.gap.min(self.stalled_before + rtt);
        self.gap -= stall;
        if left {
            return stall;
        }
        self.stalled_before = 0.0;
        0.0
    }

    /// How much of the service is a stall and its round trip: those that the request or the response are long enough for
    /// lie there.
    pub(super) fn stall_within_service(&self, rtt: f64) -> f64 {
        let elsewhere = self.request.max(self.response) >= self.stalled_within;
        if self.stalled_within <= 0.0 || elsewhere { 0.0 } else { self.stalled_within + rtt }
    }

    /// The same within the turn: it lies in the first part that is long enough for it; in the gap, where the request
    /// counts from its last packet.
    fn unstall_within(&mut self, left: bool, rtt: f64) {
        if self.stalled_within <= 0.0 || left {
            return;
        }
        let gone = self.stalled_within + rtt;
        let parts = [&mut self.request, &mut self.response, &mut self.service, &mut self.gap];
        if let Some(part) = parts.into_iter().find(|part| **part >= self.stalled_within) {
            *part = (*part - gone).max(0.0);
            self.stalled_within = 0.0;
        }
    }
}
