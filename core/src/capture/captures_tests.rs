use super::*;

/// A pcap whose packets are given as (seconds, first byte).
fn pcap(packets: &[(u8, u8)]) -> Vec<u8> {
    let mut bytes = vec![0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4];
    bytes.extend([0; 15]);
    bytes.push(1);
    for &(seconds, byte) in packets {
        bytes.extend([0, 0, 0, seconds, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, byte]);
    }
    bytes
}

fn source(packets: &[(u8, u8)]) -> Source {
    Source::bytes("some.pcap", pcap(packets))
}

fn order(recording: &mut Captures) -> String {
    let mut order = String::new();
    let mut frame = 1;
    while let Some(packet) = recording.next_packet() {
        assert_eq!(packet.frame, frame);
        order.push(char::from(packet.bytes[0]));
        frame += 1;
    }
    order
}

#[test]
fn files_are_merged_by_time_and_not_sorted_inside() {
    let mut recording =
        Captures::open(vec![source(&[(1, b'a'), (5, b'b'), (3, b'c'), (6, b'd')]), source(&[(2, b'x'), (4, b'y')])])
            .unwrap();
    assert_eq!(order(&mut recording), "axybcd");
}

/// The sequence is mergecap's own, version 4.0.17.
#[test]
fn of_equal_times_the_last_file_goes_first_as_in_mergecap() {
    let a = [(1, b'a'), (2, b'b'), (2, b'c'), (5, b'd'), (3, b'e'), (6, b'f')];
    let b = [(2, b'm'), (2, b'n'), (4, b'o'), (6, b'p')];
    let c = [(2, b'x'), (3, b'y'), (3, b'z')];
    let mut recording = Captures::open(vec![source(&a), source(&b), source(&c)]).unwrap();
    assert_eq!(order(&mut recording), "axmnbcyzodepf");
}

/// The taps of all packets, and where one of them is alone.
fn taps(files: &[&[(u8, u8)]]) -> (String, String) {
    let mut recording = Captures::open(files.iter().map(|packets| source(packets)).collect()).unwrap();
    let (mut taps, mut alone) = (String::new(), String::new());
    while let Some(packet) = recording.next_packet() {
        taps.push(char::from(b'0' + packet.tap as u8));
        alone.push(if packet.alone { 'x' } else { '.' });
    }
    (taps, alone)
}

#[test]
fn a_file_given_twice_is_of_another_tap() {
    let (first, next) = ([(1, b'a'), (9, b'b')], [(11, b'e'), (12, b'f')]);
    assert_eq!(taps(&[&first, &first, &next]).0, "010100");
}

#[test]
fn a_tap_is_alone_where_the_others_have_ended_and_none_begins_soon() {
    let long = [(0, b'a'), (5, b'b'), (20, b'c'), (30, b'd'), (40, b'e')];
    let short = [(3, b'x'), (21, b'y')];
    assert_eq!(taps(&[&long, &short]), ("0100100".into(), "x....xx".into()));
    let goes_on = [(22, b'z'), (31, b'z')];
    assert_eq!(taps(&[&long, &short, &goes_on]), ("010011010".into(), "x.......x".into()));
}

#[test]
fn a_thousand_files_are_merged_without_a_thousand_open_readers() {
    let sources = (0..1000).map(|number| source(&[((number / 4) as u8, b'a' + (number % 4) as u8)]));
    let mut recording = Captures::open(sources.collect()).unwrap();
    let open = |file: &File| matches!(file.state, State::Open(..));
    assert!(!recording.files.iter().any(open));
    assert_eq!(order(&mut recording), "dcba".repeat(250));
    assert_eq!(recording.consumed().load(Ordering::Relaxed), 41_000);
    assert_eq!(recording.total_bytes(), Some(41_000));
}

#[test]
fn a_pipe_is_never_opened_twice() {
    let pipe = || Source::reader("pipe", std::io::Cursor::new(pcap(&[(1, b'a')])));
    let sources = std::iter::repeat_with(pipe).take(MAX_OPEN_FILES + 1);
    let mut recording = Captures::open(sources.collect()).unwrap();
    assert_eq!(order(&mut recording).len(), MAX_OPEN_FILES + 1);
    assert_eq!(recording.total_bytes(), None);
}

#[test]
fn the_facts_of_a_file_are_its_packets_bytes_and_times() {
    let mut recording = Captures::open(vec![source(&[(3, b'a'), (1, b'b'), (2, b'c')])]).unwrap();
    order(&mut recording);
    let facts = recording.files().next().unwrap();
    assert_eq!((facts.packets, facts.bytes), (3, 3));
    assert_eq!(facts.format, "pcap");
    assert_eq!(facts.first_time_ns, Some(1_000_000_000));
    assert_eq!(facts.last_time_ns, Some(3_000_000_000));
}

#[test]
fn a_cut_file_gives_its_whole_packets_and_a_note() {
    let mut bytes = pcap(&[(1, b'a'), (2, b'b')]);
    bytes.pop();
    let mut recording = Captures::open(vec![Source::bytes("cut.pcap", bytes)]).unwrap();
    assert_eq!(order(&mut recording), "a");
    let notes = recording.notes();
    assert_eq!(notes[0].code.as_str(), "file-cut");
    assert_eq!(
        notes[0].message,
        "cut.pcap: the file ends inside the packet or block that begins at byte 41; the packets before it are kept"
    );
}

#[test]
fn a_clock_that_goes_back_is_counted() {
    let mut recording = Captures::open(vec![source(&[(3, b'a'), (1, b'b'), (0, b'c')])]).unwrap();
    order(&mut recording);
    let notes = recording.notes();
    assert_eq!((notes[0].code, notes[0].count), (NoteCode::ClockBackwards, 2));
    assert_eq!(notes[0].message, "some.pcap: frame 2 is 2000.000 ms earlier than the packet before it in the file");
}

fn error(bytes: &[u8]) -> String {
    match Captures::open(vec![Source::bytes("x", bytes)]) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_no_capture_is_told_in_one_line() {
    assert!(error(b"").starts_with("x: is empty (0 bytes)"));
    assert!(error(b"hello, world\n").starts_with("x: is not a capture file but text;"));
    assert!(error(b"%PDF-1.7\n%").starts_with("x: is not a capture file but a PDF document;"));
    assert!(error(b"snoop\0\0\0\0\0\0\x02").starts_with("x: is a snoop capture; convert it: editcap"));
    assert!(error(b"\x1f\x8b\x08\0cut").starts_with("x: cannot be read at byte 0: the gzip data is cut or damaged ("));
    assert!(error(&pcap(&[])[..20]).starts_with("x: ends at byte 20, inside the file header"));
}

#[test]
fn files_that_cannot_be_opened_say_why() {
    let missing = Captures::open(vec![Source::path("/nowhere/a.pcap")]).err().unwrap();
    assert_eq!(missing.to_string(), "/nowhere/a.pcap: cannot be opened: No such file or directory (os error 2)");
    let directory = Captures::open(vec![Source::path("/")]).err().unwrap();
    assert_eq!(directory.to_string(), "/: is a directory; name the capture files in it");
}

#[test]
fn a_packet_that_was_held_at_the_end_of_a_file_is_a_packet_of_that_file() {
    let (first, second) = (pcap(&[(1, b'a'), (2, b'b')]), pcap(&[(3, b'x')]));
    let sources = vec![Source::bytes("first.pcap", first), Source::bytes("second.pcap", second)];
    let mut recording = Captures::open(sources).unwrap();
    while recording.next_packet().is_some_and(|packet| packet.frame < 3) {}
    recording.note_cut(CutPacket { frame: 2, length: 1, original_length: 9 });
    let notes = recording.notes();
    assert!(notes[0].message.starts_with("first.pcap: "), "{}", notes[0].message);
    assert!(notes[0].message.contains("frame 2"), "{}", notes[0].message);
}

#[test]
fn a_damaged_file_among_others_costs_its_own_packets_alone() {
    let named = |name: &str, bytes: Vec<u8>| Source::bytes(name, bytes);
    let whole = |second, byte| pcap(&[(second, byte)]);
    for many in [0, MAX_OPEN_FILES] {
        let mut sources = vec![
            named("first.pcap", whole(1, b'a')),
            named("empty.pcap", Vec::new()),
            named("zeros.pcap", vec![0; 4096]),
            named("header.pcap", pcap(&[])),
            named("cut.pcap", whole(2, b'-')[..20].to_vec()),
            named("version.pcap", [&whole(2, b'-')[..4], &[0, 1, 0, 4], &whole(2, b'-')[8..]].concat()),
            named("damaged.pcap.gz", b"\x1f\x8b\x08\0cut".to_vec()),
            Source::path("/nowhere/removed.pcap"),
            named("last.pcap", whole(3, b'b')),
        ];
        sources.extend((0..many).map(|_| named("more.pcap", whole(4, b'c'))));
        let mut recording = Captures::open(sources).unwrap();
        assert_eq!(order(&mut recording), "ab".to_owned() + &"c".repeat(many));
        let damage = recording.notes().into_iter().filter(|note| note.code.is_damage());
        let notes: Vec<_> = damage.map(|note| format!("{} {}", note.code.as_str(), note.message)).collect();
        assert_eq!(notes.len(), 6, "{notes:?}");
        assert!(notes[0].starts_with("file-cut empty.pcap: is empty (0 bytes)"), "{}", notes[0]);
        assert!(notes[1].starts_with("file-damaged zeros.pcap: is not a capture file but all zeros"), "{}", notes[1]);
        assert!(notes[2].starts_with("file-cut cut.pcap: ends at byte 20"), "{}", notes[2]);
        assert!(notes[3].starts_with("file-damaged version.pcap: is pcap version 1.4"), "{}", notes[3]);
        assert!(notes[4].starts_with("file-unreadable damaged.pcap.gz: cannot be read at byte 0"), "{}", notes[4]);
        assert_eq!(
            notes[5],
            "file-unreadable /nowhere/removed.pcap: cannot be opened: No such file or directory (os error 2)"
        );
    }
}

#[test]
fn what_was_never_a_capture_is_a_mistake_beside_captures_too() {
    let sources = |other: &[u8]| vec![source(&[(1, b'a')]), Source::bytes("notes.txt", other)];
    let error = Captures::open(sources(b"hello, world\n")).err().unwrap();
    assert!(error.to_string().starts_with("notes.txt: is not a capture file but text;"));
    let error = Captures::open(vec![Source::bytes("a", &b""[..]), Source::bytes("b", &[0; 64][..])]).err().unwrap();
    assert!(error.to_string().starts_with("a: is empty"), "where nothing can be read the first one is told");
}

#[test]
fn what_is_alike_in_many_files_is_told_of_the_first_ones() {
    let backwards =
        |number| Source::bytes(format!("{number}.pcap"), pcap(&[(3, b'a'), (1, b'b'), (2, b'c'), (0, b'd')]));
    for (files, told, said) in
        [(3, 3, ""), (4, 3, "; likewise in 1 more file"), (100, 3, "; likewise in 97 more files")]
    {
        let mut recording = Captures::open((0..files).map(backwards).collect()).unwrap();
        order(&mut recording);
        let mut notes = recording.notes();
        notes.retain(|note| note.code == NoteCode::ClockBackwards);
        assert_eq!(notes.len(), told);
        assert_eq!(notes.iter().map(|note| note.count).sum::<u64>(), files * 2);
        assert!(notes[2].message.starts_with("2.pcap: ") && notes[2].message.ends_with(&said), "{}", notes[2].message);
    }
}

#[test]
fn the_clock_of_small_files_is_that_of_the_ring() {
    let seconds: Vec<(u8, u8)> = (0..40).map(|second| (second, b'a')).collect();
    for length in [1, 3, 40] {
        let mut recording = Captures::open(seconds.chunks(length).map(source).collect()).unwrap();
        order(&mut recording);
        assert_eq!(recording.ticks_ns(), vec![Some(1_000_000_000); 40_usize.div_ceil(length)]);
        let packets: u64 = recording.notes().iter().map(|note| note.count).sum();
        assert_eq!(packets, 40, "all packets are of a coarse clock");
    }
}

fn seconds(times: std::ops::Range<u8>) -> Vec<(u8, u8)> {
    times.map(|second| (second, b'a' + second)).collect()
}

/// At how many places these files were captured, and their packets in order.
fn places(files: &[(&str, &[(u8, u8)])]) -> (u16, String) {
    let sources = files.iter().map(|&(name, packets)| Source::bytes(name, pcap(packets)));
    let mut recording = Captures::open(sources.collect()).unwrap();
    let (mut places, mut order) = (0, String::new());
    while let Some(packet) = recording.next_packet() {
        places = places.max(packet.tap + 1);
        order.push(char::from(packet.bytes[0]));
    }
    (places, order)
}

#[test]
fn a_file_goes_on_with_the_one_that_ends_as_it_begins() {
    let (first, second, third) = (seconds(0..4), [(3, b'D'), (4, b'E')], [(4, b'F'), (9, b'G')]);
    assert_eq!(places(&[("c", &third), ("a", &first), ("b", &second)]), (1, "abcdDEFG".to_owned()));
    let first = seconds(0..22);
    assert_eq!(places(&[("a", &first), ("b", &[(20, b'x'), (40, b'y')])]), (1, "abcdefghijklmnopqrstuvxy".to_owned()));
    assert_eq!(places(&[("a", &first), ("b", &[(19, b'x'), (40, b'y')])]).0, 2, "two seconds are no little");
    assert_eq!(places(&[("a", &seconds(0..9)), ("b", &seconds(1..10))]), (2, "abbccddeeffgghhiij".to_owned()));
}

#[test]
fn files_whose_names_are_of_one_ring_may_overlap_by_more() {
    let (first, second) = (seconds(0..3), [(1, b'x'), (4, b'y')]);
    let names = ["ring_00001_20261123062630.pcap", "ring_00002_20261123062630.pcap"];
    assert_eq!(places(&[(names[0], &first), (names[1], &second)]), (1, "abcxy".to_owned()));
    assert_eq!(places(&[("one.pcap", &first), ("two.pcap", &second)]), (2, "axbcy".to_owned()));
}

#[test]
fn a_file_goes_on_with_its_own_ring_beside_another_one() {
    let (client, server) = ([seconds(0..5), seconds(5..9)], [seconds(0..5), seconds(5..9)]);
    let named =
        [("client_1", &client[0]), ("client_2", &client[1]), ("server_1", &server[0]), ("server_2", &server[1])];
    let files: Vec<(&str, &[(u8, u8)])> = named.iter().map(|&(name, packets)| (name, packets.as_slice())).collect();
    assert_eq!(places(&files).0, 2);
}
