//! What the sources of a recording hold, to the byte: their length and SHA-256, so that a report names what it is of.
//!
//! A file is read once more for that, where somebody asks: what nobody asks for costs nothing. Who knows that before has
//! it read beside the recording, so that it comes from the disk but once: handing on what the reader reads would take a
//! copy, as reading it from the system's cache does, and let the reader wait for SHA-256. What passes only once, as a
//! pipe does, is hashed while it is read.

use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

/// Bytes that are hashed at once: they stay in a processor's cache.
const PIECE: usize = 128 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    pub bytes: u64,
    /// In hexadecimal digits.
    pub sha256: String,
}

/// Filled when the end is read.
pub(super) type Passed = Arc<OnceLock<Contents>>;

/// Where to learn what a source holds.
#[derive(Clone)]
pub enum Origin {
    File { path: PathBuf, length: u64, modified: Option<SystemTime> },
    Passed(Arc<OnceLock<Contents>>),
}

impl Origin {
    pub(super) fn file(path: PathBuf, metadata: &Metadata) -> Self {
        Self::File { path, length: metadata.len(), modified: metadata.modified().ok() }
    }

    /// What it holds; `None` where its end was not read, it has changed since, or `goes_on` says no between two pieces.
    pub fn contents(&self, goes_on: impl FnMut() -> bool) -> Option<Contents> {
        match self {
            Self::File { path, .. } => {
                let file = File::open(path).ok().filter(|file| self.is_same(file))?;
                let contents = hashed(&file, goes_on).ok()??;
                self.is_same(&file).then_some(contents)
            }
            Self::Passed(contents) => contents.get().cloned(),
        }
    }

    /// What it holds, where these contents of a file were `found` while the recording was read, and it has not changed since.
    pub fn still(&self, found: Option<Contents>) -> Option<Contents> {
        match self {
            Self::File { path, .. } => found.filter(|_| File::open(path).is_ok_and(|file| self.is_same(&file))),
            Self::Passed(contents) => contents.get().cloned(),
        }
    }

    /// It is the file that the recording was read from.
    fn is_same(&self, file: &File) -> bool {
        let (Self::File { length, modified, .. }, Ok(metadata)) = (self, file.metadata()) else { return false };
        metadata.len() == *length && metadata.modified().ok() == *modified
    }
}

fn hashed(mut file: impl Read, mut goes_on: impl FnMut() -> bool) -> io::Result<Option<Contents>> {
    let mut sums = Sums::default();
    let mut piece = vec![0; PIECE];
    while goes_on() {
        match file.read(&mut piece)? {
            0 => return Ok(Some(sums.told())),
            count => sums.add(piece.get(..count).unwrap_or_default()),
        }
    }
    Ok(None)
}

/// A reader that tells what it gave when that was all.
pub(super) struct Hashed<R> {
    reader: R,
    sums: Sums,
    passed: Passed,
}

impl<R: Read> Hashed<R> {
    pub(super) fn new(reader: R, passed: &Passed) -> Self {
        Self { reader, sums: Sums::default(), passed: Arc::clone(passed) }
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            self.passed.get_or_init(|| self.sums.told());
        }
        self.sums.add(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

#[derive(Default)]
struct Sums {
    sha256: Sha256,
    bytes: u64,
}

impl Sums {
    fn add(&mut self, piece: &[u8]) {
        self.sha256.update(piece);
        self.bytes += piece.len() as u64;
    }

    fn told(&self) -> Contents {
        let digest = self.sha256.clone().finalize();
        let sha256 = digest.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Contents { bytes: self.bytes, sha256 }
    }
}

#[cfg(test)]
#[path = "contents_tests.rs"]
mod tests;
