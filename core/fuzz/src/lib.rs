//! What the fuzz targets share: their inputs as records, written by `seeds` and read by the targets.

use latpcap_core::side::Side;

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
