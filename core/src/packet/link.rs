//! Link layers by their LINKTYPE number.

use super::linktype;
use super::part::{Next, Part};
use super::{cooked, ethernet, frame_relay, juniper, mpls, ppp, wifi};
use crate::cursor::TooShort;

pub(super) fn next(link_type: u16, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match link_type {
        linktype::ETHERNET => ethernet::next(part),
        0 | 108 => family(part),
        9 | 50 => ppp::framed(part),
        // Raw IP: 12 and 14 are what BSDs write for 101.
        12 | 14 | 101 | 228 | 229 => Ok(Next::Ip(part)),
        51 => ppp::over_ethernet(part),
        104 => ppp::cisco_hdlc(part),
        linktype::WIFI => wifi::frame(part),
        107 => frame_relay::next(part),
        113 => cooked::linux(part),
        119 | 163 => wifi::prism_or_avs(part),
        127 => wifi::radiotap(part),
        130..=137 | 164 | 167 | 168 | 174 | 178..=181 | 183 | 194 | 200 | 238 | 298 | 299 => {
            juniper::next(link_type, part)
        }
        // 149 is what Apple wrote before 258 was assigned.
        149 | 258 => cooked::pktap(part),
        // PPP, preceded by its direction.
        192 => wifi::ppi(part),
        204 => Ok(Next::Ppp(part.after(1))),
        219 => mpls::labels(part),
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
    fn an_unknown_link_type_is_told() {
        let next = next(147, Part::whole(&[1, 2, 3])).unwrap();
        assert!(matches!(next, Next::UnknownLinkType(147)));
    }
}
