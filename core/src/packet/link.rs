//! Link layers by their LINKTYPE number.
//!
//! <https://www.tcpdump.org/linktypes.html>

use super::part::{Next, Part};
use super::{cooked, ethernet, frame_relay, juniper, ppp, wifi};
use crate::cursor::TooShort;

pub(super) const ETHERNET: u16 = 1;
pub(super) const WIFI: u16 = 105;

pub(super) fn next(link_type: u16, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match link_type {
        ETHERNET => ethernet::next(part),
        0 | 108 => family(part),
        9 | 50 => ppp::framed(part),
        // Raw IP: 12 and 14 are what BSDs write for 101.
        12 | 14 | 101 | 228 | 229 => Ok(Next::Ip(part)),
        51 => ppp::over_ethernet(part),
        104 => ppp::cisco_hdlc(part),
        WIFI => wifi::frame(part),
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
        219 => ethernet::mpls(part),
        239 => cooked::nflog(part),
        276 => cooked::linux_2(part),
        _ => Ok(Next::UnknownLinkType(link_type)),
    }
}

/// What the interfaces of a LINKTYPE are, where packets of it are met though none is read here.
pub fn name(link_type: u16) -> Option<&'static str> {
    Some(match link_type {
        6 => "Token Ring",
        7 => "ARCNET",
        8 => "SLIP",
        10 => "FDDI",
        11 | 100 | 123 => "ATM",
        117 => "OpenBSD's packet filter log",
        122 => "IP over Fibre Channel",
        138 => "IP over FireWire",
        139..=142 => "SS7",
        143 => "DOCSIS",
        144 => "infrared",
        147..=162 => "private use",
        177 => "ISDN (LAPD)",
        186 | 189 | 220 | 249 | 266 | 288 | 292..=294 => "USB",
        187 | 201 | 254 | 255 | 272 => "Bluetooth",
        190 | 227 => "CAN bus",
        195 | 215 | 230 | 283 => "IEEE 802.15.4",
        199 | 209 => "IPMB",
        203 => "GPRS",
        225 => "IP over InfiniBand",
        247 => "InfiniBand",
        253 => "Netlink",
        251 | 256 => "Bluetooth Low Energy",
        _ => return None,
    })
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
        assert_eq!((name(189), name(148), name(1)), (Some("USB"), Some("private use"), None));
        let next = next(147, Part::whole(&[1, 2, 3])).unwrap();
        assert!(matches!(next, Next::UnknownLinkType(147)));
    }
}
