use super::*;

#[test]
fn the_header_may_have_extensions_and_stand_before_a_bare_datagram() {
    let with_frame = [&b"MGC\x80\0\x03"[..], &[1, 1, 9], &[0xff]].concat();
    let next_ = next(ETHERNET, Part::whole(&with_frame)).unwrap();
    assert!(matches!(next_, Next::Link(1, part) if part.bytes == [0xff]));
    let bare = [&b"MGC\x02"[..], &[2, 0, 0, 0], &[0x45]].concat();
    assert!(matches!(next(164, Part::whole(&bare)), Ok(Next::Ip(part)) if part.bytes == [0x45]));
}

#[test]
fn frames_of_unknown_cards_are_named_by_their_link_type() {
    assert!(matches!(next(238, Part::whole(b"MGC\0abc")), Ok(Next::UnknownLinkType(238))));
}

#[test]
fn bundles_may_begin_with_a_cookie() {
    for cookie in [&b""[..], b"\x54\0\0\0", b"\x47\0\0\0\0\0\0\0", b"\x12\x34"] {
        let frame_ = [b"MGC\0", cookie, &[0, 0x21, 0x45]].concat();
        assert!(matches!(next(PPP_BUNDLE, Part::whole(&frame_)), Ok(Next::Ppp(part)) if part.bytes.len() == 3));
    }
    assert!(matches!(next(FRAME_RELAY_BUNDLE, Part::whole(b"MGC\0\x54\0\0\0\x03\xcc\x45")), Ok(Next::Ip(_))));
}

#[test]
fn datagrams_of_gateways_services_and_voice_cards_lie_behind_what_these_add() {
    let ip = |link_type, bytes: &[u8]| matches!(next(link_type, Part::whole(bytes)), Ok(Next::Ip(part)) if part.bytes == [0x45]);
    assert!(ip(GGSN, b"MGC\0\x02\0\0\0\x45"));
    assert!(ip(SERVICES, &[&b"MGC\x01"[..], &[0; 16], b"\x45"].concat()));
    assert!(ip(SERVICES, &[&b"MGC\0"[..], &[0; 12], b"\x45"].concat()));
    assert!(ip(VOICE, &[&b"MGC\0"[..], &[0; 18], b"\x45"].concat()));
}

#[test]
fn atm_cards_put_a_cookie_before_llc_or_ip() {
    let frame_ = [&b"MGC\0"[..], &[0; 8], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45]].concat();
    assert!(matches!(next(ATM_2, Part::whole(&frame_)), Ok(Next::EtherType(0x0800, _))));
    assert!(matches!(next(ATM_1, Part::whole(b"MGC\0\0\0\0\0\x45")), Ok(Next::Ip(_))));
}
