//! Logins: the exchanges that open a connection, and how many round trips of one the capture missed.
//!
//! ```text
//! another connection  SYN/ACK │ setup  setup  setup │ work        whole: 3 round trips
//! this one            SYN/ACK │ setup    ?      ?   │ work        2 of them were not captured
//!                             └───── as long ───────┘
//! ```

use std::collections::HashMap;
use std::hash::Hash;

use super::UNSEEN;
use super::piece::Piece;
use crate::passes::lower_median;
use crate::protocols::Purpose;
use crate::recording::{Column, DatabaseConnection, DatabaseConnections};

/// The exchanges of a connection before its work; times that no packet shows are `UNSEEN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Login {
    /// When its first exchange began.
    pub first_ns: i64,
    /// The request of that was captured, and it is one of the login.
    pub is_asked_first: bool,
    /// When its last one ended.
    pub end_ns: i64,
    pub round_trips: u32,
    /// Something of it is missing in the capture.
    pub is_partial: bool,
    /// When the first exchange behind it began.
    pub work_ns: i64,
    pub next: Next,
}

/// The next exchange of a connection belongs to its login or to its work; or all that it did was to cancel what another
/// one is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    First,
    Login,
    Work,
    Cancelled,
}

impl Default for Login {
    fn default() -> Login {
        Login {
            first_ns: UNSEEN,
            is_asked_first: false,
            end_ns: UNSEEN,
            round_trips: 0,
            is_partial: false,
            work_ns: UNSEEN,
            next: Next::First,
        }
    }
}

impl Login {
    /// Takes the next exchange of the connection.
    #[inline]
    pub fn add(&mut self, piece: &Piece, place: usize) {
        if matches!(self.next, Next::First | Next::Login) {
            self.go_on(piece, place);
        }
    }

    fn go_on(&mut self, piece: &Piece, place: usize) {
        let (purpose, is_complete) = (piece.purpose(place), piece.is_complete(place));
        if self.next == Next::First {
            self.first_ns = piece.begin(place);
            self.is_asked_first = purpose == Purpose::Setup && piece.at(Column::request_time, place) != UNSEEN;
        }
        self.next = match purpose {
            Purpose::Setup => Next::Login,
            Purpose::Unreadable if !is_complete => Next::Login,
            Purpose::Cancel => Next::Cancelled,
            _ => Next::Work,
        };
        if self.next == Next::Login {
            self.end_ns = self.end_ns.max(piece.end(place));
            self.round_trips = self.round_trips.saturating_add(piece.at(Column::round_trips, place) as u32);
            self.is_partial |= !is_complete;
        } else {
            self.work_ns = piece.begin(place);
        }
    }
}

/// A connection before its first exchange.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// When its SYN/ACK passed; `None` where its TCP handshake was not captured.
    pub shaken_ns: Option<i64>,
    pub is_greeted: bool,
    /// 0 where it is unknown.
    pub rtt_ns: f64,
}

/// Round trips of a login that were not captured, and when it was over; of no account where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    pub round_trips: u32,
    pub until_ns: i64,
}

/// A login between a TCP handshake and work that were captured.
struct Seen {
    place: usize,
    host: u32,
    server: u32,
    shaken_ns: i64,
    over_ns: i64,
    work_ns: i64,
    round_trips: u32,
    /// All of its connection is in the capture.
    is_whole: bool,
    /// Round trips of it may be missing.
    is_in_part: bool,
}

impl Seen {
    fn took_ns(&self) -> i64 {
        self.over_ns.saturating_sub(self.shaken_ns)
    }
}

/// Returns the round trips of each connection's login that were not captured, by whole logins to the same server.
pub fn unseen_logins(connections: &DatabaseConnections, before: &[Before], logins: &[Login]) -> Vec<Unseen> {
    let places = 0..logins.len();
    let seen: Vec<Seen> =
        places.filter_map(|place| seen(place, &connections.all[place], before[place], &logins[place])).collect();
    let whole = || seen.iter().filter(|login| login.is_whole);
    let usual_trips = medians(whole().map(|login| (login.server, login.round_trips)));
    let is_usual = |login: &&Seen| usual_trips.get(&login.server) == Some(&login.round_trips);
    let usual_ns = medians(whole().filter(is_usual).map(|login| (login.server, login.took_ns())));
    let next_ns = next_starts(connections);
    let pause_ns = |login: &Seen| Some((login.host, next_ns[login.place]?.saturating_sub(login.over_ns)));
    let pauses_ns = medians(whole().filter_map(pause_ns));
    let mut unseen = vec![Unseen::default(); logins.len()];
    for login in seen.iter().filter(|login| login.is_in_part) {
        let usual_trips = usual_trips.get(&login.server).copied().unwrap_or(0);
        let Some(&usual_ns) = usual_ns.get(&login.server).filter(|_| usual_trips > login.round_trips) else { continue };
        let by_next_ns = next_ns[login.place]
            .zip(pauses_ns.get(&login.host))
            .and_then(|(next_ns, &pause_ns)| end_by_next(login.shaken_ns, usual_ns, next_ns, pause_ns));
        let until_ns = by_next_ns.unwrap_or(login.shaken_ns.saturating_add(usual_ns)).max(login.over_ns);
        unseen[login.place] =
            Unseen { round_trips: usual_trips - login.round_trips, until_ns: until_ns.min(login.work_ns) };
    }
    unseen
}

/// A login, if the capture shows where it begins and ends. A round trip of it may be missing before its first exchange,
/// too, where there was time for one.
fn seen(place: usize, of: &DatabaseConnection, before: Before, login: &Login) -> Option<Seen> {
    let shaken_ns = before.shaken_ns.filter(|_| login.next == Next::Work)?;
    let answered_ns = of.ack_ns.map_or(shaken_ns, |ack_ns| ack_ns.max(shaken_ns));
    let begins_late = !before.is_greeted && login.first_ns.saturating_sub(answered_ns) as f64 >= before.rtt_ns;
    let (misses, is_empty) = (of.lost_bytes > 0, login.round_trips == 0);
    Some(Seen {
        place,
        host: of.host,
        server: of.server,
        shaken_ns,
        over_ns: login.end_ns.max(shaken_ns),
        work_ns: login.work_ns,
        round_trips: login.round_trips,
        is_whole: !misses && !is_empty,
        is_in_part: misses && (login.is_partial || is_empty || begins_late),
    })
}

/// When a login was over whose client opens its connections in turn: as long as usual before the next one, where that
/// makes it at most twice as long as usual.
fn end_by_next(shaken_ns: i64, usual_ns: i64, next_ns: i64, pause_ns: i64) -> Option<i64> {
    let by_next_ns = next_ns.saturating_sub(pause_ns);
    let until_ns = shaken_ns.saturating_add(usual_ns);
    let is_in_turn = pause_ns > 0 && pause_ns <= usual_ns && by_next_ns.abs_diff(until_ns) <= usual_ns as u64;
    is_in_turn.then_some(by_next_ns)
}

/// When the client of each connection opened its next one.
fn next_starts(connections: &DatabaseConnections) -> Vec<Option<i64>> {
    let mut order: Vec<usize> = (0..connections.len()).collect();
    order.sort_by_key(|&place| (connections.all[place].host, connections.all[place].start_ns));
    let mut next_ns = vec![None; order.len()];
    for pair in order.windows(2) {
        let [of, next] = [pair[0], pair[1]].map(|place| &connections.all[place]);
        next_ns[pair[0]] = (of.host == next.host).then_some(next.start_ns);
    }
    next_ns
}

/// The median of each group, of two the lower one.
fn medians<K: Eq + Hash, V: Ord + Copy>(values: impl Iterator<Item = (K, V)>) -> HashMap<K, V> {
    let mut groups = HashMap::<K, Vec<V>>::new();
    values.for_each(|(group, value)| groups.entry(group).or_default().push(value));
    groups.into_iter().filter_map(|(group, mut values)| Some((group, lower_median(&mut values)?))).collect()
}

#[cfg(test)]
#[path = "logins_tests.rs"]
mod tests;
