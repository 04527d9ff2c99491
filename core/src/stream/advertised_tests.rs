use super::*;
use crate::stream::tests;

fn segment(flags: u8, window: u16, window_scale: Option<u8>) -> Segment<'static> {
    Segment { window, window_scale, ..tests::segment(flags) }
}

fn client_window(syn: Option<Option<u8>>, syn_ack: Option<Option<u8>>) -> Option<u64> {
    let mut advertised = Advertised::default();
    if let Some(scale) = syn {
        advertised.note(Side::Client, &segment(Flags::SYN, 65_535, scale));
    }
    if let Some(scale) = syn_ack {
        advertised.note(Side::Server, &segment(Flags::SYN | Flags::ACK, 65_535, scale));
    }
    advertised.note(Side::Client, &segment(Flags::ACK, 1_000, None));
    advertised.note(Side::Client, &segment(Flags::ACK, 502, None));
    advertised.window_bytes(Side::Client)
}

#[test]
fn the_largest_window_is_scaled() {
    assert_eq!(client_window(Some(Some(7)), Some(Some(9))), Some(128_000));
}

#[test]
fn the_scale_says_how_far_a_window_can_grow() {
    let limit = |syn, syn_ack| {
        let mut advertised = Advertised::default();
        advertised.note(Side::Client, &segment(Flags::SYN, 65_535, syn));
        advertised.note(Side::Server, &segment(Flags::SYN | Flags::ACK, 65_535, syn_ack));
        advertised.window_limit_bytes(Side::Client)
    };
    assert_eq!([limit(Some(0), Some(10)), limit(Some(1), Some(10))], [Some(65_535), Some(131_070)]);
    assert_eq!([limit(Some(7), None), limit(None, Some(7))], [Some(65_535); 2]);
    assert_eq!(Advertised::default().window_limit_bytes(Side::Client), None);
}

#[test]
fn the_window_of_a_syn_is_not_scaled() {
    assert_eq!(client_window(Some(Some(0)), Some(Some(0))), Some(65_535));
}

#[test]
fn one_refusal_holds_for_both() {
    assert_eq!(client_window(Some(Some(7)), Some(None)), Some(65_535));
    assert_eq!(client_window(None, Some(None)), Some(1_000));
}

#[test]
fn without_both_syns_the_scale_is_unknown() {
    assert_eq!(client_window(Some(Some(7)), None), None);
    assert_eq!(client_window(None, None), None);
}

#[test]
fn a_reset_says_nothing_of_the_window() {
    let mut advertised = Advertised::default();
    advertised.note(Side::Client, &segment(Flags::SYN, 0, None));
    advertised.note(Side::Client, &segment(Flags::RST, 9_000, None));
    assert_eq!(advertised.window_bytes(Side::Client), Some(0));
}
