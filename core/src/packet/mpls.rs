//! MPLS (RFC 3032): label 20 bits, class 3, last 1, time to live 8; until the last.

use super::linktype;
use super::part::{Next, Part};
use crate::cursor::TooShort;

const LAST: u32 = 0x100;

/// Nothing says what follows the last label: IP shows by its version, a pseudo-wire's control word by its zeros,
/// and everything else is taken for Ethernet, as Wireshark does.
pub(super) fn labels(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    while cursor.u32_be("MPLS label")? & LAST == 0 {}
    let inner = part.after(cursor.position());
    Ok(match cursor.peek_u8().map(|first| first >> 4) {
        Some(4 | 6) => Next::Ip(inner),
        Some(0) => Next::Link(linktype::ETHERNET, inner.after(4)),
        Some(1) | None => Next::Nothing,
        Some(_) => Next::Link(linktype::ETHERNET, inner),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_to_the_last() {
        let labels = [0, 0, 0x10, 64, 0, 0, 0x21, 64, 0x45];
        let next = super::labels(Part::whole(&labels)).unwrap();
        assert!(matches!(next, Next::Ip(part) if part.bytes == [0x45]));
    }

    #[test]
    fn a_pseudo_wire_may_begin_with_a_control_word() {
        let labels = [0, 0, 0x11, 64, 0, 0, 0, 7, 0xff];
        let next = super::labels(Part::whole(&labels)).unwrap();
        assert!(matches!(next, Next::Link(1, part) if part.bytes == [0xff]));
    }

    #[test]
    fn labels_without_end_are_too_short() {
        assert!(labels(Part::whole(&[0, 0, 0x10, 64])).is_err());
    }
}
