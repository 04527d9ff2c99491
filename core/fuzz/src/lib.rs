//! What the fuzz targets share: their inputs as records, written by `seeds` and read by the targets.

use latpcap_core::exchange::Exchange;
use latpcap_core::side::Side;
use latpcap_core::stream::{Chunk, Mark, START};

/// Cuts an input into numbers and byte strings; past its end come zeros and empty strings.
pub struct Feed<'a>(pub &'a [u8]);

impl<'a> Feed<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn u8(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    /// As many as `length` bytes.
    pub fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// One turn of a dialogue: `kind u8 | length u16 | bytes`.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    pub side: Side,
    /// The capture missed something before it.
    pub lost: bool,
    /// The snap length took the end of it.
    pub cut: bool,
    pub bytes: &'a [u8],
}

const SERVER: u8 = 1;
const LOST: u8 = 2;
const CUT: u8 = 4;

impl<'a> Turn<'a> {
    pub fn read(feed: &mut Feed<'a>) -> Turn<'a> {
        let kind = feed.u8();
        // Losses are rare in seeds and should be in what becomes of them.
        let (lost, cut) = (kind & 0xf0 == 0xf0 && kind & LOST != 0, kind & 0xf0 == 0xf0 && kind & CUT != 0);
        let length = usize::from(feed.u16());
        let side = if kind & SERVER == 0 { Side::Client } else { Side::Server };
        Turn { side, lost, cut, bytes: feed.bytes(length) }
    }

    pub fn write(side: Side, bytes: &[u8], input: &mut Vec<u8>) {
        input.push(side as u8);
        input.extend((bytes.len() as u16).to_le_bytes());
        input.extend(bytes);
    }
}

/// Sizes that depend on nothing but their seed (Knuth's MMIX generator).
pub struct Sizes(pub u64);

impl Sizes {
    /// A number from 1 to `most`.
    pub fn next(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (self.0 >> 33) as usize % most
    }
}

/// The packets of a connection, whole turns or cut at random.
pub struct Wire {
    cuts: Option<Sizes>,
    next: [u64; 2],
    frame: u64,
}

impl Wire {
    pub fn new(cuts: Option<Sizes>) -> Wire {
        Wire { cuts, next: [START; 2], frame: 0 }
    }

    pub fn send(&mut self, turn: &Turn<'_>, take: &mut dyn FnMut(&Chunk<'_>)) {
        let lost = if turn.lost { 1 + turn.bytes.len() as u64 } else { 0 };
        self.next[turn.side as usize] += lost;
        let mut rest = turn.bytes;
        let mut lost_before = lost;
        while !rest.is_empty() {
            let size = self.cuts.as_mut().map_or(rest.len(), |cuts| cuts.next(rest.len().min(64)));
            let (part, after) = rest.split_at(size);
            rest = after;
            let cut = if turn.cut && rest.is_empty() { 7 } else { 0 };
            let acknowledged = self.next[turn.side.other() as usize];
            let offset = self.next[turn.side as usize];
            self.frame += 1;
            let mark = Mark { frame: self.frame, time_ns: self.frame as i64 * 1000 };
            let lost = std::mem::take(&mut lost_before);
            self.next[turn.side as usize] += part.len() as u64 + cut;
            take(&Chunk { side: turn.side, mark, acknowledged, offset, lost, bytes: part, cut });
        }
    }
}

/// What does not depend on how the bytes were cut. What TCP carried of a message that is wrapped (TLS, compression) is
/// what came in its packets.
pub fn without_packets(exchange: &mut Exchange) {
    exchange.request = None;
    exchange.response = None;
    exchange.waited_ns = None;
    exchange.delta_ns = None;
    exchange.client_ns = None;
    exchange.since_push_ns = 0;
    (exchange.request_wire_bytes, exchange.response_wire_bytes) = (0, 0);
}
