//! One zlib stream (RFC 1950) from a certain byte to the end of the connection, flushed at each turn.

use flate2::{Decompress, FlushDecompress, Status};

use super::wrapping::{Unwrap, Wrapping};
use crate::cursor::Lost;

/// One zlib stream in each direction.
pub const DEFLATE: Wrapping = Wrapping { name: "zlib", begin: || Box::<Deflate>::default() };

/// Plain bytes made in one step: bounds the memory, not the stream.
const STEP: usize = 64 << 10;
/// Plain bytes that one packet may become: zlib packs at most 1032 : 1 (zlib's technical notes), so more is a lie.
const RATIO: usize = 1032;
/// What inflate keeps: a window of 32 KiB and its tables.
const STATE: usize = 44 << 10;

/// The state of the stream; nothing can be read any more once a byte of it is missing.
struct Deflate {
    state: Option<Decompress>,
}

impl Default for Deflate {
    fn default() -> Deflate {
        Deflate { state: Some(Decompress::new(true)) }
    }
}

impl Unwrap for Deflate {
    fn unwrap(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), Lost> {
        let Some(state) = &mut self.state else {
            return Err(Lost("a compressed stream cannot be read on after a loss".into()));
        };
        let limit = plain.len() + bytes.len().saturating_mul(RATIO) + STEP;
        loop {
            plain.reserve(STEP);
            let (read, written) = (state.total_in(), state.total_out());
            let status = state
                .decompress_vec(bytes, plain, FlushDecompress::Sync)
                .map_err(|error| Lost(format!("the zlib stream is damaged: {error}")))?;
            bytes = bytes.get((state.total_in() - read) as usize..).unwrap_or_default();
            let stuck = state.total_in() == read && state.total_out() == written;
            if stuck || status == Status::StreamEnd || (bytes.is_empty() && plain.len() < plain.capacity()) {
                return Ok(());
            }
            if plain.len() > limit {
                return Err(Lost("the zlib stream grows beyond what zlib can".into()));
            }
        }
    }

    fn reset(&mut self) {
        self.state = None;
    }

    fn kept_bytes(&self) -> usize {
        if self.state.is_some() { STATE } else { 0 }
    }
}

#[cfg(test)]
#[path = "deflate_tests.rs"]
mod tests;
