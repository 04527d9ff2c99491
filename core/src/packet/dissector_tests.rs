use std::net::IpAddr;

use etherparse::PacketBuilder;
use proptest::prelude::*;

use super::super::Flags;
use super::*;

const ETHERNET: u16 = 1;
const RAW_IP: u16 = 101;
const COOKED: u16 = 113;

fn packet(link_type: u16, bytes: &[u8]) -> Packet<'_> {
    Packet {
        frame: 1,
        time_ns: 0,
        tap: 0,
        place: 0,
        alone: true,
        link_type,
        bytes,
        original_length: bytes.len() as u32,
    }
}

fn dissect(dissector: &mut Dissector, link_type: u16, bytes: &[u8]) -> Option<(u32, Vec<u8>)> {
    match dissector.segment(packet(link_type, bytes)) {
        Dissected::Tcp(segment) => Some((segment.wire_length, segment.payload.to_vec())),
        _ => None,
    }
}

/// Length on the wire and captured payload of the segment in a lone packet.
fn payload(link_type: u16, bytes: &[u8]) -> Option<(u32, Vec<u8>)> {
    dissect(&mut Dissector::new(), link_type, bytes)
}

fn tcp(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(5432, 40_000, 7, 1000)
        .ack(9)
        .write(&mut bytes, payload)
        .unwrap();
    bytes
}

fn tcp_in_ipv6(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv6([1; 16], [2; 16], 64)
        .tcp(5432, 40_000, 7, 1000)
        .ack(9)
        .write(&mut bytes, payload)
        .unwrap();
    bytes
}

/// What a packet without fragments holds, one header after the other.
fn step_by_step<'a>(packet: &Packet<'a>) -> Dissected<'a> {
    let (mut next, mut addresses) = (whole(packet), Addresses::default());
    loop {
        next = match step(next, &mut addresses) {
            Ok(Next::Tcp(part)) => {
                return tcp::segment(packet, addresses, part).map_or_else(Dissected::Malformed, Dissected::Tcp);
            }
            Ok(Next::Nothing | Next::Fragment(_)) => return Dissected::Other,
            Ok(next) => next,
            Err(malformed) => return Dissected::Malformed(malformed),
        }
    }
}

fn ethernet(ip: &[u8]) -> Vec<u8> {
    [&[2; 12], &[8, 0][..], ip].concat()
}

/// IPv4 of any protocol, whole or a piece.
fn ip(protocol: u8, flags_and_offset: u16, body: &[u8]) -> Vec<u8> {
    let total = (body.len() as u16 + 20).to_be_bytes();
    let place = flags_and_offset.to_be_bytes();
    let mut bytes = vec![0x45, 0, total[0], total[1], 0, 9, place[0], place[1], 64, protocol];
    bytes.extend([0, 0, 10, 9, 9, 1, 10, 9, 9, 2]);
    bytes.extend(body);
    bytes
}

fn in_vxlan(frame: &[u8]) -> Vec<u8> {
    in_udp(4789, &[&[8, 0, 0, 0, 0, 0, 1, 0], frame].concat())
}

fn in_udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4([172, 16, 0, 1], [172, 16, 0, 2], 64)
        .udp(50_000, port)
        .write(&mut bytes, payload)
        .unwrap();
    bytes
}

#[test]
fn a_segment_has_everything_its_headers_say() {
    let mut bytes = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv6([1; 16], [2; 16], 64)
        .tcp(40_000, 5432, 7, 1000)
        .syn()
        .options_raw(&[2, 4, 5, 0xa0, 3, 3, 7, 0])
        .unwrap()
        .write(&mut bytes, b"")
        .unwrap();
    let mut dissector = Dissector::new();
    let Dissected::Tcp(segment) = dissector.segment(packet(ETHERNET, &bytes)) else {
        panic!("no segment");
    };
    assert_eq!(segment.source.address, IpAddr::from([1; 16]));
    assert_eq!((segment.source.port, segment.destination.port), (40_000, 5432));
    assert_eq!((segment.sequence, segment.window), (7, 1000));
    assert!(segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK));
    assert_eq!(segment.maximum_segment_size, Some(1440));
    assert_eq!(segment.window_scale, Some(7));
}

#[test]
fn vlan_tags_may_be_stacked() {
    let tags = [0x88, 0xa8, 0, 1, 0x91, 0, 0, 2, 0x81, 0, 0, 3, 8, 0];
    let bytes = [&[2; 12], &tags[..], &tcp(b"abc")].concat();
    assert_eq!(payload(ETHERNET, &bytes), Some((3, b"abc".to_vec())));
}

#[test]
fn cooked_captures_are_read() {
    let mut bytes = Vec::new();
    PacketBuilder::linux_sll(etherparse::LinuxSllPacketType::OUTGOING, 6, [0; 8])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(1, 2, 3, 4)
        .write(&mut bytes, b"abc")
        .unwrap();
    assert_eq!(payload(113, &bytes), Some((3, b"abc".to_vec())));
}

#[test]
fn ethernet_padding_is_no_payload() {
    let bytes = [ethernet(&tcp(b"")), vec![0; 6]].concat();
    assert_eq!(payload(ETHERNET, &bytes), Some((0, vec![])));
}

#[test]
fn the_snap_length_cuts_the_payload_but_not_its_length() {
    let bytes = ethernet(&tcp(&[7; 1000]));
    assert_eq!(payload(ETHERNET, &bytes[..64]), Some((1000, vec![7; 10])));
    assert!(matches!(
        Dissector::new().segment(packet(ETHERNET, &bytes[..50])),
        Dissected::Malformed(Malformed::TooShort(_))
    ));
}

#[test]
fn tunnels_are_looked_into() {
    let inner = tcp(b"abc");
    let gre = [&[0, 0, 8, 0][..], &inner].concat();
    for bytes in [ip(4, 0, &inner), ip(47, 0, &gre), ip(4, 0, &ip(47, 0, &gre))] {
        assert_eq!(payload(RAW_IP, &bytes), Some((3, b"abc".to_vec())));
    }
    let twice = in_vxlan(&in_vxlan(&ethernet(&inner)));
    assert_eq!(payload(ETHERNET, &twice), Some((3, b"abc".to_vec())));
}

#[test]
fn what_an_access_point_passes_on_is_read_unless_it_is_sealed() {
    let frame = ethernet(&tcp(b"abc"));
    let capwap = |header: [u8; 8]| in_udp(5247, &[&header[..], &frame].concat());
    assert_eq!(payload(ETHERNET, &capwap([0, 0x10, 0x42, 0, 0, 0, 0, 0])), Some((3, b"abc".to_vec())));
    assert_eq!(payload(ETHERNET, &capwap([0, 0x10, 0x42, 0x80, 0, 0, 0, 0])), None, "part of a frame");
    let sealed = in_udp(5247, &[&[1, 0, 0, 0, 23, 0xfe, 0xfd, 0, 1][..], &[7; 40]].concat());
    let mut dissector = Dissector::new();
    assert!(matches!(dissector.segment(packet(ETHERNET, &sealed)), Dissected::Encrypted("CAPWAP")));
}

#[test]
fn fragments_give_their_segment_with_the_last_piece() {
    let datagram = &tcp(&[7; 44])[20..];
    let mut dissector = Dissector::new();
    let first = ip(6, 0x2000, &datagram[..32]);
    let last = ip(6, 4, &datagram[32..]);
    assert_eq!(dissect(&mut dissector, RAW_IP, &first), None);
    assert_eq!(dissect(&mut dissector, RAW_IP, &last), Some((44, vec![7; 44])));
}

#[test]
fn a_fragment_may_complete_a_fragment_in_a_tunnel() {
    let datagram = &tcp(&[7; 44])[20..];
    let first = ip(4, 0, &ip(6, 0x2000, &datagram[..32]));
    let last = ip(6, 4, &datagram[32..]);
    let mut dissector = Dissector::new();
    for part in [&first, &ip(4, 0x2000, &last[..24])] {
        assert_eq!(dissect(&mut dissector, RAW_IP, part), None);
    }
    let end = ip(4, 3, &last[24..]);
    assert_eq!(dissect(&mut dissector, RAW_IP, &end), Some((44, vec![7; 44])));
}

#[test]
fn a_segment_that_an_error_message_quotes_is_none() {
    let unreachable = [&[3, 1, 0, 0, 0, 0, 0, 0][..], &tcp(b"abc")].concat();
    assert_eq!(payload(RAW_IP, &ip(1, 0, &unreachable)), None);
}

#[test]
fn tunnels_in_tunnels_end_somewhere() {
    let bytes = (0..100).fold(tcp(b"abc"), |inner, _| ip(4, 0, &inner));
    assert!(matches!(Dissector::new().segment(packet(RAW_IP, &bytes)), Dissected::Malformed(Malformed::TooDeep)));
}

#[test]
fn an_unknown_link_type_is_named() {
    assert!(matches!(Dissector::new().segment(packet(147, &[1, 2, 3])), Dissected::UnknownLinkType(147)));
}

/// Packets whose damaged copies reach every header family.
fn seeds() -> Vec<(u16, Vec<u8>)> {
    let frame = ethernet(&tcp(b"abcdefgh"));
    let erspan = [&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 0, 0x20][..], &[0; 11], &frame].concat();
    let geneve = [&[0x80, 0, 0x17, 0xc1, 0, 0, 0, 0, 1, 0, 0x65, 0x58][..], &[0; 8], &frame].concat();
    let mpls = [&[2; 12], &[0x88, 0x47, 0, 0, 0x10, 9, 0, 0, 0x11, 9][..], &tcp(b"ab")].concat();
    let pppoe = [&[2; 12], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 44, 0, 0x21][..], &tcp(b"ab")].concat();
    let fragment_header = [0, 0x60, 0, 0, 0, 0, 8, 44, 64];
    let version_6 = [&fragment_header[1..], &[0; 32], &[6, 0, 0, 1, 0, 0, 0, 7]].concat();
    vec![
        (ETHERNET, in_vxlan(&in_vxlan(&frame))),
        (RAW_IP, ip(47, 0, &erspan)),
        (RAW_IP, ip(17, 0, &geneve)),
        (ETHERNET, mpls),
        (ETHERNET, pppoe),
        (RAW_IP, version_6),
        (RAW_IP, ip(6, 0x2000, &tcp(&[7; 44])[20..])),
        (239, [&[2, 0, 0, 0, 30, 0, 9, 0][..], &tcp(b"ab")].concat()),
        (105, aggregate()),
        (127, [&[0, 0, 9, 0, 2, 0, 0, 0, 0x20][..], &aggregate()].concat()),
        (192, [&[0, 0, 8, 0, 105, 0, 0, 0][..], &aggregate()].concat()),
        (119, [&[0x44, 0, 0, 0, 8, 0, 0, 0][..], &aggregate()].concat()),
        (107, [&[0x18, 0x41, 3, 0xcc][..], &tcp(b"ab")].concat()),
        (178, [&b"MGC\x80\0\x03"[..], &[1, 1, 9], &frame].concat()),
        (
            ETHERNET,
            [&[2; 12], &[0x88, 0xe5, 0, 0, 0, 0, 0, 1, 0x89, 9, 1, 1, 0, 1, 0, 9, 8, 0][..], &tcp(b"ab")].concat(),
        ),
        (ETHERNET, [&[2; 12], &[0x89, 0x4f, 0, 2, 1, 1, 0, 0, 0, 0][..], &tcp(b"ab")].concat()),
        (
            RAW_IP,
            ip(
                17,
                0,
                &[&[0, 9, 8, 104, 0, 0, 0, 0, 0x34, 0xff, 0, 9][..], &[0; 7], &[0x85, 1, 0, 0, 0], &tcp(b"ab")]
                    .concat(),
            ),
        ),
    ]
}

/// Two frames in one, each with a segment, as Wi-Fi sends them.
fn aggregate() -> Vec<u8> {
    let header = [&[0x88, 1][..], &[0; 22], &[0x80, 0]].concat();
    let frame = |payload: &[u8]| {
        let body = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &tcp(payload)].concat();
        let length = (body.len() as u16).to_be_bytes();
        let padding = (14 + body.len()).next_multiple_of(4) - 14 - body.len();
        [&[2; 12], &length[..], &body, &[0; 3][..padding]].concat()
    };
    [header, frame(b"abc"), frame(b"defg")].concat()
}

#[test]
fn every_frame_of_an_aggregate_is_looked_into() {
    let bytes = aggregate();
    let mut payloads = Vec::new();
    Dissector::new().dissect(&packet(105, &bytes), |dissected| match dissected {
        Dissected::Tcp(segment) => payloads.push(segment.payload.to_vec()),
        other => panic!("{other:?}"),
    });
    assert_eq!(payloads, [b"abc".to_vec(), b"defg".to_vec()]);
}

#[test]
fn aggregates_in_aggregates_end_somewhere() {
    let tzsp = |frame: &[u8]| {
        let mut bytes = Vec::new();
        let payload = [&[1, 0, 0, 18, 1][..], frame].concat();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(9, 37_008).write(&mut bytes, &payload).unwrap();
        bytes
    };
    let inner = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &tzsp(&aggregate())].concat();
    let outer = [&aggregate()[..26], &[2; 12], &(inner.len() as u16).to_be_bytes(), &inner].concat();
    let mut seen = 0;
    Dissector::new().dissect(&packet(105, &outer), |dissected| {
        seen += 1;
        assert!(matches!(dissected, Dissected::Aggregate(_)));
    });
    assert_eq!(seen, 1);
}

#[test]
fn only_what_is_missing_of_the_datagram_counts_as_cut() {
    let whole = ethernet(&tcp(&[7; 100]));
    let with_check = |captured: usize| Packet {
        original_length: whole.len() as u32 + 4,
        ..packet(ETHERNET, &whole[..captured.min(whole.len())])
    };
    let is_cut = |packet: Packet<'_>| Dissector::new().segment(packet).is_cut(&packet);
    assert!(!is_cut(with_check(whole.len())), "the frame check sequence");
    assert!(is_cut(with_check(whole.len() - 1)));
    assert!(is_cut(with_check(40)), "inside the TCP header");
    let fragment = ethernet(&ip(6, 4, &[7; 64]));
    assert!(is_cut(packet(ETHERNET, &fragment[..60])), "a piece of a datagram");
    let other = ethernet(&ip(1, 0, &[7; 64]));
    assert!(is_cut(packet(ETHERNET, &other[..60])), "no TCP");
    let no_ip = [&[2; 12], &[8, 6][..], &[0; 28]].concat();
    assert!(!is_cut(Packet { original_length: 99, ..packet(ETHERNET, &no_ip) }), "no IP");
    let padded = [ethernet(&tcp(b"")), vec![0; 6]].concat();
    assert!(!is_cut(Packet { original_length: 64, ..packet(ETHERNET, &padded[..54]) }), "padding");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(link_type in 0_u16..300, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        Dissector::new().dissect(&packet(link_type, &bytes), |_| {});
    }

    /// Seen at once or header by header, a plain packet is the same segment: whatever is damaged of it, or cut.
    #[test]
    fn a_plain_packet_is_what_the_walk_finds_step_by_step(
        version_6 in any::<bool>(),
        link in 0..3,
        flags in any::<u8>(),
        text in proptest::collection::vec(any::<u8>(), 0..40),
        padding in 0_usize..8,
        changes in proptest::collection::vec((0_usize..54, any::<u8>()), 0..3),
        length in 0_usize..130,
        longer in 0_u32..20,
    ) {
        let frame = if version_6 { tcp_in_ipv6(&text) } else { ethernet(&tcp(&text)) };
        let mut frame = [frame, vec![0; padding]].concat();
        frame[if version_6 { 14 + 40 + 13 } else { 14 + 20 + 13 }] = flags;
        let (link_type, mut bytes) = match link {
            0 => (ETHERNET, frame),
            1 => (ETHERNET, [&frame[..12], &[0x81, 0, 0, 7], &frame[12..]].concat()),
            _ => (COOKED, [&[0, 0, 0, 1], &frame[..]].concat()),
        };
        for (place, byte) in changes {
            bytes[place] = byte;
        }
        let bytes = &bytes[..length.min(bytes.len())];
        let packet = Packet { original_length: bytes.len() as u32 + longer, ..packet(link_type, bytes) };
        if let Some(segment) = plain(&packet) {
            prop_assert_eq!(format!("{:?}", Dissected::Tcp(segment)), format!("{:?}", step_by_step(&packet)));
        }
    }

    #[test]
    fn no_damage_makes_it_panic(
        seed in proptest::sample::select(seeds()),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        length in any::<prop::sample::Index>(),
    ) {
        let (link_type, mut bytes) = seed;
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let mut dissector = Dissector::new();
        for end in [length.index(bytes.len()), bytes.len()] {
            let mut fits = true;
            dissector.dissect(&packet(link_type, &bytes[..end]), |dissected| {
                if let Dissected::Tcp(segment) = dissected {
                    fits &= segment.payload.len() <= segment.wire_length as usize;
                }
            });
            prop_assert!(fits);
        }
    }
}
