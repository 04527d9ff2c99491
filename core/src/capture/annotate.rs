//! A recording written again as pcapng, with comments on its packets: as Wireshark shows and edits them.
//!
//! <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html#name-enhanced-packet-block>
//!
//! ```text
//! 6 u32 | length u32 | interface u32 | time u64 | captured u32 | original u32 | packet, padded | options | length u32
//! option: 1 u16 (a comment) | length u16 | UTF-8, padded;  0 u16 | 0 u16 ends them
//! ```
//!
//! One pcapng file is copied block by block, whatever the blocks are. A pcap file, and several files as one recording,
//! become one section: an interface for each link type, nanoseconds, and the comments that the packets had before.
//!
//! Blocks with decryption secrets open what the packets hide, so they are dropped unless somebody asks for them.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zeroize::Zeroizing;

use super::error::CaptureError;
use super::order::Order;
use super::pcapng::blocks::{Extras, key_log_body, kind};
use super::read_buffer::USUAL_SIZE;
use super::reader::Reader;
use super::recording::Recording;
use super::source::Source;
use super::stop::Stop;
use crate::note::Notes;

/// Gives the comments of a frame; it is asked for one after the other, as they stand in the file.
pub type Comments<'a> = dyn FnMut(u64) -> Vec<String> + 'a;

/// What becomes of secrets that open what the packets hide.
#[derive(Clone, Copy, Debug)]
pub enum Keys<'a> {
    Drop,
    /// The file's blocks stay, and this key log, if it holds anything, becomes one more.
    Embed(&'a [u8]),
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotated {
    /// Packets that have got a comment.
    pub packets: u64,
    /// Blocks with decryption secrets that the captures hold: kept or dropped, as was asked for.
    pub secrets: u64,
}

const COMMENT: u16 = 1;
const RESOLUTION: u16 = 9;
/// Longer comments are cut: an option's length is 16 bits, and no reader wants more.
const LONGEST_COMMENT: usize = 4096;

/// Type and length before the body, the length again after it.
const FRAMING: usize = 12;
/// What precedes the packet in its block, framing included.
const PACKET_HEAD: usize = 28;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnnotateError {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("cannot be written: {0}")]
    Write(#[from] io::Error),
    #[error("was cancelled")]
    Cancelled,
}

/// Writes the recording of `sources` with `comments` to `output`.
pub fn annotate(
    sources: Vec<Source>,
    comments: &mut Comments<'_>,
    keys: Keys<'_>,
    output: &mut impl Write,
    cancel: &AtomicBool,
) -> Result<Annotated, AnnotateError> {
    let mut sources = sources;
    if let [source] = sources.as_mut_slice() {
        let mut extras = Extras::keeping_blocks(matches!(keys, Keys::Embed(_)));
        let stream = source.open(&Arc::default(), false, &Stop::default())?;
        let mut reader = Reader::open(&source.name(), stream, USUAL_SIZE, &Stop::default())?;
        if reader.order().is_some() {
            return copy(&mut reader, &mut extras, comments, keys, output, cancel);
        }
    }
    merge(Recording::open(sources)?, comments, keys, output, cancel)
}

/// Copies a pcapng file block by block.
fn copy(
    reader: &mut Reader,
    extras: &mut Extras,
    comments: &mut Comments<'_>,
    keys: Keys<'_>,
    output: &mut impl Write,
    cancel: &AtomicBool,
) -> Result<Annotated, AnnotateError> {
    let (mut notes, mut frame, mut packets) = (Notes::default(), 0, 0);
    loop {
        let next = reader.advance(&mut notes, extras).map(|record| record.length);
        output.write_all(&extras.take_blocks())?;
        extras.take_key_log();
        let Some(captured) = next else { return Ok(Annotated { packets, secrets: extras.secrets }) };
        frame += 1;
        stop_if(cancel)?;
        if let (1, Keys::Embed(text), Some(order)) = (frame, keys, reader.order()) {
            write_key_log(text, order, output)?;
        }
        let (block, comments) = (reader.raw(), comments(frame));
        match reader.order() {
            Some(order) if !comments.is_empty() && has_options(block, order) => {
                output.write_all(&with_comments(block, captured, order, &comments))?;
                packets += 1;
            }
            _ => output.write_all(block)?,
        }
    }
}

/// Writes any recording as one section.
fn merge(
    mut recording: Recording,
    comments: &mut Comments<'_>,
    keys: Keys<'_>,
    output: &mut impl Write,
    cancel: &AtomicBool,
) -> Result<Annotated, AnnotateError> {
    let mut interfaces: Vec<u16> = Vec::new();
    let mut packets = 0;
    output.write_all(&section())?;
    if let Keys::Embed(text) = keys {
        write_key_log(text, Order::Little, output)?;
    }
    loop {
        stop_if(cancel)?;
        let more = recording.advance();
        if let (Some(text), Keys::Embed(_)) = (recording.take_key_log(), keys) {
            write_key_log(&text, Order::Little, output)?;
        }
        let secrets = recording.secrets();
        let Some(packet) = recording.packet().filter(|_| more) else { return Ok(Annotated { packets, secrets }) };
        let interface = interfaces.iter().position(|&link_type| link_type == packet.link_type);
        let interface = match interface {
            Some(interface) => interface,
            None => {
                output.write_all(&self::interface(packet.link_type))?;
                interfaces.push(packet.link_type);
                interfaces.len() - 1
            }
        };
        let new = comments(packet.frame);
        packets += u64::from(!new.is_empty());
        let mut body = Vec::with_capacity(packet.bytes.len() + 128);
        for field in [
            interface as u32,
            (packet.time_ns >> 32) as u32,
            packet.time_ns as u32,
            packet.bytes.len() as u32,
            packet.original_length,
        ] {
            body.extend(field.to_le_bytes());
        }
        body.extend(packet.bytes);
        pad(&mut body);
        let mut options = Vec::new();
        new.iter().for_each(|text| option(&mut options, Order::Little, COMMENT, comment_bytes(text)));
        recording.comments().for_each(|text| option(&mut options, Order::Little, COMMENT, text));
        if !options.is_empty() {
            options.extend([0; 4]);
        }
        body.extend(options);
        output.write_all(&block(kind::PACKET, Order::Little, &body))?;
    }
}

/// A key log as a block, or none where it holds nothing.
fn write_key_log(text: &[u8], order: Order, output: &mut impl Write) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    output.write_all(&Zeroizing::new(block(kind::SECRETS, order, &key_log_body(text, order))))
}

fn stop_if(cancel: &AtomicBool) -> Result<(), AnnotateError> {
    if cancel.load(Ordering::Relaxed) { Err(AnnotateError::Cancelled) } else { Ok(()) }
}

// --- blocks as they are -------------------------------------------------------------------------------------------

/// Whether it is a packet block that has options at all.
fn has_options(block: &[u8], order: Order) -> bool {
    let kind = order.u32(&mut crate::cursor::Cursor::new(block), "block type");
    matches!(kind, Ok(kind::PACKET | kind::OLD_PACKET))
}

/// The packet block, with comments before the options it had.
fn with_comments(block: &[u8], captured: usize, order: Order, comments: &[String]) -> Vec<u8> {
    let end_of_packet = (PACKET_HEAD + captured).next_multiple_of(4);
    let end = block.len() - 4;
    let mut whole = block.get(..end_of_packet.min(end)).unwrap_or_default().to_vec();
    pad(&mut whole);
    for text in comments {
        option(&mut whole, order, COMMENT, comment_bytes(text));
    }
    match block.get(end_of_packet..end) {
        Some(options) if !options.is_empty() => whole.extend(options),
        _ => whole.extend([0; 4]),
    }
    pad(&mut whole);
    let length = order.bytes_u32(whole.len() as u32 + 4);
    whole.extend(length);
    if let Some(field) = whole.get_mut(4..8) {
        field.copy_from_slice(&length);
    }
    whole
}

/// As much of a comment as fits, cut between characters.
fn comment_bytes(text: &str) -> &[u8] {
    let end = (0..=text.len().min(LONGEST_COMMENT)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.as_bytes().get(..end).unwrap_or_default()
}

// --- blocks of our own --------------------------------------------------------------------------------------------

fn section() -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(0x1a2b_3c4d_u32.to_le_bytes());
    body.extend([1, 0, 0, 0]); // version 1.0
    body.extend([0xff; 8]);
    block(kind::SECTION, Order::Little, &body)
}

/// An interface without a snap length, with nanoseconds.
fn interface(link_type: u16) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(link_type.to_le_bytes());
    body.extend([0; 6]);
    option(&mut body, Order::Little, RESOLUTION, &[9]);
    body.extend([0; 4]);
    block(kind::INTERFACE, Order::Little, &body)
}

fn block(kind: u32, order: Order, body: &[u8]) -> Vec<u8> {
    let length = order.bytes_u32((body.len() + FRAMING) as u32);
    [&order.bytes_u32(kind)[..], &length, body, &length].concat()
}

fn option(to: &mut Vec<u8>, order: Order, code: u16, value: &[u8]) {
    to.extend(order.bytes_u16(code));
    to.extend(order.bytes_u16(value.len() as u16));
    to.extend(value);
    pad(to);
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
#[path = "annotate_tests.rs"]
mod tests;
