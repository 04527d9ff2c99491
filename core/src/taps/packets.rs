//! The packets of one direction of a connection: which tap saw each of them, and when.
//!
//! A packet is known by what no device on its way changes: sequence and acknowledgment numbers, the sender's clock, the
//! IPv4 identification. Where one tap sees a segment that another one sees in pieces (the network card of one of them
//! divides or joins), its beginning is the same packet, and the rest is no loss.

use std::collections::{HashMap, VecDeque};

use crate::packet::{Flags, Segment};
use crate::stream::HORIZON_NS;

/// So many taps of one connection are told apart; further ones are not looked at.
pub const SLOTS: usize = 4;
/// Packets that wait to be seen by another tap.
const MAX_PACKETS: usize = 1 << 16;
/// What else one packet can have been joined of.
const MAX_PIECES: usize = 512;
/// The same packet at the same tap comes within so long; later it was sent again.
const COPY_NS: u64 = 1_000_000;

/// What tells a packet from the others of its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    sequence: u32,
    acknowledgment: u32,
    timestamp: u32,
    identification: u16,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// It takes sequence numbers.
    Sends,
    Acknowledges,
    Resets,
}

impl Name {
    /// `None` where nothing tells it from those after it: acknowledgments without an identification.
    pub fn of(segment: &Segment<'_>) -> Option<Name> {
        let flags = segment.flags;
        let kind = match (flags.has(Flags::RST), segment.wire_length) {
            (true, _) => Kind::Resets,
            (false, 0) if flags.0 & (Flags::SYN | Flags::FIN) == 0 => Kind::Acknowledges,
            _ => Kind::Sends,
        };
        let name = Name {
            sequence: segment.sequence,
            acknowledgment: segment.acknowledgment,
            timestamp: segment.timestamp.unwrap_or(0),
            identification: segment.identification,
            kind,
        };
        (kind != Kind::Acknowledges || name.identification != 0).then_some(name)
    }

    /// The same bytes, sent again, have another one.
    pub fn is_unique(self) -> bool {
        self.identification != 0 || self.timestamp != 0
    }
}

/// What two taps show together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// Both saw it. `difference_ns`: its time at the second one less that at the first.
    Both { slots: (usize, usize), difference_ns: i64, whole: bool, overtaken: bool },
    /// It passed one of them alone, though both saw packets before and after it.
    Alone { by: usize, not: usize },
}

impl Sighting {
    /// Which of the taps saw it, beside this one, and how much later.
    pub fn with(&self, own: u16, taps: &[u16]) -> Option<(u16, i64)> {
        let Sighting::Both { slots: (one, other), difference_ns, .. } = *self else { return None };
        match (taps[one], taps[other]) {
            (first, other) if first == own => Some((other, difference_ns)),
            (other, second) if second == own => Some((other, difference_ns.saturating_neg())),
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
pub struct Packets {
    /// Those that a tap has not shown yet, oldest first.
    waiting: VecDeque<Packet>,
    /// How many have left before the first of these.
    left: u64,
    numbers: HashMap<Name, u64, ahash::RandomState>,
    /// Of each tap the rest of a segment whose beginning another tap saw by itself.
    rests: [Option<(u32, u32)>; SLOTS],
    /// Of each two taps the first and the last packet that both saw.
    shared: [Option<(u64, u64)>; SLOTS * SLOTS],
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    name: Name,
    /// As the first tap saw it.
    length: u32,
    since_ns: i64,
    times_ns: [i64; SLOTS],
    /// Taps that saw it, a bit each; those to which it was a piece of a longer one.
    seen: u8,
    in_pieces: u8,
    /// It was sent again with nothing that tells the two apart.
    unsure: bool,
}

impl Packets {
    /// What one of them takes.
    pub const EACH: usize = size_of::<Packet>() + size_of::<(Name, u64)>() * 8 / 7 + 1;

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// A tap, one of `taps`, saw a packet. False where it saw it before.
    pub fn pass(
        &mut self,
        (slot, taps): (usize, usize),
        segment: &Segment<'_>,
        name: Name,
        has_room: bool,
        see: &mut impl FnMut(Sighting),
    ) -> bool {
        self.expire(segment.time_ns, taps, see);
        if let Some(&number) = self.numbers.get(&name) {
            return self.again((slot, taps), number, segment, see);
        }
        if self.is_piece(slot, segment) {
            return true;
        }
        if self.waiting.len() >= MAX_PACKETS || !has_room {
            self.leave(taps, see);
        }
        if has_room || self.waiting.len() < self.waiting.capacity() {
            self.numbers.insert(name, self.left + self.waiting.len() as u64);
            let mut times_ns = [0; SLOTS];
            times_ns[slot] = segment.time_ns;
            let (length, since_ns, seen) = (segment.wire_length, segment.time_ns, bit(slot));
            self.waiting.push_back(Packet { name, length, since_ns, times_ns, seen, in_pieces: 0, unsure: false });
        }
        true
    }

    /// No more comes.
    pub fn end(&mut self, taps: usize, see: &mut impl FnMut(Sighting)) {
        while self.leave(taps, see) {}
    }

    /// A tap saw a packet that is known.
    fn again(
        &mut self,
        (slot, taps): (usize, usize),
        number: u64,
        segment: &Segment<'_>,
        see: &mut impl FnMut(Sighting),
    ) -> bool {
        let Some(packet) = self.waiting.get_mut((number - self.left) as usize) else { return false };
        if packet.seen & bit(slot) != 0 {
            let is_copy = packet.times_ns[slot].abs_diff(segment.time_ns) < COPY_NS;
            packet.unsure |= !is_copy && !packet.name.is_unique();
            return false;
        }
        packet.times_ns[slot] = segment.time_ns;
        let others = packet.seen;
        packet.seen |= bit(slot);
        let packet = *packet;
        let whole = packet.length == segment.wire_length;
        for other in (0..taps).filter(|&other| others & bit(other) != 0) {
            let slots = (slot.min(other), slot.max(other));
            let overtaken = self.share(slots, number);
            let difference_ns = packet.times_ns[slots.1].saturating_sub(packet.times_ns[slots.0]);
            if !packet.unsure && difference_ns.saturating_abs() <= HORIZON_NS {
                see(Sighting::Both { slots, difference_ns, whole, overtaken });
            }
            if segment.wire_length < packet.length {
                let end = packet.name.sequence.wrapping_add(packet.length);
                self.rests[other] = Some((segment.sequence.wrapping_add(segment.wire_length), end));
            }
        }
        if segment.wire_length > packet.length {
            self.joined(slot, number, segment);
        }
        if is_done(&packet, taps) {
            self.numbers.remove(&packet.name);
        }
        true
    }

    /// Both taps saw this packet: after one that came later at the other?
    fn share(&mut self, (one, other): (usize, usize), number: u64) -> bool {
        let shared = &mut self.shared[one * SLOTS + other];
        let (first, last) = shared.unwrap_or((number, number));
        *shared = Some((first.min(number), last.max(number)));
        number < last
    }

    /// A tap saw as one segment what begins with packet `number`: those after it are pieces of it.
    fn joined(&mut self, slot: usize, number: u64, segment: &Segment<'_>) {
        let from = (number - self.left) as usize + 1;
        let of_segment = |packet: &&mut Packet| {
            packet.name.sequence.wrapping_sub(segment.sequence) < segment.wire_length && packet.seen & bit(slot) == 0
        };
        let pieces = self.waiting.iter_mut().skip(from).take(MAX_PIECES);
        pieces.take_while(of_segment).for_each(|packet| packet.in_pieces |= bit(slot));
    }

    /// Is it what another tap saw as the rest of a longer segment?
    fn is_piece(&self, slot: usize, segment: &Segment<'_>) -> bool {
        let others = self.rests.iter().enumerate().filter(|&(other, _)| other != slot);
        let mut rests = others.filter_map(|(_, rest)| *rest);
        segment.wire_length > 0 && rests.any(|(from, to)| segment.sequence.wrapping_sub(from) < to.wrapping_sub(from))
    }

    /// What waits too long leaves, and what all taps have shown.
    fn expire(&mut self, now_ns: i64, taps: usize, see: &mut impl FnMut(Sighting)) {
        while let Some(first) = self.waiting.front() {
            if !is_done(first, taps) && now_ns.saturating_sub(first.since_ns) <= HORIZON_NS {
                return;
            }
            self.leave(taps, see);
        }
    }

    /// The oldest one leaves; false where there is none.
    fn leave(&mut self, taps: usize, see: &mut impl FnMut(Sighting)) -> bool {
        let Some(packet) = self.waiting.pop_front() else { return false };
        let number = self.left;
        self.left += 1;
        if self.numbers.get(&packet.name) == Some(&number) {
            self.numbers.remove(&packet.name);
        }
        let is_between = |one: usize, other: usize| {
            let shared = self.shared[one.min(other) * SLOTS + one.max(other)];
            shared.is_some_and(|(first, last)| first < number && number < last)
        };
        for by in (0..taps).filter(|&by| packet.seen & bit(by) != 0) {
            let not = (0..taps).filter(|&not| (packet.seen | packet.in_pieces) & bit(not) == 0);
            not.filter(|&not| is_between(by, not)).for_each(|not| see(Sighting::Alone { by, not }));
        }
        true
    }
}

fn is_done(packet: &Packet, taps: usize) -> bool {
    (packet.seen | packet.in_pieces).count_ones() as usize >= taps
}

fn bit(slot: usize) -> u8 {
    1 << slot
}

#[cfg(test)]
#[path = "packets_tests.rs"]
mod tests;
