use super::*;
use crate::rtt::baseline::{Method, Reason};
use crate::rtt::phases::{Change, ChangeEvidence};
use crate::rtt::values::Values;

const MS: i64 = 1_000_000;
const PATH: [&str; 2] = ["10.0.0.1", "10.0.0.2:3306"];

/// A half with handshakes, acknowledgments and responses, in µs.
fn half(handshakes: &[i64], acks: &[i64], responses: &[i64]) -> Evidence {
    let [handshakes, acks, responses] =
        [handshakes, acks, responses].map(|all| Values::of(all.iter().map(|us| us * 1_000)));
    Evidence { handshakes, acks, bounds: responses.clone(), responses, ..Evidence::default() }
}

fn position(path: [&str; 2], far: Evidence, near: Evidence) -> Position {
    let [far, near] = choose(&[far, near], 1);
    position_of(path, [&far, &near], 1)
}

/// The baseline of a path with these halves, and that of a phase of it with these.
fn baselines(of_path: [Evidence; 2], own: [Evidence; 2]) -> [Baseline; 2] {
    let [path, own] = [of_path, own].map(|halves| choose(&halves, 1));
    let position = position_of(PATH, [&path[0], &path[1]], 1);
    let mut baseline = Baseline::of_halves([&path[0], &path[1]], position, 1, f64::NAN);
    baseline.suspect_proxy(&path[0]);
    let own = Own::of(Baseline::of_halves([&own[0], &own[1]], position, 1, f64::NAN), &own);
    let (is_at_odds, own_baseline) = (own.is_at_odds(&baseline), own.baseline);
    let of_phase = own.with_siblings(&baseline);
    if is_at_odds {
        baseline.hold_range_of(&own_baseline);
    }
    [baseline, of_phase]
}

fn of_path(far: Evidence, near: Evidence) -> Baseline {
    baselines([far, near], [half(&[], &[], &[]), half(&[], &[], &[])])[0]
}

#[test]
fn the_halves_tell_where_it_was_captured() {
    let place = |far, near| position(PATH, half(&[far], &[], &[]), half(&[near], &[], &[]));
    assert_eq!(place(9_900, 100), Position::Client);
    assert_eq!(place(6_000, 4_000), Position::Between);
    assert_eq!(place(100, 9_900), Position::Server);
    let twice = |us: i64| half(&[us], &[us; 3], &[]);
    assert_eq!(position(PATH, twice(400), twice(300)), Position::Between, "each below a millisecond, measured twice");
    assert_eq!(position(PATH, half(&[], &[36; 3], &[]), half(&[], &[4; 3], &[])), Position::Client);
    assert_eq!(position(PATH, half(&[], &[36; 3], &[]), half(&[], &[24; 3], &[])), Position::Unknown);
    let silent = half(&[], &[], &[]);
    assert_eq!(position(["fd00::1", "[fd00::1]:3306"], silent.clone(), silent), Position::Loopback);
}

#[test]
fn pauses_of_hosts_tell_the_place_where_nothing_was_measured() {
    let place = |far: i64, near: i64| position(PATH, half(&[], &[], &[far; 30]), half(&[], &[], &[near; 30]));
    assert_eq!(place(20_100, 100), Position::Client);
    assert_eq!(place(10_100, 10_100), Position::Between);
    assert_eq!(place(100, 20_100), Position::Server);
}

#[test]
fn halves_add_up_between_and_a_hosts_own_turnaround_is_no_network() {
    let ns = |far: i64, near: i64| of_path(half(&[far], &[], &[]), half(&[near], &[], &[]));
    let [at_client, between, at_server] = [ns(9_900, 100), ns(6_000, 4_000), ns(100, 9_900)];
    assert_eq!([at_client.ns, between.ns, at_server.ns], [9.9e6, 10e6, 9.9e6]);
    assert_eq!([at_client.near_share, between.near_share, at_server.near_share], [0.0, 0.4, 1.0]);
    assert_eq!([at_client.method, at_server.method], [Method::Handshake; 2]);
}

#[test]
fn of_halves_whose_place_is_unknown_the_longer_counts_and_the_range_holds_both() {
    let found = of_path(half(&[], &[36; 3], &[]), half(&[], &[24; 3], &[]));
    assert_eq!((found.ns, found.near_share, found.method), (36e3, 0.0, Method::InStream));
    assert!(found.low_ns < 24e3 && found.high_ns > 60e3, "{found:?}");
    let longer_near = of_path(half(&[], &[24; 3], &[]), half(&[], &[36; 3], &[]));
    assert_eq!((longer_near.ns, longer_near.near_share), (36e3, 0.0));
}

#[test]
fn responses_far_slower_than_the_host_that_answers_may_be_behind_a_proxy() {
    let reason = |ms: i64, times| {
        let responses: Vec<_> = (0..times).map(|at| (ms + at * ms / 4) * 1_000).collect();
        of_path(half(&[1_000], &[1_000; 12], &responses), half(&[], &[], &[])).reason
    };
    assert_eq!(reason(30, 20), Reason::FarResponses);
    assert_ne!(reason(30, 19), Reason::FarResponses);
    assert_ne!(reason(3, 20), Reason::FarResponses);
}

#[test]
fn a_connection_with_little_of_its_own_has_the_rtt_of_its_path() {
    let path = || [half(&[10_000; 5], &[], &[50_000; 5]), half(&[], &[], &[])];
    let own = |handshakes: &[i64], responses: &[i64]| {
        baselines(path(), [half(handshakes, &[], responses), half(&[], &[], &[])])[1]
    };
    let without = own(&[], &[90_000]);
    assert_eq!((without.ns, without.reason, without.floor_ns), (10e6, Reason::Siblings, 90e6));
    assert_eq!((own(&[31_000], &[90_000]).ns, own(&[31_000], &[90_000]).reason), (10e6, Reason::Siblings));
    assert_ne!(own(&[10_000], &[90_000]).reason, Reason::Siblings, "its own measurement agrees");
}

#[test]
fn a_mass_of_own_evidence_that_is_apart_counts_and_the_path_has_both() {
    let path = [half(&[1_000; 20], &[], &[1_050; 40]), half(&[], &[], &[])];
    let own = [half(&[50_000], &[50_000; 3], &[50_050; 6]), half(&[], &[], &[])];
    let [path, own] = baselines(path, own);
    assert!((own.ns / 50e6 - 1.0).abs() < 0.01 && own.reason != Reason::Siblings, "{own:?}");
    assert!(path.ns < 1.1e6 && path.low_ns < 1e6 && path.high_ns > 50e6, "{path:?}");
}

#[test]
fn a_given_rtt_overrules_all_and_an_unknown_point_is_where_no_response_took_it() {
    let found = of_path(half(&[], &[], &[5_000; 3]), half(&[], &[], &[])).with_given_ns(20e6);
    assert_eq!((found.ns, found.low_ns, found.high_ns, found.method), (20e6, 20e6, 20e6, Method::Given));
    assert_eq!((found.position, found.near_share), (Position::Unknown, 0.75));
    let nothing = of_path(half(&[], &[], &[]), half(&[], &[], &[])).with_given_ns(20e6);
    assert_eq!(nothing.near_share, 0.0);
}

#[test]
fn a_clock_of_seconds_measures_nothing_but_one_machine() {
    let found = of_path(half(&[6_000], &[], &[]), half(&[4_000], &[], &[]));
    let coarse = found.unmeasured();
    assert!(coarse.ns.is_nan() && coarse.high_ns == f64::INFINITY);
    assert_eq!((coarse.reason, coarse.position, coarse.samples), (Reason::CoarseClock, Position::Unknown, 0));
    let loopback = Baseline { position: Position::Loopback, ..found };
    assert_eq!(loopback.unmeasured().position, Position::Loopback);
}

/// A connection on one path with a period of so many round trips after the other.
fn periods(round_trips: &[u64]) -> Phases {
    let numbers = 0..round_trips.len() as u32;
    let change = |number| Change { path: 0, time_ns: i64::from(number) * MS, shown_by: ChangeEvidence::Measured };
    Phases {
        changes: Changes::of(numbers.clone().skip(1).map(change).collect(), 1),
        path: vec![0],
        opening: vec![0],
        closing: vec![numbers.end - 1],
        period: numbers.clone().collect(),
        connection: vec![0; round_trips.len()],
    }
}

#[test]
fn a_path_has_the_rtt_of_the_period_with_most_round_trips_of_several_the_last() {
    let busiest = |round_trips: &[u64]| {
        let busiest = Busiest::of(&periods(round_trips), round_trips);
        (busiest.periods, busiest.phases)
    };
    assert_eq!(busiest(&[1, 7, 3]), (vec![1], vec![1]));
    assert_eq!(busiest(&[7, 1, 7, 0]), (vec![2], vec![2]));
    assert_eq!(busiest(&[0, 0]), (vec![1], vec![1]));
}

#[test]
fn a_period_of_responses_alone_learns_from_its_neighbour_how_much_of_them_is_work() {
    let measured = [half(&[], &[10_000; 12], &[15_000; 30]), half(&[], &[], &[])];
    let bounded = || [half(&[], &[], &[45_000, 45_200, 45_400, 60_000, 80_000]), half(&[], &[], &[])];
    for order in [[0, 1], [1, 0]] {
        let all = [&measured, &bounded()].map(|halves| choose(halves, 1));
        let mut all = order.map(|place: usize| all[place]);
        less_work(&mut all, &periods(&[1, 1]).changes);
        let [known, learnt] = order.map(|place| all[place][FAR]);
        assert_eq!((known.value, known.reason == Reason::Changed), (10e6, false));
        assert_eq!((learnt.value, learnt.reason), (40e6, Reason::Changed));
    }
    let mut alone = [choose(&bounded(), 1), choose(&bounded(), 1)];
    less_work(&mut alone, &periods(&[1, 1]).changes);
    assert_ne!(alone[0][FAR].reason, Reason::Changed);
}

#[test]
fn a_period_tells_the_place_where_the_whole_path_does_not() {
    let paths = Paths { clients: vec![PATH[0].into()], servers: vec![PATH[1].into()] };
    let unknown = [half(&[], &[36; 3], &[]), half(&[], &[24; 3], &[])];
    let all = [unknown, [half(&[9_900], &[], &[]), half(&[100], &[], &[])]].map(|halves| choose(&halves, 1));
    let positions = |known| positions_of(&paths, &periods(&[1, 1]).changes, &all, Some(&[known]), 1);
    assert_eq!(positions(Position::Unknown), [Position::Client; 2]);
    assert_eq!(positions(Position::Between), [Position::Between; 2]);
}

#[test]
fn the_range_of_a_path_reaches_what_it_may_have_changed_to() {
    let baseline = of_path(half(&[10_000; 12], &[], &[]), half(&[], &[], &[]));
    let rtts = |doubt_ns| {
        let phases = periods(&[1]);
        let all = || vec![baseline];
        let rtts = Rtts {
            of_paths: all(),
            of_connections: all(),
            of_periods: all(),
            of_phases: all(),
            phases,
            ..Rtts::default()
        };
        let rtts = rtts.with_doubts_ns(&[doubt_ns]);
        [rtts.of_paths, rtts.of_connections, rtts.of_periods, rtts.of_phases].map(|all| (all[0].high_ns, all[0].reason))
    };
    assert_eq!(rtts(30e6), [(40.8e6, Reason::SplitChange); 4]);
    assert_eq!(rtts(0.0), [(baseline.high_ns, baseline.reason); 4]);
}

#[test]
fn behind_a_proxy_both_networks_add_up() {
    let outer = of_path(half(&[6_000], &[], &[]), half(&[4_000], &[], &[]));
    let beyond = Beyond {
        connection: 0,
        outer: 0,
        server: "10.0.0.3:3306".into(),
        trips: 2.0,
        is_far: true,
        ns: 5e6,
        low_ns: 4e6,
        high_ns: 6e6,
        round_trips: 9,
    };
    let rtts = Rtts { of_phases: vec![outer], ..Rtts::default() };
    let rtts = rtts.through(BehindProxy { all: vec![beyond] }, vec![0, 1]);
    let [before, both] = &rtts.of_phases[..] else { panic!("{rtts:?}") };
    assert_eq!((before.ns, both.ns, both.low_ns - outer.low_ns, both.high_ns - outer.high_ns), (10e6, 20e6, 8e6, 12e6));
    assert_eq!((both.near_share, both.near_ns()), (0.2, 4e6));
    assert_eq!(rtts.of_exchanges, [0, 1]);
}
