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

use super::captures::Captures;
use super::error::CaptureError;
use super::order::Order;
use super::pcapng::blocks::{Extras, OPTION_COMMENT, kind};
use super::pcapng::writing::{self, Head, Interfaces, block, option, pad};
use super::read_buffer::USUAL_SIZE;
use super::reader::Reader;
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

/// Longer comments are cut: an option's length is 16 bits, and no reader wants more.
const MAX_COMMENT_BYTES: usize = 4096;

/// What precedes the packet in its block: its type and length, then its head.
const BODY: usize = 8;
const PACKET_HEAD: usize = BODY + 20;

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
    merge(Captures::open(sources)?, comments, keys, output, cancel)
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
        let kind = reader.order().filter(|_| !comments.is_empty()).and_then(|order| kind_with_options(block, order));
        match (reader.order(), kind) {
            (Some(order), Some(kind)) => {
                output.write_all(&with_comments(block, kind, captured, order, &comments))?;
                packets += 1;
            }
            _ => output.write_all(block)?,
        }
    }
}

/// Writes any recording as one section.
fn merge(
    mut recording: Captures,
    comments: &mut Comments<'_>,
    keys: Keys<'_>,
    output: &mut impl Write,
    cancel: &AtomicBool,
) -> Result<Annotated, AnnotateError> {
    let (mut interfaces, mut packets, mut blocks) = (Interfaces::default(), 0, Vec::new());
    writing::section(&mut blocks, "");
    output.write_all(&blocks)?;
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
        let former: Option<Vec<Vec<u8>>> = more.then(|| recording.comments().map(<[u8]>::to_vec).collect());
        let Some(packet) = recording.packet().filter(|_| more) else {
            write_host_curve(&recording, output)?;
            return Ok(Annotated { packets, secrets });
        };
        blocks.clear();
        let interface = interfaces.number(&mut blocks, packet.link_type);
        let new = comments(packet.frame);
        packets += u64::from(!new.is_empty());
        let head = Head { interface, time_ns: packet.time_ns as u64, original_length: packet.original_length };
        let all = new.iter().map(|text| comment_bytes(text)).chain(former.iter().flatten().map(Vec::as_slice));
        writing::packet(&mut blocks, &head, &[packet.bytes], all);
        output.write_all(&blocks)?;
    }
}

/// The host's curve, where a file holds one.
fn write_host_curve(recording: &Captures, output: &mut impl Write) -> io::Result<()> {
    let mut block = Vec::new();
    recording.host_curve().into_iter().for_each(|curve| writing::host_curve(&mut block, curve));
    output.write_all(&block)
}

/// A key log as a block, or none where it holds nothing.
fn write_key_log(text: &[u8], order: Order, output: &mut impl Write) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut block = Zeroizing::new(Vec::with_capacity(text.len() + 2 * PACKET_HEAD));
    writing::key_log(&mut block, order, text);
    output.write_all(&block)
}

fn stop_if(cancel: &AtomicBool) -> Result<(), AnnotateError> {
    if cancel.load(Ordering::Relaxed) { Err(AnnotateError::Cancelled) } else { Ok(()) }
}

/// The type of a packet block, if blocks of this type have options at all.
fn kind_with_options(block: &[u8], order: Order) -> Option<u32> {
    let kind = order.u32(&mut crate::cursor::Cursor::new(block), "block type").ok()?;
    matches!(kind, kind::PACKET | kind::OLD_PACKET).then_some(kind)
}

/// The packet block, with comments before the options it had.
fn with_comments(given: &[u8], kind: u32, captured: usize, order: Order, comments: &[String]) -> Vec<u8> {
    let end_of_packet = (PACKET_HEAD + captured).next_multiple_of(4);
    let end = given.len() - 4;
    let mut whole = Vec::with_capacity(given.len() + 128);
    block(&mut whole, order, kind, |whole| {
        whole.extend(given.get(BODY..end_of_packet.min(end)).unwrap_or_default());
        pad(whole, 0);
        comments.iter().for_each(|text| option(whole, order, OPTION_COMMENT, comment_bytes(text)));
        match given.get(end_of_packet..end) {
            Some(options) if !options.is_empty() => whole.extend(options),
            _ => whole.extend([0; 4]),
        }
    });
    whole
}

/// As much of a comment as fits, cut between characters.
fn comment_bytes(text: &str) -> &[u8] {
    let end = (0..=text.len().min(MAX_COMMENT_BYTES)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.as_bytes().get(..end).unwrap_or_default()
}

#[cfg(test)]
#[path = "annotate_tests.rs"]
mod tests;
