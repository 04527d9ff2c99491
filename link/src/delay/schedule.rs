//! When does a packet come out of one direction of the link, if at all?
//!
//! ```text
//! lost? ── room at the bottleneck? ── after the packets before ── delay ± jitter ── not before the last one
//! ```
//!
//! Time is passed in, as what has passed since any moment that stays the same.

use std::num::NonZeroU64;
use std::time::Duration;

use super::settings::Settings;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It comes out at this time.
    Due(Duration),
    /// The link loses it, as it was asked to.
    Lost,
    /// Too much waits at the bottleneck already.
    QueueFull,
}

/// One direction.
pub struct Schedule {
    /// 0: there, 1: back. Each has random numbers of its own.
    direction: usize,
    seed: u64,
    random: fastrand::Rng,
    /// When the bottleneck has sent all that was given to it.
    bottleneck_free: Duration,
    last_due: Duration,
}

impl Schedule {
    pub fn new(direction: usize) -> Self {
        let seed = Settings::default().seed;
        Self {
            direction,
            seed,
            random: random(seed, direction),
            bottleneck_free: Duration::ZERO,
            last_due: Duration::ZERO,
        }
    }

    /// What becomes of a packet of `length` bytes that enters now. Packets never overtake each other.
    pub fn fate(&mut self, now: Duration, length: usize, settings: &Settings) -> Fate {
        if settings.seed != self.seed {
            self.seed = settings.seed;
            self.random = random(self.seed, self.direction);
        }
        if settings.loss > 0.0 && self.random.f64() < settings.loss {
            return Fate::Lost;
        }
        let Some(departure) = self.departure(now, length, settings) else {
            return Fate::QueueFull;
        };
        let due = departure.saturating_add(self.delay(settings)).max(self.last_due);
        self.last_due = due;
        Fate::Due(due)
    }

    /// When the packet has left the bottleneck.
    fn departure(&mut self, now: Duration, length: usize, settings: &Settings) -> Option<Duration> {
        let Some(rate) = settings.bits_per_second else {
            return Some(now);
        };
        let waiting = bytes_sent_in(self.bottleneck_free.saturating_sub(now), rate);
        if settings.queue_bytes.is_some_and(|most| waiting > u128::from(most)) {
            return None;
        }
        self.bottleneck_free = self.bottleneck_free.max(now).saturating_add(time_to_send(length, rate));
        Some(self.bottleneck_free)
    }

    fn delay(&mut self, settings: &Settings) -> Duration {
        let steady = settings.rtt / 2;
        if settings.jitter.is_zero() {
            return steady;
        }
        let strays = settings.jitter.mul_f64(self.random.f64());
        steady.saturating_add(strays).saturating_sub(settings.jitter / 2)
    }
}

/// The random numbers of a direction: the same for the same seed.
fn random(seed: u64, direction: usize) -> fastrand::Rng {
    let mut both = fastrand::Rng::with_seed(seed);
    let directions = [both.fork(), both.fork()];
    directions[direction].clone()
}

fn time_to_send(bytes: usize, rate: NonZeroU64) -> Duration {
    Duration::from_nanos((bytes as u64).saturating_mul(8_000_000_000) / rate)
}

fn bytes_sent_in(time: Duration, rate: NonZeroU64) -> u128 {
    time.as_nanos().saturating_mul(u128::from(rate.get())) / 8_000_000_000
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
