//! zstd frames, one block at a time.
//!
//! <https://www.rfc-editor.org/rfc/rfc8878>
//!
//! ```text
//! magic u32 | descriptor, window, sizes | blocks | (checksum u32)
//! block: last 1 bit, type 2 bits, size 21 bits | content
//! ```
//!
//! The decoder keeps what it decompressed until it has a window full of it (often megabytes) or the frame ends. So a
//! block is given to it only once it is whole, and where a frame breaks off, an empty last block ends it properly.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::frames::{cut, damaged, is_skippable, next_magic, skip_frame};

const MAGIC: u32 = 0xfd2f_b528;
const BLOCK_HEADER: usize = 3;
const MAX_BLOCK_BYTES: usize = 128 * 1024;
const RUN_LENGTH: u8 = 1;
/// An empty last block, and room for a checksum that is not compared.
const END_OF_FRAME: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

pub(super) struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    block: Vec<u8>,
    /// Inside a frame whose last block has not been read.
    in_frame: bool,
    /// Given once everything decompressed before has been.
    failure: Option<io::Error>,
}

impl<R: BufRead> ZstdFrames<R> {
    pub fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), block: Vec::new(), in_frame: false, failure: None }
    }

    /// Decompresses one more block or begins one more frame; `false` at the end.
    fn step(&mut self) -> io::Result<bool> {
        if self.in_frame {
            return self.read_block().map(|()| true);
        }
        match next_magic(&mut self.source)? {
            None => Ok(false),
            Some(MAGIC) => self.begin_frame().map(|()| true),
            Some(magic) if is_skippable(magic) => skip_frame(&mut self.source).map(|()| true),
            Some(_) => Err(damaged("something follows the zstd data")),
        }
    }

    fn begin_frame(&mut self) -> io::Result<()> {
        let magic = MAGIC.to_le_bytes();
        self.decoder.reset(magic.chain(&mut self.source)).map_err(damaged)?;
        self.in_frame = true;
        Ok(())
    }

    fn read_block(&mut self) -> io::Result<()> {
        let last = self.fetch_block()?;
        let source = self.block.chain(&mut self.source);
        self.decoder.decode_blocks(source, BlockDecodingStrategy::UptoBlocks(1)).map_err(damaged)?;
        self.in_frame = !last;
        Ok(())
    }

    /// Reads a whole block; returns whether it is the frame's last.
    fn fetch_block(&mut self) -> io::Result<bool> {
        let mut header = [0; BLOCK_HEADER];
        self.source.read_exact(&mut header).map_err(|_| cut())?;
        let [low, middle, high] = header;
        let size = u32::from_le_bytes([low, middle, high, 0]) >> 3;
        let length = match (low >> 1) & 3 {
            RUN_LENGTH => 1,
            _ => size as usize,
        };
        if length > MAX_BLOCK_BYTES {
            return Err(damaged(format!("a zstd block of {length} bytes")));
        }
        self.block.clear();
        self.block.extend(header);
        self.block.resize(BLOCK_HEADER + length, 0);
        let content = self.block.get_mut(BLOCK_HEADER..).unwrap_or_default();
        self.source.read_exact(content).map_err(|_| cut())?;
        Ok(low & 1 == 1)
    }

    /// Makes the decoder give what it still holds of a frame that broke off.
    fn break_off(&mut self, failure: io::Error) {
        if self.in_frame {
            self.in_frame = false;
            // It holds nothing more to give if this fails.
            let _ = self.decoder.decode_blocks(&END_OF_FRAME[..], BlockDecodingStrategy::UptoBlocks(1));
        }
        self.failure = Some(failure);
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            match self.step() {
                Ok(true) => {}
                Ok(false) => return Ok(0),
                Err(failure) => self.break_off(failure),
            }
        }
    }
}
