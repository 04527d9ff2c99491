//! The RTTs of the application's connections, whose round trips take both networks where a proxy passes them on.
//!
//! ```text
//! application ──► proxy ──► server     RTT of the phase on the way to the proxy + round trips there × RTT behind it
//! ```

use std::collections::BTreeMap;
use std::io;

use super::Legs;
use super::own::own_rows;
use super::rows::connections_of;
use crate::recording::{Column, DatabaseConnections, NULL, Recording};
use crate::rtt::estimate::{BehindProxy, Beyond, Rtts};

/// A shorter RTT behind a proxy is no network if the way to the proxy is longer.
const MAX_LOCAL_RTT_NS: f64 = 1e5;
/// A proxy resets its session within this time before a request that would wait for it on a longer network.
const MAX_RESET_GAP_NS: i64 = 5_000_000;

/// The RTTs `of_ours`, the application's connections alone, with the networks behind proxies, whose RTTs are known.
pub fn application(recording: &Recording, rtts: &Rtts, legs: &Legs, of_ours: Rtts) -> io::Result<Rtts> {
    if [rtts, &of_ours].iter().any(|rtts| !rtts.phases.changes.all().is_empty()) {
        return Ok(of_ours);
    }
    let both = BothSides::of(recording, legs)?;
    let waits = both.waits(rtts);
    if waits.is_empty() {
        return Ok(of_ours);
    }
    let (beyond, of_exchanges) = both.beyond(&waits, rtts, &of_ours);
    Ok(of_ours.through(beyond, of_exchanges))
}

/// An exchange of the application waits for one of a proxy with a server, and for so many round trips there.
#[derive(Clone, Copy)]
struct Wait {
    outer: u32,
    inner: u32,
    trips: i64,
}

/// The exchanges on both sides of proxies, column by column.
struct BothSides<'a> {
    connections: DatabaseConnections,
    legs: &'a Legs,
    connection: Vec<u32>,
    round_trips: Vec<i64>,
    request_ns: Vec<i64>,
    response_end_ns: Vec<i64>,
}

impl<'a> BothSides<'a> {
    fn of(recording: &Recording, legs: &'a Legs) -> io::Result<BothSides<'a>> {
        let connections = recording.database_connections().map_err(io::Error::other)?;
        let numbers = |column| recording.exchanges.all_numbers(column);
        Ok(BothSides {
            connection: connections_of(&recording.exchanges, &connections)?,
            round_trips: numbers(Column::round_trips)?,
            request_ns: numbers(Column::request_time)?,
            response_end_ns: numbers(Column::response_end_time)?,
            connections,
            legs,
        })
    }

    /// The waits of the application's exchanges for a server, in their order, the request that is passed on first. Of
    /// several proxies in a row the first one counts.
    fn waits(&self, rtts: &Rtts) -> Vec<Wait> {
        let mut waits = self.pairs();
        let openings = self.openings(&waits);
        waits.extend(openings);
        waits.extend(self.delays(rtts));
        waits.retain(|wait| !self.legs.is_inner[self.connection[wait.outer as usize] as usize]);
        waits.sort_by_key(|wait| wait.outer);
        waits
    }

    /// The requests that are passed on, each with that of the proxy.
    fn pairs(&self) -> Vec<Wait> {
        let joined = (0..).zip(&self.legs.inner).filter_map(|(outer, inner)| Some((outer, (*inner)?)));
        let wait = |(outer, inner): (u32, u32)| Wait { outer, inner, trips: self.round_trips[inner as usize] };
        joined.map(wait).filter(|wait| self.round_trips[wait.outer as usize] > 0 && wait.trips > 0).collect()
    }

    /// The steps that wait for the proxy's own connection: a TCP handshake and, where the server speaks first, its
    /// greeting.
    fn openings(&self, pairs: &[Wait]) -> Vec<Wait> {
        let connection = |row: u32| self.connection[row as usize];
        let of_connections = pairs.chunk_by(|one, next| connection(one.outer) == connection(next.outer));
        of_connections.filter_map(|waits| self.opening(waits[0])).collect()
    }

    /// The step that waits for the connection of the first request that is passed on.
    fn opening(&self, first: Wait) -> Option<Wait> {
        let [ours, theirs] = [first.outer, first.inner].map(|row| self.connection[row as usize]);
        let [opens, opens_behind] =
            [ours, theirs].map(|connection| self.connection.partition_point(|&of| of < connection) as u32);
        let [syn_ns, syn_behind_ns] = [ours, theirs].map(|of| self.connections.all[of as usize].syn_ns);
        let follows = syn_ns.zip(syn_behind_ns).is_some_and(|(syn_ns, behind_ns)| behind_ns >= syn_ns);
        if !follows || first.outer - opens > 1 || first.inner - opens_behind > 1 {
            return None;
        }
        let greets = self.connections.all[ours as usize].is_greeted && self.request_ns[opens as usize] == NULL;
        Some(if greets { Wait { outer: opens, trips: 2, ..first } } else { Wait { trips: 1, ..first } })
    }

    /// The exchanges of the application that wait for what a proxy asks by itself (a login, a reset).
    ///
    /// A server answers one request of a connection after the other, so the next one that is passed on waits; of logins,
    /// the one of the application, where that lasts as long.
    fn delays(&self, rtts: &Rtts) -> Vec<Wait> {
        let own = own_rows(&self.connection, &self.round_trips, &self.legs.is_inner, &self.legs.inner);
        let mut outer_of = BTreeMap::new();
        (0_u32..).zip(&self.legs.inner).for_each(|(outer, inner)| outer_of.extend(inner.map(|inner| (inner, outer))));
        let next = |row: u32| {
            let (&inner, &outer) = outer_of.range(row..).next()?;
            (self.connection[inner as usize] == self.connection[row as usize]).then_some(outer)
        };
        let wait = |row: u32| {
            let outer = self.login_around(row, next(row)?);
            let is_local = rtts.of_phases[rtts.of_exchanges[row as usize] as usize].ns < MAX_LOCAL_RTT_NS;
            let gap_ns = if is_local { MAX_RESET_GAP_NS } else { 0 };
            let is_late = self.response_end_ns[row as usize] >= self.request_ns[outer as usize].saturating_sub(gap_ns);
            let waits = is_late && self.round_trips[outer as usize] > 0;
            waits.then_some(Wait { outer, inner: row, trips: self.round_trips[row as usize] })
        };
        own.into_iter().filter_map(wait).collect()
    }

    /// The exchange right before `outer` that a proxy answers itself, where the proxy's `own` lies within that; else
    /// `outer`.
    fn login_around(&self, own: u32, outer: u32) -> u32 {
        let Some(before) = outer.checked_sub(1) else { return outer };
        let [own, at, next] = [own, before, outer].map(|row| row as usize);
        let is_around = self.connection[at] == self.connection[next]
            && self.legs.inner[at].is_none()
            && self.request_ns[at] <= self.request_ns[own]
            && self.response_end_ns[own] <= self.response_end_ns[at];
        if is_around { before } else { outer }
    }

    /// The networks behind proxies, one for each phase, phase behind it and number of round trips there, and the phase of
    /// each of the application's exchanges.
    fn beyond(&self, waits: &[Wait], rtts: &Rtts, of_ours: &Rtts) -> (BehindProxy, Vec<u32>) {
        let mut places = self.connection.iter().scan(0, |ours, &connection| {
            let place = *ours;
            *ours += usize::from(!self.legs.is_inner[connection as usize]);
            Some(place)
        });
        let (mut networks, mut of_waits, mut next) = (BTreeMap::<_, Beyond>::new(), Vec::new(), 0);
        for waits in waits.chunk_by(|one, next| one.outer == next.outer) {
            let Wait { outer, inner, .. } = waits[0];
            let Some(place) = places.nth((outer - next) as usize) else { break };
            next = outer + 1;
            let round_trips = self.round_trips[outer as usize];
            let trips = waits.iter().map(|wait| wait.trips).sum::<i64>() as f64 / round_trips.max(1) as f64;
            let phases = [of_ours.of_exchanges[place], rtts.of_exchanges[inner as usize]];
            let key = (phases, (1e6 * trips).round_ties_even() as i64);
            let network = networks.entry(key).or_insert_with(|| self.network(phases, inner, trips, rtts, of_ours));
            network.round_trips += round_trips as u64;
            of_waits.push((place, key));
        }
        let mut of_exchanges = of_ours.of_exchanges.clone();
        let numbers: BTreeMap<_, u32> = networks.keys().copied().zip(of_ours.of_phases.len() as u32..).collect();
        of_waits.into_iter().for_each(|(place, key)| of_exchanges[place] = numbers[&key]);
        (BehindProxy { all: networks.into_values().collect() }, of_exchanges)
    }

    fn network(&self, [outer, behind]: [u32; 2], inner: u32, trips: f64, rtts: &Rtts, of_ours: &Rtts) -> Beyond {
        let known = &rtts.of_phases[behind as usize];
        let is_local = known.ns < MAX_LOCAL_RTT_NS && known.ns < of_ours.of_phases[outer as usize].ns;
        let far = |ns: f64| if is_local { 0.0 } else { ns };
        let server = self.connections.all[self.connection[inner as usize] as usize].server;
        Beyond {
            connection: of_ours.phases.connection[outer as usize],
            outer,
            server: self.connections.servers.get(server as usize).cloned().unwrap_or_default(),
            trips,
            is_far: !is_local,
            ns: far(known.ns),
            low_ns: far(known.low_ns),
            high_ns: far(known.high_ns),
            round_trips: 0,
        }
    }
}

#[cfg(test)]
#[path = "application_tests.rs"]
mod tests;
