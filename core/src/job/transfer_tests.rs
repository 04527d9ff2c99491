use super::*;

const MS: f64 = 1e6;

fn path(rtt_ms: f64) -> Path {
    Path { rtt_ns: rtt_ms * MS, largest: 4096.0, narrow: false, growth: 2.0, segment_ns: 0.0 }
}

fn rounds(segments: f64) -> f64 {
    Sender::default().send(0.0, segments, 0.0, &path(1.0)) / MS
}

/// The table of docs/model.md: 15 KB, 50 KB, 100 KB, 500 KB, 1 MB, 5 MB with 1,460 bytes a segment.
#[test]
fn the_window_doubles_from_ten_segments() {
    let extra = [15_000.0, 50_000.0, 100_000.0, 500_000.0, 1e6, 5e6].map(|bytes: f64| rounds((bytes / 1460.0).ceil()));
    assert_eq!(extra, [1.0, 2.0, 2.0, 5.0, 6.0, 8.0]);
}

#[test]
fn a_window_of_64_kilobytes_costs_a_round_trip_each() {
    let narrow = Path { largest: 44.0, ..path(1.0) };
    assert_eq!(Sender::default().send(0.0, 685.0, 0.0, &narrow) / MS, 16.0);
}

#[test]
fn slow_production_hides_the_rounds() {
    assert_eq!(Sender::default().send(0.0, 100.0, 50.0 * MS, &path(1.0)), 50.0 * MS);
}

#[test]
fn requests_in_a_pipeline_share_a_window() {
    let mut sender = Sender::default();
    let mut now = 0.0;
    for _ in 0..12 {
        now += sender.send(now, 1.0, 0.0, &path(1.0));
    }
    assert_eq!(now / MS, 1.0);
}

#[test]
fn the_window_is_kept_between_transfers_and_decays_in_pauses() {
    let mut sender = Sender::default();
    sender.send(0.0, 100.0, 0.0, &path(1.0));
    assert_eq!([halvings(199.0 * MS), halvings(1001.0 * MS)], [0, 5]);
    assert_eq!(sender.send(10.0 * MS, 60.0, 0.0, &path(1.0)), 0.0);
    sender.halve(5);
    assert_eq!(sender.send(1020.0 * MS, 60.0, 0.0, &path(1.0)), 2.0 * MS);
}

#[test]
fn a_longer_round_trip_is_never_faster_whatever_was_sent_before() {
    let takes = |rtt_ms: f64| {
        let mut sender = Sender::default();
        sender.send(0.0, 1.0, 0.0, &path(rtt_ms));
        sender.send(8.0 * MS, 11.0, 0.0, &path(rtt_ms))
    };
    assert!(takes(7.9) <= takes(8.1), "{} and {}", takes(7.9), takes(8.1));
}

#[test]
fn a_window_that_never_opened_holds_ten_segments_a_round_trip() {
    let (mut senders, rtts) = (Senders::default(), Times::all(MS));
    let holds = |senders: &Senders, at: f64, segments: f64| senders.always_hold(Times::all(at), segments, &rtts);
    assert!(holds(&senders, 0.0, 10.0) && !holds(&senders, 0.0, 11.0));
    senders.send(Times::all(0.0), 6.0, 0.0, &path(1.0), &rtts);
    assert!(holds(&senders, 0.5 * MS, 4.0) && !holds(&senders, 0.5 * MS, 5.0));
    assert!(holds(&senders, MS, 10.0));
}

#[test]
fn a_bottleneck_spaces_the_segments() {
    let slow = Path { segment_ns: 0.5 * MS, ..path(1.0) };
    assert_eq!(Sender::default().send(0.0, 101.0, 0.0, &slow), 50.0 * MS);
}
