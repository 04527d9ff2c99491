//! The pcapng blocks that hold no packet, as far as anybody asks for them: interfaces and their options.
//!
//! ```text
//! code u16 | length u16 | value, padded to 4      (code 0 ends them)
//! ```

use super::clock::Clock;
use super::order::Order;
use crate::cursor::{Cursor, TooShort};

/// The types of blocks.
pub(super) mod kind {
    pub const SECTION: u32 = 0x0a0d_0d0a;
    pub const INTERFACE: u32 = 1;
    pub const OLD_PACKET: u32 = 2;
    pub const SIMPLE_PACKET: u32 = 3;
    pub const STATISTICS: u32 = 5;
    pub const PACKET: u32 = 6;
    pub const JOURNAL: u32 = 9;
    pub const CUSTOM: u32 = 0xbad;
    pub const CUSTOM_NOT_COPIED: u32 = 0x4000_0bad;
}

const OPTION_COMMENT: u16 = 1;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;
const OPTION_INTERFACE_DROPS: u16 = 5;
const OPTION_SYSTEM_DROPS: u16 = 7;
/// What is kept of the blocks between two packets.
const MAX_BLOCK_BYTES: usize = 64 * 1024 * 1024;

/// Where a section header holds its length.
const SECTION_LENGTH: std::ops::Range<usize> = 16..24;

/// What an interface description says.
pub(super) struct Interface {
    pub link_type: u16,
    pub snap_length: u32,
    pub clock: Clock,
    /// Packets that its statistics say were dropped.
    pub dropped: u64,
}

/// What capture files hold besides packets.
#[derive(Debug, Default)]
pub(super) struct Extras {
    /// The blocks that hold no packet, as they lie in the file, where somebody wants to copy them.
    blocks: Option<Vec<u8>>,
}

impl Extras {
    pub fn keeping_blocks() -> Self {
        Self { blocks: Some(Vec::new()) }
    }

    /// Keeps a block that is passed over.
    #[inline]
    pub fn keep_block(&mut self, block: &[u8]) {
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
}

/// An interface, and what is wrong with its options: those that lie end the list but not the interface.
pub(super) fn interface(mut body: Cursor<'_>, order: Order) -> Result<(Interface, Result<(), TooShort>), TooShort> {
    let link_type = order.u16(&mut body, "link type")?;
    order.u16(&mut body, "reserved")?;
    let snap_length = order.u32(&mut body, "snap length")?;
    let (mut resolution, mut offset) = (6, 0);
    let read = each_option(body, order, |code, mut value| match code {
        OPTION_RESOLUTION => resolution = value.u8("resolution").unwrap_or(resolution),
        OPTION_TIME_OFFSET => offset = order.i64(&mut value, "offset").unwrap_or(offset),
        _ => {}
    });
    Ok((Interface { link_type, snap_length, clock: Clock::new(resolution, offset), dropped: 0 }, read))
}

/// The interface that the statistics are of, and how many packets it and the operating system have dropped so far.
pub(super) fn statistics(mut body: Cursor<'_>, order: Order) -> Result<(u32, u64), TooShort> {
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
pub(super) fn comments(mut options: Cursor<'_>, order: Order) -> impl Iterator<Item = &[u8]> {
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
pub(super) fn forget_length(block: &mut [u8]) {
    if block.starts_with(&kind::SECTION.to_be_bytes())
        && let Some(length) = block.get_mut(SECTION_LENGTH)
    {
        length.fill(0xff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_the_interface_and_of_the_system_add_up() {
        let options = [5, 0, 8, 0, 3, 0, 0, 0, 0, 0, 0, 0, 7, 0, 8, 0, 4, 0, 0, 0, 0, 0, 0, 0];
        let body = [&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &options].concat();
        assert_eq!(statistics(Cursor::new(&body), Order::Little), Ok((1, 7)));
    }

    #[test]
    fn an_option_that_lies_about_its_length_leaves_the_interface() {
        let body = [1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 255, 255, 9];
        let (interface, read) = interface(Cursor::new(&body), Order::Little).unwrap();
        assert!(read.is_err());
        assert_eq!(interface.link_type, 1);
        assert_eq!(interface.clock.nanoseconds(0, 1), 1000);
    }
}
