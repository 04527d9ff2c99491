//! The pcapng blocks that hold no packet, as far as anybody asks for them: interfaces and their options.
//!
//! ```text
//! code u16 | length u16 | value, padded to 4      (code 0 ends them)
//! ```

use zeroize::Zeroizing;

use super::BODY;
use crate::capture::clock::Clock;
use crate::capture::host_curve::HostCurve;
use crate::capture::order::Order;
use crate::cursor::{Cursor, TooShort};

/// The types of blocks.
pub(in crate::capture) mod kind {
    pub const SECTION: u32 = 0x0a0d_0d0a;
    pub const INTERFACE: u32 = 1;
    pub const OLD_PACKET: u32 = 2;
    pub const SIMPLE_PACKET: u32 = 3;
    pub const STATISTICS: u32 = 5;
    pub const PACKET: u32 = 6;
    pub const JOURNAL: u32 = 9;
    pub const SECRETS: u32 = 0x0a;
    pub const CUSTOM: u32 = 0xbad;
    pub const CUSTOM_NOT_COPIED: u32 = 0x4000_0bad;
}

pub(in crate::capture) const OPTION_COMMENT: u16 = 1;
pub(super) const OPTION_DESCRIPTION: u16 = 3;
pub(super) const OPTION_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;
pub(super) const OPTION_INTERFACE_DROPS: u16 = 5;
pub(super) const OPTION_SYSTEM_DROPS: u16 = 7;
/// How a relay that records describes its interface.
const RELAYED: &[u8] = b"relayed";
/// What is kept of the blocks between two packets.
const MAX_BLOCK_BYTES: usize = 64 * 1024 * 1024;
/// What is kept of the key logs between two packets: a block of the largest size, and some.
const MAX_KEY_LOG_BYTES: usize = 16 * 1024 * 1024;

/// The types of decryption secrets.
pub(super) const TLS_KEY_LOG: u32 = 0x544c_534b;
const OTHER_SECRETS: [(u32, &str); 5] = [
    (0x5353_484b, "SSH"),
    (0x5747_4b4c, "WireGuard"),
    (0x5a4e_574b, "ZigBee"),
    (0x5a41_5053, "ZigBee"),
    (0x5541_4b4c, "OPC UA"),
];

/// Where a section header holds its length.
const SECTION_LENGTH: std::ops::Range<usize> = 16..24;

/// What an interface description says.
pub(in crate::capture) struct Interface {
    pub link_type: u16,
    pub snap_length: u32,
    pub clock: Clock,
    /// Its packets were written by a relay: they tell what it handed on, and when.
    pub relayed: bool,
    /// Packets that its statistics say were dropped.
    pub dropped: u64,
}

/// What capture files hold besides packets.
#[derive(Default)]
pub(in crate::capture) struct Extras {
    /// The blocks that hold no packet, as they lie in the file, where somebody wants to copy them.
    blocks: Option<Vec<u8>>,
    /// Among them those with decryption secrets.
    keeps_secrets: bool,
    /// The TLS key logs that were passed over since somebody took them, one behind the other.
    key_log: Zeroizing<Vec<u8>>,
    /// How many blocks with decryption secrets there were so far.
    pub secrets: u64,
    /// The first one that was passed over since somebody took it.
    pub host_curve: Option<HostCurve>,
}

impl Extras {
    /// Keeps the curve that a section's header comments on, unless there is one.
    pub fn keep_host_curve(&mut self, mut header: Cursor<'_>, order: Order) {
        header.take_up_to(SECTION_LENGTH.end - BODY);
        self.host_curve = self.host_curve.take().or_else(|| comments(header, order).find_map(HostCurve::parse));
    }

    pub fn keeping_blocks(keeps_secrets: bool) -> Self {
        Self { blocks: Some(Vec::new()), keeps_secrets, ..Self::default() }
    }

    /// Keeps a block of this type that is passed over.
    #[inline]
    pub fn keep_block(&mut self, kind: u32, block: &[u8]) {
        if kind == kind::SECRETS && !self.keeps_secrets {
            return;
        }
        if let Some(blocks) = self.blocks.as_mut().filter(|blocks| blocks.len() < MAX_BLOCK_BYTES) {
            let start = blocks.len();
            blocks.extend_from_slice(block);
            forget_length(blocks.get_mut(start..).unwrap_or_default());
        }
    }

    /// What was kept since the last time.
    pub fn take_blocks(&mut self) -> Vec<u8> {
        self.blocks.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Keeps a key log, and the end of its last line; `false` where there is no room.
    pub fn keep_key_log(&mut self, text: &[u8]) -> bool {
        let has_room = self.key_log.len() + text.len() <= MAX_KEY_LOG_BYTES;
        if has_room {
            let mut longer = Zeroizing::new(Vec::with_capacity(self.key_log.len() + text.len() + 1));
            longer.extend_from_slice(&self.key_log);
            longer.extend_from_slice(text);
            longer.push(b'\n');
            self.key_log = longer;
        }
        has_room
    }

    /// The key logs since the last time.
    #[inline]
    pub fn take_key_log(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        if self.key_log.is_empty() { None } else { Some(std::mem::take(&mut self.key_log)) }
    }
}

/// What a block of decryption secrets holds.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::capture) enum Secrets<'a> {
    TlsKeyLog(&'a [u8]),
    /// For another protocol.
    Other(String),
}

/// ```text
/// type u32 | length u32 | secrets, padded to 4 | options
/// ```
pub(in crate::capture) fn secrets(mut body: Cursor<'_>, order: Order) -> Result<Secrets<'_>, TooShort> {
    let kind = order.u32(&mut body, "type of secrets")?;
    let length = order.u32(&mut body, "length of secrets")?;
    let secrets = body.take(length as usize, "secrets")?;
    let name = || OTHER_SECRETS.iter().find(|(known, _)| *known == kind).map(|(_, name)| (*name).to_owned());
    Ok(match kind {
        TLS_KEY_LOG => Secrets::TlsKeyLog(secrets),
        _ => Secrets::Other(name().unwrap_or_else(|| format!("type {kind:#010x}"))),
    })
}

/// An interface, and what is wrong with its options: those that lie end the list but not the interface.
pub(in crate::capture) fn interface(
    mut body: Cursor<'_>,
    order: Order,
) -> Result<(Interface, Result<(), TooShort>), TooShort> {
    let link_type = order.u16(&mut body, "link type")?;
    order.u16(&mut body, "reserved")?;
    let snap_length = order.u32(&mut body, "snap length")?;
    let (mut resolution, mut offset, mut relayed) = (6, 0, false);
    let read = each_option(body, order, |code, mut value| match code {
        OPTION_RESOLUTION => resolution = value.u8("resolution").unwrap_or(resolution),
        OPTION_DESCRIPTION => relayed |= value.take(RELAYED.len(), "description").is_ok_and(|word| word == RELAYED),
        OPTION_TIME_OFFSET => offset = order.i64(&mut value, "offset").unwrap_or(offset),
        _ => {}
    });
    Ok((Interface { link_type, snap_length, clock: Clock::new(resolution, offset), relayed, dropped: 0 }, read))
}

/// The interface that the statistics are of, and how many packets it and the operating system have dropped so far.
pub(in crate::capture) fn statistics(mut body: Cursor<'_>, order: Order) -> Result<(u32, u64), TooShort> {
    let interface = order.u32(&mut body, "interface")?;
    body.skip(8, "time")?;
    let mut dropped = 0_u64;
    each_option(body, order, |code, mut value| {
        if code == OPTION_INTERFACE_DROPS || code == OPTION_SYSTEM_DROPS {
            dropped = dropped.saturating_add(order.i64(&mut value, "drops").map_or(0, i64::cast_unsigned));
        }
    })?;
    Ok((interface, dropped))
}

fn each_option(mut options: Cursor<'_>, order: Order, mut take: impl FnMut(u16, Cursor<'_>)) -> Result<(), TooShort> {
    while let Some((code, value)) = next_option(&mut options, order)? {
        take(code, Cursor::new(value));
    }
    Ok(())
}

/// The comments among the options of a packet; options that lie end the list.
pub(in crate::capture) fn comments(mut options: Cursor<'_>, order: Order) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || next_option(&mut options, order).ok().flatten())
        .filter_map(|(code, value)| (code == OPTION_COMMENT).then_some(value))
}

fn next_option<'a>(body: &mut Cursor<'a>, order: Order) -> Result<Option<(u16, &'a [u8])>, TooShort> {
    if body.is_empty() {
        return Ok(None);
    }
    let code = order.u16(body, "option code")?;
    let length = usize::from(order.u16(body, "option length")?);
    if code == 0 {
        return Ok(None);
    }
    let value = body.take(length, "option")?;
    body.take_up_to(length.next_multiple_of(4) - length);
    Ok(Some((code, value)))
}

/// A section's blocks grow, so its length is no longer known: -1, the same in both byte orders.
pub(in crate::capture) fn forget_length(block: &mut [u8]) {
    if block.starts_with(&kind::SECTION.to_be_bytes())
        && let Some(length) = block.get_mut(SECTION_LENGTH)
    {
        length.fill(0xff);
    }
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
