//! Responses: how long the client waited for the server, which bounds the far half, and the server for the client's next
//! request, which bounds the near one.

use std::collections::HashSet;
use std::io;

use super::values::NO_STATEMENT;
use super::{FAR, NEAR};
use crate::recording::{Column, DatabaseConnections, NULL, Recording};

/// A response of the server, or of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    pub half: usize,
    /// The place of its connection, and the number that its exchange has there.
    pub connection: usize,
    pub number: u32,
    /// When its exchange began, since the recording did; [`NULL`] where no packet of it was captured.
    pub time_ns: i64,
    pub ns: i64,
    /// The statement, of the near half one for all: a client may well sleep as long after each.
    pub statement: u32,
}

/// Each response that bounds a half, in the order of their ends: those that waited once and for no retransmission, and
/// requests before which the client had to read the response before.
pub fn each(
    recording: &Recording,
    connections: &DatabaseConnections,
    mut take: impl FnMut(Response),
) -> io::Result<()> {
    let mut sent_again = HashSet::<[i64; 2], ahash::RandomState>::default();
    let columns = [Column::stream, Column::exchange, Column::retransmissions];
    recording.exchanges.each(columns, |[stream, number, retransmissions]| {
        if retransmissions > 0 {
            sent_again.insert([stream, number]);
        }
    })?;
    let columns = [
        Column::stream,
        Column::exchange,
        Column::complete,
        Column::round_trips,
        Column::request_time,
        Column::response_time,
        Column::waited_ns,
        Column::client_ns,
        Column::fingerprint,
    ];
    recording.exchanges.each(columns, |[stream, number, complete, trips, request, response, waited, paused, sql]| {
        let Some(connection) = connections.place(stream).filter(|_| complete != 0) else { return };
        let begin = if request == NULL { response } else { request };
        let time_ns = if begin == NULL { NULL } else { begin.wrapping_sub(connections.start_ns) };
        let response = Response { half: FAR, connection, number: number as u32, time_ns, ns: waited, statement: 0 };
        let is_sent_again = sent_again.contains(&[stream, number]);
        if trips == 1 && waited >= 0 && !is_sent_again {
            take(Response { statement: u32::try_from(sql).unwrap_or(NO_STATEMENT), ..response });
        }
        // The exchange before: its response may have come twice.
        if trips > 0 && paused >= 0 && !is_sent_again && !sent_again.contains(&[stream, number - 1]) {
            take(Response { half: NEAR, ns: paused, ..response });
        }
    })
}
