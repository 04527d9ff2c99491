//! The proxies between the connections of a whole recording, whatever part of it is selected.

use std::collections::{BTreeSet, HashSet};
use std::io;

use super::pairs::Side;
use super::rows::Rows;
use super::sessions::{Sizes, outer_legs};
use super::statements::{are_certain, possible_sides};
use crate::recording::DatabaseConnections;

/// A connection, as far as it is one of a proxy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leg {
    /// A proxy asks a server on it.
    pub is_inner: bool,
    /// The connection with the same session that is nearer to the application.
    pub outer_leg: Option<u32>,
    /// More than NAT stands between these two.
    pub is_terminated: bool,
    /// The proxies that are known by statements.
    pub side: Side,
}

#[derive(Clone, Debug, Default)]
pub struct Proxies {
    pub of_connections: Vec<Leg>,
    /// The names under which proxies are asked, and those of the servers that they ask.
    pub outer_servers: Vec<String>,
    pub inner_servers: Vec<String>,
}

impl Proxies {
    /// The proxies that are certain; `None` without any.
    pub fn of(
        connections: &DatabaseConnections,
        rows: &Rows,
        sizes: impl FnOnce() -> io::Result<Sizes>,
    ) -> io::Result<Option<Proxies>> {
        let outer_legs = outer_legs(connections, rows, sizes)?;
        let sides = sides(connections, rows, &outer_legs);
        let mut of_connections = Vec::with_capacity(connections.len());
        for (inner, (&outer_leg, side)) in outer_legs.iter().zip(sides).enumerate() {
            of_connections.push(Leg {
                is_inner: outer_leg.is_some() || side.back.is_some(),
                outer_leg,
                is_terminated: outer_leg.is_some_and(|outer| is_terminated(connections, outer as usize, inner)),
                side,
            });
        }
        if !of_connections.iter().any(|of| of.is_inner) {
            return Ok(None);
        }
        let outer: BTreeSet<usize> = outer_legs.into_iter().flatten().map(|outer| outer as usize).collect();
        let is_outer = |place: usize, of: &Leg| of.side.front.is_some() || outer.contains(&place);
        Ok(Some(Proxies {
            outer_servers: servers(connections, &of_connections, is_outer),
            inner_servers: servers(connections, &of_connections, |_, of| of.is_inner),
            of_connections,
        }))
    }

    /// The proxies as a part of the recording shows them.
    pub fn seen_by(self, all: &DatabaseConnections, part: &DatabaseConnections) -> Proxies {
        let in_part = |outer: u32| part.place(all.all[outer as usize].stream.into()).map(|place| place as u32);
        let leg = |stream: u32| {
            let leg = all.place(stream.into()).map_or_else(Leg::default, |place| self.of_connections[place]);
            Leg { outer_leg: leg.outer_leg.and_then(in_part), ..leg }
        };
        Proxies { of_connections: part.all.iter().map(|connection| leg(connection.stream)).collect(), ..self }
    }
}

/// The sides of proxies that are certain, but for legs whose other one is known by their session.
fn sides(connections: &DatabaseConnections, rows: &Rows, outer_legs: &[Option<u32>]) -> Vec<Side> {
    let is_leg: Vec<bool> = outer_legs.iter().map(Option::is_some).collect();
    let Some(possible) = possible_sides(connections, rows, &is_leg) else {
        return vec![Side::default(); connections.len()];
    };
    let certain = are_certain(rows, &possible);
    let mut sides = possible.of_connections;
    sides.iter_mut().zip(certain).for_each(|(side, is_certain)| side.back = side.back.filter(|_| is_certain));
    let proxies: HashSet<u32> = sides.iter().filter_map(|side| side.back).collect();
    sides.iter_mut().for_each(|side| side.front = side.front.filter(|front| proxies.contains(front)));
    sides
}

/// The proxy answers the application's SYN itself. NAT only rewrites addresses: one network is all there is.
fn is_terminated(connections: &DatabaseConnections, outer: usize, inner: usize) -> bool {
    let [response, behind] = [outer, inner].map(|leg| connections.all[leg].syn_ack_ns);
    let is_rewritten = response.zip(behind).is_some_and(|(response, behind)| behind <= response);
    !is_rewritten
}

/// The names of the servers of some connections, in the order of their numbers.
fn servers(connections: &DatabaseConnections, legs: &[Leg], is_one: impl Fn(usize, &Leg) -> bool) -> Vec<String> {
    let some = legs.iter().enumerate().filter(|&(place, leg)| is_one(place, leg));
    let numbers: BTreeSet<u32> = some.map(|(place, _)| connections.all[place].server).collect();
    numbers.into_iter().filter_map(|server| connections.servers.get(server as usize).cloned()).collect()
}
