//! What fixes take out of a job: round trips, and the parts of client and server time that go with them.

use super::turn::{HANDSHAKE, Starts, Turn};
use super::{Job, UNSEEN};

/// One value a row of the job, but for `closed`: one a connection.
#[derive(Clone, Debug)]
pub struct Changes {
    /// Which part of its round trips is left.
    pub trips: Vec<f64>,
    /// Which part of the time before its request, and of its service.
    pub gap: Vec<f64>,
    pub service: Vec<f64>,
    /// How long it no longer waits for a delayed ACK.
    pub stall_ns: Vec<f64>,
    /// Not opened any more.
    pub closed: Vec<bool>,
    /// What its request and its response fill from now on.
    pub segments: [Vec<f64>; 2],
}

impl Changes {
    /// The columns fit the job.
    pub fn check(&self, job: &Job) -> Result<(), &'static str> {
        let [requests, responses] = &self.segments;
        let rows = [&self.trips, &self.gap, &self.service, &self.stall_ns, requests, responses];
        let fit = rows.iter().all(|column| column.len() == job.rows()) && self.closed.len() == job.connections();
        if fit { Ok(()) } else { Err("the columns of the changes do not fit the job") }
    }

    /// The turn with the fixes made. Its bytes are sent all the same.
    pub fn apply(&self, job: &Job, turn: &Turn) -> Turn {
        let mut turn = *turn;
        let closed = self.closed[turn.connection as usize];
        if turn.row == HANDSHAKE || job.request_ns[turn.row as usize] == UNSEEN {
            if closed {
                (turn.trips, turn.service) = (0.0, turn.service.min(0.0));
            }
            return turn;
        }
        let row = turn.row as usize;
        turn.trips = self.trips[row];
        turn.service *= if turn.service > 0.0 { self.service[row] } else { 1.0 };
        if turn.starts != Starts::With && turn.gap > 0.0 {
            turn.gap *= self.gap[row];
        }
        if self.stall_ns[row] > 0.0 {
            let waited = self.stall_ns[row] + job.baseline_ns[turn.connection as usize];
            let before = turn.held_before > 0.0;
            (turn.held_before, turn.held_within) = (0.0, 0.0);
            let within = [&mut turn.request, &mut turn.response, &mut turn.service];
            let mut parts = if before { vec![&mut turn.gap] } else { Vec::from(within) };
            if let Some(part) = parts.iter_mut().find(|part| ***part >= waited) {
                **part -= waited;
            }
        }
        turn
    }
}
