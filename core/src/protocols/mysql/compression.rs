//! MySQL's compressed packets: each holds a piece of the plain stream, compressed on its own.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_compression_packet.html>
//!
//! ```text
//! compressed length u24 | sequence u8 | plain length u24 | zlib stream or zstd frame
//! stored length u24     | sequence u8 | 0                | plain bytes as they are
//! ```
//!
//! A plain packet may begin in one compressed packet and end in the next one. Which algorithm it is shows in the data:
//! a zstd frame begins with its magic number.

use std::io::Read;

use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use crate::cursor::{Cursor, Lost, TooShort};
use crate::layers::{Unwrap, Wrapping};

/// What the connection is wrapped in; the algorithm shows in each packet.
pub const COMPRESSION: Wrapping = Wrapping { name: "mysql", begin: || Box::<MysqlCompression>::default() };

pub const HEADER: usize = 7;
pub const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Plain bytes made in one step: what is allocated follows what really comes out.
const STEP: usize = 64 << 10;

/// The header of a compressed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub compressed_length: usize,
    pub sequence: u8,
    /// 0: the bytes are stored as they are.
    pub plain_length: usize,
}

impl Header {
    pub fn read(bytes: &[u8]) -> Result<Header, TooShort> {
        let mut cursor = Cursor::new(bytes);
        Ok(Header {
            compressed_length: cursor.u24_le("compressed length")? as usize,
            sequence: cursor.u8("compressed sequence number")?,
            plain_length: cursor.u24_le("plain length")? as usize,
        })
    }
}

/// One direction of a compressed connection.
#[derive(Default)]
pub struct MysqlCompression {
    /// The beginning of a packet whose end has not come yet.
    packet: Vec<u8>,
    zstd: Zstd,
}

impl Unwrap for MysqlCompression {
    fn unwrap(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), Lost> {
        while !bytes.is_empty() {
            if self.packet.is_empty()
                && let Some((packet, rest)) = bytes.split_at_checked(packet_length(bytes))
            {
                self.zstd.unpack(packet, plain)?;
                bytes = rest;
                continue;
            }
            bytes = self.keep(bytes);
            if self.packet.len() == packet_length(&self.packet) {
                let packet = std::mem::take(&mut self.packet);
                self.zstd.unpack(&packet, plain)?;
            }
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.packet = Vec::new();
        self.zstd = Zstd::default();
    }

    fn kept_bytes(&self) -> usize {
        self.packet.capacity() + self.zstd.kept_bytes()
    }
}

impl MysqlCompression {
    /// Keep what belongs to the packet that is under way, at first its header; the rest comes back.
    fn keep<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let missing = packet_length(&self.packet) - self.packet.len();
        let (kept, rest) = bytes.split_at(missing.min(bytes.len()));
        self.packet.extend_from_slice(kept);
        rest
    }
}

/// The length of the packet that begins with `bytes`; as long as that cannot be told, the length of a header.
fn packet_length(bytes: &[u8]) -> usize {
    HEADER + Header::read(bytes).map_or(0, |header| header.compressed_length)
}

/// A zstd decoder, made when the first frame comes.
#[derive(Default)]
struct Zstd {
    decoder: Option<Box<FrameDecoder>>,
    /// The most that a frame held: the decoder keeps room for it.
    longest: usize,
}

/// What a zstd decoder keeps beside the window.
const DECODER: usize = 256 << 10;

impl Zstd {
    fn kept_bytes(&self) -> usize {
        if self.decoder.is_some() { DECODER + self.longest } else { 0 }
    }

    /// What a whole packet holds, appended to `plain`.
    fn unpack(&mut self, packet: &[u8], plain: &mut Vec<u8>) -> Result<(), Lost> {
        let header = Header::read(packet)?;
        let body = packet.get(HEADER..).unwrap_or_default();
        if header.plain_length == 0 {
            plain.extend_from_slice(body);
            return Ok(());
        }
        let before = plain.len();
        if body.starts_with(&ZSTD_MAGIC) {
            self.frame(body, header.plain_length, plain)?;
        } else {
            zlib(body, header.plain_length, plain)?;
        }
        match plain.len() - before {
            unpacked if unpacked == header.plain_length => Ok(()),
            _ => Err(damaged("does not unpack to the length it says")),
        }
    }

    fn frame(&mut self, body: &[u8], limit: usize, plain: &mut Vec<u8>) -> Result<(), Lost> {
        self.longest = self.longest.max(limit);
        let decoder = self.decoder.get_or_insert_default();
        let (head, window, rest) = with_honest_window(body, limit);
        let source = head.chain(window.as_slice()).chain(rest);
        let frame = StreamingDecoder::new_with_decoder(source, &mut **decoder)
            .map_err(|error| damaged(&format!("has a bad zstd header ({error})")))?;
        frame
            .take(limit as u64 + 1)
            .read_to_end(plain)
            .map_err(|error| damaged(&format!("has bad zstd data ({error})")))?;
        Ok(())
    }
}

/// The frame in three parts, its window no larger than the plain bytes need: a header must not choose what is allocated.
///
/// RFC 8878 §3.1.1.1: magic u32, descriptor u8 (bit 5: no window follows, the content is the window), window u8.
fn with_honest_window(body: &[u8], limit: usize) -> (&[u8], Option<u8>, &[u8]) {
    match body {
        [_, _, _, _, descriptor, window, ..] if descriptor & 0x20 == 0 => {
            let exponent = limit.next_power_of_two().ilog2().saturating_sub(10) as u8;
            (&body[..5], Some((*window).min(exponent << 3)), &body[6..])
        }
        _ => (body, None, &[]),
    }
}

fn zlib(body: &[u8], limit: usize, plain: &mut Vec<u8>) -> Result<(), Lost> {
    let mut state = Decompress::new(true);
    loop {
        let read = state.total_in();
        let written = state.total_out();
        plain.reserve(STEP.min(limit + 1 - written as usize));
        let rest = body.get(read as usize..).unwrap_or_default();
        let status = state
            .decompress_vec(rest, plain, FlushDecompress::None)
            .map_err(|error| damaged(&format!("has bad zlib data ({error})")))?;
        if status == Status::StreamEnd && state.total_in() == body.len() as u64 {
            return Ok(());
        }
        let stuck = state.total_in() == read && state.total_out() == written;
        if stuck || status == Status::StreamEnd || state.total_out() > limit as u64 {
            return Err(damaged("does not unpack to the length it says"));
        }
    }
}

fn damaged(what: &str) -> Lost {
    Lost(format!("a compressed packet {what}"))
}

#[cfg(test)]
#[path = "compression_tests.rs"]
pub(crate) mod tests;
