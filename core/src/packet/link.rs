//! Link layers by their LINKTYPE number.
//!
//! <https://www.tcpdump.org/linktypes.html>

use super::part::{Next, Part};
use super::{cooked, ethernet, ppp};
use crate::cursor::TooShort;

pub(super) const ETHERNET: u16 = 1;

#[inline]
pub(super) fn next(link_type: u16, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match link_type {
        ETHERNET => ethernet::next(part),
        0 | 108 => family(part),
        9 | 50 => ppp::framed(part),
        // Raw IP: 12 and 14 are what BSDs write for 101.
        12 | 14 | 101 | 228 | 229 => Ok(Next::Ip(part)),
        51 => ppp::over_ethernet(part),
        104 => ppp::cisco_hdlc(part),
        113 => cooked::linux(part),
        // 149 is what Apple wrote before 258 was assigned.
        149 | 258 => cooked::pktap(part),
        // PPP, preceded by its direction.
        204 => Ok(Next::Ppp(part.after(1))),
        219 => ethernet::mpls(part),
        239 => cooked::nflog(part),
        276 => cooked::linux_2(part),
        _ => Ok(Next::UnknownLinkType(link_type)),
    }
}

/// BSD's loopback: the address family in the byte order of the machine (0) or of the network (108).
fn family(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let family = cursor.u32_be("address family")?;
    Ok(match family.min(family.swap_bytes()) {
        // IPv4; then IPv6 as Linux, Windows, NetBSD, FreeBSD and macOS number it.
        2 | 10 | 23 | 24 | 28 | 30 => Next::Ip(part.after(4)),
        _ => Next::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_families_come_in_either_byte_order() {
        for bytes in [[2, 0, 0, 0, 0x45], [0, 0, 0, 30, 0x60]] {
            let next = next(0, Part::whole(&bytes)).unwrap();
            assert!(matches!(next, Next::Ip(part) if part.bytes.len() == 1));
        }
    }

    #[test]
    fn an_unknown_link_type_is_named() {
        let next = next(147, Part::whole(&[1, 2, 3])).unwrap();
        assert!(matches!(next, Next::UnknownLinkType(147)));
    }
}
