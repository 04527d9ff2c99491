use super::*;
use crate::recording::DatabaseConnection;
use crate::rtt::phases::Changes;

fn evidence(handshakes: &[i64], acks: &[i64], responses: &[i64]) -> Evidence {
    let [handshakes, acks, responses] = [handshakes, acks, responses].map(|of| Values::of(of.iter().copied()));
    Evidence { handshakes, acks, responses, ..Evidence::default() }
}

#[test]
fn a_half_may_have_changed_if_ten_measurements_are_short_and_ten_long() {
    let of = |short, long| [vec![5_000_000; short], vec![20_000_000; long]].concat();
    let may_direct_change =
        |handshakes: &[i64], acks: &[i64]| Half::of(&evidence(handshakes, acks, &[])).may_direct_change;
    assert!(may_direct_change(&of(10, 0), &of(0, 10)));
    assert!(!may_direct_change(&of(10, 0), &of(0, 9)));
    assert!(!may_direct_change(&[], &of(100, 9)));
    assert!(!may_direct_change(&[5_000_000; 10], &[6_500_000; 10]), "too little");
    let responses = Half::of(&evidence(&[], &[], &of(10, 10)));
    assert!(responses.may_responses_change && !responses.may_direct_change);
}

/// How many handshakes are kept of so many connections, where one of `every` is.
fn kept(count: usize, every: u64) -> usize {
    let connection = DatabaseConnection { handshake_ns: [None, Some(1)], ..DatabaseConnection::default() };
    let mut connections = DatabaseConnections::default();
    connections.all.extend(std::iter::repeat_n(connection, count));
    let phases = Phases::of(&connections, vec![0; connections.len()], Changes::none(1));
    let half = Half { may_direct_change: true, ..Half::default() };
    let mut paths = [Path { halves: [half, Half::default()], clocks: Vec::new() }];
    let counts = vec![[0; 4]; connections.len()];
    Collecting { connections: &connections, phases: &phases, paths: &mut paths, every, counts }.handshakes();
    paths[0].halves[FAR].direct.len()
}

#[test]
fn of_too_many_each_connection_leaves_out_as_many_and_those_with_one_alone_others() {
    assert_eq!([kept(1_000, 1), kept(1_000, 4), kept(1, 4)], [1_000, 250, 0]);
}
