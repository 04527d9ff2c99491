//! IP datagrams that came in pieces, put together again within fixed bounds.
//!
//! Pieces that overlap are an attack or a reused number: as Linux does since 2018, the datagram is given up, while a
//! piece that only repeats what is there is ignored.

use std::collections::HashMap;

use super::part::{Addresses, Fragment};
use crate::ledger::Limits;

/// As long as Linux waits for the rest of an IPv4 datagram.
const PATIENCE_NS: u64 = 30_000_000_000;
const MAX_DATAGRAMS: usize = 1024;
/// What a piece costs beside its bytes.
const OVERHEAD: usize = 48;

/// A datagram put together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Datagram {
    pub addresses: Addresses,
    pub protocol: u8,
    pub bytes: Vec<u8>,
}

pub(super) struct Fragments {
    waiting: HashMap<Key, Waiting>,
    /// What all waiting pieces take, and may take.
    bytes: usize,
    most: usize,
    /// Datagrams that had to make room.
    pub given_up: u64,
}

impl Default for Fragments {
    fn default() -> Self {
        Self::within(Limits::default().fragments)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    addresses: Addresses,
    identification: u32,
    protocol: u8,
}

#[derive(Default)]
struct Waiting {
    since_ns: i64,
    /// By offset, without overlaps.
    pieces: Vec<Piece>,
    bytes: usize,
    /// Known from the last piece.
    length: Option<usize>,
    given_up: bool,
}

struct Piece {
    offset: usize,
    bytes: Box<[u8]>,
}

impl Piece {
    fn end(&self) -> usize {
        self.offset + self.bytes.len()
    }
}

impl Fragments {
    pub fn within(bytes: usize) -> Self {
        Self { waiting: HashMap::new(), bytes: 0, most: bytes, given_up: 0 }
    }

    /// Keeps the piece; returns the datagram when this was the last one missing.
    pub fn add(&mut self, addresses: Addresses, fragment: Fragment<'_>, time_ns: i64) -> Option<Datagram> {
        let key = Key { addresses, identification: fragment.identification, protocol: fragment.protocol };
        self.forget_if_stale(&key, time_ns);
        self.make_room(fragment.part.bytes.len(), time_ns);
        let waiting = self.waiting.entry(key).or_insert_with(|| Waiting { since_ns: time_ns, ..Waiting::default() });
        let before = waiting.kept_bytes();
        waiting.add(fragment);
        self.bytes = self.bytes - before + waiting.kept_bytes();
        if !waiting.is_whole() {
            return None;
        }
        let whole = self.remove(&key)?;
        Some(Datagram { addresses: key.addresses, protocol: key.protocol, bytes: whole.join() })
    }

    fn forget_if_stale(&mut self, key: &Key, now_ns: i64) {
        if self.waiting.get(key).is_some_and(|waiting| waiting.is_stale(now_ns)) {
            self.remove(key);
        }
    }

    fn make_room(&mut self, bytes: usize, now_ns: i64) {
        if self.has_room(bytes) {
            return;
        }
        self.waiting.retain(|_, waiting| !waiting.is_stale(now_ns));
        self.bytes = self.waiting.values().map(Waiting::kept_bytes).sum();
        while !self.has_room(bytes) {
            let oldest = self.waiting.iter().min_by_key(|(_, waiting)| waiting.since_ns);
            match oldest.map(|(key, _)| *key) {
                Some(key) => {
                    self.given_up += 1;
                    self.remove(&key);
                }
                None => return,
            }
        }
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.waiting.len() < MAX_DATAGRAMS && self.bytes + bytes + OVERHEAD <= self.most
    }

    fn remove(&mut self, key: &Key) -> Option<Waiting> {
        let waiting = self.waiting.remove(key)?;
        self.bytes -= waiting.kept_bytes();
        Some(waiting)
    }
}

impl Waiting {
    fn kept_bytes(&self) -> usize {
        self.bytes + self.pieces.len() * OVERHEAD
    }

    fn is_stale(&self, now_ns: i64) -> bool {
        now_ns.abs_diff(self.since_ns) > PATIENCE_NS
    }

    fn add(&mut self, fragment: Fragment<'_>) {
        if self.given_up {
            return;
        }
        let start = fragment.offset;
        let end = start + fragment.part.bytes.len();
        let contradicts = match (self.length, fragment.more) {
            (Some(length), true) => end > length,
            (Some(length), false) => end != length,
            (None, true) => false,
            (None, false) => self.pieces.last().is_some_and(|piece| piece.end() > end),
        };
        if contradicts {
            return self.give_up();
        }
        if !fragment.more {
            self.length = Some(end);
        }
        self.place(start, end, fragment.part.bytes);
    }

    fn place(&mut self, start: usize, end: usize, bytes: &[u8]) {
        let index = self.pieces.partition_point(|piece| piece.end() <= start);
        match self.pieces.get(index) {
            Some(piece) if piece.offset <= start && end <= piece.end() => {}
            Some(piece) if piece.offset < end => self.give_up(),
            _ if bytes.is_empty() => {}
            _ => {
                self.bytes += bytes.len();
                let piece = Piece { offset: start, bytes: bytes.into() };
                self.pieces.insert(index, piece);
            }
        }
    }

    /// Stays, so that pieces yet to come do not begin a new datagram.
    fn give_up(&mut self) {
        *self = Self { since_ns: self.since_ns, given_up: true, ..Self::default() };
    }

    fn is_whole(&self) -> bool {
        self.length == Some(self.bytes)
    }

    fn join(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes);
        for piece in self.pieces {
            bytes.extend_from_slice(&piece.bytes);
        }
        bytes
    }
}

#[cfg(test)]
#[path = "fragments_tests.rs"]
mod tests;
