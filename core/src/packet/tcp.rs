//! The TCP header (RFC 9293 §3.1) and the options of a SYN.

use super::part::{Addresses, Malformed, Part};
use super::{Endpoint, Flags, Segment};
use crate::capture::Packet;
use crate::cursor::{Cursor, Header, TooShort, header};

const FIXED_HEADER: usize = 20;
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SELECTIVE_ACKNOWLEDGMENT: u8 = 5;
/// Two no-operations align the timestamps, as RFC 7323 §A recommends: kind 8, length 10, value u32, echo u32.
const LEADING_TIMESTAMP: [u8; 4] = [NO_OPERATION, NO_OPERATION, 8, 10];
const LEADING_TIMESTAMP_BYTES: usize = 12;

#[inline(always)]
pub(super) fn segment<'a>(packet: &Packet<'_>, addresses: Addresses, part: Part<'a>) -> Result<Segment<'a>, Malformed> {
    let Fixed { source_port, destination_port, sequence, acknowledgment, header, flags, window } =
        header::<FIXED_HEADER, _>(part.bytes)?;
    if header < FIXED_HEADER || header > part.wire {
        return Err(Malformed::Lengths("TCP"));
    }
    let options = part.bytes.get(FIXED_HEADER..header.min(part.bytes.len())).unwrap_or_default();
    let (timestamp, echo) = leading_timestamp(options).unzip();
    let others = if timestamp.is_some() { &options[LEADING_TIMESTAMP_BYTES..] } else { options };
    let came_twice = !others.is_empty() && !flags.has(Flags::SYN) && came_twice(others, acknowledgment);
    let options = match flags.has(Flags::SYN) {
        true => Options::read(options),
        false => Options::default(),
    };
    let payload = part.after(header);
    Ok(Segment {
        frame: packet.frame,
        time_ns: packet.time_ns,
        tap: packet.tap,
        source: Endpoint { address: addresses.source, port: source_port },
        destination: Endpoint { address: addresses.destination, port: destination_port },
        identification: addresses.identification,
        sequence,
        acknowledgment,
        flags,
        window,
        maximum_segment_size: options.maximum_segment_size,
        window_scale: options.window_scale,
        timestamp,
        echo,
        came_twice,
        payload: payload.bytes,
        wire_length: u32::try_from(payload.wire).unwrap_or(u32::MAX),
    })
}

/// What every TCP header has.
struct Fixed {
    source_port: u16,
    destination_port: u16,
    sequence: u32,
    acknowledgment: u32,
    header: usize,
    flags: Flags,
    window: u16,
}

impl Header for Fixed {
    #[inline(always)]
    fn read(mut cursor: Cursor<'_>) -> Result<Self, TooShort> {
        let fixed = Self {
            source_port: cursor.u16_be("TCP source port")?,
            destination_port: cursor.u16_be("TCP destination port")?,
            sequence: cursor.u32_be("TCP sequence number")?,
            acknowledgment: cursor.u32_be("TCP acknowledgment number")?,
            header: usize::from(cursor.u8("TCP data offset")? >> 4) * 4,
            flags: Flags(cursor.u8("TCP flags")?),
            window: cursor.u16_be("TCP window")?,
        };
        cursor.skip(4, "TCP checksum and urgent pointer")?;
        Ok(fixed)
    }
}

#[derive(Default)]
struct Options {
    maximum_segment_size: Option<u16>,
    window_scale: Option<u8>,
}

impl Options {
    /// Reads as far as the options make sense.
    fn read(bytes: &[u8]) -> Self {
        let mut options = Self::default();
        let mut cursor = Cursor::new(bytes);
        while let Ok(Some((kind, mut value))) = next_option(&mut cursor) {
            match kind {
                MAXIMUM_SEGMENT_SIZE => options.maximum_segment_size = value.u16_be("size").ok(),
                WINDOW_SCALE => options.window_scale = value.u8("scale").ok(),
                _ => {}
            }
        }
        options
    }
}

#[inline]
fn leading_timestamp(options: &[u8]) -> Option<(u32, u32)> {
    let [a, b, c, d, rest @ ..] = options.strip_prefix(&LEADING_TIMESTAMP)?.first_chunk::<8>()?;
    Some((u32::from_be_bytes([*a, *b, *c, *d]), u32::from_be_bytes(*rest)))
}

/// Does the segment say that data came twice (D-SACK, RFC 2883 §4)? The first block of a selective acknowledgment then
/// lies below what is acknowledged, or within the second one.
#[cold]
fn came_twice(options: &[u8], acknowledgment: u32) -> bool {
    let mut cursor = Cursor::new(options);
    while let Ok(Some((kind, mut value))) = next_option(&mut cursor) {
        if kind == SELECTIVE_ACKNOWLEDGMENT {
            let mut block = || Some((value.u32_be("left edge").ok()?, value.u32_be("right edge").ok()?));
            let Some((left, right)) = block() else { return false };
            let up_to = |one: u32, other: u32| one.wrapping_sub(other) as i32 <= 0;
            return up_to(right, acknowledgment)
                || block()
                    .is_some_and(|(outer_left, outer_right)| up_to(outer_left, left) && up_to(right, outer_right));
        }
    }
    false
}

/// Kind u8, length u8 (counts both), value; two kinds are a single byte.
fn next_option<'a>(cursor: &mut Cursor<'a>) -> Result<Option<(u8, Cursor<'a>)>, TooShort> {
    match cursor.u8("option kind")? {
        END_OF_OPTIONS => Ok(None),
        NO_OPERATION => Ok(Some((NO_OPERATION, Cursor::new(&[])))),
        kind => {
            let length = usize::from(cursor.u8("option length")?);
            let value = cursor.sub(length.saturating_sub(2), "option")?;
            Ok(Some((kind, value)))
        }
    }
}

#[cfg(test)]
#[path = "tcp_tests.rs"]
mod tests;
