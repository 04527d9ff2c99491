//! What the frames of zstd and lz4 have in common.

use std::io::{self, BufRead, Error, ErrorKind, Read};

pub(super) fn damaged(reason: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidData, reason.to_string())
}

pub(super) fn cut() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "the compressed data ends too early")
}

/// The next frame's magic number, which is read; `None` at the end of the stream.
pub(super) fn next_magic(source: &mut impl BufRead) -> io::Result<Option<u32>> {
    let mut magic = [0; 4];
    let mut have = 0;
    while let Some(slot) = magic.get_mut(have..).filter(|slot| !slot.is_empty()) {
        match source.read(slot) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(cut()),
            Ok(count) => have += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(u32::from_le_bytes(magic)))
}

/// Frames that hold no data, in zstd and lz4 alike.
pub(super) fn is_skippable(magic: u32) -> bool {
    magic & 0xffff_fff0 == 0x184d_2a50
}

/// Steps over the frame whose magic number was just read.
pub(super) fn skip_frame(source: &mut impl BufRead) -> io::Result<()> {
    let mut length = [0; 4];
    source.read_exact(&mut length).map_err(|_| cut())?;
    let length = u64::from(u32::from_le_bytes(length));
    match io::copy(&mut source.take(length), &mut io::sink())? {
        skipped if skipped == length => Ok(()),
        _ => Err(cut()),
    }
}
