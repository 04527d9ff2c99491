//! Tunnels inside UDP, by Wireshark's default ports. What does not look like the tunnel is somebody else's traffic.
//!
//! ```text
//! source port u16 | destination port u16 | length u16, counts these 8 bytes | checksum u16
//! ```

use super::part::{Next, Part};
use super::{ethernet, gre, linktype, mpls};
use crate::cursor::{Cursor, TooShort};

pub(super) fn next(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let source = cursor.u16_be("UDP source port")?;
    let destination = cursor.u16_be("UDP destination port")?;
    let length = usize::from(cursor.u16_be("UDP length")?);
    let inner = part.after(8);
    let inner = match length.checked_sub(8) {
        Some(length) => inner.sized(length.min(inner.wire)),
        // A datagram too long for the field says 0.
        None => inner,
    };
    let tunnel = by_port(destination, inner).or_else(|| by_port(source, inner));
    Ok(tunnel.unwrap_or(Next::Nothing))
}

fn by_port(port: u16, part: Part<'_>) -> Option<Next<'_>> {
    let next = match port {
        1701 => l2tp(part),
        2152 => gtp(part),
        3544 => teredo(part),
        4754 => gre::next(part),
        // 8472 is what Linux took before 4789 was assigned, and what many overlays still take.
        4789 | 8472 => vxlan(part),
        4790 => vxlan_gpe(part),
        5072 => ayiya(part),
        5247 => capwap(part),
        6081 => geneve(part),
        6635 => mpls::labels(part),
        37_008 => tzsp(part),
        _ => return None,
    };
    next.ok()
}

/// RFC 5415, what stations behind an access point send: preamble u8 (1: DTLS follows) | length of the header in words
/// 5 bits | radio 5 bits | 5 bits | frame as on the air 1 bit | part of one 1 bit | …
fn capwap(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    const PLAIN: u8 = 0;
    const SEALED: u8 = 1;
    const FRAGMENT: u32 = 0x80;
    const ON_THE_AIR: u32 = 0x100;
    let mut cursor = part.cursor();
    let preamble = cursor.u8("CAPWAP preamble")?;
    let fields = cursor.u24_be("CAPWAP header")?;
    let header = (fields >> 19) as usize * 4;
    Ok(match preamble {
        SEALED if part.cursor().rest().get(4..7).is_some_and(is_dtls) => Next::Encrypted("CAPWAP"),
        PLAIN if header >= 8 && fields & (FRAGMENT | ON_THE_AIR) == 0 => {
            Next::Link(linktype::ETHERNET, part.after(header))
        }
        PLAIN if header >= 8 && fields & FRAGMENT == 0 => Next::Link(linktype::WIFI, part.after(header)),
        _ => Next::Nothing,
    })
}

/// A record of DTLS: type and version.
fn is_dtls(record: &[u8]) -> bool {
    matches!(record, [20..=25, 0xfe, 0xff | 0xfd])
}

/// RFC 7348: flags u8, reserved 3, network u24, reserved u8.
fn vxlan(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let has_network = cursor.u8("VXLAN flags")? & 8 != 0;
    cursor.skip(7, "VXLAN header")?;
    Ok(match has_network {
        true => Next::Link(linktype::ETHERNET, part.after(cursor.position())),
        false => Next::Nothing,
    })
}

/// The same, with the protocol in the fourth byte.
fn vxlan_gpe(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    cursor.skip(3, "VXLAN flags")?;
    let protocol = cursor.u8("VXLAN protocol")?;
    cursor.skip(4, "VXLAN network")?;
    let inner = part.after(cursor.position());
    match protocol {
        1 | 2 => Ok(Next::Ip(inner)),
        3 => Ok(Next::Link(linktype::ETHERNET, inner)),
        4 => ethernet::nsh(inner),
        5 => mpls::labels(inner),
        _ => Ok(Next::Nothing),
    }
}

/// RFC 8926: version 2 bits, options 6 bits in words, flags u8, EtherType u16, network u24, reserved u8, options.
fn geneve(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let first = cursor.u8("GENEVE version")?;
    cursor.skip(1, "GENEVE flags")?;
    let protocol = cursor.u16_be("GENEVE protocol")?;
    cursor.skip(4, "GENEVE network")?;
    cursor.skip(usize::from(first & 0x3f) * 4, "GENEVE options")?;
    Ok(match first >> 6 {
        0 => Next::EtherType(protocol, part.after(cursor.position())),
        _ => Next::Nothing,
    })
}

/// MikroTik's mirror: version u8, type u8, protocol u16, tagged fields up to tag 1.
fn tzsp(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    cursor.skip(2, "TZSP version")?;
    let protocol = cursor.u16_be("TZSP protocol")?;
    loop {
        match cursor.u8("TZSP tag")? {
            0 => {}
            1 => break,
            _ => skip_counted(&mut cursor, "TZSP field")?,
        }
    }
    Ok(match protocol {
        1 => Next::Link(linktype::ETHERNET, part.after(cursor.position())),
        18 => Next::Link(linktype::WIFI, part.after(cursor.position())),
        _ => Next::Nothing,
    })
}

fn skip_counted(cursor: &mut Cursor<'_>, field: &'static str) -> Result<(), TooShort> {
    let length = cursor.u8(field)?;
    cursor.skip(usize::from(length), field)
}

/// Version 2 (RFC 2661): flags and version u16 [| length u16] | tunnel u16 | session u16 [| numbers 4] [| offset u16, …]
fn l2tp(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    const CONTROL: u16 = 0x8000;
    const LENGTH: u16 = 0x4000;
    const NUMBERS: u16 = 0x0800;
    const OFFSET: u16 = 0x0200;
    let mut cursor = part.cursor();
    let flags = cursor.u16_be("L2TP flags")?;
    if flags & CONTROL != 0 || flags & 0xf != 2 {
        return Ok(Next::Nothing);
    }
    let lengths = [(LENGTH, 2), (NUMBERS, 4)].into_iter().filter(|(flag, _)| flags & flag != 0);
    cursor.skip(4 + lengths.map(|(_, length)| length).sum::<usize>(), "L2TP session")?;
    if flags & OFFSET != 0 {
        let offset = cursor.u16_be("L2TP offset")?;
        cursor.skip(usize::from(offset), "L2TP offset")?;
    }
    Ok(Next::Ppp(part.after(cursor.position())))
}

/// A mobile network's tunnel (3GPP TS 29.281): flags u8 | type u8 | length u16 | tunnel u32, then where a flag says so
/// sequence u16, number u8, next u8, and extensions: length u8 in words, …, next u8.
fn gtp(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    const VERSION_1: u8 = 3;
    const DATA: u8 = 0xff;
    const OPTIONS: u8 = 7;
    const EXTENSIONS: u8 = 4;
    let mut cursor = part.cursor();
    let flags = cursor.u8("GTP flags")?;
    let kind = cursor.u8("GTP type")?;
    cursor.skip(6, "GTP tunnel")?;
    if (flags >> 4, kind) != (VERSION_1, DATA) {
        return Ok(Next::Nothing);
    }
    if flags & OPTIONS != 0 {
        cursor.skip(3, "GTP sequence")?;
        let mut next = cursor.u8("GTP next extension")?;
        while next != 0 && flags & EXTENSIONS != 0 {
            let length = usize::from(cursor.u8("GTP extension length")?) * 4;
            cursor.skip(length.saturating_sub(2), "GTP extension")?;
            next = cursor.u8("GTP next extension")?;
        }
    }
    Ok(Next::Ip(part.after(cursor.position())))
}

/// RFC 4380: IPv6, after an authentication and an origin where there are such.
fn teredo(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    if cursor.peek().starts_with(&[0, 1]) {
        cursor.skip(2, "Teredo authentication")?;
        let identifier = usize::from(cursor.u8("Teredo identifier length")?);
        let authentication = usize::from(cursor.u8("Teredo authentication length")?);
        cursor.skip(identifier + authentication + 9, "Teredo authentication")?;
    }
    if cursor.peek().starts_with(&[0, 0]) {
        cursor.skip(8, "Teredo origin")?;
    }
    Ok(match cursor.peek_u8().map(|first| first >> 4) {
        Some(6) => Next::Ip(part.after(cursor.position())),
        _ => Next::Nothing,
    })
}

/// Identity and signature lengths in the first nibbles, next header in the fourth byte, time u32.
fn ayiya(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let identity = 1_usize << (cursor.u8("AYIYA identity")? >> 4);
    let signature = usize::from(cursor.u8("AYIYA signature")? >> 4) * 4;
    cursor.skip(1, "AYIYA operation")?;
    let protocol = cursor.u8("AYIYA next header")?;
    cursor.skip(4 + identity + signature, "AYIYA identity and signature")?;
    Ok(match protocol {
        4 | 41 => Next::Ip(part.after(cursor.position())),
        _ => Next::Nothing,
    })
}

#[cfg(test)]
#[path = "udp_tests.rs"]
mod tests;
