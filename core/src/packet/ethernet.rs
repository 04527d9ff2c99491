//! Ethernet and what lies between it and IP: tags, MACsec, service headers, LLC.
//!
//! ```text
//! destination 6 | source 6 | type u16, or length u16 (up to 1500) and LLC
//! VLAN tag:    priority and number u16 | type u16
//! MACsec:      control u8 | short length u8 | number u32 [| channel 8] | type u16 … check value
//! NSH:         version 2 bits, flags 2, time to live 6, length 6 in words | type u8 | next protocol u8 | …
//! ```

use super::part::{Next, Part};
use super::{linktype, mpls, ppp};
use crate::cursor::{Cursor, Header, TooShort, header};

pub(super) const BRIDGED_ETHERNET: u16 = 0x6558;
/// Network service header.
pub(super) const NSH: u16 = 0x894f;
pub(super) const IP_VERSION_4: u16 = 0x0800;
pub(super) const IP_VERSION_6: u16 = 0x86dd;
const HEADER: usize = 14;
const LONGEST_LENGTH: u16 = 1500;

#[inline(always)]
pub(super) fn next(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let EtherType(ether_type) = header::<HEADER, _>(part.bytes)?;
    typed(ether_type, part.after(HEADER))
}

/// What an Ethernet header ends with.
struct EtherType(u16);

impl Header for EtherType {
    #[inline(always)]
    fn read(mut cursor: Cursor<'_>) -> Result<Self, TooShort> {
        cursor.skip(HEADER - 2, "Ethernet addresses")?;
        cursor.u16_be("EtherType").map(Self)
    }
}

pub(super) fn by_type(ether_type: u16, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match ether_type {
        IP_VERSION_4 | IP_VERSION_6 => Ok(Next::Ip(part)),
        // VLAN tags: 802.1Q, 802.1ad, and what vendors stacked before that.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => tag(2, part),
        // Virtual port tags of Cisco and of 802.1BR.
        0x8926 => tag(4, part),
        0x893f => tag(6, part),
        // Cisco's metadata: version, length, one option.
        0x8909 => tag(6, part),
        0x88e5 => macsec(part),
        NSH => nsh(part),
        // Provider backbone bridges carry the customer's whole frame.
        0x88e7 => Ok(Next::Link(linktype::ETHERNET, part.after(4))),
        0x8847 | 0x8848 => mpls::labels(part),
        0x8864 => ppp::over_ethernet(part),
        0x880b => Ok(Next::Ppp(part)),
        0x8870 => llc(part),
        // Wi-Fi frames as Intel's Centrino driver showed them.
        0x2452 => Ok(Next::Link(linktype::WIFI, part)),
        BRIDGED_ETHERNET => Ok(Next::Link(linktype::ETHERNET, part)),
        _ => Ok(Next::Nothing),
    }
}

fn tag(length: usize, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    cursor.skip(length, "tag")?;
    type_or_length(cursor, part)
}

/// IEEE 802.1AE: what is only authenticated can be read; its check value at the end is no part of the IP datagram.
fn macsec(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    const CHANNEL: u8 = 0x20;
    const ENCRYPTED_OR_CHANGED: u8 = 0x0c;
    let mut cursor = part.cursor();
    let control = cursor.u8("MACsec control")?;
    cursor.skip(5, "MACsec number")?;
    if control & CHANNEL != 0 {
        cursor.skip(8, "MACsec channel")?;
    }
    match control & ENCRYPTED_OR_CHANGED {
        0 => type_or_length(cursor, part),
        _ => Ok(Next::Encrypted("MACsec")),
    }
}

/// RFC 8300.
pub(super) fn nsh(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let first = cursor.u16_be("NSH version")?;
    cursor.skip(1, "NSH type")?;
    let protocol = cursor.u8("NSH next protocol")?;
    let inner = part.after(usize::from(first & 0x3f) * 4);
    match (first >> 14, protocol) {
        (0, 1 | 2) => Ok(Next::Ip(inner)),
        (0, 3) => Ok(Next::Link(linktype::ETHERNET, inner)),
        (0, 4) => Ok(Next::EtherType(NSH, inner)),
        (0, 5) => mpls::labels(inner),
        _ => Ok(Next::Nothing),
    }
}

#[inline]
fn type_or_length<'a>(mut cursor: Cursor<'a>, part: Part<'a>) -> Result<Next<'a>, TooShort> {
    let ether_type = cursor.u16_be("EtherType")?;
    typed(ether_type, part.after(cursor.position()))
}

/// What follows a type, or the length that stands in its place.
#[inline(always)]
fn typed(ether_type: u16, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    if ether_type > LONGEST_LENGTH {
        return Ok(Next::EtherType(ether_type, part));
    }
    llc(part.sized(usize::from(ether_type).min(part.wire)))
}

/// IEEE 802.2, with the SNAP header where it has one.
pub(super) fn llc(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    if part.wire < 3 {
        return Ok(Next::Nothing);
    }
    let mut cursor = part.cursor();
    match cursor.array::<3>("LLC header")? {
        [0xaa, 0xaa, 3] => snap(cursor, part),
        [6, 6, 3] => Ok(Next::Ip(part.after(3))),
        _ => Ok(Next::Nothing),
    }
}

/// Organization 3 | protocol u16 | …
pub(super) fn snap<'a>(mut cursor: Cursor<'a>, part: Part<'a>) -> Result<Next<'a>, TooShort> {
    let organization = cursor.u24_be("SNAP organization")?;
    let protocol = cursor.u16_be("SNAP protocol")?;
    let inner = part.after(cursor.position());
    Ok(match (organization, protocol) {
        (0 | 0x00_00f8, _) => Next::EtherType(protocol, inner),
        // Bridged Ethernet, with and without its check sequence.
        (0x00_80c2, 1 | 7) => Next::Link(linktype::ETHERNET, inner),
        _ => Next::Nothing,
    })
}

#[cfg(test)]
#[path = "ethernet_tests.rs"]
mod tests;
