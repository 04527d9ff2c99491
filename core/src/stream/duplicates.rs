//! Packets that the capture holds twice: a mirror port that shows both ports, or an interface and the bridge behind it.
//! What several taps saw, each with a file of its own, is found by `crate::taps`.
//!
//! A duplicate is the same IP packet, so it has the same IPv4 identification; a retransmission is a new packet and has a new
//! one. Where there is none (IPv6, or 0 as RFC 6864 allows), only data can be recognised, by time: duplicates come within
//! microseconds, while no retransmission timer is below a few milliseconds.

use std::num::NonZeroU32;

use crate::packet::{Flags, Segment};
use crate::side::Side;

/// Segments of a connection that are remembered.
const REMEMBERED: usize = 32;
const GROWTH: usize = 4;
/// Identifications may come again, but not before the shortest retransmission time-out (200 ms) has passed.
const NUMBERED_COPY_NS: u64 = 100_000_000;
const UNNUMBERED_COPY_NS: u64 = 1_000_000;

/// The last segments of a connection.
#[derive(Debug, Default)]
pub struct Duplicates {
    recent: Vec<Print>,
    oldest: usize,
}

#[derive(Clone, Copy, Debug)]
struct Print {
    time_ns: i64,
    sequence: u32,
    acknowledgment: u32,
    length: u32,
    timestamp: Option<NonZeroU32>,
    identification: u16,
    tap: u16,
    flags: u8,
    side: Side,
}

impl Duplicates {
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        self.recent.capacity() * size_of::<Print>()
    }

    #[inline]
    pub fn remember(&mut self, side: Side, segment: &Segment<'_>) {
        if self.recent.len() < REMEMBERED {
            self.keep(side, segment);
        } else {
            self.recent[self.oldest] = Print::of(side, segment);
            self.oldest = (self.oldest + 1) % REMEMBERED;
        }
    }

    /// Many connections are short: no room is kept for more than a few further segments.
    #[cold]
    fn keep(&mut self, side: Side, segment: &Segment<'_>) {
        if self.recent.len() == self.recent.capacity() {
            self.recent.reserve_exact(GROWTH);
        }
        self.recent.push(Print::of(side, segment));
    }

    /// What is remembered, in the order of the time, as segments without their bytes.
    pub fn shown_last<'a>(
        &'a self,
        of: impl Fn(Side) -> Segment<'static> + 'a,
    ) -> impl Iterator<Item = (Side, Segment<'static>)> + 'a {
        let (newer, older) = self.recent.split_at(self.oldest.min(self.recent.len()));
        older.iter().chain(newer).map(move |print| (print.side, print.segment(of(print.side))))
    }

    /// Has this very packet been there before?
    pub fn has(&self, side: Side, segment: &Segment<'_>) -> bool {
        let print = Print::of(side, segment);
        let limit_ns = print.limit_ns();
        self.recent.iter().any(|known| known.is_same(&print) && known.time_ns.abs_diff(print.time_ns) < limit_ns)
    }
}

impl Print {
    #[inline]
    fn of(side: Side, segment: &Segment<'_>) -> Print {
        Print {
            time_ns: segment.time_ns,
            sequence: segment.sequence,
            acknowledgment: segment.acknowledgment,
            length: segment.wire_length,
            timestamp: segment.timestamp.and_then(NonZeroU32::new),
            tap: segment.tap,
            side,
            identification: segment.identification,
            flags: segment.flags.0,
        }
    }

    fn segment(&self, like: Segment<'static>) -> Segment<'static> {
        Segment {
            time_ns: self.time_ns,
            tap: self.tap,
            identification: self.identification,
            sequence: self.sequence,
            acknowledgment: self.acknowledgment,
            flags: Flags(self.flags),
            timestamp: self.timestamp.map(NonZeroU32::get),
            wire_length: self.length,
            ..like
        }
    }

    /// How far the time of a copy may be from that of the packet.
    fn limit_ns(&self) -> u64 {
        match (self.identification, self.takes_sequence_numbers()) {
            (1.., _) => NUMBERED_COPY_NS,
            (0, true) => UNNUMBERED_COPY_NS,
            (0, false) => 0,
        }
    }

    fn takes_sequence_numbers(&self) -> bool {
        self.length > 0 || self.flags & (Flags::SYN | Flags::FIN) != 0
    }

    fn is_same(&self, other: &Print) -> bool {
        self.sequence == other.sequence
            && self.acknowledgment == other.acknowledgment
            && self.length == other.length
            && self.identification == other.identification
            && self.flags == other.flags
            && self.timestamp == other.timestamp
            && self.side == other.side
    }
}

#[cfg(test)]
#[path = "duplicates_tests.rs"]
mod tests;
