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
#[path = "pcap_tests.rs"]
mod tests;
