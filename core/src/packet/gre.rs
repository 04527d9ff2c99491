//! GRE (RFC 2784, 2890, 2637) and what only it carries: ERSPAN, WCCP, Wi-Fi of access points.

use super::linktype;
use super::part::{Next, Part};
use crate::cursor::{Cursor, TooShort};

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
const ACKNOWLEDGMENT: u16 = 0x0080;
const VERSION: u16 = 0x0007;

/// Flags u16, EtherType u16, then what the flags announce.
pub(super) fn next(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let flags = cursor.u16_be("GRE flags")?;
    let protocol = cursor.u16_be("GRE protocol")?;
    match flags & VERSION {
        0 => options(&mut cursor, flags)?,
        1 => enhanced_options(&mut cursor, flags)?,
        _ => return Ok(Next::Nothing),
    }
    let inner = part.after(cursor.position());
    match protocol {
        // Without a sequence number, ERSPAN has no header of its own (type I).
        0x88be if flags & SEQUENCE == 0 => Ok(Next::Link(linktype::ETHERNET, inner)),
        0x88be | 0x22eb => erspan(inner),
        0x883e => Ok(redirected(inner)),
        // Aruba's access points send Wi-Fi frames to their controller.
        0x8200..=0x83ff | 0x9000 => Ok(Next::Link(linktype::WIFI, inner)),
        _ => Ok(Next::EtherType(protocol, inner)),
    }
}

fn options(cursor: &mut Cursor<'_>, flags: u16) -> Result<(), TooShort> {
    let words = [CHECKSUM | ROUTING, KEY, SEQUENCE];
    let count = words.iter().filter(|&&word| flags & word != 0).count();
    cursor.skip(count * 4, "GRE options")?;
    if flags & ROUTING != 0 {
        source_routes(cursor)?;
    }
    Ok(())
}

/// Family u16, offset u8, length u8, route; an empty one ends them.
fn source_routes(cursor: &mut Cursor<'_>) -> Result<(), TooShort> {
    loop {
        cursor.skip(3, "GRE route")?;
        match cursor.u8("GRE route length")? {
            0 => return Ok(()),
            length => cursor.skip(usize::from(length), "GRE route")?,
        }
    }
}

/// PPTP's version: the key is always there, an acknowledgment may be.
fn enhanced_options(cursor: &mut Cursor<'_>, flags: u16) -> Result<(), TooShort> {
    let words = [KEY, SEQUENCE, ACKNOWLEDGMENT];
    let count = words.iter().filter(|&&word| flags & word != 0).count();
    cursor.skip(count * 4, "GRE options")
}

/// Cisco's mirror sessions: type II has 8 bytes, type III 12 and sometimes 8 more.
fn erspan(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let version = cursor.u16_be("ERSPAN version")? >> 12;
    match version {
        1 => cursor.skip(6, "ERSPAN header")?,
        2 => return erspan_3(cursor, part),
        _ => return Ok(Next::Nothing),
    }
    Ok(Next::Link(linktype::ETHERNET, part.after(cursor.position())))
}

fn erspan_3<'a>(mut cursor: Cursor<'a>, part: Part<'a>) -> Result<Next<'a>, TooShort> {
    cursor.skip(8, "ERSPAN header")?;
    let last = cursor.u16_be("ERSPAN flags")?;
    if last & 1 == 1 {
        cursor.skip(8, "ERSPAN platform header")?;
    }
    let inner = part.after(cursor.position());
    Ok(match (last >> 10) & 0x1f {
        0 => Next::Link(linktype::ETHERNET, inner),
        2 => Next::Ip(inner),
        _ => Next::Nothing,
    })
}

/// WCCP version 2 puts four bytes before the packet, version 1 none.
fn redirected(part: Part<'_>) -> Next<'_> {
    match part.bytes.first().map(|first| first >> 4) {
        Some(4) => Next::Ip(part),
        _ => Next::Ip(part.after(4)),
    }
}

#[cfg(test)]
#[path = "gre_tests.rs"]
mod tests;
