//! The bytes of one side that do not make a whole message yet.

use crate::cursor::Lost;
use crate::layers::{Inflated, Unwrap};
use crate::protocols::{Layer, Meaning};
use crate::stream::{Chunk, Mark};

/// The packet a message begins in.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    pub mark: Mark,
    pub acknowledged: u64,
    /// Where the packet's bytes begin in their stream.
    pub offset: u64,
}

impl Origin {
    #[inline]
    pub fn of(chunk: &Chunk<'_>) -> Origin {
        Origin { mark: chunk.mark, acknowledged: chunk.acknowledged, offset: chunk.offset }
    }
}

/// A message whose meaning is known while the rest of it still has to pass.
#[derive(Debug)]
pub struct Pending {
    pub meaning: Meaning,
    pub origin: Origin,
    pub length: u64,
    /// What the bytes behind it are wrapped in.
    pub switch: Option<Layer>,
}

/// A buffer that has grown beyond this is not kept for the next packet.
const REUSED: usize = 64 << 10;

#[derive(Default)]
pub struct Inbox {
    buffer: Vec<u8>,
    origin: Option<Origin>,
    /// Asking again makes no sense before this many bytes are there.
    pub need: usize,
    /// Bytes of the current message that are still to pass.
    pub body: u64,
    /// Most connections never have one, and many are kept: its place is made when it is needed first.
    pending: Option<Box<Option<Pending>>>,
    pub layer: Option<Box<dyn Unwrap>>,
    plain: Vec<u8>,
}

impl Inbox {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Add bytes; true when it makes sense to look for a message.
    pub fn add(&mut self, bytes: &[u8], origin: Origin) -> bool {
        if self.buffer.is_empty() {
            self.origin = Some(origin);
        }
        self.buffer.extend_from_slice(bytes);
        self.buffer.len() >= self.need
    }

    pub fn take(&mut self) -> (Vec<u8>, Option<Origin>) {
        (std::mem::take(&mut self.buffer), self.origin)
    }

    /// The meaning of a message of which `left` bytes have still to pass.
    pub fn suspend(&mut self, pending: Pending, left: u64) {
        self.body = left;
        **self.pending.get_or_insert_default() = Some(pending);
    }

    /// The packet in which the message begins whose rest is still to come.
    pub fn unfinished(&self) -> Option<Origin> {
        let pending = || Some((**self.pending.as_ref()?).as_ref()?.origin);
        if self.is_empty() { pending() } else { self.origin }
    }

    /// The message whose last byte has passed.
    #[inline]
    pub fn passed(&mut self) -> Option<Pending> {
        if self.body == 0 { self.pending.as_mut()?.take() } else { None }
    }

    /// Put back what was taken, less the `used` bytes that have been read; what is left came with `latest`.
    pub fn put_back(&mut self, mut buffer: Vec<u8>, used: usize, latest: Origin) {
        if used > 0 {
            buffer.drain(..used);
            self.origin = Some(latest);
        }
        self.buffer = buffer;
    }

    /// Let the body of the current message pass; the number of bytes that belonged to it.
    pub fn pass(&mut self, available: usize) -> usize {
        let passed = self.body.min(available as u64);
        self.body -= passed;
        passed as usize
    }

    /// Do `length` bytes lie inside the current message's body, with more of it to come? Then they have passed.
    #[inline]
    pub fn body_holds(&mut self, length: usize) -> bool {
        let inside = self.body > length as u64;
        if inside {
            self.body -= length as u64;
        }
        inside
    }

    /// Do `length` bytes that were not captured lie inside the current message's body?
    pub fn absorbs(&mut self, length: u64) -> bool {
        let inside = self.body > 0 && length <= self.body && self.layer.is_none();
        if inside {
            self.body -= length;
        }
        inside
    }

    /// The plain bytes of a wrapped stream. Give the vector back with `reuse`.
    pub fn unwrap(&mut self, bytes: &[u8], inflated: &mut Inflated) -> Result<Vec<u8>, Lost> {
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        match &mut self.layer {
            Some(layer) => {
                inflated.may_grow()?;
                let result = layer.unwrap(bytes, &mut plain);
                inflated.add(plain.len());
                result?;
            }
            None => plain.extend_from_slice(bytes),
        }
        Ok(plain)
    }

    pub fn reuse(&mut self, plain: Vec<u8>) {
        if plain.capacity() <= REUSED {
            self.plain = plain;
        }
    }

    /// What it keeps for the moment.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        let layer = self.layer.as_ref().map_or(0, |layer| layer.kept_bytes());
        self.buffer.capacity() + self.plain.capacity() + layer
    }

    /// Nothing is under way in it.
    pub fn is_idle(&self) -> bool {
        self.buffer.is_empty() && self.layer.is_none()
    }

    /// Keep no room for what may come.
    pub fn shrink(&mut self) {
        self.buffer.shrink_to_fit();
        self.plain = Vec::new();
    }

    /// Forget everything that is not whole.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.need = 0;
        self.body = 0;
        self.pending = None;
        if let Some(layer) = &mut self.layer {
            layer.reset();
        }
    }
}
