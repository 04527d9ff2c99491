//! Link layers that the capturing machine made up: Linux "any", Apple's PKTAP, Linux' NFLOG.

use super::ethernet;
use super::part::{Next, Part};
use crate::cursor::{Cursor, TooShort};

const NETLINK: u16 = 824;
const LLC: u16 = 4;
const SMALLEST_ETHER_TYPE: u16 = 0x600;

/// Direction u16, device type u16, address length u16, address 8, protocol u16.
pub(super) fn linux(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    cursor.skip(2, "direction")?;
    let device = cursor.u16_be("device type")?;
    cursor.skip(10, "address")?;
    let protocol = cursor.u16_be("protocol")?;
    cooked(device, protocol, part.after(cursor.position()))
}

/// Protocol u16, reserved u16, interface u32, device type u16, direction u8, address length u8, address 8.
pub(super) fn linux_2(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let protocol = cursor.u16_be("protocol")?;
    cursor.skip(6, "interface")?;
    let device = cursor.u16_be("device type")?;
    cursor.skip(10, "address")?;
    cooked(device, protocol, part.after(cursor.position()))
}

fn cooked(device: u16, protocol: u16, part: Part<'_>) -> Result<Next<'_>, TooShort> {
    match (device, protocol) {
        (NETLINK, _) => Ok(Next::Nothing),
        (_, LLC) => ethernet::llc(part),
        (_, SMALLEST_ETHER_TYPE..) => Ok(Next::EtherType(protocol, part)),
        _ => Ok(Next::Nothing),
    }
}

/// Header length u32, next header u32, LINKTYPE u32, then much about the process; little-endian.
pub(super) fn pktap(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    let length = cursor.u32_le("PKTAP header length")?;
    let is_packet = cursor.u32_le("PKTAP next header")? == 1;
    let link_type = cursor.u32_le("PKTAP link type")?;
    cursor.skip((length as usize).saturating_sub(12), "PKTAP header")?;
    match u16::try_from(link_type) {
        Ok(link_type) if is_packet => Ok(Next::Link(link_type, part.after(cursor.position()))),
        _ => Ok(Next::Nothing),
    }
}

const NFLOG_PAYLOAD: u16 = 9;

/// Family u8, version u8, resource u16, then (length u16, type u16, value, padded to 4) in the order of the machine.
pub(super) fn nflog(part: Part<'_>) -> Result<Next<'_>, TooShort> {
    let mut cursor = part.cursor();
    cursor.skip(4, "NFLOG header")?;
    let fields = part.after(cursor.position());
    let payload = nflog_payload(fields, Cursor::u16_le).or_else(|| nflog_payload(fields, Cursor::u16_be));
    Ok(payload.map_or(Next::Nothing, Next::Ip))
}

type ReadU16<'a> = fn(&mut Cursor<'a>, &'static str) -> Result<u16, TooShort>;

fn nflog_payload<'a>(fields: Part<'a>, u16: ReadU16<'a>) -> Option<Part<'a>> {
    let mut cursor = fields.cursor();
    loop {
        let length = usize::from(u16(&mut cursor, "length").ok()?).checked_sub(4)?;
        // The top bits are flags.
        if u16(&mut cursor, "type").ok()? & 0x7fff == NFLOG_PAYLOAD {
            return Some(fields.after(cursor.position()).sized(length));
        }
        cursor.skip(length.next_multiple_of(4), "value").ok()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_of_nflog_is_found_in_either_byte_order() {
        let little = [2, 0, 0, 1, 5, 0, 1, 0, 7, 0, 0, 0, 5, 0, 9, 0, 0x45];
        let big = [2, 0, 0, 1, 0, 5, 0, 1, 7, 0, 0, 0, 0, 5, 0, 9, 0x45];
        for bytes in [little, big] {
            let next = nflog(Part::whole(&bytes)).unwrap();
            assert!(matches!(next, Next::Ip(part) if part.bytes == [0x45]));
        }
    }

    #[test]
    fn pktap_says_where_its_packet_begins() {
        let bytes = [16, 0, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0, 9, 9, 9, 9, 0x45];
        let next = pktap(Part::whole(&bytes)).unwrap();
        assert!(matches!(next, Next::Link(12, part) if part.bytes == [0x45]));
    }

    #[test]
    fn netlink_messages_are_no_packets() {
        let bytes = [&[0, 4, 3, 0x38][..], &[0; 10], &[8, 0, 0x45]].concat();
        assert!(matches!(linux(Part::whole(&bytes)), Ok(Next::Nothing)));
    }
}
