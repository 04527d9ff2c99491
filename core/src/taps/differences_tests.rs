use super::*;

#[test]
fn few_are_told_to_the_last_one() {
    let mut differences = Differences::default();
    (1..=100).for_each(|value| differences.add(value, value * 1_000, true));
    let found = Quantiles { least_ns: 1_000, median_ns: 50_000, p95_ns: 95_000 };
    assert_eq!(differences.quantiles(), Some(found));
    let turned = Quantiles { least_ns: -100_000, median_ns: -51_000, p95_ns: -6_000 };
    assert_eq!(differences.turned().quantiles(), Some(turned));
    assert_eq!(Differences::default().quantiles(), None);
}

#[test]
fn many_take_no_more_room_and_are_told_about_as_well() {
    let mut differences = Differences::default();
    let count = 1_000_000;
    (0..count).for_each(|value| differences.add(value, value, true));
    assert!(differences.len() <= MOST && differences.len() > MOST / 4);
    let found = differences.quantiles().unwrap();
    assert_eq!((differences.count, found.least_ns), (count as u64, 0));
    assert!((found.median_ns - count / 2).abs() < count / 100);
    assert!((found.p95_ns - count / 20 * 19).abs() < count / 100);
}

#[test]
fn without_room_there_is_still_one() {
    let mut differences = Differences::default();
    (0..1_000).for_each(|value| differences.add(value, value, false));
    assert!((1..=2).contains(&differences.len()));
}
