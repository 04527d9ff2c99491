//! What Juniper's routers write (`monitor traffic`): a header of their own before the frame, or before the bare datagram.
//!
//! ```text
//! "MGC" | flags u8 [| length u16 | extensions] [| protocol u32, little-endian, where there is no link layer]
//! ```

use super::part::{Next, Part};
use super::{ethernet, frame_relay, link, ppp};
use crate::cursor::TooShort;

const MAGIC: [u8; 3] = *b"MGC";
const EXTENSIONS: u8 = 0x80;
const NO_LINK_LAYER: u8 = 0x02;

/// The link types of Juniper whose frames are known here.
const ATM_2: u16 = 135;
const ATM_1: u16 = 137;
const PPPOE: u16 = 167;
const ETHERNET: u16 = 178;
const PPP: u16 = 179;
const FRAME_RELAY: u16 = 180;
const CISCO_HDLC: u16 = 181;

pub(super) fn next(link_type: u16, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    // The oldest systems write no header.
    if !cursor.peek().starts_with(&MAGIC) {
        return frame(link_type, part);
    }
    cursor.skip(MAGIC.len(), "Juniper magic")?;
    let flags = cursor.u8("Juniper flags")?;
    if flags & EXTENSIONS != 0 {
        let length = cursor.u16_be("Juniper extensions' length")?;
        cursor.skip(usize::from(length), "Juniper extensions")?;
    }
    if flags & NO_LINK_LAYER == 0 {
        return frame(link_type, part.after(cursor.position()));
    }
    let protocol = cursor.u32_le("Juniper protocol")?;
    datagram(protocol, part.after(cursor.position()))
}

fn frame(link_type: u16, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match link_type {
        ETHERNET | PPPOE => Ok(Next::Link(link::ETHERNET, part)),
        PPP => Ok(Next::Ppp(part)),
        FRAME_RELAY => frame_relay::next(part),
        CISCO_HDLC => ppp::cisco_hdlc(part),
        ATM_1 => atm(part.after(4)),
        ATM_2 => atm(part.after(8)),
        _ => Ok(Next::UnknownLinkType(link_type)),
    }
}

/// Behind the cookie of an ATM card: LLC, or IP as it is.
fn atm(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match part.bytes {
        [0xaa, 0xaa, ..] => ethernet::llc(part),
        [0x45..=0x4f | 0x60..=0x6f, ..] => Ok(Next::Ip(part)),
        _ => Ok(Next::Nothing),
    }
}

fn datagram(protocol: u32, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match protocol {
        2 | 3 | 6 | 7 => Ok(Next::Ip(part)),
        4 | 5 | 8 => ethernet::mpls(part),
        200 => Ok(Next::Ppp(part)),
        202 | 203 => ethernet::llc(part),
        204 => Ok(Next::Link(link::ETHERNET, part)),
        207 => frame_relay::next(part),
        208 => ppp::cisco_hdlc(part),
        _ => Ok(Next::Nothing),
    }
}

#[cfg(test)]
mod tests {
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
        assert!(matches!(next(131, Part::whole(b"MGC\0abc")), Ok(Next::UnknownLinkType(131))));
    }

    #[test]
    fn atm_cards_put_a_cookie_before_llc_or_ip() {
        let frame_ = [&b"MGC\0"[..], &[0; 8], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45]].concat();
        assert!(matches!(next(ATM_2, Part::whole(&frame_)), Ok(Next::EtherType(0x0800, _))));
        assert!(matches!(next(ATM_1, Part::whole(b"MGC\0\0\0\0\0\x45")), Ok(Next::Ip(_))));
    }
}
