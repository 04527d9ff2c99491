//! Frame Relay: IETF's encapsulation (RFC 2427) and Cisco's.
//!
//! ```text
//! address 2 to 4, the last byte odd | 03 | NLPID u8 …          IETF
//! address 2 to 4, the last byte odd | EtherType u16 …          Cisco
//! ```

use super::ethernet;
use super::part::{Next, Part};
use crate::cursor::TooShort;

const UNNUMBERED: u8 = 3;
const LAST: u8 = 1;

pub(super) fn next(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    cursor.skip(1, "Frame Relay address")?;
    while cursor.u8("Frame Relay address")? & LAST == 0 {
        if cursor.position() == 4 {
            return Ok(Next::Nothing);
        }
    }
    if cursor.peek_u8() != Some(UNNUMBERED) {
        let ether_type = cursor.u16_be("Frame Relay EtherType")?;
        return Ok(Next::EtherType(ether_type, part.after(cursor.position())));
    }
    cursor.skip(1, "Frame Relay control")?;
    if cursor.peek_u8() == Some(0) {
        cursor.skip(1, "Frame Relay padding")?;
    }
    let protocol = cursor.u8("Frame Relay NLPID")?;
    match protocol {
        0x80 => ethernet::snap(cursor, part),
        0x8e | 0xcc => Ok(Next::Ip(part.after(cursor.position()))),
        0xcf => Ok(Next::Ppp(part.after(cursor.position()))),
        _ => Ok(Next::Nothing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_encapsulations_are_read() {
        assert!(matches!(next(Part::whole(&[0x18, 0x41, 3, 0xcc, 0x45])), Ok(Next::Ip(part)) if part.bytes == [0x45]));
        assert!(matches!(next(Part::whole(&[0x18, 0x41, 8, 0, 0x45])), Ok(Next::EtherType(0x0800, _))));
        let snap = [0x18, 0x40, 0x40, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0, 0x45];
        assert!(matches!(next(Part::whole(&snap)), Ok(Next::EtherType(0x0800, part)) if part.bytes == [0x45]));
    }

    #[test]
    fn an_address_without_end_is_none() {
        assert!(matches!(next(Part::whole(&[0, 0, 0, 0, 0, 0])), Ok(Next::Nothing)));
        assert!(next(Part::whole(&[0, 0])).is_err());
    }
}
