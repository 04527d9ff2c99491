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
pub(crate) mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    pub(crate) fn packet(sequence: u8, plain_length: usize, body: &[u8]) -> Vec<u8> {
        let mut packet = (body.len() as u32).to_le_bytes()[..3].to_vec();
        packet.push(sequence);
        packet.extend(&(plain_length as u32).to_le_bytes()[..3]);
        packet.extend(body);
        packet
    }

    pub(crate) fn stored(sequence: u8, plain: &[u8]) -> Vec<u8> {
        packet(sequence, 0, plain)
    }

    pub(crate) fn zlib_packet(sequence: u8, plain: &[u8]) -> Vec<u8> {
        packet(sequence, plain.len(), &deflated(plain))
    }

    fn deflated(plain: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd_packet(sequence: u8, plain: &[u8]) -> Vec<u8> {
        packet(sequence, plain.len(), &compress_to_vec(plain, CompressionLevel::Fastest))
    }

    fn unwrapped(bytes: &[u8]) -> Result<Vec<u8>, Lost> {
        let mut plain = Vec::new();
        MysqlCompression::default().unwrap(bytes, &mut plain)?;
        Ok(plain)
    }

    #[test]
    fn a_plain_length_of_zero_means_stored() {
        assert_eq!(unwrapped(b"\x05\0\0\0\0\0\0hello").unwrap(), b"hello");
    }

    #[test]
    fn zlib_and_zstd_are_told_apart_by_the_data() {
        let plain = b"select 1 from t ".repeat(5000);
        assert_eq!(unwrapped(&zlib_packet(0, &plain)).unwrap(), plain);
        assert_eq!(unwrapped(&zstd_packet(0, &plain)).unwrap(), plain);
    }

    #[test]
    fn a_plain_packet_may_straddle_compressed_ones() {
        let stream = [stored(0, b"\x05\0\0\0"), zlib_packet(1, b"\x03do "), stored(2, b"1")].concat();
        assert_eq!(unwrapped(&stream).unwrap(), b"\x05\0\0\0\x03do 1");
    }

    #[test]
    fn an_empty_packet_holds_nothing() {
        assert_eq!(unwrapped(&[stored(0, b""), stored(1, b"x")].concat()).unwrap(), b"x");
    }

    #[test]
    fn a_length_that_lies_is_a_loss() {
        let body = deflated(b"hello hello hello");
        assert!(unwrapped(&packet(0, 16, &body)).is_err());
        assert!(unwrapped(&packet(0, 18, &body)).is_err());
        let frame = compress_to_vec(&b"hello hello hello"[..], CompressionLevel::Fastest);
        assert!(unwrapped(&packet(0, 16, &frame)).is_err());
        assert!(unwrapped(&packet(0, 18, &frame)).is_err());
    }

    #[test]
    fn a_bomb_is_stopped_at_the_length_it_claims() {
        let body = deflated(&vec![0; 64 << 20]);
        let mut plain = Vec::new();
        assert!(MysqlCompression::default().unwrap(&packet(0, 1000, &body), &mut plain).is_err());
        assert!(plain.len() <= 1000 + STEP);
        let frame = compress_to_vec(&vec![0; 4 << 20][..], CompressionLevel::Fastest);
        let mut plain = Vec::new();
        assert!(MysqlCompression::default().unwrap(&packet(0, 1000, &frame), &mut plain).is_err());
        assert!(plain.len() <= 1001);
    }

    #[test]
    fn a_window_beyond_the_plain_length_is_not_believed() {
        let mut frame = ZSTD_MAGIC.to_vec();
        // No content size, a window of 3.75 TB; then one last raw block of one byte.
        frame.extend([0, 0xff, 0x09, 0, 0, b'x']);
        assert_eq!(unwrapped(&packet(0, 1, &frame)).unwrap(), b"x");
    }

    #[test]
    fn damage_is_a_loss_and_after_a_reset_the_next_packet_is_read() {
        let mut layer = MysqlCompression::default();
        let mut plain = Vec::new();
        assert!(layer.unwrap(&packet(0, 5, b"no zlib"), &mut plain).is_err());
        assert!(layer.unwrap(&packet(0, 5, b"\x28\xb5\x2f\xfdno zstd"), &mut plain).is_err());
        layer.unwrap(&zlib_packet(0, b"half of it is lost")[..9], &mut plain).unwrap();
        layer.reset();
        plain.clear();
        layer.unwrap(&zlib_packet(0, b"next"), &mut plain).unwrap();
        assert_eq!(plain, b"next");
    }

    #[test]
    fn memory_follows_the_bytes_that_came_and_not_the_length_field() {
        let mut layer = MysqlCompression::default();
        layer.unwrap(b"\xff\xff\xff\0\xff\xff\xffabc", &mut Vec::new()).unwrap();
        assert!(layer.packet.capacity() < 100);
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_bytes(parts in prop::collection::vec((prop::collection::vec(0u8..4, 0..300), 0u8..3), 1..6), cut in 1usize..50) {
            let mut stream = Vec::new();
            for (part, kind) in &parts {
                stream.extend(match kind {
                    0 => stored(0, part),
                    1 if !part.is_empty() => zlib_packet(0, part),
                    2 if !part.is_empty() => zstd_packet(0, part),
                    _ => Vec::new(),
                });
            }
            let (mut layer, mut plain) = (MysqlCompression::default(), Vec::new());
            stream.chunks(cut).for_each(|chunk| layer.unwrap(chunk, &mut plain).unwrap());
            prop_assert_eq!(plain, unwrapped(&stream).unwrap());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), zstd in any::<bool>()) {
            let _ = unwrapped(&bytes);
            let body = if zstd { [&ZSTD_MAGIC[..], &bytes].concat() } else { [&[0x78, 0x9c][..], &bytes].concat() };
            let _ = unwrapped(&packet(0, 1000, &body));
        }
    }
}
