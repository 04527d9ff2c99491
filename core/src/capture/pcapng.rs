//! The pcapng capture file: blocks in sections, packets of several interfaces.
//!
//! <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>
//!
//! ```text
//! type u32 | length u32, counts all | body, padded to 4 | length u32 again
//! ```

pub(super) mod blocks;
pub mod writing;

use super::order::Order;
use super::read_buffer::ReadBuffer;
use super::record::{Damage, Record};
use crate::cursor::{Cursor, TooShort};
use crate::note::{NoteCode, Notes};
use blocks::{Extras, Interface, Secrets, kind};

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Type and length before the body, the length again after it.
const FRAMING: usize = 12;
const BODY: usize = 8;
/// Interface, time, captured and original length of a packet.
const PACKET_HEAD: usize = 20;
/// Wireshark's limit: a longer block is damage.
const MAX_BLOCK_BYTES: usize = 16 * 1024 * 1024;
const RELAYED: &str =
    "recorded by a relay: RTT and round trips are those of its own connections; headers and windows are synthetic";
/// No machine has more; each costs memory, so a hostile file may not go on.
const MAX_INTERFACES: usize = 65_536;

/// All that later blocks depend on.
struct Section {
    order: Order,
    interfaces: Vec<Interface>,
    /// Where the section says it ends.
    ends_at: Option<u64>,
}

pub(super) struct Pcapng {
    section: Section,
}

pub(super) enum Opened {
    Pcapng(Pcapng),
    /// Not a pcapng file.
    Foreign,
    /// A pcapng file that ends inside its first block.
    Cut,
    UnknownVersion(u16, u16),
}

impl Pcapng {
    /// Looks at the first block and leaves the buffer before it.
    pub fn open(buffer: &mut ReadBuffer) -> Opened {
        if !is_section(buffer.peek_up_to(4)) {
            return Opened::Foreign;
        }
        let Some(head) = buffer.peek(16) else {
            return Opened::Cut;
        };
        let Some(order) = byte_order(head) else {
            return Opened::Foreign;
        };
        match version(head, order) {
            Ok((1, _)) => Opened::Pcapng(Self { section: Section::new(order, None) }),
            Ok((major, minor)) => Opened::UnknownVersion(major, minor),
            Err(_) => Opened::Cut,
        }
    }

    /// The next block where it is a packet, whole in the buffer and without fault, as nearly always; else it is to be
    /// fetched.
    #[inline(always)]
    pub fn at_hand(&self, bytes: &[u8]) -> Option<Record> {
        let order = self.section.order;
        let head = bytes.first_chunk::<{ BODY + PACKET_HEAD }>()?;
        let (kind, length) = frame(head, order).ok()?;
        let total = padded(length);
        if kind != kind::PACKET || total > MAX_BLOCK_BYTES || trailer(bytes.get(..total)?, order)? != length {
            return None;
        }
        let record = self.announced(head.get(BODY..)?).ok()?;
        (FRAMING + PACKET_HEAD + record.length <= total).then(|| in_block(record, total))
    }

    /// The next packet, its block read into the buffer first, and all blocks before it; `None` at the end of the file.
    pub fn fetch(
        &mut self,
        buffer: &mut ReadBuffer,
        notes: &mut Notes,
        extras: &mut Extras,
    ) -> Result<Option<Record>, Damage> {
        loop {
            let at = buffer.offset();
            let block = match self.block(buffer, at) {
                Ok(Some(block)) => block,
                Ok(None) => return Ok(None),
                Err(damage) => {
                    self.seek_next_section(buffer, at, damage, notes)?;
                    continue;
                }
            };
            match self.take(block, buffer, at, notes, extras) {
                Ok(Some(record)) => return Ok(Some(record)),
                Ok(None) => extras.keep_block(block.kind, buffer.slice(0, block.total)),
                // The block's own frame holds, so what follows can be trusted.
                Err(damage) => add_note(notes, &damage),
            }
            buffer.consume(block.total);
        }
    }

    /// How long the block is that begins here, whatever it holds.
    pub fn block_length(&self, bytes: &[u8]) -> Option<usize> {
        let (_, length) = frame(bytes, self.section.order).ok()?;
        Some(padded(length)).filter(|total| (FRAMING..=bytes.len()).contains(total))
    }

    pub fn order(&self) -> Order {
        self.section.order
    }

    /// The comments that a packet block of this section carries, the packet being `captured` bytes long.
    pub fn comments<'a>(&self, block: &'a [u8], record: &Record) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let end_of_packet = (record.skip + record.length).next_multiple_of(4);
        let is_simple = record.time_ns.is_none();
        let options = block.get(end_of_packet..block.len().saturating_sub(4)).filter(|_| !is_simple);
        blocks::comments(Cursor::new(options.unwrap_or_default()), self.section.order)
    }

    /// The next block, whole in the buffer.
    #[inline]
    fn block(&mut self, buffer: &mut ReadBuffer, at: u64) -> Result<Option<Block>, Damage> {
        let Some(head) = buffer.peek(FRAMING) else {
            return if buffer.at_end() { Ok(None) } else { Err(Damage::cut(at)) };
        };
        let order = self.order_of(head, at)?;
        let (kind, length) = frame(head, order).map_err(|error| Damage::short(at, error))?;
        let total = padded(length);
        if !(FRAMING..=MAX_BLOCK_BYTES).contains(&total) {
            return Err(Damage::broken(at, format!("a block claims {length} bytes")));
        }
        let Some(whole) = buffer.peek(total) else {
            return Err(Damage::cut(at));
        };
        match trailer(whole, order) {
            Some(again) if again == length => Ok(Some(Block { kind, order, total })),
            _ => Err(Damage::broken(at, "the two lengths of a block differ")),
        }
    }

    /// A section may have another byte order than the one before it.
    #[inline]
    fn order_of(&self, head: &[u8], at: u64) -> Result<Order, Damage> {
        if !is_section(head) {
            return Ok(self.section.order);
        }
        byte_order(head).ok_or_else(|| Damage::broken(at, "a section has no byte order"))
    }

    /// What the block means: a packet, or news about the section.
    #[inline]
    fn take(
        &mut self,
        block: Block,
        buffer: &ReadBuffer,
        at: u64,
        notes: &mut Notes,
        extras: &mut Extras,
    ) -> Result<Option<Record>, Damage> {
        let bytes = buffer.slice(BODY, block.total - FRAMING);
        let body = Cursor::new(bytes);
        let record = match block.kind {
            kind::PACKET => self.packet(bytes),
            kind::SIMPLE_PACKET => self.simple_packet(body),
            kind::OLD_PACKET => self.old_packet(bytes),
            kind::CUSTOM | kind::CUSTOM_NOT_COPIED | kind::JOURNAL => Ok(Record::remark()),
            kind::SECRETS => return take_secrets(body, block.order, at, notes, extras).map(|()| None),
            _ => return self.describe(block, body, at, notes, extras).map(|()| None),
        };
        let record = record.map_err(|problem| problem.at(at))?;
        Ok(Some(in_block(record, block.total)))
    }

    fn describe(
        &mut self,
        block: Block,
        body: Cursor<'_>,
        at: u64,
        notes: &mut Notes,
        extras: &mut Extras,
    ) -> Result<(), Damage> {
        let order = block.order;
        let done = match block.kind {
            kind::SECTION => {
                extras.keep_host_curve(body, order);
                return self.begin_section(block, body, at);
            }
            kind::INTERFACE if self.section.interfaces.len() < MAX_INTERFACES => blocks::interface(body, order)
                .and_then(|(interface, options)| {
                    if interface.relayed {
                        notes.add(NoteCode::Relayed, || RELAYED.to_owned());
                    }
                    self.section.interfaces.push(interface);
                    options
                }),
            kind::INTERFACE => {
                notes.add(NoteCode::FileDamaged, || format!("more than {MAX_INTERFACES} interfaces at byte {at}"));
                Ok(())
            }
            kind::STATISTICS => blocks::statistics(body, order).map(|(interface, dropped)| {
                self.note_drops(interface, dropped, notes);
            }),
            _ => Ok(()),
        };
        done.map_err(|error| Damage::short(at, error))
    }

    /// The counters go on from block to block.
    fn note_drops(&mut self, number: u32, dropped: u64, notes: &mut Notes) {
        let Some(interface) = self.section.interfaces.get_mut(number as usize) else { return };
        let more = dropped.saturating_sub(interface.dropped);
        interface.dropped += more;
        notes.add_several(NoteCode::CaptureDrops, more, || {
            format!("interface {number} dropped {dropped} packets during the capture")
        });
    }

    fn begin_section(&mut self, block: Block, body: Cursor<'_>, at: u64) -> Result<(), Damage> {
        let length = section_length(body, block.order).map_err(|error| Damage::short(at, error))?;
        let ends_at =
            u64::try_from(length).ok().and_then(|length| at.checked_add(block.total as u64)?.checked_add(length));
        self.section = Section::new(block.order, ends_at);
        Ok(())
    }

    /// After damage, goes on where the section said it ends, if another one begins there; there is no other
    /// safe place, since a packet may itself hold what looks like a section.
    fn seek_next_section(
        &mut self,
        buffer: &mut ReadBuffer,
        at: u64,
        damage: Damage,
        notes: &mut Notes,
    ) -> Result<(), Damage> {
        let Some(ends_at) = self.section.ends_at.take().filter(|&end| end > at) else {
            return Err(damage);
        };
        if !buffer.skip(ends_at - at) || !buffer.peek(4).is_some_and(is_section) {
            return Err(damage);
        }
        add_note(notes, &damage);
        Ok(())
    }

    fn packet(&self, body: &[u8]) -> Result<Record, Problem> {
        whole_in(body, self.announced(body)?)
    }

    /// The packet that the head of a body announces.
    #[inline(always)]
    fn announced(&self, body: &[u8]) -> Result<Record, Problem> {
        let mut head = Cursor::new(body);
        let interface = self.section.order.u32(&mut head, "interface")?;
        self.timed_packet(interface, head)
    }

    fn old_packet(&self, body: &[u8]) -> Result<Record, Problem> {
        let order = self.section.order;
        let mut head = Cursor::new(body);
        let interface = order.u16(&mut head, "interface")?;
        order.u16(&mut head, "drops")?;
        whole_in(body, self.timed_packet(u32::from(interface), head)?)
    }

    /// The packet that the rest of a head announces.
    #[inline(always)]
    fn timed_packet(&self, interface: u32, mut head: Cursor<'_>) -> Result<Record, Problem> {
        let order = self.section.order;
        let number = interface;
        let interface = self.interface(number)?;
        let high = order.u32(&mut head, "time")?;
        let low = order.u32(&mut head, "time")?;
        let captured = order.u32(&mut head, "captured length")?;
        let original = order.u32(&mut head, "original length")?;
        Ok(Record {
            is_packet: true,
            time_ns: Some(interface.clock.nanoseconds(high, low)),
            link_type: interface.link_type,
            interface: number,
            original_length: original.max(captured),
            skip: PACKET_HEAD,
            length: captured as usize,
            whole: 0,
        })
    }

    /// A packet of the first interface, without time, and as long as the snap length lets it be.
    fn simple_packet(&self, mut body: Cursor<'_>) -> Result<Record, Problem> {
        let interface = self.interface(0)?;
        let original = self.section.order.u32(&mut body, "original length")?;
        let captured = match interface.snap_length {
            0 => original,
            limit => original.min(limit),
        };
        let skip = body.position();
        body.skip(captured as usize, "packet")?;
        Ok(Record {
            is_packet: true,
            time_ns: None,
            link_type: interface.link_type,
            interface: 0,
            original_length: original,
            skip,
            length: captured as usize,
            whole: 0,
        })
    }

    #[inline]
    fn interface(&self, number: u32) -> Result<&Interface, Problem> {
        let interface = self.section.interfaces.get(number as usize);
        interface.ok_or(Problem::NoInterface(number))
    }
}

impl Section {
    fn new(order: Order, ends_at: Option<u64>) -> Self {
        Self { order, interfaces: Vec::new(), ends_at }
    }
}

#[derive(Clone, Copy)]
struct Block {
    kind: u32,
    order: Order,
    total: usize,
}

/// Why a packet block gives no packet.
enum Problem {
    Short(TooShort),
    NoInterface(u32),
}

impl From<TooShort> for Problem {
    fn from(error: TooShort) -> Self {
        Self::Short(error)
    }
}

impl Problem {
    fn at(self, at: u64) -> Damage {
        match self {
            Self::Short(error) => Damage::short(at, error),
            Self::NoInterface(number) => Damage {
                code: NoteCode::UnknownInterface,
                at,
                what: format!("interface {number} of a packet is not described, in the block"),
            },
        }
    }
}

/// Those of TLS are kept for whoever reads the packets that follow.
fn take_secrets(body: Cursor<'_>, order: Order, at: u64, notes: &mut Notes, extras: &mut Extras) -> Result<(), Damage> {
    extras.secrets += 1;
    match blocks::secrets(body, order).map_err(|error| Damage::short(at, error))? {
        Secrets::TlsKeyLog(text) if extras.keep_key_log(text) => {}
        Secrets::TlsKeyLog(text) => notes.add(NoteCode::TooManyKeys, || {
            format!("a key log of {} bytes at byte {at} does not fit in memory and is left out", text.len())
        }),
        Secrets::Other(whose) => notes.add(NoteCode::OtherSecrets, || {
            format!("blocks with decryption secrets are not for TLS and not used (first: {whose}, at byte {at})")
        }),
    }
    Ok(())
}

fn add_note(notes: &mut Notes, damage: &Damage) {
    notes.add(damage.code, || format!("{} at byte {}; it is left out", damage.what, damage.at));
}

/// A section's type reads the same in both byte orders.
pub(super) fn is_section(head: &[u8]) -> bool {
    head.starts_with(&kind::SECTION.to_be_bytes())
}

fn byte_order(head: &[u8]) -> Option<Order> {
    let mut cursor = Cursor::new(head.get(8..)?);
    match cursor.u32_be("byte order").ok()? {
        BYTE_ORDER_MAGIC => Some(Order::Big),
        swapped if swapped.swap_bytes() == BYTE_ORDER_MAGIC => Some(Order::Little),
        _ => None,
    }
}

fn version(head: &[u8], order: Order) -> Result<(u16, u16), TooShort> {
    let mut cursor = Cursor::new(head);
    cursor.skip(12, "section header")?;
    let major = order.u16(&mut cursor, "major version")?;
    Ok((major, order.u16(&mut cursor, "minor version")?))
}

fn section_length(mut body: Cursor<'_>, order: Order) -> Result<i64, TooShort> {
    body.skip(8, "section header")?;
    order.i64(&mut body, "section length")
}

/// The record, if the block's body holds all of its packet.
fn whole_in(body: &[u8], record: Record) -> Result<Record, Problem> {
    let mut body = Cursor::new(body);
    body.skip(record.skip, "packet head")?;
    body.skip(record.length, "packet")?;
    Ok(record)
}

/// The record of a body, seen from the start of its block.
#[inline]
fn in_block(record: Record, total: usize) -> Record {
    Record { skip: BODY + record.skip, whole: total, ..record }
}

/// Some writers do not count the padding.
#[inline]
fn padded(length: u32) -> usize {
    (length as usize).next_multiple_of(4)
}

#[inline(always)]
fn frame(head: &[u8], order: Order) -> Result<(u32, u32), TooShort> {
    let mut cursor = Cursor::new(head);
    let kind = order.u32(&mut cursor, "block type")?;
    Ok((kind, order.u32(&mut cursor, "block length")?))
}

#[inline]
fn trailer(block: &[u8], order: Order) -> Option<u32> {
    let (_, trailer) = block.split_last_chunk::<4>()?;
    order.u32(&mut Cursor::new(trailer), "block length").ok()
}

#[cfg(test)]
#[path = "pcapng_tests.rs"]
mod tests;
