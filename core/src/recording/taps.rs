//! The table of taps: one row for each two of them that saw the same packets, and each path.

use std::collections::HashSet;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;

use super::{batch, numbers, optional, strings};
use crate::capture::Captures;
use crate::conversation::Conversation;
use crate::packet::Endpoint;
use crate::side::Side;
use crate::sql::Statements;
use crate::stream::Connections;
use crate::taps::{AtTap, Clocks, Differences, Pair, Path, Quantiles, clocks};

/// Times of two clocks that are the same may differ by so much more than the clocks tick.
const ROUNDED_NS: i64 = 1_000;

/// What two taps show of one path.
#[derive(Debug)]
pub struct TapRow {
    client: String,
    server: String,
    /// The tap that is nearer to the client, and the one nearer to the server.
    taps: [String; 2],
    clocks: &'static str,
    directions: [Direction; 2],
    between: Option<Clocks>,
    reordered: u64,
    joined: u64,
    retransmissions: [u64; 2],
    answers: [(u64, Option<Quantiles>); 2],
}

/// What one side sent.
#[derive(Debug)]
struct Direction {
    packets: u64,
    took: Option<Quantiles>,
    /// Seen by the tap near the client alone, by the one near the server alone.
    alone: [u64; 2],
}

/// The rows of database traffic, those of most packets first.
pub fn rows(
    paths: Vec<Path>,
    recording: &Captures,
    connections: &Connections,
    conversations: &[Conversation],
) -> Vec<TapRow> {
    let spoken = connections.iter().zip(conversations).filter(|(_, conversation)| conversation.dialogue().is_some());
    let database: HashSet<_> = spoken.map(|(connection, _)| (connection.client.address, connection.server)).collect();
    let ticks_ns = recording.tap_ticks_ns();
    let mut rows: Vec<(u64, TapRow)> = Vec::new();
    for path in &paths {
        let Some(connection) = connections.get(path.connection) else { continue };
        let is_swapped = connection.server != path.server;
        let (client, server) = match is_swapped {
            true => (connection.client.address, connection.server),
            false => (path.client, path.server),
        };
        if !database.contains(&(client, server)) {
            continue;
        }
        for (low, high, pair) in path.pairs.iter().filter(|(.., pair)| pair.packets() > 0) {
            let ends = (client.to_string(), server);
            rows.push((pair.packets(), TapRow::new(ends, (*low, *high), pair, path, is_swapped, recording, &ticks_ns)));
        }
    }
    rows.sort_by(|(packets, row), (other_packets, other)| {
        other_packets.cmp(packets).then_with(|| row.names().cmp(&other.names()))
    });
    rows.into_iter().map(|(_, row)| row).collect()
}

impl TapRow {
    fn new(
        (client, server): (String, Endpoint),
        (low, high): (u16, u16),
        pair: &Pair,
        path: &Path,
        is_swapped: bool,
        recording: &Captures,
        ticks_ns: &[i64],
    ) -> TapRow {
        let (asks, answers) = if is_swapped { (Side::Server, Side::Client) } else { (Side::Client, Side::Server) };
        let (there, back) = (&pair.directions[asks as usize], &pair.directions[answers as usize]);
        // the tap that the client's packets pass first, and the server's last, is nearer to the client
        let is_turned = middle(there.differences()) < middle(back.differences());
        let (near, far) = if is_turned { (high, low) } else { (low, high) };
        let turned = |differences: &Differences| if is_turned { differences.turned() } else { differences.clone() };
        let (request, response) = (turned(there.differences()), turned(back.differences()).turned());
        let alone = |[low, high]: [u64; 2]| if is_turned { [high, low] } else { [low, high] };
        let directions = [
            Direction { packets: request.count, took: request.quantiles(), alone: alone(there.alone) },
            Direction { packets: response.count, took: response.quantiles(), alone: alone(back.alone) },
        ];
        let between = clocks(&request, &response);
        let at = |tap: u16| path.at_tap(tap);
        let retransmissions = |at_tap: Option<&AtTap>| at_tap.map_or(0, |at_tap| at_tap.again.iter().sum());
        let answered = |at_tap: Option<&AtTap>| {
            at_tap
                .filter(|_| !is_swapped)
                .map_or((0, None), |at_tap| (at_tap.answers.count, at_tap.answers.quantiles()))
        };
        TapRow {
            client,
            server: std::net::SocketAddr::new(server.address, server.port).to_string(),
            taps: [near, far].map(|tap| recording.tap_name(tap).unwrap_or_default()),
            clocks: judged(recording, ticks_ns, [low, high], &directions, between),
            directions,
            between,
            reordered: there.overtaken + back.overtaken,
            joined: there.joined.count + back.joined.count,
            retransmissions: [near, far].map(|tap| retransmissions(at(tap))),
            answers: [near, far].map(|tap| answered(at(tap))),
        }
    }

    fn names(&self) -> (&str, &str, &[String; 2]) {
        (&self.server, &self.client, &self.taps)
    }
}

/// Of nothing 0: then the other direction decides, as if the clocks agreed.
fn middle(differences: &Differences) -> i64 {
    differences.quantiles().map_or(0, |quantiles| quantiles.median_ns)
}

/// Do the taps' times come from one clock? No packet arrives before it was sent.
fn judged(
    recording: &Captures,
    ticks_ns: &[i64],
    taps: [u16; 2],
    directions: &[Direction; 2],
    between: Option<Clocks>,
) -> &'static str {
    let ticks = taps.map(|tap| ticks_ns.get(usize::from(tap)).copied().unwrap_or(0));
    let rounded_ns = ROUNDED_NS.saturating_add(ticks[0]).saturating_add(ticks[1]);
    let is_before = |direction: &Direction| direction.took.is_some_and(|took| took.least_ns < -rounded_ns);
    let [one, other] = taps.map(|tap| recording.tap(tap).map(|tap| tap.place));
    if directions.iter().any(is_before) {
        "differ"
    } else if one == other {
        "same"
    } else if between.is_some_and(|between| between.drift_ppb.is_some()) {
        "differ"
    } else {
        "unknown"
    }
}

/// As an Arrow table.
pub fn table(rows: &[TapRow]) -> Result<RecordBatch, ArrowError> {
    let text = |get: &dyn Fn(&TapRow) -> &str| strings(rows.iter().map(|row| Some(Statements::printable(get(row)))));
    let count = |get: &dyn Fn(&TapRow) -> u64| numbers(rows.iter().map(get));
    let span = |get: &dyn Fn(&TapRow) -> Option<i64>| -> ArrayRef { optional::<Int64Type>(rows.iter().map(get)) };
    let took = |direction: usize, get: fn(Quantiles) -> i64| span(&move |row| row.directions[direction].took.map(get));
    let between = |get: fn(Clocks) -> Option<i64>| span(&move |row| row.between.and_then(get));
    let answers = |tap: usize, get: fn(Quantiles) -> i64| span(&move |row| row.answers[tap].1.map(get));
    batch(vec![
        ("client", text(&|row| &row.client)),
        ("server", text(&|row| &row.server)),
        ("client_tap", text(&|row| &row.taps[0])),
        ("server_tap", text(&|row| &row.taps[1])),
        ("clocks", text(&|row| row.clocks)),
        ("round_trip_min_ns", between(|clocks| Some(clocks.round_trip_min_ns))),
        ("round_trip_ns", between(|clocks| Some(clocks.round_trip_ns))),
        ("offset_ns", between(|clocks| Some(clocks.offset_ns))),
        ("drift_ppb", between(|clocks| clocks.drift_ppb)),
        ("request_packets", count(&|row| row.directions[0].packets)),
        ("request_min_ns", took(0, |took| took.least_ns)),
        ("request_median_ns", took(0, |took| took.median_ns)),
        ("request_p95_ns", took(0, |took| took.p95_ns)),
        ("response_packets", count(&|row| row.directions[1].packets)),
        ("response_min_ns", took(1, |took| took.least_ns)),
        ("response_median_ns", took(1, |took| took.median_ns)),
        ("response_p95_ns", took(1, |took| took.p95_ns)),
        ("request_client_tap_only", count(&|row| row.directions[0].alone[0])),
        ("request_server_tap_only", count(&|row| row.directions[0].alone[1])),
        ("response_client_tap_only", count(&|row| row.directions[1].alone[0])),
        ("response_server_tap_only", count(&|row| row.directions[1].alone[1])),
        ("reordered_packets", count(&|row| row.reordered)),
        ("joined_packets", count(&|row| row.joined)),
        ("client_tap_retransmissions", count(&|row| row.retransmissions[0])),
        ("server_tap_retransmissions", count(&|row| row.retransmissions[1])),
        ("client_tap_answers", count(&|row| row.answers[0].0)),
        ("client_tap_answer_median_ns", answers(0, |took| took.median_ns)),
        ("client_tap_answer_p95_ns", answers(0, |took| took.p95_ns)),
        ("server_tap_answers", count(&|row| row.answers[1].0)),
        ("server_tap_answer_median_ns", answers(1, |took| took.median_ns)),
        ("server_tap_answer_p95_ns", answers(1, |took| took.p95_ns)),
    ])
}
