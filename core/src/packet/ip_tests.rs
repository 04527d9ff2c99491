use super::*;

fn version_4_header(total: u16) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend(total.to_be_bytes());
    bytes.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes
}

fn inner(part: Part<'_>) -> (usize, usize) {
    match next(part, &mut Addresses::default()).unwrap() {
        Next::Protocol(_, part) => (part.bytes.len(), part.wire),
        other => panic!("{other:?}"),
    }
}

#[test]
fn padding_goes_and_the_snap_length_shows() {
    let packet = [version_4_header(22), vec![1, 2, 0, 0]].concat();
    assert_eq!(inner(Part::whole(&packet)), (2, 2));
    let packet = [version_4_header(1020), vec![1, 2]].concat();
    assert_eq!(inner(Part::whole(&packet)), (2, 1000));
}

#[test]
fn a_total_length_of_zero_is_a_large_send() {
    let packet = [version_4_header(0), vec![7; 70_000]].concat();
    assert_eq!(inner(Part::whole(&packet)), (70_000, 70_000));
}

#[test]
fn a_header_longer_than_its_packet_is_malformed() {
    assert!(version_4(Part::whole(&version_4_header(19)), &mut Addresses::default()).is_err());
}

#[test]
fn a_jumbo_packet_has_its_length_in_an_option() {
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, 0, 64];
    packet.extend([0; 32]);
    packet.extend([6, 0, 0xc2, 4, 0, 1, 0x11, 0x70]);
    assert_eq!(inner(Part::whole(&packet)), (8, 70_000));
}

#[test]
fn an_atomic_fragment_is_a_whole_datagram() {
    let header = [6, 0, 0, 0, 0, 0, 0, 9, 0xab];
    let next = by_protocol(44, Part::whole(&header)).unwrap();
    assert!(matches!(next, Next::Protocol(6, part) if part.bytes == [0xab]));
}
