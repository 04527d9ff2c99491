use std::io::Write;

use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const SKIPPABLE: [u8; 11] = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];

/// What comes out, and whether an error ends it.
fn decompressed(bytes: &[u8]) -> (Vec<u8>, bool) {
    let (mut stream, _) = decompress(Box::new(Cursor::new(bytes.to_vec())), 1 << 16).unwrap();
    let (mut out, mut part) = (Vec::new(), [0; 1000]);
    loop {
        match stream.read(&mut part) {
            Ok(0) => return (out, false),
            Ok(count) => out.extend(&part[..count]),
            Err(_) => return (out, true),
        }
    }
}

/// Half of it compresses well, half does not.
fn sample() -> Vec<u8> {
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    [vec![7; 300_000], noise.take(300_000).collect()].concat()
}

#[test]
fn what_is_not_compressed_passes() {
    assert_eq!(decompressed(b"abc"), (b"abc".to_vec(), false));
    assert_eq!(decompressed(b""), (vec![], false));
}

#[test]
fn every_compression_is_found_by_its_magic() {
    let sample = sample();
    for compress in [gzip, zstd, lz4] {
        assert_eq!(decompressed(&compress(&sample)), (sample.clone(), false));
    }
}

#[test]
fn several_members_or_frames_are_one_stream() {
    for compress in [gzip, zstd, lz4] {
        let compressed = [compress(b"one "), compress(b""), compress(b"two")].concat();
        assert_eq!(decompressed(&compressed), (b"one two".to_vec(), false));
    }
}

#[test]
fn skippable_frames_are_stepped_over() {
    let compressed = [&SKIPPABLE[..], &zstd(b"one "), &SKIPPABLE, &zstd(b"two")].concat();
    assert_eq!(decompressed(&compressed), (b"one two".to_vec(), false));
    let compressed = [&lz4(b"one ")[..], &SKIPPABLE, &lz4(b"two"), &SKIPPABLE].concat();
    assert_eq!(decompressed(&compressed), (b"one two".to_vec(), false));
}

#[test]
fn a_cut_file_gives_what_is_whole_and_an_error() {
    let sample = sample();
    for compress in [gzip, zstd, lz4] {
        let compressed = compress(&sample);
        for lost in [1, 2, 5, 9, 40_000] {
            let (out, failed) = decompressed(&compressed[..compressed.len() - lost]);
            assert!(failed);
            assert!(sample.starts_with(&out));
            assert!(out.len() >= 300_000, "{} bytes of {}", out.len(), sample.len());
        }
    }
}

#[test]
fn a_damaged_file_ends_with_an_error_and_no_panic() {
    let sample = sample();
    for compress in [gzip, zstd, lz4] {
        let compressed = compress(&sample);
        for place in [4, 5, 6, 7, compressed.len() / 2, compressed.len() - 1] {
            let mut damaged = compressed.clone();
            damaged[place] ^= 0xff;
            decompressed(&damaged);
        }
    }
}
