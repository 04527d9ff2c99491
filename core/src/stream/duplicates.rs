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
mod tests {
    use super::*;
    use crate::stream::tests::segment;

    fn is_copy(change: impl Fn(&mut Segment<'static>)) -> bool {
        let first = Segment { identification: 7, wire_length: 10, ..segment(Flags::ACK) };
        let mut duplicates = Duplicates::default();
        duplicates.remember(Side::Client, &first);
        let mut second = Segment { time_ns: first.time_ns + 50_000, ..first };
        change(&mut second);
        duplicates.has(Side::Client, &second)
    }

    #[test]
    fn the_same_packet_is_a_copy() {
        assert!(is_copy(|_| ()));
    }

    #[test]
    fn a_retransmission_has_another_identification() {
        assert!(!is_copy(|segment| segment.identification = 8));
    }

    #[test]
    fn a_copy_does_not_come_after_a_timeout() {
        assert!(!is_copy(|segment| segment.time_ns += 200_000_000));
    }

    #[test]
    fn without_identification_data_is_told_by_time_and_acknowledgments_not_at_all() {
        let hold = |length, later_ns| {
            let first = Segment { wire_length: length, ..segment(Flags::ACK) };
            let mut duplicates = Duplicates::default();
            duplicates.remember(Side::Client, &first);
            duplicates.has(Side::Client, &Segment { time_ns: first.time_ns + later_ns, ..first })
        };
        assert!(hold(10, 20_000));
        assert!(!hold(10, 5_000_000));
        assert!(!hold(0, 20_000));
    }

    #[test]
    fn only_the_last_segments_are_remembered() {
        let mut duplicates = Duplicates::default();
        let numbered = |identification| Segment { identification, wire_length: 1, ..segment(Flags::ACK) };
        for identification in 1..=100 {
            duplicates.remember(Side::Client, &numbered(identification));
        }
        assert_eq!(duplicates.recent.len(), REMEMBERED);
        let is_held = |identification| duplicates.has(Side::Client, &numbered(identification));
        assert!(is_held(100) && is_held(69) && !is_held(68));
    }
}
