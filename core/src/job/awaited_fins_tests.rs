use super::*;
use crate::recording::DatabaseConnection;

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

/// Connections of one host, one after the other: how long after its beginning each is closed, how long after that the
/// FIN comes, and how long after the FIN the next one is opened.
fn in_turn(each: &[[i64; 3]]) -> (DatabaseConnections, Vec<i64>, Vec<i64>) {
    let (mut connections, mut now, mut opened, mut closed) = (DatabaseConnections::default(), 0, vec![], vec![]);
    for &[used, fin, pause] in each {
        opened.push(now);
        closed.push(now + used);
        let fin_ns = now + used + fin;
        connections.all.push(DatabaseConnection { fin_ns: [None, Some(fin_ns)], ..DatabaseConnection::default() });
        now = fin_ns + pause;
    }
    connections.runtime_ns = now;
    (connections, opened, closed)
}

/// How many FINs are waited for.
fn awaited((connections, opened, closed): &(DatabaseConnections, Vec<i64>, Vec<i64>)) -> usize {
    let near_ns = vec![0; opened.len()];
    let awaited = awaited_fins(connections, &near_ns, opened, closed);
    awaited.iter().filter(|&&fin_ns| fin_ns != UNSEEN).count()
}

/// A FIN takes 10 ms, more or less; the next connection follows 50 µs behind it, more or less.
fn waiting(count: usize) -> Vec<[i64; 3]> {
    (0..count as i64).map(|row| [3 * MS, 10 * MS + row % 3 * MS, 50 * US + row % 2 * US]).collect()
}

#[test]
fn a_host_waits_that_goes_on_soon_behind_each_fin() {
    let host = in_turn(&waiting(8));
    assert_eq!(awaited(&host), 8, "the last one as well, which nothing follows");
    let (connections, opened, closed) = &host;
    let fins = awaited_fins(connections, &[20 * US; 8], opened, closed);
    assert_eq!(Some(fins[0]), connections.all[0].fin_ns[1], "when it passed the capture point");
    let fins = awaited_fins(connections, &[200 * US; 8], opened, closed);
    assert_eq!(fins[0], UNSEEN, "so far from the client it came later than the next connection");
}

#[test]
fn three_connections_opened_behind_a_fin_show_it() {
    assert_eq!(awaited(&in_turn(&waiting(4))), 4);
    assert_eq!(awaited(&in_turn(&waiting(3))), 0, "nothing follows the third");
}

#[test]
fn a_host_that_goes_on_by_its_own_clock_waits_for_nothing() {
    let by_clock: Vec<_> = waiting(8).into_iter().map(|[used, fin, _]| [used, fin, 13 * MS - fin]).collect();
    assert_eq!(awaited(&in_turn(&by_clock)), 0, "each follows 13 ms behind the close");
}

#[test]
fn a_long_pause_must_be_the_more_regular() {
    let paused = |pause: i64, spread: i64| {
        in_turn(
            &waiting(9)
                .into_iter()
                .zip(0..)
                .map(|([used, fin, _], row)| [used, fin, pause + row % 3 * spread])
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(awaited(&paused(MS, 900 * US)), 9, "a sixth of the FIN's time");
    assert_eq!(awaited(&paused(4 * MS, 900 * US)), 0);
    assert_eq!(awaited(&paused(4 * MS, 300 * US)), 9, "the pauses are much alike");
}

#[test]
fn a_host_waits_for_none_that_has_once_gone_on_before_the_fin() {
    let mut host = in_turn(&waiting(8));
    host.1[4] = host.2[3] + MS;
    assert_eq!(awaited(&host), 0, "it had nothing else open");
    host.0.all.push(DatabaseConnection::default());
    host.1.push(0);
    host.2.push(UNSEEN);
    assert_eq!(awaited(&host), 8, "another thread of it may have gone on");
}

#[test]
fn a_fin_behind_the_recording_is_none() {
    let mut host = in_turn(&waiting(8));
    host.0.runtime_ns = host.2[7];
    assert_eq!(awaited(&host), 7);
}

#[test]
fn hosts_do_not_count_for_each_other() {
    let mut host = in_turn(&waiting(6));
    host.0.all.iter_mut().zip(0..).for_each(|(of, row)| of.host = row % 3);
    assert_eq!(awaited(&host), 0);
}
