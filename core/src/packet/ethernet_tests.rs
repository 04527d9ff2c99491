use super::*;

#[test]
fn a_short_type_is_a_length_and_padding_goes() {
    let frame = [&[0; 12][..], &[0, 10, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45, 0x00, 9, 9]].concat();
    let next = next(Part::whole(&frame)).unwrap();
    assert!(matches!(next, Next::EtherType(0x0800, part) if part.bytes == [0x45, 0]));
}

#[test]
fn cisco_metadata_is_a_tag() {
    let metadata = [1, 1, 0, 1, 0, 9, 8, 0, 0x45];
    assert!(
        matches!(by_type(0x8909, Part::whole(&metadata)), Ok(Next::EtherType(0x0800, part)) if part.bytes == [0x45])
    );
}

#[test]
fn macsec_is_read_where_it_only_authenticates() {
    let plain = [0, 0, 0, 0, 0, 1, 8, 0, 0x45];
    assert!(matches!(macsec(Part::whole(&plain)), Ok(Next::EtherType(0x0800, part)) if part.bytes == [0x45]));
    let channel = [&[0x20, 0, 0, 0, 0, 1][..], &[7; 8], &[8, 0, 0x45]].concat();
    assert!(matches!(macsec(Part::whole(&channel)), Ok(Next::EtherType(0x0800, part)) if part.bytes == [0x45]));
    let encrypted = [0x2c, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 0, 0, 0];
    assert!(matches!(macsec(Part::whole(&encrypted)), Ok(Next::Encrypted("MACsec"))));
}

#[test]
fn a_service_header_says_what_follows_it() {
    let header = |protocol| [&[0, 2, 1, protocol][..], &[0; 4], &[0x45]].concat();
    assert!(matches!(nsh(Part::whole(&header(1))), Ok(Next::Ip(part)) if part.bytes == [0x45]));
    assert!(matches!(nsh(Part::whole(&header(3))), Ok(Next::Link(1, part)) if part.bytes == [0x45]));
    assert!(matches!(nsh(Part::whole(&header(9))), Ok(Next::Nothing)));
}
