//! The clock of a pcapng interface: what one tick of its timestamps is, and where it starts.

const NANOSECONDS: i128 = 1_000_000_000;
/// Times reach from 1823 to 2116: the distance of any two fits in 64 bits.
pub(super) const TIME_MAX_NS: i64 = 1 << 62;

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// A tick is `multiply / divide` nanoseconds.
    multiply: i128,
    divide: i128,
    offset_ns: i128,
    /// The tick and the offset where both are whole nanoseconds of 64 bits, as in nearly all files.
    whole_ns: Option<(i64, i64)>,
}

impl Default for Clock {
    /// Microseconds since 1970.
    fn default() -> Self {
        Self::new(6, 0)
    }
}

impl Clock {
    /// From `if_tsresol`: a negative power of ten, or of two where the top bit is set.
    pub fn new(resolution: u8, offset_seconds: i64) -> Self {
        let exponent = u32::from(resolution & 0x7f);
        let (multiply, divide) = match (resolution & 0x80, exponent) {
            (0, 0..=9) => (10_i128.pow(9 - exponent), 1),
            // Beyond 10^-47 every 64-bit time is below a nanosecond.
            (0, _) => (1, 10_i128.checked_pow(exponent - 9).unwrap_or(i128::MAX)),
            // Beyond 2^-94 as well, which makes the limit harmless.
            _ => (NANOSECONDS, 1 << exponent.min(126)),
        };
        let offset_ns = i128::from(offset_seconds) * NANOSECONDS;
        let whole_ns = i64::try_from(multiply).ok().zip(i64::try_from(offset_ns).ok()).filter(|_| divide == 1);
        Self { multiply, divide, offset_ns, whole_ns }
    }

    /// Nanoseconds since 1970; times beyond [`TIME_MAX_NS`] stay there.
    #[inline]
    pub fn nanoseconds(&self, high: u32, low: u32) -> i64 {
        // Unsigned by the book, but only times before 1970 have the top bit set.
        let ticks = (u64::from(high) << 32 | u64::from(low)) as i64;
        let whole_ns =
            self.whole_ns.and_then(|(tick_ns, offset_ns)| ticks.checked_mul(tick_ns)?.checked_add(offset_ns));
        whole_ns.unwrap_or_else(|| self.nearest(ticks)).clamp(-TIME_MAX_NS, TIME_MAX_NS)
    }

    /// The same of any clock.
    #[cold]
    fn nearest(&self, ticks: i64) -> i64 {
        // 64 bits of ticks times 30 bits of nanoseconds fit well.
        let mut since = i128::from(ticks) * self.multiply;
        if self.divide != 1 {
            since = since.div_euclid(self.divide);
        }
        let time = since + self.offset_ns;
        time.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
