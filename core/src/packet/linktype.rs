//! LINKTYPE numbers: <https://www.tcpdump.org/linktypes.html>.

/// Two that headers of other protocols announce, too.
pub(super) const ETHERNET: u16 = 1;
pub(super) const WIFI: u16 = 105;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_types_that_are_not_read_are_named() {
        assert_eq!((name(189), name(148), name(1)), (Some("USB"), Some("private use"), None));
    }
}
