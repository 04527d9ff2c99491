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
