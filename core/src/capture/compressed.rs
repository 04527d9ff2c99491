//! Compressed captures, recognised by their magic number and decompressed as they are read.
//!
//! Whatever a damaged file still holds whole is given before its error is.

use std::io::{self, BufReader, Chain, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

mod frames;
mod lz4;
mod zstd;

use crate::layers::{MAX_RATIO, is_too_much};
use frames::damaged;
use lz4::Lz4Frames;
use zstd::ZstdFrames;

type Stream = Box<dyn Read + Send>;
type Compressed = BufReader<Counted<Chain<Cursor<Vec<u8>>, Stream>>>;

const MAGIC: u64 = 4;

/// The stream as it was before compression, `buffer` bytes at once, and the format it was compressed in.
pub(super) fn decompress(mut stream: Stream, buffer: usize) -> io::Result<(Stream, Option<&'static str>)> {
    let mut magic = Vec::new();
    (&mut stream).take(MAGIC).read_to_end(&mut magic)?;
    let compression = compression(&magic);
    let whole = Cursor::new(magic).chain(stream);
    let Some(compression) = compression else {
        return Ok((Box::new(whole), None));
    };
    let read = Arc::new(AtomicU64::new(0));
    let counted = Counted { stream: whole, read: Arc::clone(&read) };
    let compressed = BufReader::with_capacity(buffer, counted);
    let plain: Stream = match compression {
        "gzip" => Box::new(SmallSteps(MultiGzDecoder::new(compressed))),
        "zstd" => Box::new(ZstdFrames::new(compressed)),
        _ => Box::new(Lz4Frames::new(compressed)),
    };
    Ok((Box::new(Bounded { plain, read, written: 0 }), Some(compression)))
}

/// Counts what is read.
pub(super) struct Counted<Source> {
    stream: Source,
    read: Arc<AtomicU64>,
}

impl<Source: Read> Read for Counted<Source> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Ends what decompresses to far more than packets can: each has a time of its own, which takes some bytes.
struct Bounded {
    plain: Stream,
    read: Arc<AtomicU64>,
    written: u64,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.plain.read(buffer)?;
        self.written += count as u64;
        let read = self.read.load(Ordering::Relaxed);
        if is_too_much(read, self.written) {
            return Err(damaged(format!(
                "{read} bytes decompress to more than {MAX_RATIO} times as many, which no capture does"
            )));
        }
        Ok(count)
    }
}

fn compression(magic: &[u8]) -> Option<&'static str> {
    match magic {
        [0x1f, 0x8b, 8, _] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd] => Some("zstd"),
        [0x04, 0x22, 0x4d, 0x18] => Some("lz4"),
        // A skippable frame, which zstd and lz4 share; only zstd's tools write one first.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some("zstd"),
        _ => None,
    }
}

/// Decompresses a little at a time: inflate loses what it has in the step that fails.
struct SmallSteps(MultiGzDecoder<Compressed>);

const STEP: usize = 4096;

impl Read for SmallSteps {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let step = buffer.len().min(STEP);
        self.0.read(buffer.get_mut(..step).unwrap_or_default())
    }
}

#[cfg(test)]
#[path = "compressed_tests.rs"]
mod tests;
