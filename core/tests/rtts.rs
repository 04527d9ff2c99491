//! The RTTs of a part are those of a recording of its own, or what the whole knows of that time.

mod support;

use std::ops::Range;

use latpcap_core::pipeline::Limits;
use latpcap_core::recording::{DatabaseConnections, Edge, Recording, Window};
use latpcap_core::rtt::estimate::Rtts;
use latpcap_core::rtt::phases::{Change, ChangeEvidence, Changes, Phases};
use proptest::prelude::*;
use support::*;

/// Connections between the same hosts that take so many times as long for all.
fn recording(stretches: &[u64]) -> Recording {
    let mut packets = traffic(stretches.len() as u16, 16);
    let begin_ns = packets[0].time_ns;
    for packet in &mut packets {
        let at = if packet.bytes[12..16] == [10, 0, 0, 1] { 20 } else { 22 };
        let port = u16::from_be_bytes([packet.bytes[at], packet.bytes[at + 1]]);
        packet.time_ns = begin_ns + (packet.time_ns - begin_ns) * stretches[usize::from(port - 40_000)];
    }
    packets.sort_by_key(|packet| packet.time_ns);
    Recording::new(read(&packets), &Limits::default()).unwrap()
}

fn window(whole: &Recording, from_ns: i64, to_ns: i64) -> Recording {
    let [begin_ns, end_ns] = whole.reach_ns().unwrap().unwrap();
    let [from, to] = [from_ns, to_ns].map(|ns| Edge { ns, frame: None });
    let period_ns = [begin_ns.max(from_ns), end_ns.min(to_ns)];
    whole.within(&Window { from, to, period_ns }).unwrap().unwrap()
}

/// The place among all where each part begins, and ends.
fn bounds(counts: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut end = 0;
    let next = |count| {
        end += count;
        end - count..end
    };
    counts.map(next).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn groups_have_the_rtts_of_recordings_of_their_own(
        connections in prop::collection::vec((1..30_u64, 0..3_usize), 1..6),
    ) {
        let (stretches, group_of): (Vec<_>, Vec<_>) =
            connections.into_iter().map(|(stretch, group)| (stretch, Some(group))).unzip();
        let all = recording(&stretches);
        for groups in all.groups(&group_of, usize::MAX).unwrap() {
            let counts = groups.each.iter().map(|each| each.database_connections().unwrap().len());
            let ranges = bounds(counts);
            let numbers: Vec<_> = (0..).zip(&ranges).flat_map(|(group, range)| vec![group; range.len()]).collect();
            let together = Rtts::of(&groups.together, None, Some(&numbers)).unwrap();
            for (range, each) in ranges.into_iter().zip(&groups.each) {
                let [part, own] = [together.part(range, each), Rtts::of(each, None, None)].map(Result::unwrap);
                prop_assert_eq!(format!("{part:?}"), format!("{own:?}"));
            }
        }
    }

    #[test]
    fn a_window_of_all_time_has_all_rtts(stretches in prop::collection::vec(1..30_u64, 1..4)) {
        let whole = recording(&stretches);
        let rtts = Rtts::of(&whole, None, None).unwrap();
        let [begin_ns, end_ns] = whole.reach_ns().unwrap().unwrap();
        let within = rtts.within(&whole, &window(&whole, begin_ns, end_ns + 1)).unwrap();
        prop_assert_eq!(format!("{within:?}"), format!("{rtts:?}"));
    }
}

/// RTTs of a recording whose one path changes at these times: 1 ms at first, then 2 ms and so on.
fn changing(whole: &Recording, connections: &DatabaseConnections, times_ns: &[i64]) -> Rtts {
    let mut rtts = Rtts::of(whole, None, None).unwrap();
    let change = |&time_ns| Change { path: 0, time_ns, shown_by: ChangeEvidence::Measured };
    let changes = Changes::of(times_ns.iter().map(change).collect(), 1);
    rtts.phases = Phases::of(connections, vec![0; connections.len()], changes);
    let of_period = |period: &u32| {
        let mut baseline = rtts.of_paths[0];
        baseline.ns = f64::from(period + 1) * 1e6;
        baseline
    };
    rtts.of_phases = rtts.phases.period.iter().map(of_period).collect();
    rtts.of_periods = (0..=times_ns.len() as u32).map(|period| of_period(&period)).collect();
    rtts.clean = vec![rtts.clean[0]; rtts.phases.len()];
    rtts
}

#[test]
fn a_window_has_the_periods_and_the_changes_that_lie_in_it() {
    let whole = recording(&[10, 10]);
    let connections = whole.database_connections().unwrap();
    let [begin_ns, end_ns] = whole.reach_ns().unwrap().unwrap();
    let (third, rtts) =
        ((end_ns - begin_ns) / 3, changing(&whole, &connections, &[(end_ns - begin_ns) / 3, (end_ns - begin_ns) / 2]));
    let within = |from_ns, to_ns| rtts.within(&whole, &window(&whole, from_ns, to_ns)).unwrap();
    let ms = |rtts: &Rtts| rtts.of_periods.iter().map(|period| period.ns / 1e6).collect::<Vec<_>>();
    let before = within(begin_ns, begin_ns + third);
    assert_eq!((ms(&before), before.phases.changes.all().len(), before.phases.len()), (vec![1.0], 0, 2));
    let after = within(begin_ns + third, end_ns + 1);
    assert_eq!((ms(&after), after.phases.changes.all().len(), after.phases.len()), (vec![2.0, 3.0], 1, 4));
    assert_eq!(after.phases.changes.all()[0].time_ns, (end_ns - begin_ns) / 2 - third);
    assert_eq!(ms(&within(begin_ns, end_ns + 1)), [1.0, 2.0, 3.0]);
    let phases: std::collections::BTreeSet<_> = after.of_exchanges.iter().copied().collect();
    assert_eq!(phases, (0..4).collect());
}

#[test]
fn a_window_of_another_recording_is_refused() {
    let (whole, other) = (recording(&[1]), recording(&[1, 2]));
    let [begin_ns, end_ns] = other.reach_ns().unwrap().unwrap();
    let rtts = Rtts::of(&whole, None, None).unwrap();
    assert!(rtts.within(&whole, &window(&other, begin_ns, end_ns + 1)).is_err());
}
