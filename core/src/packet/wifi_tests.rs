use super::*;

const LLC: [u8; 9] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45];

/// A data frame: the bytes of the header behind its first two, then the body.
fn data(kind: u8, flags: u8, more: &[u8], body: &[u8]) -> Vec<u8> {
    [&[kind, flags][..], &[0; 20], &[0x30, 0], more, body].concat()
}

fn is_ip(next: Next<'_>) -> bool {
    matches!(next, Next::EtherType(0x0800, part) if part.bytes == [0x45])
}

#[test]
fn addresses_qos_and_ht_control_are_stepped_over() {
    for (kind, flags, more) in [(8, 1, 0), (8, 3, 6), (0x88, 2, 2), (0x88, 0x83, 12), (0x18, 1, 0)] {
        let frame_ = data(kind, flags, &[0; 12][..more], &LLC);
        assert!(is_ip(frame(Part::whole(&frame_)).unwrap()), "{kind:x} {flags:x}");
    }
}

#[test]
fn other_frames_and_fragments_hold_nothing() {
    for (kind, flags) in [(0x80, 0), (0x48, 1), (0xc8, 1), (0xd4, 0), (8, 5)] {
        let frame_ = data(kind, flags, &[0; 2], &LLC);
        assert!(matches!(frame(Part::whole(&frame_)), Ok(Next::Nothing)), "{kind:x} {flags:x}");
    }
}

#[test]
fn what_is_protected_is_encrypted() {
    let frame_ = data(8, 0x41, &[], &[7, 0, 0, 0x20, 0, 0, 0, 0, 0x45]);
    assert!(matches!(frame(Part::whole(&frame_)), Ok(Next::Encrypted("Wi-Fi"))));
}

#[test]
fn what_the_driver_has_decrypted_is_read() {
    for cipher in [0, 4, 8] {
        assert!(is_ip(frame(Part::whole(&data(8, 0x41, &[9; 8][..cipher], &LLC))).unwrap()));
    }
}

#[test]
fn an_aggregate_holds_frames_padded_to_four_bytes() {
    let one = [&[0; 12][..], &[0, 9], &LLC, &[0]].concat();
    let body = [&one[..], &one[..], &[1, 2, 3, 4]].concat();
    let frame_ = data(0x88, 1, &[0x80, 0], &body);
    let Next::Aggregate(part) = frame(Part::whole(&frame_)).unwrap() else { panic!("no aggregate") };
    assert_eq!(subframes(part.bytes).collect::<Vec<_>>(), [LLC, LLC]);
}

#[test]
fn aggregates_that_lie_end_somewhere() {
    let empty = [0; 46];
    assert_eq!(subframes(&empty).count(), 3);
    assert_eq!(subframes(&[0xff; 20]).collect::<Vec<_>>(), [[0xff; 6]]);
}

#[test]
fn radiotap_tells_how_long_it_is_and_whether_padding_follows_the_header() {
    let plain = [&[0, 0, 8, 0, 0, 0, 0, 0][..], &data(8, 1, &[], &LLC)].concat();
    assert!(is_ip(radiotap(Part::whole(&plain)).unwrap()));
    let head = [0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0x20];
    let padded = [&head[..], &data(0x88, 1, &[0, 0], &[0, 0]), &LLC].concat();
    assert!(is_ip(radiotap(Part::whole(&padded)).unwrap()));
    assert!(radiotap(Part::whole(&[0, 0, 8, 0, 0, 0, 0, 0x80])).is_err());
}

#[test]
fn ppi_names_the_link_type() {
    let next = ppi(Part::whole(&[0, 0, 10, 0, 105, 0, 0, 0, 9, 9, 0x08])).unwrap();
    assert!(matches!(next, Next::Link(105, part) if part.bytes == [8]));
}

#[test]
fn prism_comes_in_either_byte_order_and_avs_under_its_number() {
    let body = data(8, 1, &[], &LLC);
    for head in [
        [0x44, 0, 0, 0, 12, 0, 0, 0, 9, 9, 9, 9],
        [0, 0, 0, 0x44, 0, 0, 0, 12, 9, 9, 9, 9],
        [0x80, 0x21, 0x10, 1, 0, 0, 0, 12, 9, 9, 9, 9],
    ] {
        assert!(is_ip(prism_or_avs(Part::whole(&[&head[..], &body].concat())).unwrap()));
    }
}
