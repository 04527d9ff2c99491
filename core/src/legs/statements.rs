//! Statements that are on both sides of a proxy, with their literals, each within its own in time.
//!
//! Nearly all of both sides have to be joined. Where the proxy's host shows it, it is the server of the ones and the
//! client of the others. On one machine all have one address: there the proxy answers before its server did in one case
//! of twenty at most, and how long it takes goes with how long the server does. Two applications that ask two servers
//! alike, or one that asks two at once, are not like that: each server takes its own time.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::pairs::{Side, nested_pairs};
use super::rows::{Row, Rows};
use crate::passes::Ascending;
use crate::recording::{DatabaseConnections, host_of};

/// A proxy is recognised by at least 10 pairs of statements that join, and [`MIN_PAIRED_SHARE`] of each side.
const MIN_PAIRS: usize = 10;
/// At least this share of the statements of each side has to join.
const MIN_PAIRED_SHARE: f64 = 0.9;
/// On one machine, at most this share of the statements may seem answered by the proxy before its server answered.
const MAX_OUT_OF_ORDER: f64 = 0.05;
/// The difference between both waits varies by at most this share of what the application waits.
const MAX_RESIDUAL_SPREAD: f64 = 0.9;

/// The proxies that connections may belong to.
pub struct Sides {
    pub of_connections: Vec<Side>,
    /// Connections behind a proxy that are so all, or none is: those of a host, or one alone where a host has others.
    together: Vec<u32>,
}

/// The side of a proxy that each connection may be on, but for the legs whose other one is known.
pub fn possible_sides(connections: &DatabaseConnections, rows: &Rows, is_leg: &[bool]) -> Option<Sides> {
    let [clients, servers] = hosts(connections);
    if clients.iter().zip(&servers).any(|(client, server)| client == server) {
        return sides_on_one_machine(connections, rows, is_leg);
    }
    let of_others = |hosts: &[u32]| -> HashSet<u32> {
        hosts.iter().zip(is_leg).filter(|(_, is_leg)| !**is_leg).map(|(&host, _)| host).collect()
    };
    let (all_clients, all_servers) = (of_others(&clients), of_others(&servers));
    let side = |((&client, &server), &is_leg): ((&u32, &u32), &bool)| Side {
        front: Some(server).filter(|server| !is_leg && all_clients.contains(server)),
        back: Some(client).filter(|client| !is_leg && all_servers.contains(client)),
    };
    let of_connections: Vec<Side> = clients.iter().zip(&servers).zip(is_leg).map(side).collect();
    of_connections.iter().any(|side| side.front.is_some()).then_some(Sides { of_connections, together: clients })
}

/// The host that asks on each connection, and the one that is asked, by number.
fn hosts(connections: &DatabaseConnections) -> [Vec<u32>; 2] {
    let mut known = HashMap::<&str, u32, ahash::RandomState>::default();
    let mut number = |host| {
        let next = known.len() as u32;
        *known.entry(host).or_insert(next)
    };
    let clients: Vec<u32> = connections.hosts.iter().map(|host| number(host)).collect();
    let servers: Vec<u32> = connections.servers.iter().map(|server| number(host_of(server))).collect();
    let of = |numbers: &[u32], place: u32| numbers.get(place as usize).copied().unwrap_or(u32::MAX);
    let all = &connections.all;
    [
        all.iter().map(|connection| of(&clients, connection.host)).collect(),
        all.iter().map(|connection| of(&servers, connection.server)).collect(),
    ]
}

/// Statements that a server was asked right before the same ones were asked another one.
#[derive(Default)]
struct Way {
    /// The pairs of which the second lies within the first.
    within: Vec<[u32; 2]>,
    /// Others that were asked before the first was answered.
    crossing: usize,
}

/// The port that passes on to which, where addresses say nothing; connections to others go with none.
fn sides_on_one_machine(connections: &DatabaseConnections, rows: &Rows, is_leg: &[bool]) -> Option<Sides> {
    let server = |row: u32| connections.all[rows.all[row as usize].connection as usize].server;
    let ways = ways(rows, is_leg, server);
    let passes = |&(servers, way): &(&[u32; 2], &Way)| {
        let backwards = ways.get(&[servers[1], servers[0]]).map_or(0, |way| way.within.len());
        let within = way.within.len();
        within >= MIN_PAIRS
            && (way.crossing + backwards) as f64 <= MAX_OUT_OF_ORDER * within as f64
            && waits_agree(rows, &way.within)
    };
    let sure: Vec<(&[u32; 2], &Way)> = ways.iter().filter(passes).collect();
    let proxies: HashSet<u32> = sure.iter().map(|(servers, _)| servers[0]).collect();
    let mut votes = BTreeMap::<[u32; 2], usize>::new();
    for (servers, way) in &sure {
        for [_, inner] in &way.within {
            *votes.entry([rows.all[*inner as usize].connection, servers[0]]).or_default() += 1;
        }
    }
    let mut backs = HashMap::<u32, (usize, u32)>::new();
    for ([connection, proxy], votes) in votes {
        let most = backs.entry(connection).or_default();
        *most = (votes, proxy).max(*most);
    }
    let side = |(place, connection): (u32, &crate::recording::DatabaseConnection)| Side {
        front: Some(connection.server).filter(|server| proxies.contains(server)),
        back: backs.get(&place).map(|&(_, proxy)| proxy),
    };
    let of_connections = (0..).zip(&connections.all).map(side).collect();
    (!sure.is_empty()).then(|| Sides { of_connections, together: (0..connections.len() as u32).collect() })
}

/// Each two servers of which one was asked the same right after the other, in this order.
fn ways(rows: &Rows, is_leg: &[bool], server: impl Fn(u32) -> u32) -> BTreeMap<[u32; 2], Way> {
    let known = (0..).zip(&rows.all).filter(|(_, row)| !is_leg[row.connection as usize]);
    let mut order: Vec<_> =
        known.filter_map(|(place, row): (u32, _)| Some((row.statement?, row.request_ns, place))).collect();
    order.sort_unstable();
    let mut ways = BTreeMap::<[u32; 2], Way>::new();
    for pair in order.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        let pair = [pair[0].2, pair[1].2];
        let servers = pair.map(&server);
        if servers[0] == servers[1] {
            continue;
        }
        let way = ways.entry(servers).or_default();
        let [first, second] = pair.map(|row| rows.all[row as usize]);
        if first.request_ns < second.request_ns && second.response_ns < first.response_ns {
            way.within.push(pair);
        } else if second.request_ns < first.response_ns {
            way.crossing += 1;
        }
    }
    ways
}

/// The proxy's answers follow what it waits for.
fn waits_agree(rows: &Rows, pairs: &[[u32; 2]]) -> bool {
    let waits = |of: fn([Row; 2]) -> i64| pairs.iter().map(|pair| of(pair.map(|row| rows.all[row as usize]))).collect();
    let residual = interquartile_range(waits(|[outer, inner]| outer.waited_ns().saturating_sub(inner.waited_ns())));
    residual < MAX_RESIDUAL_SPREAD * interquartile_range(waits(|[outer, _]| outer.waited_ns()))
}

/// The distance of the quartiles, in proportion between two values.
fn interquartile_range(values: Vec<i64>) -> f64 {
    let values = Ascending::of(values.into_iter().map(|value| value as f64));
    values.quantile(0.75) - values.quantile(0.25)
}

/// Whether each connection is certainly one of a proxy with a server: nearly all statements of both sides are joined,
/// from where both begin.
pub fn are_certain(rows: &Rows, sides: &Sides) -> Vec<bool> {
    let pairs = nested_pairs(rows, &sides.of_connections);
    let side = |row: &Row| sides.of_connections[row.connection as usize];
    let front = |row: &Row| side(row).front.map(|proxy| [proxy, proxy]);
    let back = |row: &Row| side(row).back.map(|proxy| [proxy, proxy]);
    let together = |row: &Row| side(row).back.map(|proxy| [sides.together[row.connection as usize], proxy]);
    let begins = Begins::of(rows, &sides.of_connections);
    let all = || rows.all.iter();
    let outer = || pairs.iter().map(|pair| &rows.all[pair[0] as usize]);
    let inner = || pairs.iter().map(|pair| &rows.all[pair[1] as usize]);
    let [outer, of_front] = [begins.count(outer(), front), begins.count(all(), front)];
    let behind = begins.count(inner(), back);
    let [passed_on, of_together] = [begins.count(inner(), together), begins.count(all(), together)];
    let passes_on = |proxy| is_paired(&outer, &of_front, proxy) && count(&behind, proxy) >= MIN_PAIRS;
    let is_certain = |(side, together): (&Side, &u32)| {
        side.back.is_some_and(|proxy| passes_on(proxy) && is_paired(&passed_on, &of_together, *together))
    };
    sides.of_connections.iter().zip(&sides.together).map(is_certain).collect()
}

/// How many statements each has, by number.
type Counts = HashMap<u32, usize, ahash::RandomState>;

fn count(counts: &Counts, number: u32) -> usize {
    counts.get(&number).copied().unwrap_or(0)
}

fn is_paired(pairs: &Counts, all: &Counts, number: u32) -> bool {
    count(pairs, number) as f64 >= MIN_PAIRED_SHARE * count(all, number) as f64
}

/// When the first statement that works went to each proxy, and from there to a server.
struct Begins(HashMap<u32, [i64; 2], ahash::RandomState>);

impl Begins {
    fn of(rows: &Rows, sides: &[Side]) -> Begins {
        let mut begins = HashMap::default();
        for row in rows.all.iter().filter(|row| works(row)) {
            let Side { front, back } = sides[row.connection as usize];
            for (place, proxy) in [front, back].into_iter().enumerate() {
                let Some(proxy) = proxy else { continue };
                let begin: &mut i64 = &mut begins.entry(proxy).or_insert([i64::MAX; 2])[place];
                *begin = row.request_ns.min(*begin);
            }
        }
        Begins(begins)
    }

    /// The statements that work since both sides of their proxy began, by the number that each has beside its proxy's.
    fn count<'a>(&self, rows: impl Iterator<Item = &'a Row>, numbers: impl Fn(&Row) -> Option<[u32; 2]>) -> Counts {
        let mut counts = Counts::default();
        for row in rows.filter(|row| works(row)) {
            let Some([number, proxy]) = numbers(row) else { continue };
            let since = self.0.get(&proxy).and_then(|begins| begins.iter().max().copied());
            if since.is_some_and(|since| row.request_ns >= since) {
                *counts.entry(number).or_default() += 1;
            }
        }
        counts
    }
}

fn works(row: &Row) -> bool {
    row.statement.is_some_and(|statement| statement.is_work)
}
