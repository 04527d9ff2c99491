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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Duration = Duration::from_secs(100);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn rate(bits_per_second: u64) -> Option<NonZeroU64> {
        NonZeroU64::new(bits_per_second)
    }

    #[test]
    fn a_packet_takes_half_the_rtt() {
        let mut schedule = Schedule::new(1);
        let settings = Settings { rtt: ms(15), ..Settings::default() };
        assert_eq!(schedule.fate(NOW, 60, &settings), Fate::Due(NOW + Duration::from_micros(7_500)));
    }

    #[test]
    fn a_packet_that_entered_before_the_last_one_does_not_overtake_it() {
        let mut schedule = Schedule::new(1);
        let settings = Settings { rtt: ms(10), ..Settings::default() };
        assert_eq!(schedule.fate(NOW, 60, &settings), Fate::Due(NOW + ms(5)));
        assert_eq!(schedule.fate(NOW - ms(1), 60, &settings), Fate::Due(NOW + ms(5)));
    }

    #[test]
    fn a_bottleneck_sends_one_packet_after_the_other() {
        let mut schedule = Schedule::new(1);
        let settings = Settings { rtt: ms(10), bits_per_second: rate(8_000_000), ..Settings::default() };
        let mut due = || schedule.fate(NOW, 1000, &settings);
        assert_eq!([due(), due(), due()], [6, 7, 8].map(|after| Fate::Due(NOW + ms(after))));
    }

    #[test]
    fn an_idle_bottleneck_saves_nothing_up() {
        let mut schedule = Schedule::new(1);
        let settings = Settings { bits_per_second: rate(8_000_000), ..Settings::default() };
        schedule.fate(NOW, 1000, &settings);
        assert_eq!(schedule.fate(NOW + ms(50), 1000, &settings), Fate::Due(NOW + ms(51)));
    }

    #[test]
    fn what_finds_more_than_the_queue_waiting_is_dropped_and_takes_no_time() {
        let mut schedule = Schedule::new(1);
        let settings = Settings { bits_per_second: rate(8_000_000), queue_bytes: Some(2000), ..Settings::default() };
        let mut fate = |after| schedule.fate(NOW + ms(after), 1000, &settings);
        assert_eq!([fate(0), fate(0), fate(0)], [1, 2, 3].map(|after| Fate::Due(NOW + ms(after))));
        assert_eq!(fate(0), Fate::QueueFull);
        assert_eq!(fate(1), Fate::Due(NOW + ms(4)));
    }

    #[test]
    fn a_queue_without_a_bottleneck_drops_nothing() {
        let mut schedule = Schedule::new(1);
        let settings = Settings { queue_bytes: Some(0), ..Settings::default() };
        for _ in 0..1000 {
            assert_eq!(schedule.fate(NOW, 1500, &settings), Fate::Due(NOW));
        }
    }

    #[test]
    fn a_fiftieth_is_lost_of_many() {
        let mut schedule = Schedule::new(1);
        let settings = Settings { loss: 0.02, ..Settings::default() };
        let lost = (0..100_000).filter(|_| schedule.fate(NOW, 60, &settings) == Fate::Lost).count();
        assert!((1_800..2_200).contains(&lost), "{lost} of 100,000");
    }

    /// Which of a thousand packets come through.
    fn passed(schedule: &mut Schedule, seed: u64) -> Vec<bool> {
        let settings = Settings { loss: 0.5, seed, ..Settings::default() };
        (0..1000).map(|_| schedule.fate(NOW, 60, &settings) != Fate::Lost).collect()
    }

    #[test]
    fn the_same_packets_are_lost_with_the_same_seed_and_others_with_another() {
        let of = |direction, seed| passed(&mut Schedule::new(direction), seed);
        assert_eq!(of(0, 7), of(0, 7));
        for other in [of(0, 8), of(1, 7), of(0, 0)] {
            let alike = of(0, 7).iter().zip(&other).filter(|(one, other)| one == other).count();
            assert!((400..600).contains(&alike), "{alike} of 1000 fare alike");
        }
    }

    #[test]
    fn a_seed_that_changes_begins_anew_and_one_that_stays_goes_on() {
        let mut schedule = Schedule::new(0);
        let first = passed(&mut schedule, 7);
        assert_ne!(passed(&mut schedule, 7), first);
        passed(&mut schedule, 8);
        assert_eq!(passed(&mut schedule, 7), first);
    }

    #[test]
    fn all_may_be_lost_and_none() {
        let mut schedule = Schedule::new(1);
        let mut lost = |loss| {
            let settings = Settings { loss, ..Settings::default() };
            (0..1000).filter(|_| schedule.fate(NOW, 60, &settings) == Fate::Lost).count()
        };
        assert_eq!([lost(1.0), lost(0.0), lost(f64::NAN)], [1000, 0, 0]);
    }

    #[test]
    fn the_delay_strays_by_half_the_jitter_to_both_sides() {
        let settings = Settings { rtt: ms(20), jitter: ms(8), ..Settings::default() };
        let mut schedule = Schedule::new(1);
        let delays: Vec<f64> = (1..=10_000u32)
            .map(|nth| match schedule.fate(NOW * nth, 60, &settings) {
                Fate::Due(due) => (due - NOW * nth).as_secs_f64() * 1e3,
                other => panic!("{other:?}"),
            })
            .collect();
        let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
        let most = delays.iter().copied().fold(0.0, f64::max);
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        assert!((6.0..6.05).contains(&least), "least {least}");
        assert!((13.95..=14.0).contains(&most), "most {most}");
        assert!((mean - 10.0).abs() < 0.1, "mean {mean}");
    }

    #[test]
    fn no_number_is_too_large() {
        let mut schedule = Schedule::new(1);
        let settings = Settings {
            rtt: Duration::MAX,
            jitter: Duration::MAX,
            bits_per_second: rate(u64::MAX),
            queue_bytes: Some(u64::MAX),
            ..Settings::default()
        };
        assert!(matches!(schedule.fate(Duration::MAX, 65_535, &settings), Fate::Due(_)));
        assert!(matches!(schedule.fate(NOW, 65_535, &Settings { bits_per_second: rate(1), ..settings }), Fate::Due(_)));
    }

    proptest! {
        #[test]
        fn packets_never_overtake_each_other_nor_leave_early(
            seed: u64,
            steps in prop::collection::vec((0u64..3_000_000, 1usize..9000, 0u64..20, 0u64..30, 0u64..3), 1..200),
        ) {
            let mut schedule = Schedule::new(1);
            let (mut now, mut last) = (NOW, Duration::ZERO);
            for (wait, length, rtt, jitter, megabits) in steps {
                now += Duration::from_nanos(wait);
                let settings = Settings {
                    rtt: ms(rtt),
                    jitter: ms(jitter),
                    bits_per_second: rate(megabits * 1_000_000),
                    seed,
                    ..Settings::default()
                };
                let Fate::Due(due) = schedule.fate(now, length, &settings) else { panic!("nothing is lost here") };
                prop_assert!(due >= last && due >= now);
                prop_assert!(jitter > 0 || due >= now + ms(rtt) / 2);
                last = due;
            }
        }
    }
}
