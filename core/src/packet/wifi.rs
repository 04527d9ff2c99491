//! Wi-Fi: IEEE 802.11 data frames, and what programs that capture them put before: radiotap, PPI, Prism, AVS.
//!
//! ```text
//! frame control u16 | duration u16 | address 6 | address 6 | address 6 | sequence u16
//! [| address 6, between access points] [| QoS u16] [| HT control u32] | LLC, or several frames with their lengths
//! ```

use super::ethernet;
use super::part::{Next, Part};
use crate::cursor::TooShort;

/// Version, type and the lowest bit of the subtype: data frames, of which some only tell something else.
const TYPE: u8 = 0x0f;
const DATA: u8 = 0x08;
const WITHOUT_DATA: u8 = 0x40;
const QOS: u8 = 0x80;

const BETWEEN_ACCESS_POINTS: u8 = 0x03;
const MORE_FRAGMENTS: u8 = 0x04;
const PROTECTED: u8 = 0x40;
const HT_CONTROL: u8 = 0x80;

/// LLC's unnumbered information, a SNAP header of organization 0.
const LLC_AND_SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];

const FRAGMENT: u16 = 0x0f;
/// In the QoS field: the body holds several frames (A-MSDU).
const AGGREGATE: u16 = 0x80;

pub(super) fn frame(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    padded_frame(part, false)
}

/// `padded`: the header was filled up to a multiple of four bytes.
fn padded_frame(part: Part<'_>, padded: bool) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let kind = cursor.u8("802.11 frame control")?;
    let flags = cursor.u8("802.11 flags")?;
    if kind & TYPE != DATA || kind & WITHOUT_DATA != 0 {
        return Ok(Next::Nothing);
    }
    cursor.skip(20, "802.11 duration and addresses")?;
    let fragment = cursor.u16_le("802.11 sequence")? & FRAGMENT;
    if flags & BETWEEN_ACCESS_POINTS == BETWEEN_ACCESS_POINTS {
        cursor.skip(6, "802.11 fourth address")?;
    }
    let mut aggregate = false;
    if kind & QOS != 0 {
        aggregate = cursor.u16_le("802.11 QoS")? & AGGREGATE != 0;
        if flags & HT_CONTROL != 0 {
            cursor.skip(4, "802.11 HT control")?;
        }
    }
    let header = if padded { cursor.position().next_multiple_of(4) } else { cursor.position() };
    let body = part.after(header);
    let (encrypted, body) = match flags & PROTECTED {
        0 => (false, body),
        _ => decrypted(body).map_or((true, body), |body| (false, body)),
    };
    match (encrypted, fragment > 0 || flags & MORE_FRAGMENTS != 0, aggregate) {
        (true, ..) => Ok(Next::Encrypted("Wi-Fi")),
        // Radio fragments are rare, and nothing of them is put together here.
        (_, true, _) => Ok(Next::Nothing),
        (.., true) => Ok(Next::Aggregate(body)),
        _ => ethernet::llc(body),
    }
}

/// What a driver has decrypted though the flag stayed: LLC in clear, behind no cipher's header, that of WEP or of WPA.
fn decrypted(body: Part<'_>) -> Option<Part<'_>> {
    [0, 4, 8].into_iter().map(|header| body.after(header)).find(|body| body.bytes.starts_with(&LLC_AND_SNAP))
}

/// The frames inside of an aggregate, from their LLC header on: destination 6 | source 6 | length u16 | … | padding to 4
pub(super) fn subframes(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    const HEADER: usize = 14;
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_be_bytes([*bytes.get(12)?, *bytes.get(13)?]));
        let end = (HEADER + length).min(bytes.len());
        let frame = &bytes[HEADER..end];
        bytes = bytes.get((HEADER + length).next_multiple_of(4)..).unwrap_or_default();
        Some(frame)
    })
}

/// Bits of the first word that tells which fields there are.
const TIME: u32 = 1;
const FLAGS: u32 = 2;
const MORE_WORDS: u32 = 1 << 31;
/// In the flags: padding between header and body.
const PADDED: u8 = 0x20;

/// Version u8, padding u8, length u16, words that tell the fields, the fields, each aligned to its size; little-endian.
/// <https://www.radiotap.org>
pub(super) fn radiotap(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    cursor.skip(2, "radiotap version")?;
    let length = usize::from(cursor.u16_le("radiotap length")?);
    let fields = cursor.u32_le("radiotap fields")?;
    let mut last = fields;
    while last & MORE_WORDS != 0 {
        last = cursor.u32_le("radiotap fields")?;
    }
    if fields & TIME != 0 {
        let to_align = cursor.position().next_multiple_of(8) - cursor.position();
        cursor.skip(to_align + 8, "radiotap time")?;
    }
    let padded = fields & FLAGS != 0 && cursor.u8("radiotap flags")? & PADDED != 0;
    padded_frame(part.after(length), padded)
}

/// Per-packet information: version u8, flags u8, length u16, LINKTYPE u32, fields; little-endian.
pub(super) fn ppi(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    cursor.skip(2, "PPI version")?;
    let length = usize::from(cursor.u16_le("PPI length")?);
    let link_type = cursor.u32_le("PPI link type")?;
    Ok(u16::try_from(link_type).map_or(Next::Nothing, |link_type| Next::Link(link_type, part.after(length))))
}

/// Prism's header: code u32, length u32, in the order of the machine; or that of AVS, whose code is its version.
pub(super) fn prism_or_avs(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    const PRISM: u32 = 0x44;
    const AVS: [u32; 2] = [0x8021_1001, 0x8021_1002];
    let mut cursor = part.cursor();
    let code = cursor.u32_be("Prism code")?;
    let length = cursor.u32_be("Prism length")?;
    let length = match code {
        PRISM => length,
        code if code.swap_bytes() == PRISM => length.swap_bytes(),
        code if AVS.contains(&code) => length,
        _ => return frame(part),
    };
    frame(part.after(length as usize))
}

#[cfg(test)]
#[path = "wifi_tests.rs"]
mod tests;
