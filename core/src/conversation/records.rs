//! The TLS records of one side, cut out of its stream: which packets brought them, and where they begin again behind a
//! hole.

use super::inbox::Origin;
use crate::layers::tls::record::{self, Header};

/// A byte of a record and all that follow came with this packet, up to the next piece.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub from: usize,
    pub origin: Origin,
}

/// What of a record has arrived while the rest of it has not.
#[derive(Debug, Default)]
pub struct Records {
    pub bytes: Vec<u8>,
    pub pieces: Vec<Piece>,
    /// Bytes of a record that can no longer be read, still to come.
    pub skipped: usize,
    /// Where the next record begins is not known; so many bytes were not read before those that are kept.
    pub sought: Option<u64>,
    /// It was said that bytes are missing.
    pub is_told: bool,
}

/// A hole in a stream of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hole {
    /// It lies in this record, or all of the record in it: the next one begins behind it.
    Within(Header),
    /// Where the next record begins is not known.
    Beyond,
}

impl Records {
    /// Adds what `bytes` have of the record that has begun; how many that were.
    pub fn add(&mut self, bytes: &[u8], origin: Origin) -> Result<usize, crate::cursor::Lost> {
        let mut used = 0;
        for _ in 0..2 {
            // First the header, then what it says.
            let length = Header::read(&self.bytes)?.map_or(record::HEADER, |header| header.record_length());
            let missing = length.saturating_sub(self.bytes.len());
            let rest = bytes.get(used..).unwrap_or_default();
            let part = rest.get(..missing).unwrap_or(rest);
            self.append(part, origin);
            used += part.len();
        }
        Ok(used)
    }

    /// Adds bytes, whatever they are.
    pub fn append(&mut self, bytes: &[u8], origin: Origin) {
        if !bytes.is_empty() {
            self.pieces.push(Piece { from: self.bytes.len(), origin });
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// The record is whole.
    pub fn is_whole(&self) -> bool {
        matches!(Header::read(&self.bytes), Ok(Some(header)) if header.record_length() <= self.bytes.len())
    }

    /// So many bytes are not there, behind those that are kept.
    pub fn lose(&mut self, lost: u64) -> Hole {
        let kept = self.bytes.len() as u64;
        let skipped = self.skipped as u64;
        if let Some(sought) = &mut self.sought {
            *sought += kept + lost;
            self.clear();
            return Hole::Beyond;
        }
        if skipped > 0 && lost <= skipped {
            self.skipped -= lost as usize;
            return Hole::Beyond;
        }
        let header = Header::read(&self.bytes).ok().flatten();
        self.clear();
        match header {
            Some(header) if kept + lost <= header.record_length() as u64 => {
                self.skipped = header.record_length() - (kept + lost) as usize;
                Hole::Within(header)
            }
            _ => {
                self.skipped = 0;
                self.sought = Some(kept + lost.saturating_sub(skipped));
                Hole::Beyond
            }
        }
    }

    /// What of `bytes` does not belong to a record that can no longer be read.
    pub fn skip<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let skipped = self.skipped.min(bytes.len());
        self.skipped -= skipped;
        &bytes[skipped..]
    }

    /// Forgets the first bytes while it seeks: these are no record.
    pub fn pass_over(&mut self, length: usize) {
        self.bytes.drain(..length);
        if let Some(sought) = &mut self.sought {
            *sought += length as u64;
        }
        let held = self.pieces.iter().rposition(|piece| piece.from <= length).unwrap_or(0);
        self.pieces.drain(..held);
        self.pieces.iter_mut().for_each(|piece| piece.from = piece.from.saturating_sub(length));
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.pieces.clear();
    }

    /// Keep no room for what may come.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.pieces.shrink_to_fit();
    }

    pub fn kept_bytes(&self) -> usize {
        self.bytes.capacity() + self.pieces.capacity() * size_of::<Piece>()
    }
}

/// Where a record may begin, at the earliest.
pub fn candidate(bytes: &[u8]) -> Option<usize> {
    let may_begin = |at: &usize| {
        let rest = &bytes[*at..];
        match Header::read(rest) {
            Ok(Some(header)) => header.minor == 3 && header.length > 0,
            Ok(None) => rest.len() < record::HEADER && matches!(rest, [20..=23] | [20..=23, 3, ..]),
            Err(_) => false,
        }
    };
    (0..bytes.len()).find(may_begin)
}
