//! IPv4 (RFC 791) and IPv6 (RFC 8200) with its extension headers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::part::{Addresses, Fragment, Malformed, Next, Part};
use super::{gre, linktype, mpls, udp};
use crate::cursor::{Cursor, Header, TooShort, header};

pub(super) const TCP: u8 = 6;
const HEADER: usize = 20;
const HEADER_6: usize = 40;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;
const JUMBO_PAYLOAD: u8 = 0xc2;

/// Reads the header and leaves in `addresses` who the datagram goes from and to.
#[inline(always)]
pub(super) fn next<'a>(part: Part<'a>, addresses: &mut Addresses) -> Result<Next<'a>, Malformed> {
    match part.cursor().u8("IP version")? >> 4 {
        4 => version_4(part, addresses),
        6 => Ok(version_6(part, addresses)?),
        _ => Ok(Next::Nothing),
    }
}

#[inline(always)]
fn version_4<'a>(part: Part<'a>, addresses: &mut Addresses) -> Result<Next<'a>, Malformed> {
    let fixed = header::<HEADER, Version4>(part.bytes)?;
    *addresses = fixed.addresses;
    // 0 is a packet that the network card was yet to cut into segments.
    let total = if fixed.total == 0 { part.wire } else { fixed.total };
    if fixed.header < HEADER || total < fixed.header {
        return Err(Malformed::Lengths("IPv4"));
    }
    let inner = part.sized(total).after(fixed.header);
    if fixed.fragment & (MORE_FRAGMENTS | FRAGMENT_OFFSET) == 0 {
        return Ok(Next::Protocol(fixed.protocol, inner));
    }
    Ok(piece(Fragment {
        protocol: fixed.protocol,
        identification: u32::from(fixed.addresses.identification),
        offset: usize::from(fixed.fragment & FRAGMENT_OFFSET) * 8,
        more: fixed.fragment & MORE_FRAGMENTS != 0,
        part: inner,
    }))
}

/// What every IPv4 header has.
struct Version4 {
    header: usize,
    total: usize,
    fragment: u16,
    protocol: u8,
    addresses: Addresses,
}

impl Header for Version4 {
    #[inline(always)]
    fn read(mut cursor: Cursor<'_>) -> Result<Self, TooShort> {
        let header = usize::from(cursor.u8("IPv4 version")? & 0xf) * 4;
        cursor.skip(1, "IPv4 service")?;
        let total = usize::from(cursor.u16_be("IPv4 total length")?);
        let identification = cursor.u16_be("IPv4 identification")?;
        let fragment = cursor.u16_be("IPv4 fragment offset")?;
        cursor.skip(1, "IPv4 time to live")?;
        let protocol = cursor.u8("IPv4 protocol")?;
        cursor.skip(2, "IPv4 checksum")?;
        let addresses = Addresses {
            source: IpAddr::V4(Ipv4Addr::from(cursor.array::<4>("IPv4 source")?)),
            destination: IpAddr::V4(Ipv4Addr::from(cursor.array::<4>("IPv4 destination")?)),
            identification,
        };
        Ok(Self { header, total, fragment, protocol, addresses })
    }
}

#[inline(always)]
fn version_6<'a>(part: Part<'a>, addresses: &mut Addresses) -> Result<Next<'a>, TooShort> {
    let fixed = header::<HEADER_6, Version6>(part.bytes)?;
    *addresses = fixed.addresses;
    let inner = part.after(HEADER_6);
    let length = match (fixed.length, fixed.protocol) {
        // A jumbo packet, or one that the network card was yet to cut into segments.
        (0, 0) => jumbo_length(inner.cursor()).unwrap_or(inner.wire),
        (0, _) => inner.wire,
        _ => fixed.length,
    };
    Ok(Next::Protocol(fixed.protocol, inner.sized(length)))
}

/// What every IPv6 header has.
struct Version6 {
    length: usize,
    protocol: u8,
    addresses: Addresses,
}

impl Header for Version6 {
    #[inline(always)]
    fn read(mut cursor: Cursor<'_>) -> Result<Self, TooShort> {
        cursor.skip(4, "IPv6 flow")?;
        let length = usize::from(cursor.u16_be("IPv6 payload length")?);
        let protocol = cursor.u8("IPv6 next header")?;
        cursor.skip(1, "IPv6 hop limit")?;
        let addresses = Addresses {
            source: IpAddr::V6(Ipv6Addr::from(cursor.array::<16>("IPv6 source")?)),
            destination: IpAddr::V6(Ipv6Addr::from(cursor.array::<16>("IPv6 destination")?)),
            identification: 0,
        };
        Ok(Self { length, protocol, addresses })
    }
}

/// RFC 2675: the true length is an option of the hop-by-hop header.
#[cold]
fn jumbo_length(mut cursor: Cursor<'_>) -> Option<usize> {
    cursor.skip(1, "next header").ok()?;
    let length = usize::from(cursor.u8("header length").ok()?) * 8 + 6;
    let mut options = Cursor::new(cursor.take_up_to(length));
    loop {
        match options.u8("option").ok()? {
            0 => {}
            JUMBO_PAYLOAD => {
                options.skip(1, "option length").ok()?;
                return Some(options.u32_be("jumbo length").ok()? as usize);
            }
            _ => {
                let length = usize::from(options.u8("option length").ok()?);
                options.skip(length, "option").ok()?;
            }
        }
    }
}

#[inline]
pub(super) fn by_protocol(protocol: u8, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match protocol {
        TCP => Ok(Next::Tcp(part)),
        // Hop-by-hop, routing, destination, mobility, host identity, shim.
        0 | 43 | 60 | 135 | 139 | 140 => extension(part, |length| length * 8 + 8),
        // The authentication header counts in other units.
        51 => extension(part, |length| length * 4 + 8),
        44 => fragment_header(part),
        _ => tunnelled(protocol, part),
    }
}

/// Tunnels inside IP.
fn tunnelled(protocol: u8, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match protocol {
        4 | 41 => Ok(Next::Ip(part)),
        17 => udp::next(part),
        47 => gre::next(part),
        // Ethernet in IP (RFC 3378), and Ethernet as segment routing carries it.
        97 => Ok(Next::Link(linktype::ETHERNET, part.after(2))),
        143 => Ok(Next::Link(linktype::ETHERNET, part)),
        137 => mpls::labels(part),
        _ => Ok(Next::Nothing),
    }
}

/// Next header u8, length u8 in the header's own unit.
fn extension(part: Part<'_>, bytes: fn(usize) -> usize) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let protocol = cursor.u8("next header")?;
    let length = bytes(usize::from(cursor.u8("header length")?));
    Ok(Next::Protocol(protocol, part.after(length)))
}

/// Next header u8, reserved u8, offset 13 bits, reserved 2, more 1, identification u32.
fn fragment_header(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let protocol = cursor.u8("next header")?;
    cursor.skip(1, "reserved")?;
    let place = cursor.u16_be("fragment offset")?;
    let identification = cursor.u32_be("fragment identification")?;
    let inner = part.after(cursor.position());
    // An "atomic" fragment is a whole datagram (RFC 6946).
    if place & 0xfff9 == 0 {
        return Ok(Next::Protocol(protocol, inner));
    }
    Ok(piece(Fragment {
        protocol,
        identification,
        offset: usize::from(place & 0xfff8),
        more: place & 1 == 1,
        part: inner,
    }))
}

/// What the snap length cut can never be put together: the first piece is looked into as it is.
fn piece(fragment: Fragment<'_>) -> Next<'_> {
    match (fragment.part.is_cut(), fragment.offset) {
        (false, _) => Next::Fragment(fragment),
        (true, 0) => Next::Protocol(fragment.protocol, fragment.part),
        (true, _) => Next::Cut,
    }
}

#[cfg(test)]
#[path = "ip_tests.rs"]
mod tests;
