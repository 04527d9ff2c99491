use super::*;
use crate::note::NoteCode;

fn buffer(bytes: &[u8]) -> ReadBuffer {
    ReadBuffer::new(Box::new(std::io::Cursor::new(bytes.to_vec())), 1 << 16)
}

fn header(magic: u32, network: u32) -> Vec<u8> {
    let mut bytes = magic.to_be_bytes().to_vec();
    bytes.extend([0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(network.to_be_bytes());
    bytes
}

fn record(fraction: u32, captured: u32, original: u32, extra: usize) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 1];
    for field in [fraction, captured, original] {
        bytes.extend(field.to_be_bytes());
    }
    bytes.resize(bytes.len() + extra, 0xee);
    bytes.resize(bytes.len() + captured as usize, 0x55);
    bytes
}

fn open(buffer: &mut ReadBuffer) -> Pcap {
    match Pcap::open(buffer) {
        Opened::Pcap(pcap) => pcap,
        _ => panic!("not a pcap"),
    }
}

fn packets(bytes: &[u8]) -> (Vec<(i64, usize, u32)>, Option<Damage>) {
    let mut buffer = buffer(bytes);
    let pcap = open(&mut buffer);
    let mut packets = Vec::new();
    loop {
        let at_hand = pcap.at_hand(buffer.at_hand());
        match pcap.fetch(&mut buffer) {
            Ok(Some(record)) => {
                assert!(at_hand.is_none_or(|at_hand| at_hand == record));
                assert!(buffer.slice(record.skip, record.length).iter().all(|&byte| byte == 0x55));
                let time = record.time_ns.unwrap_or_default();
                packets.push((time, record.length, record.original_length));
                buffer.consume(record.whole);
            }
            Ok(None) => return (packets, None),
            Err(damage) => return (packets, Some(damage)),
        }
    }
}

#[test]
fn microseconds_and_nanoseconds_differ_in_their_magic() {
    for (magic, time) in [(0xa1b2_c3d4, 1_000_007_000), (0xa1b2_3c4d, 1_000_000_007)] {
        let bytes = [header(magic, 1), record(7, 2, 60, 0)].concat();
        assert_eq!(packets(&bytes), (vec![(time, 2, 60)], None));
    }
}

#[test]
fn the_writers_byte_order_shows_in_the_magic() {
    let bytes = [
        &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
        &[0xff, 0xff, 0, 0, 113, 0, 0, 0],
        &[1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0x55],
    ]
    .concat();
    assert_eq!(packets(&bytes), (vec![(1_000_002_000, 1, 9)], None));
}

#[test]
fn frame_check_bits_are_no_part_of_the_link_type() {
    assert_eq!(open(&mut buffer(&header(0xa1b2_c3d4, 0x2400_0001))).link_type, 1);
}

#[test]
fn kuznetzovs_records_have_a_longer_header() {
    let one = record(7, 40, 60, 8);
    let bytes = [header(0xa1b2_cd34, 1), one.clone(), one].concat();
    assert_eq!(packets(&bytes), (vec![(1_000_007_000, 40, 60); 2], None));
}

#[test]
fn nokias_longer_records_hide_behind_the_usual_magic() {
    let one = record(7, 40, 60, 4);
    let bytes = [header(0xa1b2_c3d4, 1), one.clone(), one.clone(), one].concat();
    assert_eq!(packets(&bytes), (vec![(1_000_007_000, 40, 60); 3], None));
}

#[test]
fn a_packet_that_the_file_cuts_is_told_with_its_place() {
    let mut bytes = [header(0xa1b2_c3d4, 1), record(7, 4, 4, 0), record(8, 4, 4, 0)].concat();
    bytes.pop();
    assert_eq!(packets(&bytes), (vec![(1_000_007_000, 4, 4)], Some(Damage::cut(44))));
}

#[test]
fn an_absurd_length_is_damage_and_not_memory() {
    let mut bytes = header(0xa1b2_c3d4, 1);
    bytes.extend(record(7, 1, 1, 0));
    bytes.extend([0, 0, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1]);
    let (packets, damage) = packets(&bytes);
    assert_eq!(packets.len(), 1);
    assert_eq!(damage.map(|damage| damage.code), Some(NoteCode::FileDamaged));
}
