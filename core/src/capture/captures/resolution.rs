//! How fine the clock of a capture is: as its packets' times show.

/// Ticks from here on hide what is to be measured.
const COARSE_NS: u64 = 1_000_000;
/// No finer clock ticks more slowly; what is farther apart says nothing of the clock,
const MAX_TICK_NS: u64 = 100_000_000;
/// but for whole seconds: so many of them are no chance.
const SECOND_NS: u64 = 1_000_000_000;
const MIN_WHOLE_SECONDS: u64 = 4;
/// Fewer packets prove nothing.
const MIN_PACKETS: u64 = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::capture) struct Resolution {
    packets: u64,
    /// What all times are multiples of.
    divisor_ns: u64,
    /// The smallest step between two packets that are not at one time; 0 before there is one.
    least_step_ns: u64,
    /// Packets at the time of the one before.
    equal: u64,
}

impl Resolution {
    /// The first packet.
    pub fn begin(&mut self, time_ns: i64) {
        *self = Self { packets: 1, divisor_ns: time_ns.unsigned_abs(), ..Self::default() };
    }

    /// A packet `step_ns` before or behind the last one.
    #[inline]
    pub fn pass(&mut self, step_ns: u64) {
        self.packets += 1;
        self.step(step_ns);
    }

    /// The packets of a file that goes on `step_ns` before or behind the last one.
    pub fn join(&mut self, file: &Self, step_ns: Option<u64>) {
        self.packets += file.packets;
        self.equal += file.equal;
        self.divisor_ns = greatest_common_divisor(self.divisor_ns, file.divisor_ns);
        for step_ns in file.least_ns().into_iter().chain(step_ns) {
            self.step(step_ns);
        }
    }

    #[inline]
    fn step(&mut self, step_ns: u64) {
        if step_ns == 0 {
            self.equal += 1;
            return;
        }
        // What divides the time before and the step divides this time.
        if self.divisor_ns != 1 && !step_ns.is_multiple_of(self.divisor_ns) {
            self.divisor_ns = greatest_common_divisor(step_ns, self.divisor_ns);
        }
        if step_ns.wrapping_sub(1) < self.least_step_ns.wrapping_sub(1) {
            self.least_step_ns = step_ns;
        }
    }

    /// The tick of a coarse clock: all times are multiples of it, or all steps are that large while many packets share
    /// a time (a tick of 15.625 ms, in microseconds, divides nothing).
    pub fn coarse_ns(&self) -> Option<u64> {
        let least_ns = self.least_ns()?;
        let shared = self.equal >= self.packets / 4 && least_ns >= COARSE_NS * 9 / 10;
        self.coarse_divisor_ns().or((shared && self.packets >= MIN_PACKETS).then_some(least_ns))
    }

    /// The tick of a coarse clock that all times are multiples of: that is no chance, few as they may be.
    pub fn coarse_divisor_ns(&self) -> Option<u64> {
        self.least_ns().filter(|_| self.divisor_ns >= COARSE_NS)?;
        match self.are_whole_seconds() {
            true => Some(SECOND_NS),
            false => (self.packets >= MIN_PACKETS).then_some(self.divisor_ns),
        }
    }

    /// The tick of any clock; `None` where it does not show.
    pub fn tick_ns(&self) -> Option<u64> {
        let fine_ns = (self.packets >= MIN_PACKETS && self.least_ns().is_some()).then_some(self.divisor_ns);
        self.coarse_ns().or(fine_ns).filter(|&tick_ns| tick_ns <= MAX_TICK_NS || tick_ns == SECOND_NS)
    }

    fn least_ns(&self) -> Option<u64> {
        (self.least_step_ns > 0).then_some(self.least_step_ns)
    }

    fn are_whole_seconds(&self) -> bool {
        self.packets >= MIN_WHOLE_SECONDS && self.divisor_ns.is_multiple_of(SECOND_NS)
    }
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    let (mut one, mut other) = (one, other);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
#[path = "resolution_tests.rs"]
mod tests;
