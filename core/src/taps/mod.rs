//! Connections that several taps saw, as the captures at their client and at their server do: how long packets
//! travelled between each two taps, which of them passed one tap alone, and how long the far end took beyond each tap.
//!
//! Nothing here counts an exchange: `stream/taps.rs` sees to it that each counts once. What is kept is bounded: of each
//! packet until the other taps have seen it, a second at most; of times some, at equal distances.

mod clocks;
mod differences;
mod packets;
mod sent;

use std::collections::HashMap;
use std::net::IpAddr;

pub use clocks::{Clocks, clocks};
pub use differences::{Differences, Quantiles};
use packets::{Name, Packets, SLOTS, Sighting};
use sent::Sent;

use crate::packet::{Endpoint, Segment};
use crate::side::Side;
use crate::stream::Connection;

/// After such a silence a connection is looked at anew.
const SILENCE_NS: i64 = 5_000_000_000;
/// With more connections those that are silent are forgotten.
const MIN_SWEEP_PACKETS: usize = 1 << 10;
/// So many taps of one path are told of, and so many pairs of them: a file may name any number of interfaces.
const MAX_TAPS_KEPT: usize = 16;

/// What all connections between one client host and one server have shown.
#[derive(Debug)]
pub struct Path {
    pub client: IpAddr,
    pub server: Endpoint,
    /// The first of these connections.
    pub connection: usize,
    /// Of each two taps, the first one's number first.
    pub pairs: Vec<(u16, u16, Pair)>,
    pub taps: Vec<(u16, AtTap)>,
}

/// What two taps have shown together, by the side that sent.
#[derive(Debug, Default)]
pub struct Pair {
    pub directions: [Direction; 2],
}

#[derive(Debug, Default)]
pub struct Direction {
    /// Times at the second tap less those at the first, of packets that both saw alike.
    pub whole: Differences,
    /// Of those that one of them saw as a part of a longer one.
    pub joined: Differences,
    /// Packets that passed the first tap alone, and the second.
    pub alone: [u64; 2],
    /// Packets that the two taps saw in another order.
    pub overtaken: u64,
}

/// What one tap has shown.
#[derive(Debug, Default)]
pub struct AtTap {
    /// From the last packet of the client to the server's first data behind it.
    pub answers: Differences,
    /// Packets that brought what had been sent before, by the side that sent.
    pub again: [u64; 2],
}

impl Direction {
    /// The differences that tell most.
    pub fn differences(&self) -> &Differences {
        if self.whole.count > 0 { &self.whole } else { &self.joined }
    }
}

impl Pair {
    pub fn packets(&self) -> u64 {
        self.directions.iter().map(|direction| direction.whole.count + direction.joined.count).sum()
    }
}

/// A connection that a second tap has shown.
#[derive(Debug)]
struct Watched {
    path: usize,
    /// The taps, by the order in which they showed it.
    taps: Vec<u16>,
    directions: [Packets; 2],
    sent: [[Sent; SLOTS]; 2],
    /// When each tap saw the client ask last.
    asked_ns: [Option<i64>; SLOTS],
    last_ns: i64,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Taps {
    watched: HashMap<usize, Box<Watched>, ahash::RandomState>,
    places: HashMap<(IpAddr, Endpoint), usize, ahash::RandomState>,
    paths: Vec<Path>,
    /// What may be kept.
    limit: usize,
    waiting: usize,
    differences: usize,
    /// Of all paths.
    at_taps: usize,
    pairs: usize,
    sweep_at: usize,
}

impl Taps {
    pub fn within(limit: usize) -> Taps {
        Taps { limit, ..Taps::default() }
    }

    pub fn kept_bytes(&self) -> usize {
        let watched = self.watched.len() * (size_of::<Watched>() + 2 * size_of::<usize>());
        let of_taps = self.at_taps * size_of::<(u16, AtTap)>() + self.pairs * size_of::<(u16, u16, Pair)>();
        let paths = self.paths.len() * size_of::<Path>() + of_taps;
        watched + paths + self.waiting * Packets::EACH + self.differences * Differences::EACH
    }

    /// Does the segment belong to a connection that another tap has shown?
    #[inline]
    pub fn concerns(&self, number: usize, connection: &Connection, segment: &Segment<'_>) -> bool {
        segment.tap != connection.tap || (!self.watched.is_empty() && self.watched.contains_key(&number))
    }

    /// A segment of a connection that several taps show. Where it says so: which tap certainly shows the same packets
    /// as the connection's own, and how much later.
    pub fn pass(
        &mut self,
        number: usize,
        connection: &Connection,
        side: Side,
        segment: &Segment<'_>,
    ) -> Option<(u16, i64)> {
        let is_silent = |watched: &Watched| segment.time_ns.saturating_sub(watched.last_ns) > SILENCE_NS;
        if self.watched.get(&number).is_some_and(|watched| is_silent(watched)) {
            self.forget(number);
        }
        if !self.watched.contains_key(&number) {
            if segment.tap == connection.tap {
                return None;
            }
            self.watch(number, connection, segment.time_ns);
        }
        self.take(number, connection.tap, side, segment)
    }

    /// No more comes; what was shown, path by path.
    pub fn end(&mut self) -> Vec<Path> {
        let numbers: Vec<usize> = self.watched.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.forget(number));
        std::mem::take(&mut self.paths)
    }

    fn has_room(&self) -> bool {
        self.kept_bytes() < self.limit
    }

    /// A second tap shows this connection: what the first one showed last may be the same packets.
    fn watch(&mut self, number: usize, connection: &Connection, now_ns: i64) {
        self.sweep(now_ns);
        let Some(path) = self.path(number, connection) else { return };
        let watched = Watched {
            path,
            taps: vec![connection.tap],
            directions: Default::default(),
            sent: Default::default(),
            asked_ns: [None; SLOTS],
            last_ns: now_ns,
        };
        self.watched.insert(number, Box::new(watched));
        for (side, segment) in connection.shown_last() {
            self.take(number, connection.tap, side, &segment);
        }
    }

    /// Where what this connection shows is summed up; `None` where there is no room.
    fn path(&mut self, number: usize, connection: &Connection) -> Option<usize> {
        let ends = (connection.client.address, connection.server);
        if !self.has_room() {
            return self.places.get(&ends).copied();
        }
        Some(*self.places.entry(ends).or_insert_with(|| {
            let (client, server) = ends;
            self.paths.push(Path { client, server, connection: number, pairs: Vec::new(), taps: Vec::new() });
            self.paths.len() - 1
        }))
    }

    /// Those that are silent are forgotten, whenever there are twice as many as then.
    fn sweep(&mut self, now_ns: i64) {
        if self.watched.len() < self.sweep_at.max(MIN_SWEEP_PACKETS) {
            return;
        }
        let is_silent = |watched: &Watched| now_ns.saturating_sub(watched.last_ns) > SILENCE_NS;
        let silent: Vec<usize> =
            self.watched.iter().filter(|(_, watched)| is_silent(watched)).map(|(&number, _)| number).collect();
        silent.into_iter().for_each(|number| self.forget(number));
        self.sweep_at = self.watched.len() * 2;
    }

    fn forget(&mut self, number: usize) {
        let Some(mut watched) = self.watched.remove(&number) else { return };
        for side in Side::BOTH {
            let packets = &mut watched.directions[side as usize];
            self.waiting -= packets.len();
            let mut sightings = Vec::new();
            packets.end(watched.taps.len(), &mut |each| sightings.push(each));
            self.count(watched.path, &watched.taps, side, 0, &sightings);
        }
    }

    fn take(&mut self, number: usize, own: u16, side: Side, segment: &Segment<'_>) -> Option<(u16, i64)> {
        let has_room = self.has_room();
        let watched = self.watched.get_mut(&number)?;
        watched.last_ns = watched.last_ns.max(segment.time_ns);
        let slot = watched.slot(segment.tap)?;
        let name = Name::of(segment)?;
        let packets = &mut watched.directions[side as usize];
        let before = packets.len();
        let mut sightings = Vec::new();
        let is_new =
            packets.pass((slot, watched.taps.len()), segment, name, has_room, &mut |each| sightings.push(each));
        self.waiting = self.waiting + packets.len() - before;
        let again = is_new && segment.wire_length > 0 && {
            watched.sent[side as usize][slot].again(segment.sequence, segment.wire_length)
        };
        let answered_ns = match (is_new && segment.wire_length > 0 && !again, side) {
            (true, Side::Client) => {
                watched.asked_ns[slot] = Some(segment.time_ns);
                None
            }
            (true, Side::Server) => {
                watched.asked_ns[slot].take().map(|asked_ns| segment.time_ns.saturating_sub(asked_ns))
            }
            _ => None,
        };
        let path = watched.path;
        let same = sightings.iter().filter(|_| name.is_unique()).find_map(|each| each.with(own, &watched.taps));
        if !sightings.is_empty() {
            let taps = watched.taps.clone();
            self.count(path, &taps, side, segment.time_ns, &sightings);
        }
        if again || answered_ns.is_some() {
            self.at_tap(path, segment, side, again, answered_ns);
        }
        same
    }

    fn at_tap(&mut self, path: usize, segment: &Segment<'_>, side: Side, again: bool, answered_ns: Option<i64>) {
        let has_room = self.has_room();
        let Some(path) = self.paths.get_mut(path) else { return };
        let is_tap = |&(tap, _): &(u16, AtTap)| tap == segment.tap;
        let new = || (segment.tap, AtTap::default());
        let Some((_, at_tap)) = found_or_new(&mut path.taps, is_tap, &mut self.at_taps, new) else { return };
        at_tap.again[side as usize] += u64::from(again);
        if let Some(answered_ns) = answered_ns {
            add(&mut at_tap.answers, segment.time_ns, answered_ns, has_room, &mut self.differences);
        }
    }

    fn count(&mut self, path: usize, taps: &[u16], side: Side, now_ns: i64, sightings: &[Sighting]) {
        let has_room = self.has_room();
        let Some(path) = self.paths.get_mut(path) else { return };
        for &each in sightings {
            let (one, other) = match each {
                Sighting::Both { slots, .. } => slots,
                Sighting::Alone { by, not } => (by, not),
            };
            let (one, other) = (taps[one], taps[other]);
            let (low, high) = (one.min(other), one.max(other));
            let is_pair = |&(one, other, _): &(u16, u16, Pair)| (one, other) == (low, high);
            let new = || (low, high, Pair::default());
            let Some((.., pair)) = found_or_new(&mut path.pairs, is_pair, &mut self.pairs, new) else { continue };
            let direction = &mut pair.directions[side as usize];
            match each {
                Sighting::Both { difference_ns, whole, overtaken, .. } => {
                    let difference_ns = if one > other { difference_ns.saturating_neg() } else { difference_ns };
                    let differences = if whole { &mut direction.whole } else { &mut direction.joined };
                    add(differences, now_ns, difference_ns, has_room, &mut self.differences);
                    direction.overtaken += u64::from(overtaken);
                }
                Sighting::Alone { .. } => direction.alone[usize::from(one > other)] += 1,
            }
        }
    }
}

/// The one that `is` it, or a new one where few are told of; `kept` counts those of all paths.
fn found_or_new<'a, T>(
    all: &'a mut Vec<T>,
    is: impl Fn(&T) -> bool,
    kept: &mut usize,
    new: impl FnOnce() -> T,
) -> Option<&'a mut T> {
    let place = all.iter().position(is);
    if place.is_none() && all.len() < MAX_TAPS_KEPT {
        all.push(new());
        *kept += 1;
        return all.last_mut();
    }
    all.get_mut(place?)
}

fn add(differences: &mut Differences, time_ns: i64, value_ns: i64, has_room: bool, kept: &mut usize) {
    let before = differences.len();
    differences.add(time_ns, value_ns, has_room);
    *kept = *kept + differences.len() - before;
}

impl Path {
    pub fn at_tap(&self, tap: u16) -> Option<&AtTap> {
        self.taps.iter().find(|&&(each, _)| each == tap).map(|(_, at_tap)| at_tap)
    }
}

impl Watched {
    /// The place of a tap among those of the connection; `None` where there are too many.
    fn slot(&mut self, tap: u16) -> Option<usize> {
        self.taps.iter().position(|&each| each == tap).or_else(|| {
            (self.taps.len() < SLOTS).then(|| {
                self.taps.push(tap);
                self.taps.len() - 1
            })
        })
    }
}
