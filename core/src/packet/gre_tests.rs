use super::*;

fn inner(bytes: &[u8]) -> (u16, Vec<u8>) {
    match next(Part::whole(bytes)).unwrap() {
        Next::EtherType(ether_type, part) => (ether_type, part.bytes.to_vec()),
        Next::Link(link_type, part) => (link_type, part.bytes.to_vec()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn aruba_tunnels_wifi() {
    assert_eq!(inner(&[0, 0, 0x82, 0x10, 0x08]), (105, vec![8]));
}

#[test]
fn every_flag_of_gre_announces_four_bytes() {
    assert_eq!(inner(&[0, 0, 8, 0, 0x45]), (0x0800, vec![0x45]));
    let all = [&[0xb0, 0, 8, 0][..], &[0; 12], &[0x45]].concat();
    assert_eq!(inner(&all), (0x0800, vec![0x45]));
}

#[test]
fn the_three_types_of_erspan_differ_in_their_header() {
    assert_eq!(inner(&[0, 0, 0x88, 0xbe, 0xff]), (1, vec![0xff]));
    let second = [&[0x10, 0, 0x88, 0xbe][..], &[0; 4], &[0x10], &[0; 7], &[0xff]].concat();
    assert_eq!(inner(&second), (1, vec![0xff]));
    let third = [&[0x10, 0, 0x22, 0xeb][..], &[0; 4], &[0x20], &[0; 10], &[1], &[0; 8], &[0xff]];
    assert_eq!(inner(&third.concat()), (1, vec![0xff]));
}
