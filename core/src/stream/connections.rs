//! The table of TCP connections, numbered as Wireshark numbers them (`tcp.stream`).

use std::collections::HashMap;
use std::net::IpAddr;

use super::connection::Connection;
use crate::packet::{Endpoint, Flags, Segment};
use crate::side::Side;

/// All connections of a recording, in Wireshark's numbering.
#[derive(Default)]
pub struct Connections {
    all: Vec<Connection>,
    /// Of each its number in the recording, ascending, where some numbers are left out; otherwise that is its place.
    numbers: Vec<u32>,
    newest: HashMap<Ends, u32, ahash::RandomState>,
    /// The connection of the last segment: most often the next one's too.
    last: usize,
}

impl Connections {
    /// The number of the connection that this segment belongs to, and who sent it; a new one where it begins one, if there
    /// is room.
    #[inline]
    pub fn number_of(
        &mut self,
        segment: &Segment<'_>,
        has_room: &impl Fn(usize) -> bool,
        is_server_port: &dyn Fn(u16) -> bool,
    ) -> Option<(usize, Side)> {
        let known = match self.all.get(self.last).and_then(|last| last.sender(segment)) {
            Some(side) => Some((self.last, side)),
            None => self.newest.get(&Ends::of(segment)).map(|&number| {
                let number = number as usize;
                (number, self.all[number].side(segment))
            }),
        };
        let found = match known {
            Some((number, side)) if !self.begins_anew(number, side, segment) => (number, side),
            _ if !has_room(self.all.len()) => return None,
            _ => self.add(segment, is_server_port),
        };
        self.last = found.0;
        Some(found)
    }

    /// Ports are used again: a SYN with another initial sequence number is another connection.
    #[inline]
    fn begins_anew(&self, number: usize, side: Side, segment: &Segment<'_>) -> bool {
        let opens = segment.flags.0 & (Flags::SYN | Flags::ACK) == Flags::SYN;
        opens && self.all[number].streams.is_new_connection(side, segment.sequence)
    }

    fn add(&mut self, segment: &Segment<'_>, is_server_port: &dyn Fn(u16) -> bool) -> (usize, Side) {
        let number = self.all.len();
        let connection = Connection::new(segment, is_server_port);
        let side = connection.side(segment);
        self.all.push(connection);
        self.newest.insert(Ends::of(segment), number as u32);
        (number, side)
    }

    pub fn get(&self, number: usize) -> Option<&Connection> {
        self.all.get(number)
    }

    #[inline]
    pub fn get_mut(&mut self, number: usize) -> &mut Connection {
        &mut self.all[number]
    }

    /// The newest one has this number in the recording, as others are not kept or no connections.
    pub fn number_newest(&mut self, number: usize) {
        let before = self.numbers.len()..self.all.len().saturating_sub(1);
        self.numbers.extend(before.map(|place| place as u32));
        self.numbers.push(number as u32);
    }

    /// What Wireshark calls the connection at a place.
    #[inline]
    pub fn stream(&self, place: usize) -> u32 {
        self.numbers.get(place).copied().unwrap_or(place as u32)
    }

    /// Where the connection is that Wireshark calls so.
    pub fn place(&self, stream: u32) -> usize {
        if self.numbers.is_empty() { stream as usize } else { self.numbers.partition_point(|&number| number < stream) }
    }

    /// All of them with what Wireshark calls them.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &Connection)> {
        self.all.iter().enumerate().map(|(place, connection)| (self.stream(place), connection))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.all.iter()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// The two ends of a connection, whoever of them sent: equal for both directions, and quick to hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    addresses: [u128; 2],
    /// Both ports, and whether each address is one of IPv6.
    ports: u64,
}

impl Ends {
    pub(super) fn of(segment: &Segment<'_>) -> Ends {
        let (source, destination) = (Ends::number(segment.source), Ends::number(segment.destination));
        let (low, high) = if source <= destination { (source, destination) } else { (destination, source) };
        Ends { addresses: [low.0, high.0], ports: low.1 << 32 | high.1 }
    }

    /// Which of them sent the segment, whoever is the client.
    pub(super) fn side(segment: &Segment<'_>) -> Side {
        if Ends::number(segment.source) <= Ends::number(segment.destination) { Side::Client } else { Side::Server }
    }

    #[inline]
    fn number(end: Endpoint) -> (u128, u64) {
        match end.address {
            IpAddr::V4(address) => (u128::from(address.to_bits()), u64::from(end.port)),
            IpAddr::V6(address) => (address.to_bits(), u64::from(end.port) | 1 << 16),
        }
    }
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
