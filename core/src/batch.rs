//! What one stage hands on to the next: what some packets brought, in their order.
//!
//! A batch ends after so many packets or bytes (after one packet, where somebody watches), never because of the time,
//! and is used again when all stages have passed it: it then brings the first stage what the later ones found.

use std::ops::Range;

use zeroize::Zeroizing;

use crate::conversation::Hints;
use crate::exchange::Exchange;
use crate::ledger::{Kept, Most};
use crate::side::Side;
use crate::stream::{Chunk, Signal};

/// Room beyond this is given back.
const USUAL_BYTES: usize = 4 * Most::USUAL.bytes;
const USUAL_EVENTS: usize = 4 << 10;
/// Of an event that concerns all.
const NO_CONNECTION: u32 = u32::MAX;

#[derive(Default)]
pub struct Batch {
    pub events: Vec<Event>,
    /// The payload of all chunks.
    pub bytes: Vec<u8>,
    /// Secrets of TLS sessions that the capture holds.
    pub secrets: Vec<Zeroizing<Vec<u8>>>,
    /// What came to its end with these packets.
    pub finished: Vec<Exchange>,
    /// Bytes of the files that had been read when it ended.
    pub read: u64,
    /// What the connections, and what the conversations on them, kept at the batch's end, and how many these were.
    pub connections: Kept,
    pub conversations: Kept,
    pub conversed: usize,
    /// What the table of exchanges took then, with what will be computed from it.
    pub exchanges: usize,
    /// Why no more of it goes to the disk, where it might have.
    pub refusal: Option<String>,
    most: Most,
    packets: usize,
    turn: u32,
}

/// Something for a connection's conversation.
#[derive(Clone)]
pub struct Event {
    pub connection: u32,
    /// Events of one turn are those that one packet has brought one connection.
    pub turn: u32,
    pub what: What,
}

#[derive(Clone)]
pub enum What {
    /// It is a new connection, which Wireshark calls by this number.
    Begins(Hints, u32),
    /// The capture's clock was set between what was read and what comes.
    ClockStepped,
    /// The next bytes of one side: these of the batch.
    Chunk(Chunk<'static>, Range<usize>),
    /// One side hangs up and has received so many bytes of the other.
    HungUp(Side, u64),
    /// What had kept back what one side sends next; a stall, what it sent last.
    Signal(Side, Signal),
    /// These secrets of the batch stand at this place of the capture, of no connection in particular.
    Secrets(usize),
}

/// What has to be dropped is made elsewhere first, and then moved to where it stands: there are many events.
const _: () = assert!(!std::mem::needs_drop::<Event>());

impl Batch {
    /// All of what was kept.
    pub fn kept_bytes(&self) -> usize {
        self.connections.bytes() + self.conversations.bytes() + self.exchanges
    }

    /// For new packets, so many at most; what the later stages found stays until they find it anew.
    pub fn begin(&mut self, most: Most) {
        self.most = most;
        self.events.clear();
        self.secrets.clear();
        self.finished.clear();
        self.forget_bytes();
        self.events.shrink_to(USUAL_EVENTS);
        self.finished.shrink_to(USUAL_EVENTS);
        (self.packets, self.turn) = (0, 0);
    }

    /// Its bytes have been read. There may have been many, where connections had to give up what waited: no batch keeps
    /// room for them until it is filled again.
    pub fn forget_bytes(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(USUAL_BYTES);
    }

    /// One more packet is in it; true where no further one fits.
    #[inline]
    pub fn pass(&mut self) -> bool {
        self.packets += 1;
        self.packets >= self.most.packets || self.bytes.len() >= self.most.bytes
    }

    /// How many packets are in it.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// What is added next belongs together.
    #[inline]
    pub fn next_turn(&mut self) {
        self.turn += 1;
    }

    #[inline]
    pub fn add(&mut self, connection: usize, what: What) {
        self.events.push(Event { connection: connection as u32, turn: self.turn, what });
    }

    /// Secrets that stand between the packets.
    pub fn add_secrets(&mut self, text: Zeroizing<Vec<u8>>) {
        self.next_turn();
        self.events.push(Event { connection: NO_CONNECTION, turn: self.turn, what: What::Secrets(self.secrets.len()) });
        self.secrets.push(text);
    }

    #[inline]
    pub fn add_chunk(&mut self, connection: usize, chunk: &Chunk<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(chunk.bytes);
        let Chunk { side, mark, acknowledged, offset, lost, cut, .. } = *chunk;
        let chunk = Chunk { side, mark, acknowledged, offset, lost, bytes: &[], cut };
        self.add(connection, What::Chunk(chunk, start..self.bytes.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_whose_bytes_were_read_keeps_room_for_the_usual_alone() {
        let mut batch = Batch { bytes: vec![0; 100 * USUAL_BYTES], ..Batch::default() };
        batch.forget_bytes();
        assert!(batch.bytes.is_empty() && batch.bytes.capacity() <= USUAL_BYTES);
    }
}
