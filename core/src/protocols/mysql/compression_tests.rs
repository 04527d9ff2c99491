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
