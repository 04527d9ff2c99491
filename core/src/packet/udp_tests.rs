use super::*;

/// What a tunnel to `port` with these bytes carries.
fn inner(port: u16, bytes: &[u8]) -> Option<Vec<u8>> {
    let length = bytes.len() as u16 + 8;
    let header = [[0xc0, 0], port.to_be_bytes(), length.to_be_bytes(), [0, 0]].concat();
    match next(Part::whole(&[&header, bytes].concat())).unwrap() {
        Next::Link(1, part) | Next::Ip(part) | Next::Ppp(part) => Some(part.bytes.to_vec()),
        Next::EtherType(BRIDGED, part) => Some(part.bytes.to_vec()),
        _ => None,
    }
}

const BRIDGED: u16 = ethernet::BRIDGED_ETHERNET;

#[test]
fn vxlan_needs_its_network_flag() {
    assert_eq!(inner(4789, &[8, 0, 0, 0, 0, 0, 1, 0, 0xff]), Some(vec![0xff]));
    assert_eq!(inner(8472, &[8, 0, 0, 0, 0, 0, 1, 0, 0xff]), Some(vec![0xff]));
    assert_eq!(inner(4789, &[0, 0, 0, 0, 0, 0, 1, 0, 0xff]), None);
}

#[test]
fn geneve_options_are_stepped_over() {
    let header = [1, 0, 0x65, 0x58, 0, 0, 1, 0, 9, 9, 9, 9, 0xff];
    assert_eq!(inner(6081, &header), Some(vec![0xff]));
}

#[test]
fn tzsp_fields_are_stepped_over() {
    assert_eq!(inner(37_008, &[1, 0, 0, 1, 0, 9, 2, 7, 7, 1, 0xff]), Some(vec![0xff]));
}

#[test]
fn l2tp_carries_ppp_behind_its_options() {
    assert_eq!(inner(1701, &[0, 2, 0, 1, 0, 2, 0x21]), Some(vec![0x21]));
    assert_eq!(inner(1701, &[0x4a, 2, 0, 20, 0, 1, 0, 2, 0, 0, 0, 0, 0, 1, 9, 0x21]), Some(vec![0x21]));
    assert_eq!(inner(1701, &[0xc8, 2, 0, 12, 0, 1, 0, 2, 0, 0, 0, 0]), None);
}

#[test]
fn gtp_carries_data_behind_its_extensions() {
    assert_eq!(inner(2152, &[0x30, 0xff, 0, 1, 0, 0, 0, 9, 0x45]), Some(vec![0x45]));
    let extended = [&[0x34, 0xff, 0, 9, 0, 0, 0, 9, 0, 0, 0, 0x85][..], &[1, 0, 9, 0x85], &[1, 0, 9, 0, 0x45]];
    assert_eq!(inner(2152, &extended.concat()), Some(vec![0x45]));
    assert_eq!(inner(2152, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0x45]), None);
    assert_eq!(inner(2152, &[0x34, 0xff, 0, 9, 0, 0, 0, 9, 0, 0, 0, 0x85]), None);
}

#[test]
fn teredo_may_tell_an_origin_first() {
    assert_eq!(inner(3544, &[0, 0, 1, 2, 3, 4, 5, 6, 0x60]), Some(vec![0x60]));
}

#[test]
fn other_ports_and_short_headers_are_no_tunnels() {
    assert_eq!(inner(53, &[8, 0, 0, 0, 0, 0, 1, 0, 0xff]), None);
    assert_eq!(inner(4789, &[8, 0]), None);
}
