//! The evidence of RTTs: of any phases and periods, of a whole recording and of its parts, adds up.

mod support;

use latpcap_core::pipeline::Limits;
use latpcap_core::recording::{DatabaseConnections, Recording};
use latpcap_core::rtt::baseline::Baseline;
use latpcap_core::rtt::direct::Intervals;
use latpcap_core::rtt::estimate::Rtts;
use latpcap_core::rtt::evidence::{Collected, Evidence, collect, each_sample};
use latpcap_core::rtt::phases::{Change, ChangeEvidence, Changes, Phases};
use latpcap_core::rtt::values::Values;
use latpcap_core::rtt::{FAR, NEAR};
use proptest::prelude::*;
use support::*;

/// Paths of connections, and when each of them changed.
type Cut = (Vec<u32>, Vec<(u32, i64)>);

fn recording(connections: u16, queries: u32) -> Recording {
    let mut packets = traffic(connections, queries);
    packets.iter_mut().enumerate().for_each(|(number, packet)| packet.time_ns += (number * 7_919 % 4_000) as u64);
    packets.sort_by_key(|packet| packet.time_ns);
    Recording::new(read(&packets), &Limits::default()).unwrap()
}

fn phases(connections: &DatabaseConnections, (paths, changes): &Cut) -> Phases {
    let count = paths.iter().max().map_or(0, |&last| last as usize + 1);
    let mut changes = changes.clone();
    changes.retain(|&(path, _)| (path as usize) < count);
    changes.sort_unstable();
    changes.dedup();
    let shown_by = ChangeEvidence::Measured;
    let changes = changes.into_iter().map(|(path, time_ns)| Change { path, time_ns, shown_by });
    Phases::of(connections, paths.clone(), Changes::of(changes.collect(), count))
}

fn collected(recording: &Recording, cut: &Cut) -> (DatabaseConnections, Phases, Collected) {
    let connections = recording.database_connections().unwrap();
    let phases = phases(&connections, cut);
    let collected = collect(recording, &connections, &phases).unwrap();
    (connections, phases, collected)
}

fn fields(evidence: &Evidence) -> [&Values; 6] {
    let Evidence { handshakes, acks, late, responses, answers, bounds, .. } = evidence;
    [handshakes, acks, late, responses, answers, bounds]
}

fn cuts(connections: u16) -> impl Strategy<Value = Cut> {
    let paths = prop::collection::vec(0..3_u32, connections as usize);
    (paths, prop::collection::vec((0..3_u32, 0..120_000_000_i64), 0..4))
}

fn anything() -> impl Strategy<Value = (u16, u32, Cut)> {
    (1..6_u16, 0..24_u32).prop_flat_map(|(connections, queries)| (Just(connections), Just(queries), cuts(connections)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn periods_have_the_evidence_of_their_phases((connections, queries, cut) in anything()) {
        let whole = recording(connections, queries);
        let (_, phases, found) = collected(&whole, &cut);
        prop_assert_eq!(found.of_periods().len(), phases.changes.periods());
        let is_same = phases.period.iter().copied().eq(0..phases.changes.periods() as u32);
        prop_assert_eq!(found.of_periods.is_none(), is_same);
        for (period, of_period) in found.of_periods().iter().enumerate() {
            for half in [FAR, NEAR] {
                let own = || (0..phases.len()).filter(|&phase| phases.period[phase] as usize == period);
                for (field, values) in fields(&of_period[half]).into_iter().enumerate() {
                    let joined = Values::joined(own().map(|phase| fields(&found.of_phases[phase][half])[field]));
                    prop_assert_eq!(values, &joined);
                }
            }
        }
    }

    #[test]
    fn each_exchange_and_sample_is_in_one_phase_of_its_connection((connections, queries, cut) in anything()) {
        let whole = recording(connections, queries);
        let (_, phases, found) = collected(&whole, &cut);
        let (_, _, uncut) = collected(&whole, &((0..u32::from(connections)).collect(), Vec::new()));
        prop_assert_eq!(found.of_exchanges.len(), whole.exchanges.len());
        let connection_of = found.of_exchanges.iter().map(|&phase| phases.connection[phase as usize]);
        prop_assert!(connection_of.eq(uncut.of_exchanges.iter().copied()));
        for connection in 0..connections as usize {
            let own = || phases.of_connection(connection).map(|phase| phase as usize);
            prop_assert_eq!(own().map(|phase| found.round_trips[phase]).sum::<u64>(), uncut.round_trips[connection]);
            for half in [FAR, NEAR] {
                let joined = Values::joined(own().map(|phase| &found.of_phases[phase][half].responses));
                prop_assert_eq!(&joined, &uncut.of_phases[connection][half].responses);
                let acks = |[evidence, ..]: &[Evidence; 2]| evidence.acks.count() + evidence.late.count();
                prop_assert_eq!(own().map(|phase| acks(&found.of_phases[phase])).sum::<u64>(), acks(&uncut.of_phases[connection]));
            }
        }
    }

    #[test]
    fn parts_of_a_recording_have_the_evidence_of_the_whole((connections, queries, cut) in anything()) {
        let whole = recording(connections, queries);
        let (all, phases, found) = collected(&whole, &cut);
        for path in 0..phases.changes.paths() as u32 {
            let own: Vec<_> = (0..all.len()).filter(|&connection| phases.path[connection] == path).collect();
            let part = whole.select(&own.iter().map(|&own| all.all[own].stream).collect::<Vec<_>>()).unwrap();
            let later_ns = part.start_ns().unwrap() - all.start_ns;
            let changes = cut.1.iter().filter(|(of, _)| *of == path).map(|(_, time_ns)| (0, time_ns - later_ns));
            let (_, _, of_part) = collected(&part, &(vec![0; own.len()], changes.collect()));
            let of_phases: Vec<_> = own.iter().flat_map(|&connection| phases.of_connection(connection)).collect();
            prop_assert_eq!(of_part.of_phases.len(), of_phases.len());
            for (of_part, phase) in of_part.of_phases.iter().flatten().zip(of_phases.iter().flat_map(|&phase| &found.of_phases[phase as usize])) {
                prop_assert_eq!(fields(of_part), fields(phase));
            }
        }
    }

    #[test]
    fn intervals_have_each_direct_measurement_once(
        (connections, queries, cut) in anything(),
        near_share in prop_oneof![Just(0.0), Just(0.3), Just(1.0)],
        width_ns in 1_000_000..200_000_000_i64,
    ) {
        let whole = recording(connections, queries);
        let (all, phases, found) = collected(&whole, &cut);
        let count = (all.runtime_ns / width_ns + 1) as usize;
        let intervals = Intervals { first_ns: all.start_ns, width_ns, count };
        let of_phases = vec![baseline(1e6, near_share); phases.len()];
        let rtts = Rtts { phases, of_phases, clean: found.clean, ..Rtts::default() };
        let measured = rtts.of_intervals(&whole, &intervals).unwrap();
        let mut expected = vec![Vec::new(); count];
        let mut add = |half: usize, time_ns: i64, ns: i64| {
            let shares = [1.0 - near_share, near_share];
            if shares[half] > 0.0 {
                let other = ((1.0 - shares[half]) * 1e6).round_ties_even() as i64;
                expected[((time_ns / width_ns) as usize).min(count - 1)].push(ns + other);
            }
        };
        for connection in &all.all {
            add(FAR, connection.start_ns, connection.handshake_ns[1].unwrap());
            add(NEAR, connection.start_ns, connection.handshake_ns[0].unwrap());
        }
        each_sample(&whole, &all, &rtts.phases, |phase, half, sample| {
            if rtts.clean[phase][half].takes(sample) {
                add(half, sample.time_ns - all.start_ns, sample.rtt_ns);
            }
        }).unwrap();
        for (measured, expected) in measured.iter().zip(expected) {
            let expected = Values::of(expected);
            prop_assert_eq!(measured.count, expected.count());
            prop_assert_eq!(measured.least_ns.to_bits(), expected.quantile(0.0).to_bits());
            prop_assert_eq!(measured.median_ns.to_bits(), expected.quantile(0.5).to_bits());
        }
    }
}

fn baseline(ns: f64, near_share: f64) -> Baseline {
    Baseline {
        ns,
        low_ns: ns,
        high_ns: ns,
        near_share,
        method: Default::default(),
        reason: Default::default(),
        position: Default::default(),
        handshake_ns: ns,
        in_stream_ns: [ns; 3],
        floor_ns: ns,
        samples: 1,
    }
}
