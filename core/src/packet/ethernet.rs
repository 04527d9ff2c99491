//! Ethernet and what lies between it and IP: VLAN tags, MPLS labels, LLC.
//!
//! ```text
//! destination 6 | source 6 | type u16, or length u16 (up to 1500) and LLC
//! VLAN tag:    priority and number u16 | type u16
//! MPLS label:  label 20 bits, class 3, last 1, time to live 8
//! ```

use super::link;
use super::part::{Next, Part};
use super::ppp;
use crate::cursor::{Cursor, TooShort};

pub(super) const BRIDGED_ETHERNET: u16 = 0x6558;
const LONGEST_LENGTH: u16 = 1500;
const MPLS_LAST: u32 = 0x100;

#[inline]
pub(super) fn next(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    cursor.skip(12, "Ethernet addresses")?;
    type_or_length(cursor, part)
}

#[inline]
pub(super) fn by_type(ether_type: u16, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match ether_type {
        0x0800 | 0x86dd => Ok(Next::Ip(part)),
        // VLAN tags: 802.1Q, 802.1ad, and what vendors stacked before that.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => tag(2, part),
        // Virtual port tags of Cisco and of 802.1BR.
        0x8926 => tag(4, part),
        0x893f => tag(6, part),
        // Provider backbone bridges carry the customer's whole frame.
        0x88e7 => Ok(Next::Link(link::ETHERNET, part.after(4))),
        0x8847 | 0x8848 => mpls(part),
        0x8864 => ppp::over_ethernet(part),
        0x880b => Ok(Next::Ppp(part)),
        0x8870 => llc(part),
        BRIDGED_ETHERNET => Ok(Next::Link(link::ETHERNET, part)),
        _ => Ok(Next::Nothing),
    }
}

fn tag(length: usize, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    cursor.skip(length, "tag")?;
    type_or_length(cursor, part)
}

#[inline]
fn type_or_length<'a>(mut cursor: Cursor<'a>, part: Part<'a>) -> Result<Next<'a>, TooShort> {
    let ether_type = cursor.u16_be("EtherType")?;
    let inner = part.after(cursor.position());
    if ether_type > LONGEST_LENGTH {
        return Ok(Next::EtherType(ether_type, inner));
    }
    llc(inner.sized(usize::from(ether_type).min(inner.wire)))
}

/// IEEE 802.2, with the SNAP header where it has one.
pub(super) fn llc(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    match cursor.array::<3>("LLC header")? {
        [0xaa, 0xaa, 3] => snap(cursor, part),
        [6, 6, 3] => Ok(Next::Ip(part.after(3))),
        _ => Ok(Next::Nothing),
    }
}

fn snap<'a>(mut cursor: Cursor<'a>, part: Part<'a>) -> Result<Next<'a>, TooShort> {
    let organization = cursor.u24_be("SNAP organization")?;
    let protocol = cursor.u16_be("SNAP protocol")?;
    let inner = part.after(cursor.position());
    Ok(match (organization, protocol) {
        (0 | 0x00_00f8, _) => Next::EtherType(protocol, inner),
        // Bridged Ethernet, with and without its check sequence.
        (0x00_80c2, 1 | 7) => Next::Link(link::ETHERNET, inner),
        _ => Next::Nothing,
    })
}

/// Nothing says what follows the last label: IP shows by its version, a pseudo-wire's control word by its zeros,
/// and everything else is taken for Ethernet, as Wireshark does.
pub(super) fn mpls(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    while cursor.u32_be("MPLS label")? & MPLS_LAST == 0 {}
    let inner = part.after(cursor.position());
    Ok(match cursor.peek_u8().map(|first| first >> 4) {
        Some(4 | 6) => Next::Ip(inner),
        Some(0) => Next::Link(link::ETHERNET, inner.after(4)),
        Some(1) | None => Next::Nothing,
        Some(_) => Next::Link(link::ETHERNET, inner),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_type_is_a_length_and_padding_goes() {
        let frame = [&[0; 12][..], &[0, 10, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45, 0x00, 9, 9]].concat();
        let next = next(Part::whole(&frame)).unwrap();
        assert!(matches!(next, Next::EtherType(0x0800, part) if part.bytes == [0x45, 0]));
    }

    #[test]
    fn labels_are_read_to_the_last() {
        let labels = [0, 0, 0x10, 64, 0, 0, 0x21, 64, 0x45];
        let next = mpls(Part::whole(&labels)).unwrap();
        assert!(matches!(next, Next::Ip(part) if part.bytes == [0x45]));
    }

    #[test]
    fn a_pseudo_wire_may_begin_with_a_control_word() {
        let labels = [0, 0, 0x11, 64, 0, 0, 0, 7, 0xff];
        let next = mpls(Part::whole(&labels)).unwrap();
        assert!(matches!(next, Next::Link(1, part) if part.bytes == [0xff]));
    }

    #[test]
    fn labels_without_end_are_too_short() {
        assert!(mpls(Part::whole(&[0, 0, 0x10, 64])).is_err());
    }
}
