//! A capture file that still grows, section by section: the whole packets that are there, and what later ones need.

use super::pcapng::{blocks::kind, is_section};

/// The length of a block, and of pcap's header and the header of each of its packets.
const FRAMING: usize = 12;
const PCAP_HEAD: usize = 24;
const PCAP_RECORD: usize = 16;

/// With the `head` of a file so far, nothing at its beginning: that of what follows `data`, and how much of `data` is whole.
///
/// This machine writes the file, in its own byte order.
pub fn whole_part(head: &[u8], data: &[u8]) -> (Vec<u8>, usize) {
    let first = if head.is_empty() { data } else { head };
    if is_section(first) { whole_blocks(head, data) } else { whole_records(head, data) }
}

/// The head of a pcapng is all its blocks that are no packets.
fn whole_blocks(head: &[u8], data: &[u8]) -> (Vec<u8>, usize) {
    let (mut head, mut at) = (head.to_vec(), 0);
    while let (Some(kind), Some(length)) = (u32_at(data, at), u32_at(data, at + 4)) {
        let Some(block) = data.get(at..at + length as usize).filter(|block| block.len() >= FRAMING) else { break };
        if !matches!(kind, kind::PACKET | kind::SIMPLE_PACKET | kind::OLD_PACKET | kind::STATISTICS) {
            head.extend(block);
        }
        at += block.len();
    }
    (head, at)
}

/// That of a pcap is its header.
fn whole_records(head: &[u8], data: &[u8]) -> (Vec<u8>, usize) {
    let begin = if head.is_empty() { PCAP_HEAD } else { 0 };
    let Some(header) = data.get(..begin) else { return (Vec::new(), 0) };
    let mut at = begin;
    while let Some(captured) = u32_at(data, at + 8) {
        let end = at + PCAP_RECORD + captured as usize;
        if end > data.len() {
            break;
        }
        at = end;
    }
    ([head, header].concat(), at)
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let length = (FRAMING + body.len()) as u32;
        [&kind.to_ne_bytes()[..], &length.to_ne_bytes(), body, &length.to_ne_bytes()].concat()
    }

    #[test]
    fn each_section_ends_with_a_whole_block_and_the_next_one_begins_with_those_that_hold_no_packet() {
        let (section, interface) = (block(kind::SECTION, &[0; 16]), block(kind::INTERFACE, &[0; 8]));
        let (packet, statistics) = (block(kind::PACKET, &[0; 20]), block(kind::STATISTICS, &[0; 12]));
        let first = [&section[..], &packet, &interface, &statistics].concat();
        let head = [&section[..], &interface].concat();
        assert_eq!(whole_part(&[], &[&first[..], &packet[..9]].concat()), (head.clone(), first.len()));
        assert_eq!(whole_part(&head, &packet), (head.clone(), packet.len()));
        assert_eq!(whole_part(&head, &packet[..31]), (head, 0));
        assert_eq!(whole_part(&[], &section[..3]), (Vec::new(), 0));
    }

    #[test]
    fn a_pcap_has_its_header_before_each_section() {
        let header = [0xa1_u8; PCAP_HEAD];
        let packet = [&[0; 8][..], &5_u32.to_ne_bytes(), &[0; 4], b"12345"].concat();
        let first = [&header[..], &packet].concat();
        assert_eq!(whole_part(&[], &[&first[..], &packet[..20]].concat()), (header.to_vec(), first.len()));
        assert_eq!(whole_part(&header, &packet), (header.to_vec(), packet.len()));
        assert_eq!(whole_part(&[], &header[..23]), (Vec::new(), 0));
    }
}
