use super::*;
use crate::capture::host_curve::HostCurve;

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).next_multiple_of(4) + 12;
    let mut bytes = [kind.to_le_bytes(), length.to_le_bytes()].concat();
    bytes.extend(body);
    bytes.resize(length as usize - 4, 0);
    bytes.extend(length.to_le_bytes());
    bytes
}

fn section(length: i64) -> Vec<u8> {
    let mut body = vec![0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0];
    body.extend(length.to_le_bytes());
    block(kind::SECTION, &body)
}

fn interface(link_type: u8, snap_length: u8) -> Vec<u8> {
    block(kind::INTERFACE, &[link_type, 0, 0, 0, snap_length, 0, 0, 0])
}

fn packet(interface: u8, microseconds: u8, captured: u8) -> Vec<u8> {
    let mut body = vec![interface, 0, 0, 0, 0, 0, 0, 0, microseconds, 0, 0, 0];
    body.extend([captured, 0, 0, 0, 60, 0, 0, 0, 0x55, 0x55]);
    block(kind::PACKET, &body)
}

struct Read {
    /// Link type, time, captured and original length.
    packets: Vec<(u16, Option<i64>, usize, u32)>,
    notes: Vec<NoteCode>,
    damage: Option<Damage>,
}

fn read(parts: &[Vec<u8>]) -> Read {
    read_with_extras(parts).0
}

fn read_with_extras(parts: &[Vec<u8>]) -> (Read, Extras) {
    let mut buffer = ReadBuffer::new(Box::new(std::io::Cursor::new(parts.concat())), 1 << 16);
    let Opened::Pcapng(mut pcapng) = Pcapng::open(&mut buffer) else {
        panic!("not a pcapng");
    };
    let (mut notes, mut extras) = (Notes::default(), Extras::default());
    let mut packets = Vec::new();
    let damage = loop {
        let at_hand = pcapng.at_hand(buffer.at_hand());
        match pcapng.fetch(&mut buffer, &mut notes, &mut extras) {
            Ok(Some(record)) => {
                assert!(at_hand.is_none_or(|at_hand| at_hand == record));
                let bytes = buffer.slice(record.skip, record.length);
                assert!(bytes.iter().all(|&byte| byte == 0x55));
                let (time, original) = (record.time_ns, record.original_length);
                packets.push((record.link_type, time, record.length, original));
                buffer.consume(record.whole);
            }
            Ok(None) => break None,
            Err(damage) => break Some(damage),
        }
    };
    (Read { packets, notes: notes.iter().map(|note| note.code).collect(), damage }, extras)
}

#[test]
fn each_packet_has_the_link_type_of_its_interface() {
    let read = read(&[section(-1), interface(1, 0), interface(113, 0), packet(1, 7, 2), packet(0, 8, 2)]);
    assert_eq!(read.packets, [(113, Some(7_000), 2, 60), (1, Some(8_000), 2, 60)]);
}

#[test]
fn a_simple_packet_has_no_time_and_is_as_long_as_the_snap_length() {
    let simple = block(kind::SIMPLE_PACKET, &[60, 0, 0, 0, 0x55, 0x55, 0x55]);
    let read = read(&[section(-1), interface(1, 3), simple]);
    assert_eq!(read.packets, [(1, None, 3, 60)]);
}

#[test]
fn secrets_that_lie_about_their_length_are_left_out_and_nothing_else() {
    let secrets = |length: u8| block(kind::SECRETS, &[b"KSLT", &[length, 0, 0, 0][..], b"key\n"].concat());
    for (length, notes) in [(4, vec![]), (5, vec![NoteCode::FileDamaged]), (255, vec![NoteCode::FileDamaged])] {
        let read = read(&[section(-1), interface(1, 0), secrets(length), packet(0, 7, 2)]);
        assert_eq!((read.packets.len(), read.notes), (1, notes));
    }
    let headless = read(&[section(-1), interface(1, 0), block(kind::SECRETS, b"KSLT"), packet(0, 7, 2)]);
    assert_eq!((headless.packets.len(), headless.notes), (1, vec![NoteCode::FileDamaged]));
}

#[test]
fn secrets_of_other_protocols_are_named() {
    let ssh = block(kind::SECRETS, b"KHSS\x04\0\0\0word");
    let read = read(&[section(-1), ssh.clone(), ssh, interface(1, 0), packet(0, 7, 2)]);
    assert_eq!((read.packets.len(), read.notes), (1, vec![NoteCode::OtherSecrets]));
}

#[test]
fn the_obsolete_packet_block_is_read() {
    let body = [&[0; 8][..], &[9, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0x55, 0x55]].concat();
    let read = read(&[section(-1), interface(1, 0), block(kind::OLD_PACKET, &body)]);
    assert_eq!(read.packets, [(1, Some(9_000), 2, 2)]);
}

#[test]
fn a_new_section_forgets_the_interfaces_and_may_turn_the_bytes() {
    let big_endian = [
        &[0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0][..],
        &[0xff; 8],
        &[0, 0, 0, 28],
        &[0, 0, 0, 1, 0, 0, 0, 20, 0, 101, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20],
        &[0, 0, 0, 3, 0, 0, 0, 20, 0, 0, 0, 2, 0x55, 0x55, 0, 0, 0, 0, 0, 20],
    ]
    .concat();
    let read = read(&[section(-1), interface(1, 0), packet(0, 7, 2), big_endian]);
    assert_eq!(read.packets, [(1, Some(7_000), 2, 60), (101, None, 2, 2)]);
}

#[test]
fn unknown_blocks_are_stepped_over() {
    let unknown = block(0xbeef, &[1, 2, 3, 4, 5]);
    let read = read(&[section(-1), unknown, interface(1, 0), packet(0, 7, 2)]);
    assert_eq!(read.packets.len(), 1);
    assert!(read.notes.is_empty());
}

#[test]
fn a_packet_of_an_unknown_interface_is_noted_and_left_out() {
    let read = read(&[section(-1), interface(1, 0), packet(5, 7, 2), packet(0, 8, 2)]);
    assert_eq!(read.packets, [(1, Some(8_000), 2, 60)]);
    assert_eq!(read.notes, [NoteCode::UnknownInterface]);
}

#[test]
fn a_packet_longer_than_its_block_is_noted_and_left_out() {
    let read = read(&[section(-1), interface(1, 0), packet(0, 7, 200), packet(0, 8, 2)]);
    assert_eq!(read.packets, [(1, Some(8_000), 2, 60)]);
    assert_eq!(read.notes, [NoteCode::FileDamaged]);
}

#[test]
fn impossible_block_lengths_end_the_file_at_their_place() {
    for length in [0_u32, 4, 11, 0x7fff_fff0, u32::MAX] {
        let mut bad = packet(0, 8, 2);
        bad[4..8].copy_from_slice(&length.to_le_bytes());
        let read = read(&[section(-1), interface(1, 0), packet(0, 7, 2), bad]);
        assert_eq!(read.packets.len(), 1);
        assert_eq!(read.damage.map(|damage| damage.at), Some(28 + 20 + 36));
    }
}

#[test]
fn after_damage_the_next_section_is_read_where_the_section_says_it_begins() {
    let mut bad = packet(0, 8, 2);
    bad[4] = 0;
    let first = [interface(1, 0), packet(0, 7, 2), bad].concat();
    let read = read(&[section(first.len() as i64), first, section(-1), interface(101, 0), packet(0, 9, 2)]);
    assert_eq!(read.packets, [(1, Some(7_000), 2, 60), (101, Some(9_000), 2, 60)]);
    assert_eq!(read.notes, [NoteCode::FileDamaged]);
}

#[test]
fn a_cut_block_is_told_with_its_place() {
    let mut last = packet(0, 8, 2);
    last.pop();
    let read = read(&[section(-1), interface(1, 0), packet(0, 7, 2), last]);
    assert_eq!(read.packets.len(), 1);
    assert_eq!(read.damage, Some(Damage::cut(28 + 20 + 36)));
}

#[test]
fn custom_blocks_are_remarks_that_count_as_frames() {
    let custom = block(kind::CUSTOM, &[1, 2, 3, 4, 5]);
    let parts = [section(-1), custom, interface(1, 0), packet(0, 7, 2)].concat();
    let source = crate::capture::Source::bytes("x", parts);
    let mut recording = crate::capture::Captures::open(vec![source]).unwrap();
    assert_eq!(recording.next_packet().map(|packet| packet.frame), Some(2));
    assert_eq!(recording.files().map(|file| file.packets).sum::<u64>(), 1);
}

#[test]
fn the_first_curve_of_a_host_is_kept_and_its_section_passed_over() {
    let curve = |text: &str| {
        let mut block = Vec::new();
        writing::host_curve(&mut block, &HostCurve::parse(text.as_bytes()).unwrap());
        block
    };
    let [one, other] = ["1", "2"].map(|rest| format!("latpcap: rests {rest} ms: +0.1 ms; hosts ::1"));
    let parts = [section(-1), interface(1, 0), packet(0, 7, 2), curve(&one), curve(&other)];
    let (read, extras) = read_with_extras(&parts);
    assert_eq!((read.packets.len(), read.notes, read.damage.is_none()), (1, vec![], true));
    assert_eq!(extras.host_curve.map(|curve| curve.to_string()), Some(one));
}
