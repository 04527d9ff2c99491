//! lz4 frames, one after another.
//!
//! <https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md>

use std::io::{self, BufRead, Chain, Cursor, Read};

use lz4_flex::frame::FrameDecoder;

use super::frames::{cut, damaged, is_skippable, next_magic, skip_frame};

const MAGIC: u32 = 0x184d_2204;

pub(super) struct Lz4Frames<R: BufRead> {
    state: State<R>,
}

/// A frame from its magic number on, which has already been read.
type Frame<R> = Chain<Cursor<[u8; 4]>, Watched<R>>;

enum State<R: BufRead> {
    Between(Watched<R>),
    Inside(Box<FrameDecoder<Frame<R>>>),
    Ended,
}

impl<R: BufRead> Lz4Frames<R> {
    pub fn new(source: R) -> Self {
        Self { state: State::Between(Watched { source, ended: false }) }
    }

    /// Begins the next frame; `None` at the end.
    fn begin_frame(mut source: Watched<R>) -> io::Result<Option<State<R>>> {
        loop {
            match next_magic(&mut source.source)? {
                None => return Ok(None),
                Some(MAGIC) => break,
                Some(magic) if is_skippable(magic) => skip_frame(&mut source.source)?,
                Some(_) => return Err(damaged("something follows the lz4 data")),
            }
        }
        let frame = Cursor::new(MAGIC.to_le_bytes()).chain(source);
        Ok(Some(State::Inside(Box::new(FrameDecoder::new(frame)))))
    }

    /// The decoder is silent about a frame that the file cuts between two blocks: the watched source is not.
    fn end_frame(decoder: FrameDecoder<Frame<R>>) -> io::Result<State<R>> {
        let (_, source) = decoder.into_inner().into_inner();
        if source.ended {
            return Err(cut());
        }
        Ok(State::Between(source))
    }
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(0),
                State::Between(source) => match Self::begin_frame(source)? {
                    Some(inside) => self.state = inside,
                    None => return Ok(0),
                },
                State::Inside(mut decoder) => match decoder.read(buffer)? {
                    0 => self.state = Self::end_frame(*decoder)?,
                    count => {
                        self.state = State::Inside(decoder);
                        return Ok(count);
                    }
                },
            }
        }
    }
}

/// A source that remembers whether somebody asked for more than it had.
struct Watched<R> {
    source: R,
    ended: bool,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.ended |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}
