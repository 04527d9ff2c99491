//! The packets that one direction holds until they are due.

use std::collections::VecDeque;
use std::time::Duration;

/// What may be in flight. More is not read from the device: its queue fills, and then drops as any network card's does.
const MAX_BYTES: usize = 128 << 20;
/// A packet counts as this many bytes at least, for what it takes beside its own.
const MIN_PACKET_BYTES: usize = 2048;
/// Buffers that are kept for packets to come.
const SPARE: usize = 4096;

struct Packet {
    due: Duration,
    bytes: Vec<u8>,
}

#[derive(Default)]
pub struct Flight {
    packets: VecDeque<Packet>,
    held: usize,
    spare: Vec<Vec<u8>>,
}

impl Flight {
    pub fn has_room(&self) -> bool {
        self.held < MAX_BYTES
    }

    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    pub fn next_due(&self) -> Option<Duration> {
        self.packets.front().map(|packet| packet.due)
    }

    pub fn add(&mut self, due: Duration, bytes: &[u8]) {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.extend_from_slice(bytes);
        self.held += bytes.len().max(MIN_PACKET_BYTES);
        self.packets.push_back(Packet { due, bytes: buffer });
    }

    /// Hand the first packet to `send` if it is due by now, and how late that is.
    pub fn send_due(&mut self, now: Duration, send: impl FnOnce(Duration, &[u8])) -> bool {
        if self.next_due().is_none_or(|due| due > now) {
            return false;
        }
        let Some(mut packet) = self.packets.pop_front() else {
            return false;
        };
        send(now - packet.due, &packet.bytes);
        self.held -= packet.bytes.len().max(MIN_PACKET_BYTES);
        if self.spare.len() < SPARE {
            packet.bytes.clear();
            self.spare.push(packet.bytes);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_out_in_order_when_they_are_due() {
        let mut flight = Flight::default();
        let second = Duration::from_secs(1);
        flight.add(second, b"first");
        flight.add(second * 2, b"second");
        let mut out = Vec::new();
        for now in [0, 1, 1, 2, 2] {
            flight.send_due(second * now + second / 2, |late, bytes| out.push((late, bytes.to_vec())));
        }
        assert_eq!(out, [(second / 2, b"first".to_vec()), (second / 2, b"second".to_vec())]);
        assert_eq!((flight.packets(), flight.held), (0, 0));
    }

    #[test]
    fn room_ends_with_packets_of_any_size() {
        for size in [1, 65_535] {
            let mut flight = Flight::default();
            let packet = vec![0; size];
            let mut count = 0;
            while flight.has_room() {
                flight.add(Duration::ZERO, &packet);
                count += 1;
            }
            assert_eq!(count, MAX_BYTES.div_ceil(size.max(MIN_PACKET_BYTES)));
            while flight.send_due(Duration::ZERO, |_, _| ()) {}
            assert_eq!(flight.held, 0);
        }
    }
}
