//! The RTT samples of a connection, a few bytes each: they follow each other closely, and most are short.
//!
//! ```text
//! since the one before, zigzag | rtt_ns | segments << 1 | side | in_flight - segments          each a varint (LEB128)
//! ```

use std::borrow::Cow;
use std::io;

use super::rtt::RttSample;
use crate::disk::{self, Overflow};
use crate::side::Side;

/// No sample takes more.
const MAX_SAMPLE_BYTES: usize = 4 * 10;
/// What is kept together, at most, and what goes to the disk together, at least.
const BLOCK_BYTES: usize = 64 << 10;
const MIN_BLOCK_BYTES: usize = 4 << 10;

/// Clean in-stream samples, with the side whose data was acknowledged.
#[derive(Debug, Default)]
pub struct Samples {
    /// Whole blocks, the oldest first.
    blocks: Vec<Block>,
    /// The newest samples.
    bytes: Vec<u8>,
    /// All samples, and those of them that are in no block yet.
    len: usize,
    newest: usize,
    last_ns: i64,
    /// What was kept as the client's data is the server's.
    swapped: bool,
}

#[derive(Debug)]
enum Block {
    /// So many samples.
    Here(Box<[u8]>, usize),
    /// So many bytes from there on.
    OnDisk(u64, usize),
}

/// How far the samples were read.
#[derive(Debug, Default)]
pub struct Place {
    block: usize,
    time_ns: i64,
    count: usize,
}

impl Samples {
    pub fn push(&mut self, side: Side, sample: RttSample) {
        if self.bytes.len() + MAX_SAMPLE_BYTES > BLOCK_BYTES {
            self.close();
        }
        self.len += 1;
        self.newest += 1;
        let RttSample { time_ns, rtt_ns, segments, in_flight } = sample;
        let later_ns = time_ns.wrapping_sub(std::mem::replace(&mut self.last_ns, time_ns));
        let numbers = [
            ((later_ns << 1) ^ (later_ns >> 63)) as u64,
            rtt_ns as u64,
            u64::from(segments) << 1 | (side == Side::Server) as u64,
            u64::from(in_flight.wrapping_sub(segments)),
        ];
        self.bytes.reserve(MAX_SAMPLE_BYTES);
        numbers.into_iter().for_each(|number| self.number(number));
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn swap_sides(&mut self) {
        self.swapped = !self.swapped;
    }

    /// As many as are worth it go to the disk: how many did.
    pub fn put_on_disk(&mut self, disk: &mut Overflow) -> usize {
        if self.bytes.len() >= MIN_BLOCK_BYTES {
            self.close();
        }
        let mut gone = 0;
        for block in &mut self.blocks {
            let Block::Here(bytes, samples) = block else { continue };
            let Some(begin) = disk.keep(bytes) else { break };
            gone += *samples;
            *block = Block::OnDisk(begin, bytes.len());
        }
        gone
    }

    /// All of them, in their order; those on disk are read from there.
    pub fn each(&self, disk: &Overflow, mut take: impl FnMut(Side, RttSample)) -> io::Result<()> {
        let mut place = Place::default();
        while self.next_block(&mut place, disk, &mut take)? {}
        Ok(())
    }

    /// Those of the block at `place`, which moves on behind it; false behind the last one.
    pub fn next_block(
        &self,
        place: &mut Place,
        disk: &Overflow,
        mut take: impl FnMut(Side, RttSample),
    ) -> io::Result<bool> {
        let bytes = match self.blocks.get(place.block) {
            Some(Block::Here(bytes, _)) => Cow::Borrowed(&**bytes),
            Some(Block::OnDisk(begin, bytes)) => Cow::Owned(disk.read(*begin, *bytes)?),
            None if place.block == self.blocks.len() => Cow::Borrowed(&*self.bytes),
            None if place.count == self.len => return Ok(false),
            None => return Err(disk::damaged()),
        };
        let mut rest = &*bytes;
        while !rest.is_empty() {
            let (side, sample) = self.take(&mut rest, &mut place.time_ns).ok_or_else(disk::damaged)?;
            take(side, sample);
            place.count += 1;
        }
        place.block += 1;
        Ok(true)
    }

    #[inline]
    fn take(&self, rest: &mut &[u8], time_ns: &mut i64) -> Option<(Side, RttSample)> {
        let later = take_number(rest)?;
        *time_ns = time_ns.wrapping_add((later >> 1) as i64 ^ -((later & 1) as i64));
        let rtt_ns = take_number(rest)? as i64;
        let segments_and_side = take_number(rest)?;
        let segments = (segments_and_side >> 1) as u32;
        let in_flight = segments.wrapping_add(take_number(rest)? as u32);
        let side = if (segments_and_side & 1 == 1) != self.swapped { Side::Server } else { Side::Client };
        Some((side, RttSample { time_ns: *time_ns, rtt_ns, segments, in_flight }))
    }

    fn close(&mut self) {
        let bytes = std::mem::take(&mut self.bytes).into_boxed_slice();
        self.blocks.push(Block::Here(bytes, std::mem::take(&mut self.newest)));
    }

    #[inline]
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

#[inline]
fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in (0..u64::BITS).step_by(7) {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << place;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
#[path = "samples_tests.rs"]
mod tests;
