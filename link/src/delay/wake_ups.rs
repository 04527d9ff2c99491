//! How late a sleeping thread wakes up on this machine, from the last times.

use std::time::Duration;

/// Beyond the estimate: what the thread does before it looks at the clock again, and the scatter of wake-ups.
const MARGIN: Duration = Duration::from_micros(15);
/// A later wake-up counts for so much of the difference, an earlier one for less: few may be later than estimated.
const LATER: u32 = 4;
const EARLIER: u32 = 32;

#[derive(Default)]
pub struct WakeUps(Duration);

impl WakeUps {
    pub fn observe(&mut self, late: Duration) {
        match late.checked_sub(self.0) {
            Some(more) => self.0 += more / LATER,
            None => self.0 -= (self.0 - late) / EARLIER,
        }
    }

    /// How long before a time a thread has to wake up in order not to miss it.
    pub fn lateness(&self) -> Duration {
        self.0 + MARGIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn the_estimate_follows_a_machine_that_falls_asleep_and_wakes_up() {
        let mut wake_ups = WakeUps::default();
        assert_eq!(wake_ups.lateness(), MARGIN);
        (0..20).for_each(|_| wake_ups.observe(us(100)));
        assert!((us(110)..us(116)).contains(&wake_ups.lateness()));
        (0..200).for_each(|_| wake_ups.observe(us(2)));
        assert!(wake_ups.lateness() < us(20));
    }

    #[test]
    fn most_wake_ups_are_no_later_than_estimated() {
        let mut wake_ups = WakeUps::default();
        let mut random = fastrand::Rng::with_seed(1);
        let later = (0..1000).filter(|_| {
            let late = us(random.u64(40..120));
            let missed = late > wake_ups.lateness();
            wake_ups.observe(late);
            missed
        });
        assert!(later.count() < 150);
    }
}
