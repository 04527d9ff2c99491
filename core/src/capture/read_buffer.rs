//! The next bytes of a stream: one buffer that slides over it and grows only for bytes that really arrive.

use std::io::{self, ErrorKind, Read};

/// What is read at once, unless very many files are open.
pub(super) const USUAL_SIZE: usize = 64 * 1024;

pub(super) struct ReadBuffer {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// What it begins with.
    least: usize,
    start: usize,
    end: usize,
    /// The place of the buffer's first byte in the stream.
    offset: u64,
    /// The stream has ended, by itself or by `failure`.
    ended: bool,
    failure: Option<io::Error>,
}

impl ReadBuffer {
    /// One that reads `least` bytes at once, and more where somebody asks for them.
    pub fn new(source: Box<dyn Read + Send>, least: usize) -> Self {
        Self { source, buffer: vec![0; least], least, start: 0, end: 0, offset: 0, ended: false, failure: None }
    }

    /// The next `length` bytes, or `None` where the stream ends before.
    #[inline]
    pub fn peek(&mut self, length: usize) -> Option<&[u8]> {
        if self.end - self.start < length && !self.fill(length) {
            return None;
        }
        self.buffer.get(self.start..self.start + length)
    }

    /// As many as `length` bytes: fewer only at the end of the stream.
    pub fn peek_up_to(&mut self, length: usize) -> &[u8] {
        self.fill(length);
        let left = self.end - self.start;
        self.slice(0, length.min(left))
    }

    /// All that has been brought in and not consumed.
    #[inline]
    pub fn at_hand(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Bytes that an earlier `peek` has brought in.
    #[inline]
    pub fn slice(&self, skip: usize, length: usize) -> &[u8] {
        let start = self.start + skip;
        self.buffer.get(start..start + length).unwrap_or_default()
    }

    /// Steps over bytes that an earlier `peek` has brought in.
    #[inline]
    pub fn consume(&mut self, length: usize) {
        self.start = self.end.min(self.start + length);
    }

    /// Steps over any number of bytes; `false` where the stream ends before.
    pub fn skip(&mut self, mut length: u64) -> bool {
        while length > 0 {
            if self.peek(1).is_none() {
                return false;
            }
            let step = length.min((self.end - self.start) as u64);
            self.consume(step as usize);
            length -= step;
        }
        true
    }

    /// The place of the next byte in the stream.
    pub fn offset(&self) -> u64 {
        self.offset + self.start as u64
    }

    pub fn at_end(&mut self) -> bool {
        self.peek(1).is_none()
    }

    /// Why the stream ended, where it did not end by itself.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    #[cold]
    fn fill(&mut self, length: usize) -> bool {
        while self.end - self.start < length && !self.ended {
            self.make_room(length);
            self.read();
        }
        self.end - self.start >= length
    }

    /// Moves what is left to the front; doubles the buffer when it is full of bytes that are still needed.
    fn make_room(&mut self, length: usize) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.offset += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            let size = (self.buffer.len() * 2).min(length.max(self.least));
            self.buffer.resize(size, 0);
        }
    }

    fn read(&mut self) {
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        match self.source.read(room) {
            Ok(0) => self.ended = true,
            Ok(count) => self.end += count.min(room.len()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                self.ended = true;
                self.failure = Some(error);
            }
        }
    }
}

#[cfg(test)]
#[path = "read_buffer_tests.rs"]
mod tests;
