//! Both sides of a proxy in one recording: its exchanges with the server lie within those of the application.
//!
//! ```text
//! application ──request──► proxy ──the same statement──► server        one exchange of the application, two networks
//!             ◄──────────        ◄──────────────────────
//!     outer connection            inner connection
//!
//! connections, rows ─► sessions, statements ─► proxies ─► pairs of exchanges ─► Legs ─► application ─► Rtts
//! ```
//!
//! Two ways to know which connections those are:
//!
//! - The token that the server made up for a session (salt, connection number, cancel key, TLS random) is on both: a
//!   relay, NAT, a port that is forwarded (`sessions.rs`).
//! - The same statements, with their literals, each within its own in time: a pooler, which greets by itself
//!   (`statements.rs`).
//!
//! See docs/proxies.md.

mod application;
mod own;
mod pairs;
mod proxies;
mod rows;
mod sessions;
mod statements;
#[cfg(test)]
mod tests;

pub use application::application;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::recording::{Column, DatabaseConnections, Recording};

use own::{own_rows, own_statements};
use pairs::{Side, nested_pairs, pairs_in_turn};
use proxies::Proxies;
use rows::{Rows, connections_of};

/// The exchange of the application that each exchange of a proxy with a server belongs to.
#[derive(Clone, Debug, Default)]
pub struct Legs {
    /// Whether each connection is one of a proxy with a server.
    pub is_inner: Vec<bool>,
    /// The proxy's exchange that each exchange waits for.
    pub inner: Vec<Option<u32>>,
    /// The names of the proxies, and those of the servers behind them.
    pub proxies: Vec<String>,
    pub servers: Vec<String>,
    /// The round trips on both sides of all of them, and those behind the proxies.
    pub round_trips: u64,
    pub inner_round_trips: u64,
    /// The round trips that run statements which no application has sent; the most frequent of these, by number.
    pub own_round_trips: u64,
    pub own_statements: Vec<u32>,
}

/// The legs of a recording's exchanges, where some are certain; `whole` is the recording that it is a window of.
pub fn join(recording: &Recording, whole: Option<&Recording>) -> io::Result<Option<Legs>> {
    let connections = recording.database_connections().map_err(io::Error::other)?;
    let Some((rows, proxies)) = proxies_of(recording, &connections, whole)? else { return Ok(None) };
    let is_inner: Vec<bool> = proxies.of_connections.iter().map(|of| of.is_inner).collect();
    if rows.all.iter().all(|row| is_inner[row.connection as usize]) {
        return Ok(None);
    }
    let inner = inner_exchanges(&rows, &proxies);
    drop(rows);
    let connection = connections_of(&recording.exchanges, &connections)?;
    let round_trips = recording.exchanges.all_numbers(Column::round_trips)?;
    let own = own_rows(&connection, &round_trips, &is_inner, &inner);
    let (own_round_trips, own_statements) = own_statements(recording, own, &connection, &round_trips, &is_inner)?;
    let behind = connection.iter().zip(&round_trips).filter(|(connection, _)| is_inner[**connection as usize]);
    Ok(Some(Legs {
        inner_round_trips: behind.map(|(_, &trips)| trips as u64).sum(),
        round_trips: round_trips.iter().map(|&trips| trips as u64).sum(),
        own_round_trips,
        own_statements,
        proxies: proxies.outer_servers,
        servers: proxies.inner_servers,
        is_inner,
        inner,
    }))
}

/// The exchanges of a recording, and the proxies between its connections, as far as the whole recording shows them.
fn proxies_of(
    recording: &Recording,
    connections: &DatabaseConnections,
    whole: Option<&Recording>,
) -> io::Result<Option<(Rows, Proxies)>> {
    let Some(whole) = whole else { return proxies_in(recording, connections) };
    let all = whole.database_connections().map_err(io::Error::other)?;
    let Some((_, proxies)) = proxies_in(whole, &all)? else { return Ok(None) };
    Ok(Some((Rows::of(recording, connections)?, proxies.seen_by(&all, connections))))
}

/// The exchanges of a whole recording, and its proxies; the connections of most show that there is none.
fn proxies_in(recording: &Recording, connections: &DatabaseConnections) -> io::Result<Option<(Rows, Proxies)>> {
    if !ask_several(connections) && !sessions::recur(connections) {
        return Ok(None);
    }
    let rows = Rows::of(recording, connections)?;
    let bytes = |column| recording.exchanges.all_numbers(column);
    let sizes = || Ok([bytes(Column::request_bytes)?, bytes(Column::response_bytes)?]);
    Ok(Proxies::of(connections, &rows, sizes)?.map(|proxies| (rows, proxies)))
}

/// Both sides of a proxy are connections to different servers, be these ports of one host.
fn ask_several(connections: &DatabaseConnections) -> bool {
    connections.all.windows(2).any(|pair| pair[0].server != pair[1].server)
}

/// The proxy's exchange that each exchange waits for.
fn inner_exchanges(rows: &Rows, proxies: &Proxies) -> Vec<Option<u32>> {
    let mut inner = vec![None; rows.all.len()];
    let sides: Vec<Side> = proxies.of_connections.iter().map(|of| of.side).collect();
    join_all(&mut inner, nested_pairs(rows, &sides));
    for [outer, behind] in one_to_one(rows, &inner) {
        join_all(&mut inner, pairs_in_turn(rows, outer, behind));
    }
    join_sessions(rows, proxies, &mut inner);
    inner
}

fn join_all(inner: &mut [Option<u32>], pairs: impl IntoIterator<Item = [u32; 2]>) {
    pairs.into_iter().for_each(|[outer, behind]| inner[outer as usize] = Some(behind));
}

/// Connections that go on as one connection of a proxy, which passes on nothing else: they share logins, too, and what
/// else has no statement.
fn one_to_one(rows: &Rows, inner: &[Option<u32>]) -> Vec<[u32; 2]> {
    let connection = |row: u32| rows.all[row as usize].connection;
    let pairs = (0..).zip(inner).filter_map(|(outer, inner)| Some([outer, (*inner)?].map(connection)));
    let pairs: BTreeSet<[u32; 2]> = pairs.collect();
    let mut counts = [BTreeMap::new(), BTreeMap::new()];
    for pair in &pairs {
        counts.iter_mut().zip(pair).for_each(|(counts, side)| *counts.entry(*side).or_insert(0) += 1);
    }
    pairs.into_iter().filter(|pair| counts.iter().zip(pair).all(|(counts, side)| counts[side] == 1)).collect()
}

/// Join the exchanges of both legs of each session: in turn where as many were captured, else by their statements.
fn join_sessions(rows: &Rows, proxies: &Proxies, inner: &mut [Option<u32>]) {
    let mut sides = vec![Side::default(); proxies.of_connections.len()];
    for (behind, of) in (0..).zip(&proxies.of_connections) {
        let Some(outer) = of.outer_leg.filter(|_| of.is_terminated) else { continue };
        join_all(inner, pairs_in_turn(rows, outer, behind));
        sides[outer as usize].front = Some(outer);
        sides[behind as usize].back = Some(outer);
    }
    for [outer, behind] in nested_pairs(rows, &sides) {
        inner[outer as usize].get_or_insert(behind);
    }
}
