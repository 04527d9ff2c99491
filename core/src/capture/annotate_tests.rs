use super::*;
use crate::note::NoteCode;

/// A pcap of nanoseconds whose packets are given as (nanosecond, bytes).
fn pcap(packets: &[(u32, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4];
    bytes.extend([0; 15]);
    bytes.push(101);
    for (nanosecond, packet) in packets {
        for field in [7, *nanosecond, packet.len() as u32, 60] {
            bytes.extend(field.to_be_bytes());
        }
        bytes.extend(*packet);
    }
    bytes
}

/// A block in big-endian order.
fn big_block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 12).to_be_bytes();
    [&kind.to_be_bytes()[..], &length, body, &length].concat()
}

const BIG_SECTION: [u8; 16] = [0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 99];

/// A section with its length, an interface, a packet of three bytes with an option (or none), statistics.
fn big_pcapng(options: &[u8]) -> Vec<u8> {
    let interface = [0, 1, 0, 0, 0, 0, 0, 0];
    let packet = [&[0; 11][..], &[9, 0, 0, 0, 3, 0, 0, 0, 3], b"abc\0", options].concat();
    let statistics = [0; 12];
    [
        big_block(kind::SECTION, &BIG_SECTION),
        big_block(1, &interface),
        big_block(kind::PACKET, &packet),
        big_block(5, &statistics),
    ]
    .concat()
}

fn annotated(files: &[Vec<u8>], comments: &[(u64, &str)]) -> Vec<u8> {
    with_keys(files, comments, Keys::Drop).0
}

fn with_keys(files: &[Vec<u8>], comments: &[(u64, &str)], keys: Keys<'_>) -> (Vec<u8>, Annotated) {
    let sources = files.iter().map(|file| Source::bytes("some", file.clone())).collect();
    let mut of_frame =
        |frame: u64| comments.iter().filter(|(of, _)| *of == frame).map(|(_, text)| (*text).to_owned()).collect();
    let mut output = Vec::new();
    let written = annotate(sources, &mut of_frame, keys, &mut output, &AtomicBool::new(false)).unwrap();
    (output, written)
}

/// A section that holds a key log and SSH secrets before its packet.
fn with_secrets() -> Vec<u8> {
    let interface = [0, 1, 0, 0, 0, 0, 0, 0];
    let packet = [&[0; 11][..], &[9, 0, 0, 0, 3, 0, 0, 0, 3], b"abc\0"].concat();
    [
        big_block(kind::SECTION, &BIG_SECTION),
        big_block(kind::SECRETS, b"TLSK\0\0\0\x03key\0"),
        big_block(kind::SECRETS, b"SSHK\0\0\0\x04word"),
        big_block(1, &interface),
        big_block(kind::PACKET, &packet),
    ]
    .concat()
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// The key logs of a file before each of its packets, and at its end.
fn key_logs(file: &[u8]) -> Vec<String> {
    let mut recording = Captures::open(vec![Source::bytes("out", file.to_vec())]).unwrap();
    let mut found = Vec::new();
    while recording.advance() {
        found.extend(recording.take_key_log());
    }
    found.extend(recording.take_key_log());
    found.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

#[test]
fn secrets_are_dropped_from_one_file_and_from_several() {
    for files in [vec![with_secrets()], vec![with_secrets(), with_secrets()]] {
        let (out, written) = with_keys(&files, &[(1, "new")], Keys::Drop);
        assert!(!contains(&out, b"key") && !contains(&out, b"word"));
        assert_eq!(written, Annotated { packets: 1, secrets: 2 * files.len() as u64 });
    }
}

#[test]
fn secrets_stay_where_somebody_asks_for_them_and_others_are_added_before_the_first_packet() {
    let (out, written) = with_keys(&[with_secrets()], &[], Keys::Embed(b"more keys\n"));
    assert_eq!((written.secrets, key_logs(&out)), (2, vec!["key\nmore keys\n\n".to_owned()]));
    assert!(contains(&out, b"SSHK\0\0\0\x04word"));
    let (merged, _) = with_keys(&[with_secrets(), pcap(&[(1, b"one")])], &[], Keys::Embed(b"more keys\n"));
    assert_eq!(key_logs(&merged), ["more keys\n\nkey\n\n"]);
}

#[test]
fn a_pcap_gets_a_key_log_and_none_that_is_empty() {
    let (out, _) = with_keys(&[pcap(&[(1, b"one")])], &[], Keys::Embed(b"keys"));
    assert_eq!((key_logs(&out), packets(&out).len()), (vec!["keys\n".to_owned()], 1));
    let (none, _) = with_keys(&[big_pcapng(&[])], &[], Keys::Embed(b""));
    assert_eq!(none, annotated(&[big_pcapng(&[])], &[]));
}

/// Time, bytes, length on the wire, link type and comments of a packet.
type Seen = (i64, Vec<u8>, u32, u16, Vec<String>);

fn packets(file: &[u8]) -> Vec<Seen> {
    let mut recording = Captures::open(vec![Source::bytes("out", file.to_vec())]).unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = recording.next_packet() {
        packets.push((packet.time_ns, packet.bytes.to_vec(), packet.original_length, packet.link_type, Vec::new()));
        let comments = recording.comments().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        packets.last_mut().unwrap().4 = comments;
    }
    assert!(recording.notes().iter().all(|note| note.code == NoteCode::SnapLength));
    packets
}

#[test]
fn a_pcap_becomes_pcapng_with_its_nanoseconds_and_link_type() {
    let file = pcap(&[(1, b"one"), (2, b"four")]);
    let out = annotated(&[file], &[(2, "second"), (2, "again")]);
    assert_eq!(
        packets(&out),
        [
            (7_000_000_001, b"one".to_vec(), 60, 101, vec![]),
            (7_000_000_002, b"four".to_vec(), 60, 101, vec!["second".to_owned(), "again".to_owned()]),
        ]
    );
}

#[test]
fn a_pcapng_is_copied_block_by_block() {
    let file = big_pcapng(&[]);
    let out = annotated(std::slice::from_ref(&file), &[]);
    let mut expected = file;
    expected[16..24].fill(0xff); // the section's length is no longer known
    assert_eq!(out, expected);
}

#[test]
fn options_a_packet_had_stay_behind_the_new_comment() {
    let flags = [0, 2, 0, 4, 0, 0, 0, 1, 0, 1, 0, 2, b'h', b'i', 0, 0, 0, 0, 0, 0];
    for (options, old) in [(&[][..], None), (&flags[..], Some("hi")), (&flags[..16], Some("hi"))] {
        let out = annotated(&[big_pcapng(options)], &[(1, "new")]);
        let comments: Vec<_> = [Some("new"), old].into_iter().flatten().map(str::to_owned).collect();
        assert_eq!(packets(&out), [(9_000, b"abc".to_vec(), 3, 1, comments)]);
        assert!(out.ends_with(&big_block(5, &[0; 12])));
        let at = out.windows(8).position(|bytes| bytes == [0, 1, 0, 3, b'n', b'e', b'w', 0]);
        assert!(at.is_some());
        if !options.is_empty() {
            assert_eq!(&out[at.unwrap() + 8..][..options.len()], options);
        }
    }
}

#[test]
fn several_files_become_one_recording_and_keep_their_comments() {
    let comment = [0, 1, 0, 2, b'h', b'i', 0, 0, 0, 0, 0, 0];
    let out = annotated(&[pcap(&[(1, b"later")]), big_pcapng(&comment)], &[(1, "first"), (2, "second")]);
    assert_eq!(
        packets(&out),
        [
            (9_000, b"abc".to_vec(), 3, 1, vec!["first".to_owned(), "hi".to_owned()]),
            (7_000_000_001, b"later".to_vec(), 60, 101, vec!["second".to_owned()]),
        ]
    );
}

#[test]
fn a_packet_without_room_for_options_goes_without_its_comment() {
    let simple = [&[0, 0, 0, 3][..], b"abc\0"].concat();
    let file = [big_block(kind::SECTION, &BIG_SECTION), big_block(1, &[0, 1, 0, 0, 0, 0, 0, 0]), big_block(3, &simple)];
    let out = annotated(&[file.concat()], &[(1, "nowhere")]);
    assert_eq!(packets(&out), [(0, b"abc".to_vec(), 3, 1, vec![])]);
}

#[test]
fn a_long_comment_is_cut_between_characters() {
    let text = format!("x{}", "é".repeat(5_000));
    let out = annotated(&[pcap(&[(1, b"one")])], &[(1, &text)]);
    assert_eq!(packets(&out)[0].4, [format!("x{}", "é".repeat(2_047))]);
}

#[test]
fn what_is_annotated_can_be_annotated_again() {
    let once = annotated(&[pcap(&[(1, b"one")])], &[(1, "old")]);
    assert_eq!(packets(&annotated(&[once], &[(1, "new")]))[0].4, ["new", "old"]);
}

#[test]
fn it_can_be_cancelled() {
    let sources = vec![Source::bytes("some", pcap(&[(1, b"one")]))];
    let done = annotate(sources, &mut |_| Vec::new(), Keys::Drop, &mut Vec::new(), &AtomicBool::new(true));
    assert!(matches!(done, Err(AnnotateError::Cancelled)));
}
