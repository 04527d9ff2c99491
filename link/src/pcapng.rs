//! The blocks of a pcapng file, as a recorder writes them: little-endian, times in nanoseconds.
//!
//! <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>
//!
//! ```text
//! type u32 | length u32, counts all | body, padded to 4 | length u32 again
//! ```

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const VERSION: [u16; 2] = [1, 0];
/// How long the section is, is not known while it is written.
const UNKNOWN_LENGTH: u64 = u64::MAX;

/// Type and length before the body, the length again after it.
const FRAMING: usize = 12;
/// Interface, time, captured and original length of a packet.
const PACKET_HEAD: usize = 20;

const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const DESCRIPTION: u16 = 3;
const RESOLUTION: u16 = 9;
const INTERFACE_DROPS: u16 = 5;
/// Times count 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Packets that begin with their IP header.
pub const LINKTYPE_RAW: u16 = 101;

/// What an interface description says.
pub struct Interface<'a> {
    pub link_type: u16,
    /// What is kept of each packet; 0: all.
    pub snap_length: u32,
    pub name: &'a str,
    pub description: &'a str,
}

/// Appends the header of a section: what begins every file.
pub fn section(out: &mut Vec<u8>, application: &str) {
    block(out, SECTION, |out| {
        out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        VERSION.iter().for_each(|part| out.extend(part.to_le_bytes()));
        out.extend(UNKNOWN_LENGTH.to_le_bytes());
        option(out, APPLICATION, application.as_bytes());
        end_of_options(out);
    });
}

/// Appends the description of the next interface.
pub fn interface(out: &mut Vec<u8>, interface: &Interface<'_>) {
    block(out, INTERFACE, |out| {
        out.extend(interface.link_type.to_le_bytes());
        out.extend([0, 0]);
        out.extend(interface.snap_length.to_le_bytes());
        option(out, NAME, interface.name.as_bytes());
        option(out, DESCRIPTION, interface.description.as_bytes());
        option(out, RESOLUTION, &[NANOSECONDS]);
        end_of_options(out);
    });
}

/// Appends a packet of interface 0, which is `head` and `payload`; no more of it is kept than the `snap_length` (0: all).
pub fn packet(out: &mut Vec<u8>, time_ns: u64, head: &[u8], payload: &[u8], snap_length: u32) {
    let length = head.len() + payload.len();
    let captured = if snap_length == 0 { length } else { length.min(snap_length as usize) };
    block(out, PACKET, |out| {
        out.extend(0_u32.to_le_bytes());
        time(out, time_ns);
        out.extend((captured as u32).to_le_bytes());
        out.extend((length as u32).to_le_bytes());
        let head = head.get(..captured).unwrap_or(head);
        out.extend(head);
        out.extend(payload.iter().take(captured - head.len()));
    });
}

/// How long the block of a packet of `length` bytes is.
pub fn packet_block_length(length: usize) -> usize {
    FRAMING + PACKET_HEAD + length.next_multiple_of(4)
}

/// Appends the statistics of interface 0: how many packets found no room in the file, and a remark.
pub fn statistics(out: &mut Vec<u8>, time_ns: u64, dropped: u64, comment: &str) {
    block(out, STATISTICS, |out| {
        out.extend(0_u32.to_le_bytes());
        time(out, time_ns);
        option(out, INTERFACE_DROPS, &dropped.to_le_bytes());
        if !comment.is_empty() {
            option(out, COMMENT, comment.as_bytes());
        }
        end_of_options(out);
    });
}

/// Where the block ends that begins at `start`; `None` where there is none.
pub fn block_end(blocks: &[u8], start: usize) -> Option<usize> {
    let length = blocks.get(start + 4..)?.first_chunk::<4>()?;
    Some(start + u32::from_le_bytes(*length) as usize)
}

/// How many of whole `blocks` are packets.
pub fn packets(blocks: &[u8]) -> u64 {
    let (mut count, mut start) = (0, 0);
    while let Some(end) = block_end(blocks, start) {
        count += u64::from(blocks[start..].starts_with(&PACKET.to_le_bytes()));
        start = end;
    }
    count
}

fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    pad(out, start);
    let length = ((out.len() + 4 - start) as u32).to_le_bytes();
    out.extend(length);
    out[start + 4..start + 8].copy_from_slice(&length);
}

/// The upper half first, whatever the byte order.
fn time(out: &mut Vec<u8>, time_ns: u64) {
    out.extend(((time_ns >> 32) as u32).to_le_bytes());
    out.extend((time_ns as u32).to_le_bytes());
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let start = out.len();
    let value = value.get(..usize::from(u16::MAX)).unwrap_or(value);
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    pad(out, start);
}

fn end_of_options(out: &mut Vec<u8>) {
    out.extend([0; 4]);
}

fn pad(out: &mut Vec<u8>, start: usize) {
    let padded = start + (out.len() - start).next_multiple_of(4);
    out.resize(padded, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_says_its_length_twice_and_is_padded() {
        let mut out = Vec::new();
        packet(&mut out, 1 << 32 | 5, &[1, 2, 3], &[4, 5], 0);
        assert_eq!(out.len(), packet_block_length(5));
        assert_eq!(out[..8], [6, 0, 0, 0, 40, 0, 0, 0]);
        assert_eq!(out[12..28], [1, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(out[28..], [1, 2, 3, 4, 5, 0, 0, 0, 40, 0, 0, 0]);
    }

    #[test]
    fn a_packet_that_is_cut_keeps_its_length_on_the_wire() {
        for snap_length in 1..6_usize {
            let mut out = Vec::new();
            packet(&mut out, 0, &[1, 2, 3], &[4, 5, 6], snap_length as u32);
            assert_eq!(out[20..28], [snap_length as u8, 0, 0, 0, 6, 0, 0, 0]);
            assert_eq!(out[28..28 + snap_length], [1, 2, 3, 4, 5, 6][..snap_length]);
            assert_eq!(out.len(), packet_block_length(snap_length));
        }
    }
}
