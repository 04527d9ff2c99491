//! PPP, alone, over Ethernet and in HDLC frames; and Cisco's HDLC, which looks alike.

use super::mpls;
use super::part::{Next, Part};
use crate::cursor::TooShort;

/// PPP's address and control bytes, which may be left out.
const FRAMING: [u8; 2] = [0xff, 3];
/// Cisco's addresses: one station and all of them.
const CISCO: [[u8; 2]; 2] = [[0x0f, 0], [0x8f, 0]];

/// PPP or Cisco HDLC on a serial line: as the first bytes show.
pub(super) fn framed(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    if CISCO.iter().any(|start| part.bytes.starts_with(start)) {
        return cisco_hdlc(part);
    }
    Ok(Next::Ppp(part))
}

/// Address, control, EtherType.
pub(super) fn cisco_hdlc(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    cursor.skip(2, "HDLC address")?;
    let ether_type = cursor.u16_be("HDLC protocol")?;
    Ok(Next::EtherType(ether_type, part.after(4)))
}

/// RFC 2516: version and type u8, code u8, session u16, length u16.
pub(super) fn over_ethernet(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    cursor.skip(4, "PPPoE session")?;
    let length = usize::from(cursor.u16_be("PPPoE length")?);
    let inner = part.after(cursor.position());
    Ok(Next::Ppp(inner.sized(length.min(inner.wire))))
}

pub(super) fn next(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    // A tunnel is kept open with frames that hold nothing.
    if part.wire < 2 {
        return Ok(Next::Nothing);
    }
    let mut cursor = part.cursor();
    if part.bytes.starts_with(&FRAMING) {
        cursor.skip(2, "PPP framing")?;
    }
    // An odd first byte is a protocol number compressed to one byte.
    let protocol = match cursor.peek_u8() {
        Some(first) if first & 1 == 1 => u16::from(cursor.u8("PPP protocol")?),
        _ => cursor.u16_be("PPP protocol")?,
    };
    let inner = part.after(cursor.position());
    match protocol {
        0x0021 | 0x0057 => Ok(Next::Ip(inner)),
        0x0281 | 0x0283 => mpls::labels(inner),
        _ => Ok(Next::Nothing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_and_half_the_protocol_number_may_be_left_out() {
        for bytes in [&[0xff, 3, 0, 0x21, 0x45][..], &[0xff, 3, 0x21, 0x45], &[0, 0x21, 0x45], &[0x21, 0x45]] {
            let next = next(Part::whole(bytes)).unwrap();
            assert!(matches!(next, Next::Ip(part) if part.bytes == [0x45]));
        }
    }

    #[test]
    fn ethernet_padding_behind_a_session_packet_goes() {
        let bytes = [0x11, 0, 0, 1, 0, 3, 0, 0x21, 0x45, 0, 0];
        let next = over_ethernet(Part::whole(&bytes)).unwrap();
        assert!(matches!(next, Next::Ppp(part) if part.bytes == [0, 0x21, 0x45]));
    }
}
