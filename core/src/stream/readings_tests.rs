use super::*;
use crate::packet::Flags;
use crate::stream::tests::segment;

const MS: i64 = 1_000_000;

fn noted(packets: i64, apart_ms: i64) -> Readings {
    let mut readings = Readings::default();
    for number in 0..packets {
        let time_ns = number * apart_ms * MS;
        readings.note(&Segment { time_ns, timestamp: Some(number as u32), ..segment(Flags::ACK) });
    }
    readings
}

#[test]
fn a_short_connection_keeps_none() {
    assert_eq!(noted(50, 1).kept_bytes(), 0);
}

#[test]
fn however_long_it_lasts_the_readings_are_few_and_even() {
    let times: Vec<i64> = noted(100_000, 1).iter().map(|reading| reading.time_ns / MS).collect();
    assert!((MAX_READINGS / 2..=MAX_READINGS).contains(&times.len()), "{}", times.len());
    let apart: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(apart.iter().max().unwrap() <= &(2 * apart.iter().min().unwrap()), "{apart:?}");
}

#[test]
fn without_the_option_there_are_none() {
    let mut readings = Readings::default();
    for time_ns in [0, 1_000 * MS] {
        readings.note(&Segment { time_ns, timestamp: None, ..segment(Flags::ACK) });
    }
    assert_eq!(readings.iter().count(), 0);
}
