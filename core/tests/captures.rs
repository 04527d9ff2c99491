//! Real capture files: read as `pcap-parser` reads them, and never a panic or a hang however they are damaged.
//!
//! The files are no part of the repository: `LATPCAP_CAPTURES` names their folder, and tests that need them skip
//! where there is none.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use latpcap_core::capture::{Captures, Source};
use latpcap_core::packet::Dissector;
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, PcapBlockOwned, PcapError};
use proptest::prelude::*;

fn captures() -> Vec<PathBuf> {
    let folder = std::env::var_os("LATPCAP_CAPTURES")
        .unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/captures").into());
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if is_capture(&path) => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

fn is_capture(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("pcap" | "pcapng" | "cap"))
}

/// Reads and dissects everything; captured bytes and original length of each packet.
fn read(source: Source) -> Vec<(Vec<u8>, u32)> {
    let mut packets = Vec::new();
    let Ok(mut recording) = Captures::open(vec![source]) else {
        return packets;
    };
    let mut dissector = Dissector::new();
    while let Some(packet) = recording.next_packet() {
        packets.push((packet.bytes.to_vec(), packet.original_length));
        dissector.segment(packet);
    }
    packets
}

/// The same by another reader. `None` where it gives up.
fn read_by_pcap_parser(bytes: &[u8]) -> Option<Vec<(Vec<u8>, u32)>> {
    let mut reader = pcap_parser::create_reader(1 << 20, Cursor::new(bytes)).ok()?;
    let mut packets = Vec::new();
    loop {
        match reader.next() {
            Ok((consumed, block)) => {
                packets.extend(parsed_packet(&block));
                reader.consume(consumed);
            }
            Err(PcapError::Eof) => return Some(packets),
            Err(PcapError::Incomplete(_)) => reader.refill().ok()?,
            Err(_) => return None,
        }
    }
}

fn parsed_packet(block: &PcapBlockOwned<'_>) -> Option<(Vec<u8>, u32)> {
    match block {
        PcapBlockOwned::Legacy(packet) => Some((packet.data.to_vec(), packet.origlen)),
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => Some((packet.packet_data().to_vec(), packet.origlen)),
        // It knows nothing of the obsolete packet block, and gives simple packets without the snap length.
        _ => None,
    }
}

fn has_only_enhanced_packets(bytes: &[u8]) -> bool {
    let Ok(mut reader) = pcap_parser::create_reader(1 << 20, Cursor::new(bytes)) else {
        return true;
    };
    while let Ok((consumed, block)) = reader.next() {
        if let PcapBlockOwned::NG(Block::SimplePacket(_) | Block::Unknown(_)) = block {
            return false;
        }
        reader.consume(consumed);
    }
    true
}

#[test]
fn packets_are_those_that_pcap_parser_finds() {
    let mut compared = 0;
    for path in captures() {
        let bytes = fs::read(&path).unwrap();
        if !has_only_enhanced_packets(&bytes) {
            continue;
        }
        if let Some(expected) = read_by_pcap_parser(&bytes) {
            let ours = read(Source::bytes(path.display().to_string(), bytes));
            assert!(ours == expected, "{} differs", path.display());
            compared += 1;
        }
    }
    eprintln!("{compared} captures compared");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn small_captures() -> Vec<Vec<u8>> {
    let small = captures().into_iter().map(|path| fs::read(path).unwrap_or_default());
    let mut small: Vec<_> = small.filter(|bytes| bytes.len() < 20_000).collect();
    // Where there are no files, at least their magic numbers.
    small.push(vec![0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    small.push(vec![0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0]);
    small
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(
        magic in proptest::sample::select(vec![
            &b"\xa1\xb2\xc3\xd4\0\x02\0\x04"[..], b"\xd4\xc3\xb2\xa1\x02\0\x04\0", b"\x34\xcd\xb2\xa1\x02\0\x04\0",
            b"\x0a\x0d\x0d\x0a\0\0\0\x1c\x1a\x2b\x3c\x4d\0\x01\0\0", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd",
            b"\x04\x22\x4d\x18", b"",
        ]),
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        read(Source::bytes("x", [magic, &bytes].concat()));
    }

    #[test]
    fn no_damage_to_a_real_file_makes_the_reader_panic(
        file in proptest::sample::select(small_captures()),
        pack in proptest::sample::select(vec![<[u8]>::to_vec as fn(&[u8]) -> Vec<u8>, gzip, lz4, zstd]),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = pack(&file);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if cut {
            bytes.truncate(length.index(bytes.len()));
        }
        read(Source::bytes("x", bytes));
    }
}
