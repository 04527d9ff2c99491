//! The classic capture file of libpcap.
//!
//! <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html>
//!
//! ```text
//! magic u32 | major u16 | minor u16 | zone i32 | accuracy u32 | snap length u32 | link type u32     once
//! seconds u32 | fraction u32 | captured u32 | original u32 | (variants: more) | packet              per packet
//! ```

pub(super) mod variants;

use super::order::Order;
use super::read_buffer::ReadBuffer;
use super::record::{Damage, Record};
use crate::cursor::{Cursor, TooShort};
use variants::{Lengths, RECORD_HEADER, Times, Variant};

/// Wireshark's limits: no network packet is longer, so a longer one is damage.
const MAX_PACKET_BYTES: u32 = 256 * 1024;
const MAX_BUS_TRANSFER_BYTES: u32 = 128 * 1024 * 1024;

/// The LINKTYPEs of USB and D-Bus, whose "packets" are whole transfers.
const BUSES: [u16; 6] = [186, 189, 220, 231, 249, 266];

pub(super) struct Pcap {
    times: Times,
    lengths: Lengths,
    record_header: usize,
    longest_packet: u32,
    link_type: u16,
}

pub(super) enum Opened {
    Pcap(Pcap),
    /// Not a pcap file.
    Foreign,
    /// A pcap file that ends inside its header.
    Cut,
    UnknownVersion(u16, u16),
}

impl Pcap {
    /// Reads the file header and leaves the buffer at the first record.
    pub fn open(buffer: &mut ReadBuffer) -> Opened {
        let Some(variant) = Variant::of_magic(buffer.peek_up_to(4)) else {
            return Opened::Foreign;
        };
        let Some(header) = buffer.peek(variant.file_header) else {
            return Opened::Cut;
        };
        let Ok((major, minor, link_type)) = file_header(header, variant.times.order) else {
            return Opened::Cut;
        };
        if major < 2 {
            return Opened::UnknownVersion(major, minor);
        }
        buffer.consume(variant.file_header);
        let longest_packet = match BUSES.contains(&link_type) {
            true => MAX_BUS_TRANSFER_BYTES,
            false => MAX_PACKET_BYTES,
        };
        let lengths = Lengths::of_version(minor);
        Opened::Pcap(Self {
            times: variant.times,
            lengths,
            record_header: variant.record_header(buffer, lengths, longest_packet),
            longest_packet,
            link_type,
        })
    }

    /// The next packet where all of it is in the buffer, as nearly always; else it is to be fetched.
    #[inline(always)]
    pub fn at_hand(&self, bytes: &[u8]) -> Option<Record> {
        let record = self.record(bytes.first_chunk::<RECORD_HEADER>()?).ok()?;
        (record.length <= self.longest_packet as usize && record.whole <= bytes.len()).then_some(record)
    }

    /// The next packet, read into the buffer first; `None` at the end of the file.
    pub fn fetch(&self, buffer: &mut ReadBuffer) -> Result<Option<Record>, Damage> {
        let at = buffer.offset();
        let Some(header) = buffer.peek(self.record_header) else {
            return if buffer.at_end() { Ok(None) } else { Err(Damage::cut(at)) };
        };
        let record = self.record(header).map_err(|error| Damage::short(at, error))?;
        if record.length > self.longest_packet as usize {
            return Err(Damage::broken(at, format!("a packet claims {} bytes", record.length)));
        }
        match buffer.peek(record.whole) {
            Some(_) => Ok(Some(record)),
            None => Err(Damage::cut(at)),
        }
    }

    /// From the fields that every variant begins with.
    #[inline(always)]
    fn record(&self, header: &[u8]) -> Result<Record, TooShort> {
        let mut cursor = Cursor::new(header);
        let time_ns = self.times.read(&mut cursor)?;
        let (captured, original) = self.lengths.read(&mut cursor, self.times.order)?;
        Ok(Record {
            is_packet: true,
            time_ns: Some(time_ns),
            link_type: self.link_type,
            interface: 0,
            original_length: original.max(captured),
            skip: self.record_header,
            length: captured as usize,
            whole: self.record_header + captured as usize,
        })
    }
}

/// Version and link type.
fn file_header(header: &[u8], order: Order) -> Result<(u16, u16, u16), TooShort> {
    let mut cursor = Cursor::new(header);
    cursor.skip(4, "magic")?;
    let major = order.u16(&mut cursor, "major version")?;
    let minor = order.u16(&mut cursor, "minor version")?;
    // The snap length is often 0, or larger than any packet: it says nothing that the packets do not say.
    cursor.skip(12, "zone, accuracy and snap length")?;
    let network = order.u32(&mut cursor, "link type")?;
    // The upper half says how many bytes of frame check sequence end each packet.
    Ok((major, minor, network as u16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::NoteCode;

    fn buffer(bytes: &[u8]) -> ReadBuffer {
        ReadBuffer::new(Box::new(std::io::Cursor::new(bytes.to_vec())), 1 << 16)
    }

    fn header(magic: u32, network: u32) -> Vec<u8> {
        let mut bytes = magic.to_be_bytes().to_vec();
        bytes.extend([0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(network.to_be_bytes());
        bytes
    }

    fn record(fraction: u32, captured: u32, original: u32, extra: usize) -> Vec<u8> {
        let mut bytes = vec![0, 0, 0, 1];
        for field in [fraction, captured, original] {
            bytes.extend(field.to_be_bytes());
        }
        bytes.resize(bytes.len() + extra, 0xee);
        bytes.resize(bytes.len() + captured as usize, 0x55);
        bytes
    }

    fn open(buffer: &mut ReadBuffer) -> Pcap {
        match Pcap::open(buffer) {
            Opened::Pcap(pcap) => pcap,
            _ => panic!("not a pcap"),
        }
    }

    fn packets(bytes: &[u8]) -> (Vec<(i64, usize, u32)>, Option<Damage>) {
        let mut buffer = buffer(bytes);
        let pcap = open(&mut buffer);
        let mut packets = Vec::new();
        loop {
            let at_hand = pcap.at_hand(buffer.at_hand());
            match pcap.fetch(&mut buffer) {
                Ok(Some(record)) => {
                    assert!(at_hand.is_none_or(|at_hand| at_hand == record));
                    assert!(buffer.slice(record.skip, record.length).iter().all(|&byte| byte == 0x55));
                    let time = record.time_ns.unwrap_or_default();
                    packets.push((time, record.length, record.original_length));
                    buffer.consume(record.whole);
                }
                Ok(None) => return (packets, None),
                Err(damage) => return (packets, Some(damage)),
            }
        }
    }

    #[test]
    fn microseconds_and_nanoseconds_differ_in_their_magic() {
        for (magic, time) in [(0xa1b2_c3d4, 1_000_007_000), (0xa1b2_3c4d, 1_000_000_007)] {
            let bytes = [header(magic, 1), record(7, 2, 60, 0)].concat();
            assert_eq!(packets(&bytes), (vec![(time, 2, 60)], None));
        }
    }

    #[test]
    fn the_writers_byte_order_shows_in_the_magic() {
        let bytes = [
            &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
            &[0xff, 0xff, 0, 0, 113, 0, 0, 0],
            &[1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0x55],
        ]
        .concat();
        assert_eq!(packets(&bytes), (vec![(1_000_002_000, 1, 9)], None));
    }

    #[test]
    fn frame_check_bits_are_no_part_of_the_link_type() {
        assert_eq!(open(&mut buffer(&header(0xa1b2_c3d4, 0x2400_0001))).link_type, 1);
    }

    #[test]
    fn kuznetzovs_records_have_a_longer_header() {
        let one = record(7, 40, 60, 8);
        let bytes = [header(0xa1b2_cd34, 1), one.clone(), one].concat();
        assert_eq!(packets(&bytes), (vec![(1_000_007_000, 40, 60); 2], None));
    }

    #[test]
    fn nokias_longer_records_hide_behind_the_usual_magic() {
        let one = record(7, 40, 60, 4);
        let bytes = [header(0xa1b2_c3d4, 1), one.clone(), one.clone(), one].concat();
        assert_eq!(packets(&bytes), (vec![(1_000_007_000, 40, 60); 3], None));
    }

    #[test]
    fn a_packet_that_the_file_cuts_is_told_with_its_place() {
        let mut bytes = [header(0xa1b2_c3d4, 1), record(7, 4, 4, 0), record(8, 4, 4, 0)].concat();
        bytes.pop();
        assert_eq!(packets(&bytes), (vec![(1_000_007_000, 4, 4)], Some(Damage::cut(44))));
    }

    #[test]
    fn an_absurd_length_is_damage_and_not_memory() {
        let mut bytes = header(0xa1b2_c3d4, 1);
        bytes.extend(record(7, 1, 1, 0));
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1]);
        let (packets, damage) = packets(&bytes);
        assert_eq!(packets.len(), 1);
        assert_eq!(damage.map(|damage| damage.code), Some(NoteCode::FileDamaged));
    }
}
