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
#[path = "flight_tests.rs"]
mod tests;
