//! The blocks of a pcapng file as latpcap writes them: its own in little-endian order, with times in nanoseconds.

use super::blocks::{
    OPTION_COMMENT, OPTION_DESCRIPTION, OPTION_INTERFACE_DROPS, OPTION_RESOLUTION, OPTION_SYSTEM_DROPS, TLS_KEY_LOG,
    kind,
};
use super::{BODY, BYTE_ORDER_MAGIC, FRAMING, PACKET_HEAD};
use crate::capture::host_curve::HostCurve;
use crate::capture::order::Order;

const VERSION: [u8; 4] = [1, 0, 0, 0];
/// How long the section is, is not known while it is written.
const UNKNOWN_LENGTH: [u8; 8] = [0xff; 8];
const OPTION_NAME: u16 = 2;
const OPTION_APPLICATION: u16 = 4;
/// Times count 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Packets that begin with their IP header.
pub const LINKTYPE_RAW: u16 = 101;

/// What an interface description says.
#[derive(Default)]
pub struct Described<'a> {
    pub link_type: u16,
    /// What is kept of each packet; 0: all.
    pub snap_length: u32,
    /// Either may be empty.
    pub name: &'a str,
    pub description: &'a str,
}

/// Whose packets were lost.
#[derive(Clone, Copy)]
pub enum Dropped {
    ByInterface(u64),
    BySystem(u64),
}

/// Appends the header of a section: what begins every file, with the program that writes it, unless that is empty.
pub fn section(out: &mut Vec<u8>, application: &str) {
    header(out, (OPTION_APPLICATION, application));
}

/// Appends a section that holds no packet, but says how much later this host answers after a rest.
pub fn host_curve(out: &mut Vec<u8>, curve: &HostCurve) {
    header(out, (OPTION_COMMENT, &curve.to_string()));
}

fn header(out: &mut Vec<u8>, text: (u16, &str)) {
    block(out, Order::Little, kind::SECTION, |out| {
        out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        out.extend(VERSION);
        out.extend(UNKNOWN_LENGTH);
        options(out, known(&[text]));
    });
}

/// Appends the description of the next interface.
pub fn interface(out: &mut Vec<u8>, described: &Described<'_>) {
    block(out, Order::Little, kind::INTERFACE, |out| {
        out.extend(described.link_type.to_le_bytes());
        out.extend([0, 0]);
        out.extend(described.snap_length.to_le_bytes());
        let texts = [(OPTION_NAME, described.name), (OPTION_DESCRIPTION, described.description)];
        options(out, known(&texts).chain([(OPTION_RESOLUTION, &[NANOSECONDS][..])]));
    });
}

/// The interfaces of a file that has one for each link type.
#[derive(Default)]
pub struct Interfaces(Vec<u16>);

impl Interfaces {
    /// The one of this link type, described first where it is new.
    pub fn number(&mut self, out: &mut Vec<u8>, link_type: u16) -> u32 {
        let known = self.0.iter().position(|&each| each == link_type);
        let number = known.unwrap_or_else(|| {
            interface(out, &Described { link_type, ..Described::default() });
            self.0.push(link_type);
            self.0.len() - 1
        });
        number as u32
    }
}

/// What a packet block says before its packet.
pub struct Head {
    pub interface: u32,
    pub time_ns: u64,
    pub original_length: u32,
}

/// Appends a packet, all of its `parts` in a row.
pub fn packet<'a>(out: &mut Vec<u8>, head: &Head, parts: &[&[u8]], comments: impl IntoIterator<Item = &'a [u8]>) {
    let captured: usize = parts.iter().map(|part| part.len()).sum();
    block(out, Order::Little, kind::PACKET, |out| {
        out.extend(head.interface.to_le_bytes());
        time(out, head.time_ns);
        out.extend((captured as u32).to_le_bytes());
        out.extend(head.original_length.to_le_bytes());
        let start = out.len();
        parts.iter().for_each(|part| out.extend(*part));
        pad(out, start);
        options(out, comments.into_iter().map(|text| (OPTION_COMMENT, text)));
    });
}

/// How long the block of a packet of `length` bytes is, without comments.
pub fn packet_block_length(length: usize) -> usize {
    FRAMING + PACKET_HEAD + length.next_multiple_of(4)
}

/// Appends the statistics of the first interface: how many packets are not in the file.
pub fn statistics(out: &mut Vec<u8>, time_ns: u64, dropped: Dropped) {
    let (code, count) = match dropped {
        Dropped::ByInterface(count) => (OPTION_INTERFACE_DROPS, count),
        Dropped::BySystem(count) => (OPTION_SYSTEM_DROPS, count),
    };
    block(out, Order::Little, kind::STATISTICS, |out| {
        out.extend(0_u32.to_le_bytes());
        time(out, time_ns);
        options(out, [(code, &count.to_le_bytes()[..])]);
    });
}

/// Appends a TLS key log.
pub(in crate::capture) fn key_log(out: &mut Vec<u8>, order: Order, text: &[u8]) {
    block(out, order, kind::SECRETS, |out| {
        out.extend(order.bytes_u32(TLS_KEY_LOG));
        out.extend(order.bytes_u32(text.len() as u32));
        out.extend(text);
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
        count += u64::from(blocks.get(start..).is_some_and(|block| block.starts_with(&kind::PACKET.to_le_bytes())));
        start = end;
    }
    count
}

/// Appends a block of a file in this order.
pub(in crate::capture) fn block(out: &mut Vec<u8>, order: Order, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(order.bytes_u32(kind));
    out.extend([0; 4]);
    body(out);
    pad(out, start);
    let length = order.bytes_u32((out.len() + 4 - start) as u32);
    out.extend(length);
    if let Some(field) = out.get_mut(start + 4..start + BODY) {
        field.copy_from_slice(&length);
    }
}

/// Appends options, and what ends them; nothing where there are none.
fn options<'a>(out: &mut Vec<u8>, all: impl IntoIterator<Item = (u16, &'a [u8])>) {
    let start = out.len();
    all.into_iter().for_each(|(code, value)| option(out, Order::Little, code, value));
    if out.len() > start {
        out.extend([0; 4]);
    }
}

/// An option: no longer than its length can say.
pub(in crate::capture) fn option(out: &mut Vec<u8>, order: Order, code: u16, value: &[u8]) {
    let start = out.len();
    let value = value.get(..usize::from(u16::MAX)).unwrap_or(value);
    out.extend(order.bytes_u16(code));
    out.extend(order.bytes_u16(value.len() as u16));
    out.extend(value);
    pad(out, start);
}

/// The texts that are not empty.
fn known<'a>(texts: &[(u16, &'a str)]) -> impl Iterator<Item = (u16, &'a [u8])> {
    texts.iter().filter(|(_, text)| !text.is_empty()).map(|&(code, text)| (code, text.as_bytes()))
}

/// The upper half first, whatever the byte order.
fn time(out: &mut Vec<u8>, time_ns: u64) {
    out.extend(((time_ns >> 32) as u32).to_le_bytes());
    out.extend((time_ns as u32).to_le_bytes());
}

/// What began at `start` ends at a multiple of four bytes behind it.
pub(in crate::capture) fn pad(out: &mut Vec<u8>, start: usize) {
    let padded = start + (out.len() - start).next_multiple_of(4);
    out.resize(padded, 0);
}
