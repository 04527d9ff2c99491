//! A single packet whose time is far from those around it has a wrong one: the capturing machine erred. What passes after
//! a leap of the clock is held until the next packet tells a wrong time from a pause.

use super::captures::Packet;

/// Shorter leaps are pauses, or packets of several queues out of order.
const LEAP_NS: u64 = 1_000_000_000;
/// Behind the first packet, no pause and no set clock is this long: its time or the next one's is wrong.
const YEAR_NS: u64 = 365 * 24 * 3_600 * 1_000_000_000;
/// 1990: no capture is older. Of two times that are years apart, the earlier one is right if it can be.
const OLDEST_NS: i64 = 20 * YEAR_NS as i64;

/// The years 1825 to 2115: the difference of two times in them fits 64 bits, also when floats have rounded it.
const LATEST_NS: i64 = 4_600_000_000_000_000_000;

/// Times beyond the years that can be compared stay at the edge.
#[inline]
pub fn possible_time(time_ns: i64) -> i64 {
    time_ns.clamp(-LATEST_NS, LATEST_NS)
}

/// The packet behind a leap.
#[derive(Default)]
pub struct Leaps {
    /// The time of the last packet that was handed on with its own.
    previous_ns: Option<i64>,
    pending: Option<Pending>,
    bytes: Vec<u8>,
}

struct Pending {
    frame: u64,
    time_ns: i64,
    tap: u16,
    place: u16,
    alone: bool,
    link_type: u16,
    original_length: u32,
}

impl Leaps {
    /// Keeps the packet where its time leaps; `false`: it is as good as any.
    #[inline]
    pub fn hold(&mut self, packet: &Packet<'_>) -> bool {
        let leaps = self.previous_ns.is_none_or(|previous_ns| packet.time_ns.abs_diff(previous_ns) > LEAP_NS);
        if leaps {
            let Packet { frame, time_ns, tap, place, alone, link_type, original_length, .. } = *packet;
            self.pending = Some(Pending { frame, time_ns, tap, place, alone, link_type, original_length });
            self.bytes.clear();
            self.bytes.extend_from_slice(packet.bytes);
        } else {
            self.previous_ns = Some(packet.time_ns);
        }
        leaps
    }

    /// The packet that was kept, as the time of the one behind it is known, and whether its own time is right: else it
    /// has that of its neighbour.
    #[inline]
    pub fn release(&mut self, next_ns: Option<i64>) -> Option<(Packet<'_>, bool)> {
        let Pending { frame, time_ns, tap, place, alone, link_type, original_length } = self.pending.take()?;
        let neighbour_ns = next_ns.and_then(|next_ns| neighbour_of_a_wrong_time(self.previous_ns, time_ns, next_ns));
        if neighbour_ns.is_none() {
            self.previous_ns = Some(time_ns);
        }
        let time_ns = neighbour_ns.unwrap_or(time_ns);
        let packet = Packet { frame, time_ns, tap, place, alone, link_type, bytes: &self.bytes, original_length };
        Some((packet, neighbour_ns.is_none()))
    }
}

/// The time of the packet before (behind the first one: of the next) where the two agree against the one between them.
fn neighbour_of_a_wrong_time(previous_ns: Option<i64>, time_ns: i64, next_ns: i64) -> Option<i64> {
    let Some(previous_ns) = previous_ns else {
        let is_wrong = if time_ns > next_ns { next_ns >= OLDEST_NS } else { time_ns < OLDEST_NS };
        return (is_wrong && next_ns.abs_diff(time_ns) > YEAR_NS).then_some(next_ns);
    };
    let (there, back) = (time_ns > previous_ns, next_ns < time_ns);
    let agree = next_ns.abs_diff(previous_ns) <= time_ns.abs_diff(previous_ns) / 2;
    (there == back && agree && time_ns.abs_diff(next_ns) > LEAP_NS).then_some(previous_ns)
}

#[cfg(test)]
#[path = "leap_tests.rs"]
mod tests;
