//! How the writers of pcap files differ: byte order, unit of time, and what follows the usual record header.
//!
//! Some reused a magic number for records that are longer. Such a variant is believed only if the first records make
//! sense in it and do not in the usual one.

use crate::capture::order::Order;
use crate::capture::read_buffer::ReadBuffer;
use crate::cursor::{Cursor, TooShort};

pub(in crate::capture) const FILE_HEADER: usize = 24;
pub(in crate::capture) const RECORD_HEADER: usize = 16;
/// How many records must make sense.
const PROBED_RECORDS: usize = 3;
const ONE_DAY_NS: u64 = 86_400_000_000_000;

/// What a magic number promises.
pub(in crate::capture) struct Variant {
    pub times: Times,
    pub file_header: usize,
    /// The sizes a record header may have, the usual one first.
    record_headers: &'static [usize],
}

/// How a record says when its packet was captured: seconds u32, fraction u32.
#[derive(Clone, Copy)]
pub(in crate::capture) struct Times {
    pub order: Order,
    /// Nanoseconds per unit of the fraction.
    tick_ns: u32,
}

/// Which of a record's two lengths is the captured one: writers before 2.4 disagreed.
#[derive(Clone, Copy)]
pub(in crate::capture) enum Lengths {
    CapturedFirst,
    OriginalFirst,
    SmallerIsCaptured,
}

impl Variant {
    pub fn of_magic(magic: &[u8]) -> Option<Self> {
        let magic = Cursor::new(magic).u32_be("magic").ok()?;
        let swapped = magic.swap_bytes();
        Self::in_order(magic, Order::Big).or_else(|| Self::in_order(swapped, Order::Little))
    }

    fn in_order(magic: u32, order: Order) -> Option<Self> {
        let (tick_ns, file_header, record_headers): (_, _, &'static [usize]) = match magic {
            // 24: a Linux patch of 1999 that kept the magic number; 20: Nokia's appliances.
            0xa1b2_c3d4 => (1000, FILE_HEADER, &[RECORD_HEADER, 24, 20]),
            0xa1b2_3c4d => (1, FILE_HEADER, &[RECORD_HEADER]),
            // Kuznetzov's patch: interface, protocol and packet type follow; 28 where it knew of several CPUs.
            0xa1b2_cd34 => (1000, FILE_HEADER, &[24, 28]),
            // Ixia's hardware and software: the size of all records follows the header.
            0x1c00_01ac | 0x1c00_01ab => (1, FILE_HEADER + 4, &[RECORD_HEADER]),
            _ => return None,
        };
        Some(Self { times: Times { order, tick_ns }, file_header, record_headers })
    }

    /// The size of a record header with which the first records make sense, the usual one where none does.
    pub fn record_header(&self, buffer: &mut ReadBuffer, lengths: Lengths, longest: u32) -> usize {
        let probe = Probe { times: self.times, lengths, longest };
        let usual = self.record_headers.first().copied().unwrap_or(RECORD_HEADER);
        let mut sizes = self.record_headers.iter().copied();
        match self.record_headers.len() {
            1 => usual,
            _ => sizes.find(|&size| probe.fits(buffer, size)).unwrap_or(usual),
        }
    }
}

/// Looks at the first records of a file without reading them.
struct Probe {
    times: Times,
    lengths: Lengths,
    longest: u32,
}

impl Probe {
    /// Whether the first records, or all up to the end of the file, make sense.
    fn fits(&self, buffer: &mut ReadBuffer, record_header: usize) -> bool {
        let (mut place, mut previous_ns) = (0, None);
        for _ in 0..PROBED_RECORDS {
            if buffer.peek(place + record_header).is_none() {
                return buffer.peek(place).is_some() && buffer.peek(place + 1).is_none();
            }
            match self.plausible(buffer.slice(place, record_header), previous_ns) {
                Some((time_ns, captured)) => {
                    place += record_header + captured;
                    previous_ns = Some(time_ns);
                }
                None => return false,
            }
        }
        true
    }

    /// Time and length of a record as a capture would have it: not empty, within a day of the one before.
    fn plausible(&self, header: &[u8], previous_ns: Option<i64>) -> Option<(i64, usize)> {
        let mut cursor = Cursor::new(header);
        let time_ns = self.times.read(&mut cursor).ok()?;
        let (captured, original) = self.lengths.read(&mut cursor, self.times.order).ok()?;
        let plausible = self.times.has_plausible_fraction(header)
            && (1..=self.longest).contains(&captured)
            && captured <= original
            && time_ns.abs_diff(previous_ns.unwrap_or(time_ns)) < ONE_DAY_NS;
        plausible.then_some((time_ns, captured as usize))
    }
}

impl Times {
    #[inline(always)]
    pub fn read(self, cursor: &mut Cursor<'_>) -> Result<i64, TooShort> {
        let seconds = self.order.u32(cursor, "seconds")?;
        let fraction = self.order.u32(cursor, "fraction")?;
        // Both are products of 32-bit numbers, so the sum stays below 2^63.
        Ok(i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * i64::from(self.tick_ns))
    }

    fn has_plausible_fraction(self, header: &[u8]) -> bool {
        let mut cursor = Cursor::new(header.get(4..).unwrap_or_default());
        let fraction = self.order.u32(&mut cursor, "fraction").unwrap_or(u32::MAX);
        u64::from(fraction) * u64::from(self.tick_ns) < 1_000_000_000
    }
}

impl Lengths {
    pub fn of_version(minor: u16) -> Self {
        match minor {
            0..=2 => Self::OriginalFirst,
            3 => Self::SmallerIsCaptured,
            _ => Self::CapturedFirst,
        }
    }

    /// Captured and original length.
    #[inline(always)]
    pub fn read(self, cursor: &mut Cursor<'_>, order: Order) -> Result<(u32, u32), TooShort> {
        let first = order.u32(cursor, "captured length")?;
        let second = order.u32(cursor, "original length")?;
        Ok(match self {
            Self::CapturedFirst => (first, second),
            Self::OriginalFirst => (second, first),
            Self::SmallerIsCaptured => (first.min(second), first.max(second)),
        })
    }
}
