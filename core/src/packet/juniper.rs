//! What Juniper's routers write (`monitor traffic`): a header of their own before the frame, or before the bare datagram.
//!
//! ```text
//! "MGC" | flags u8 [| length u16 | extensions] [| protocol u32, little-endian, where there is no link layer]
//! ```

use super::part::{Next, Part};
use super::{ethernet, frame_relay, linktype, mpls, ppp};
use crate::cursor::TooShort;

const MAGIC: [u8; 3] = *b"MGC";
const EXTENSIONS: u8 = 0x80;
const NO_LINK_LAYER: u8 = 0x02;
const INCOMING: u8 = 0x01;

/// The link types of Juniper whose frames are known here.
const PPP_BUNDLE: u16 = 130;
const FRAME_RELAY_BUNDLE: u16 = 131;
const GGSN: u16 = 133;
const SERVICES: u16 = 136;
const VOICE: u16 = 183;
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
        return frame(link_type, 0, part);
    }
    cursor.skip(MAGIC.len(), "Juniper magic")?;
    let flags = cursor.u8("Juniper flags")?;
    if flags & EXTENSIONS != 0 {
        let length = cursor.u16_be("Juniper extensions' length")?;
        cursor.skip(usize::from(length), "Juniper extensions")?;
    }
    if flags & NO_LINK_LAYER == 0 {
        return frame(link_type, flags, part.after(cursor.position()));
    }
    let protocol = cursor.u32_le("Juniper protocol")?;
    datagram(protocol, part.after(cursor.position()))
}

fn frame(link_type: u16, flags: u8, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match link_type {
        ETHERNET | PPPOE => Ok(Next::Link(linktype::ETHERNET, part)),
        PPP => Ok(Next::Ppp(part)),
        FRAME_RELAY => frame_relay::next(part),
        CISCO_HDLC => ppp::cisco_hdlc(part),
        ATM_1 => atm(part.after(4)),
        ATM_2 => atm(part.after(8)),
        PPP_BUNDLE | FRAME_RELAY_BUNDLE => Ok(bundle(part)),
        GGSN => ggsn(part),
        SERVICES => Ok(Next::Ip(part.after(if flags & INCOMING != 0 { 16 } else { 12 }))),
        VOICE => Ok(Next::Ip(part.after(18))),
        _ => Ok(Next::UnknownLinkType(link_type)),
    }
}

/// Behind the cookie of an ATM card: LLC, or IP as it is.
fn atm(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match part.bytes {
        [0xaa, 0xaa, ..] => ethernet::llc(part),
        [0xfe, 0xfe, 3, 0xcc, ..] => Ok(Next::Ip(part.after(4))),
        [0, 0x21 | 0x57, ..] => Ok(Next::Ppp(part)),
        [0x45..=0x4f | 0x60..=0x6f, ..] => Ok(Next::Ip(part)),
        _ => Ok(Next::Nothing),
    }
}

/// A bundle of lines, or one of its lines: a cookie whose first byte tells its length, or none; then what it looks like.
fn bundle(part: Part<'_>) -> Next<'_> {
    let inner = match part.bytes {
        [0x54, ..] => part.after(4),
        [0x40 | 0x47, ..] => part.after(8),
        // The cookie of the oldest cards.
        [_, _, 0, 0x21 | 0x57, ..] | [_, _, 3, 0xcc, ..] => part.after(2),
        _ => part,
    };
    match inner.bytes {
        [0xff, 3, ..] | [0, 0x21 | 0x57, ..] | [0x21, ..] => Next::Ppp(inner),
        [3, 0xcc, ..] => Next::Ip(inner.after(2)),
        [0x45..=0x4f | 0x60..=0x6f, ..] => Next::Ip(inner),
        _ => Next::Nothing,
    }
}

/// Protocol u16, VLAN u16, little-endian.
fn ggsn(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let protocol = part.cursor().u16_le("Juniper protocol")?;
    datagram(u32::from(protocol), part.after(4))
}

fn datagram(protocol: u32, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match protocol {
        2 | 3 | 6 | 7 => Ok(Next::Ip(part)),
        4 | 5 | 8 => mpls::labels(part),
        200 => Ok(Next::Ppp(part)),
        202 | 203 => ethernet::llc(part),
        204 => Ok(Next::Link(linktype::ETHERNET, part)),
        207 => frame_relay::next(part),
        208 => ppp::cisco_hdlc(part),
        _ => Ok(Next::Nothing),
    }
}

#[cfg(test)]
#[path = "juniper_tests.rs"]
mod tests;
