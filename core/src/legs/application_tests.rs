use super::*;
use crate::recording::DatabaseConnection;
use crate::rtt::baseline::{Baseline, Method, Position, Reason};
use crate::rtt::phases::{Changes, Phases};

const US: i64 = 1_000;

/// An exchange: its connection, from when to when in µs, and the one that it waits for behind the proxy.
#[derive(Clone, Copy)]
struct Step(u32, i64, i64, Option<u32>);

struct Case {
    recorded: DatabaseConnections,
    legs: Legs,
    connection: Vec<u32>,
    request_ns: Vec<i64>,
    response_end_ns: Vec<i64>,
}

/// Connections of an application, and behind these the proxy's.
fn case(is_inner: &[bool], steps: &[Step]) -> Case {
    let mut recorded = DatabaseConnections::default();
    recorded.servers = vec!["proxy:1".into(), "db:2".into()];
    let connection = |&is_inner: &bool| DatabaseConnection { server: is_inner.into(), ..Default::default() };
    recorded.all = is_inner.iter().map(connection).collect();
    Case {
        recorded,
        legs: Legs { is_inner: is_inner.to_vec(), inner: steps.iter().map(|step| step.3).collect(), ..Legs::default() },
        connection: steps.iter().map(|step| step.0).collect(),
        request_ns: steps.iter().map(|step| if step.1 < 0 { NULL } else { step.1 * US }).collect(),
        response_end_ns: steps.iter().map(|step| step.2 * US).collect(),
    }
}

/// One phase a connection, of so many µs, and that of each exchange.
fn rtts(case: &Case, kept: impl Fn(u32) -> bool, rtt_us: &[f64]) -> Rtts {
    let baseline = |&us: &f64| Baseline {
        ns: us * 1e3,
        low_ns: us * 1e3,
        high_ns: us * 1e3,
        near_share: 0.0,
        method: Method::Given,
        reason: Reason::Given,
        position: Position::Client,
        handshake_ns: f64::NAN,
        in_stream_ns: [f64::NAN; 3],
        floor_ns: f64::NAN,
        samples: 0,
    };
    let mut connections = DatabaseConnections::default();
    connections.all = vec![DatabaseConnection::default(); rtt_us.len()];
    Rtts {
        phases: Phases::of(&connections, vec![0; rtt_us.len()], Changes::none(1)),
        of_phases: rtt_us.iter().map(baseline).collect(),
        of_exchanges: case.connection.iter().copied().filter(|&connection| kept(connection)).collect(),
        ..Rtts::default()
    }
}

/// The round trips behind the proxy of each exchange that waits for some, and the RTTs of the application's exchanges.
fn beyond(case: Case, rtt_us: &[f64]) -> (Vec<(u32, i64)>, Vec<f64>) {
    let all = rtts(&case, |_| true, rtt_us);
    let ours = case.legs.is_inner.iter().filter(|is_inner| !**is_inner).count();
    let of_ours = rtts(&case, |connection| (connection as usize) < ours, &rtt_us[..ours]);
    let both = BothSides {
        connections: case.recorded,
        legs: &case.legs,
        round_trips: vec![1; case.connection.len()],
        connection: case.connection,
        request_ns: case.request_ns,
        response_end_ns: case.response_end_ns,
    };
    let waits = both.waits(&all);
    let (beyond, of_exchanges) = both.beyond(&waits, &all, &of_ours);
    let through = of_ours.through(beyond, of_exchanges);
    let rtt_us = through.of_exchanges.iter().map(|&phase| through.of_phases[phase as usize].ns / 1e3);
    (waits.iter().map(|wait| (wait.outer, wait.trips)).collect(), rtt_us.collect())
}

fn with_handshakes(mut case: Case, is_greeted: bool) -> Case {
    case.recorded.all.iter_mut().enumerate().for_each(|(place, connection)| {
        (connection.syn_ns, connection.is_greeted) = (Some(place as i64), is_greeted);
    });
    case
}

#[test]
fn a_request_that_a_proxy_passes_on_takes_both_networks() {
    let steps = [Step(0, 0, 9, Some(2)), Step(0, 20, 29, None), Step(1, 1, 8, None)];
    assert_eq!(beyond(case(&[false, true], &steps), &[500.0, 4_000.0]), (vec![(0, 1)], vec![4_500.0, 500.0]));
}

#[test]
fn the_first_request_waits_for_the_handshake_of_the_proxy_too() {
    let steps = [Step(0, 0, 9, Some(1)), Step(1, 1, 8, None)];
    let case = with_handshakes(case(&[false, true], &steps), false);
    assert_eq!(beyond(case, &[500.0, 4_000.0]), (vec![(0, 1), (0, 1)], vec![8_500.0]));
}

#[test]
fn a_greeting_waits_for_the_handshake_of_the_proxy_and_for_its_greeting() {
    let steps = [Step(0, -1, 9, None), Step(0, 10, 19, Some(3)), Step(1, -1, 8, None), Step(1, 11, 18, None)];
    let case = with_handshakes(case(&[false, true], &steps), true);
    let (waits, rtt_us) = beyond(case, &[500.0, 4_000.0]);
    assert_eq!(waits[0], (0, 2));
    assert_eq!(rtt_us[0], 500.0 + 2.0 * 4_000.0 + 4_000.0); // the greeting behind the proxy is an exchange of its own
}

#[test]
fn a_reset_delays_the_next_request_where_that_comes_at_once() {
    let reset = |end: i64, rtt_us| {
        let steps = [
            Step(0, 0, 90, Some(2)),
            Step(0, 6_000, 6_900, Some(4)),
            Step(1, 10, 80, None),
            Step(1, 100, end, None),
            Step(1, 6_100, 6_800, None),
        ];
        beyond(case(&[false, true], &steps), &[500.0, rtt_us]).0
    };
    assert_eq!(reset(6_050, 4_000.0), [(0, 1), (1, 1), (1, 1)]);
    assert_eq!(reset(5_900, 4_000.0), [(0, 1), (1, 1)]);
    assert_eq!(reset(5_900, 20.0), [(0, 1), (1, 1), (1, 1)]); // a longer network would not be that quick
    assert_eq!(reset(500, 20.0), [(0, 1), (1, 1)]);
}

#[test]
fn of_two_proxies_in_a_row_the_application_waits_for_the_first() {
    let steps = [Step(0, 0, 9, Some(1)), Step(1, 1, 8, Some(2)), Step(2, 2, 7, None)];
    let (waits, rtt_us) = beyond(case(&[false, true, true], &steps), &[500.0, 4_000.0, 9_000.0]);
    assert_eq!((waits, rtt_us), (vec![(0, 1)], vec![4_500.0]));
}

#[test]
fn a_server_on_the_machine_of_the_proxy_is_no_network() {
    let steps = || [Step(0, 0, 9, Some(1)), Step(1, 1, 8, None)];
    assert_eq!(beyond(case(&[false, true], &steps()), &[500.0, 50.0]).1, [500.0]);
    assert_eq!(beyond(case(&[false, true], &steps()), &[40.0, 50.0]).1, [90.0]);
}
