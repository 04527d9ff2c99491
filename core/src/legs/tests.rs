use proptest::prelude::*;

use super::rows::{Row, Statement};
use super::*;
use crate::recording::DatabaseConnection;

const MS: i64 = 1_000_000;
const SELECT: u32 = 0;
const DISCARD: u32 = 1;

/// A connection of `client` with `server`, each a host and the server's port as well, with exchanges: statement,
/// literals, request and response.
#[derive(Clone, Debug)]
struct Asking {
    client: &'static str,
    server: &'static str,
    session: Option<u64>,
    exchanges: Vec<(u32, u32, i64, i64)>,
}

fn asking(
    client: &'static str,
    server: &'static str,
    exchanges: impl IntoIterator<Item = (u32, u32, i64, i64)>,
) -> Asking {
    Asking { client, server, session: None, exchanges: exchanges.into_iter().collect() }
}

/// Statements, one each 10 ms, from `begin` to `end` (µs behind that).
fn statements(times: u32, begin: i64, end: impl Fn(i64) -> i64) -> Vec<(u32, u32, i64, i64)> {
    let at = |number: u32| i64::from(number) * 10 * MS;
    let each = |number: u32| (SELECT, number, at(number) + begin * 1_000, at(number) + end(number.into()) * 1_000);
    (0..times).map(each).collect()
}

/// How long a server takes: not twice in a row the same.
fn service(number: i64) -> i64 {
    number * 37 % 11 * 100
}

fn tables(all: &[Asking]) -> (DatabaseConnections, Rows) {
    let mut connections = DatabaseConnections::default();
    let mut rows = Vec::new();
    for (place, of) in (0..).zip(all) {
        let number = |names: &mut Vec<String>, name: &str| {
            let known = names.iter().position(|known| known == name);
            known.unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            }) as u32
        };
        let host = number(&mut connections.hosts, of.client);
        let server = number(&mut connections.servers, of.server);
        let end_ns = of.exchanges.iter().map(|exchange| exchange.3).max().unwrap_or(0);
        let start_ns = of.exchanges.iter().map(|exchange| exchange.2).min().unwrap_or(0);
        let connection = DatabaseConnection {
            stream: place,
            host,
            server,
            start_ns,
            end_ns,
            session: of.session,
            ..Default::default()
        };
        connections.all.push(connection);
        for &(fingerprint, literals, request_ns, response_ns) in &of.exchanges {
            let statement = Some(Statement { fingerprint, literals, is_work: fingerprint == SELECT });
            rows.push(Row { connection: place, statement, request_ns, response_ns, response_end_ns: response_ns });
        }
    }
    (connections, Rows::sorted(rows, all.len()))
}

/// Whether each connection is a proxy's with a server, and the pairs of rows; bytes are the same everywhere.
fn legs(all: &[Asking]) -> Option<(Vec<bool>, Vec<[u32; 2]>)> {
    let (connections, rows) = tables(all);
    let sizes = || Ok([vec![0; rows.all.len()], vec![0; rows.all.len()]]);
    let proxies = Proxies::of(&connections, &rows, sizes).unwrap()?;
    let inner = inner_exchanges(&rows, &proxies);
    let pairs = (0..).zip(inner).filter_map(|(outer, inner)| Some([outer, inner?])).collect();
    Some((proxies.of_connections.iter().map(|of| of.is_inner).collect(), pairs))
}

/// An application that asks a pooler on another host, and the pooler that asks a server.
fn pooler() -> Vec<Asking> {
    vec![
        asking("app", "pool:6432", statements(20, 0, |number| 2_000 + service(number))),
        asking("pool", "db:5432", statements(20, 500, |number| 1_500 + service(number))),
    ]
}

fn in_turn(times: u32) -> Vec<[u32; 2]> {
    (0..times).map(|row| [row, row + times]).collect()
}

#[test]
fn a_pooler_passes_on_statements() {
    assert_eq!(legs(&pooler()), Some((vec![false, true], in_turn(20))));
}

#[test]
fn a_pooler_that_resets_its_session_passes_on_the_rest() {
    let mut all = pooler();
    let resets: Vec<_> = all[1].exchanges.iter().map(|&(.., end)| (DISCARD, 0, end + 1_000, end + 2_000)).collect();
    all[1].exchanges.extend(resets);
    all[1].exchanges.sort_by_key(|exchange| exchange.2);
    let (is_inner, pairs) = legs(&all).unwrap();
    assert_eq!((is_inner, pairs.len()), (vec![false, true], 20));
    assert!(pairs.iter().all(|[outer, inner]| inner - 20 == 2 * outer));
}

#[test]
fn a_host_that_asks_a_server_other_things_as_well_is_no_proxy() {
    let mut all = pooler();
    all.push(asking("pool", "db:5432", (0..20).map(|number| (SELECT, 100 + number, 5 * MS, 6 * MS))));
    assert_eq!(legs(&all), None);
}

#[test]
fn few_statements_show_no_proxy() {
    let few = |all: Vec<Asking>| all.into_iter().map(|of| asking(of.client, of.server, of.exchanges[..9].to_vec()));
    assert_eq!(legs(&few(pooler()).collect::<Vec<_>>()), None);
}

#[test]
fn a_relay_has_one_session_on_both_sides() {
    let mut all: Vec<Asking> = pooler().into_iter().rev().collect();
    all.iter_mut().for_each(|of| {
        of.session = Some(7);
        of.exchanges.truncate(3);
    });
    all[0].client = "nobody that is asked";
    assert_eq!(legs(&all), Some((vec![true, false], vec![[3, 0], [4, 1], [5, 2]])));
}

/// NAT that changes the client's address alone, of so many exchanges.
fn client_nat(times: u32) -> Vec<Asking> {
    let mut all = vec![
        asking("app", "db:5432", statements(times, 0, |number| 2_000 + service(number))),
        asking("gate", "db:5432", statements(times, 20, |number| 1_980 + service(number))),
    ];
    all.iter_mut().for_each(|of| of.session = Some(7));
    all
}

#[test]
fn what_a_server_says_to_two_clients_was_made_up_for_none() {
    let is_inner = |all: &[Asking]| legs(all).map(|(is_inner, _)| is_inner);
    assert_eq!(is_inner(&client_nat(10)), Some(vec![false, true]));
    assert_eq!(is_inner(&client_nat(9)), None);
    let mut late = client_nat(10);
    late[1].exchanges[4].3 += 5 * MS;
    assert_eq!(is_inner(&late), None);
}

/// Two servers of one machine that are asked alike: the first one `takes` so long.
fn one_machine(takes: impl Fn(i64) -> i64) -> Vec<Asking> {
    vec![
        asking("box", "box:6432", statements(40, 0, takes)),
        asking("box", "box:5432", statements(40, 100, |number| 200 + service(number))),
    ]
}

#[test]
fn a_proxy_on_its_servers_machine_answers_as_late_as_the_server() {
    assert_eq!(legs(&one_machine(|number| 300 + service(number))), Some((vec![false, true], in_turn(40))));
}

#[test]
fn two_servers_that_take_each_its_own_time_have_no_proxy_between_them() {
    assert_eq!(legs(&one_machine(|number| 2_000 + service(number * number))), None);
}

#[test]
fn two_proxies_in_a_row_are_joined_each_with_the_next() {
    let all = [
        asking("app", "one:1", statements(20, 0, |number| 3_000 + service(number))),
        asking("one", "two:2", statements(20, 300, |number| 2_500 + service(number))),
        asking("two", "db:3", statements(20, 600, |number| 2_000 + service(number))),
    ];
    let (is_inner, pairs) = legs(&all).unwrap();
    assert_eq!(is_inner, [false, true, true]);
    assert_eq!(pairs, (0..40).map(|row| [row, row + 20]).collect::<Vec<_>>());
}

#[test]
fn statements_at_once_go_on_in_the_order_in_which_they_came() {
    let same = |begin: i64, end: i64| (0..12).map(move |number| (SELECT, 0, begin + number, end + number));
    let split = |all: Vec<(u32, u32, i64, i64)>, odd: usize| all.into_iter().skip(odd).step_by(2);
    let all = [
        asking("app", "pool:1", split(same(0, 1_000).collect(), 0)),
        asking("app", "pool:1", split(same(0, 1_000).collect(), 1)),
        asking("pool", "db:2", same(100, 500)),
    ];
    let (_, pairs) = legs(&all).unwrap();
    assert_eq!(pairs, (0..6).flat_map(|row| [[row, 12 + 2 * row], [row + 6, 13 + 2 * row]]).sorted());
}

/// Pairs in order.
trait Sorted: Iterator<Item = [u32; 2]> + Sized {
    fn sorted(self) -> Vec<[u32; 2]> {
        let mut all: Vec<_> = self.collect();
        all.sort_unstable();
        all
    }
}

impl<I: Iterator<Item = [u32; 2]>> Sorted for I {}

/// Applications, poolers and servers on several hosts, or all on one; sessions for some.
fn anything() -> impl Strategy<Value = Vec<Asking>> {
    let connection = (0..3_usize, any::<bool>(), prop::option::of(0..3_u64), 0..200_i64, 5..30_u32);
    (any::<bool>(), prop::collection::vec(connection, 1..6)).prop_map(|(is_one_host, all)| {
        let hosts = if is_one_host { ["box"; 3] } else { ["app", "one", "two"] };
        let servers = if is_one_host { ["box:1", "box:2", "box:3"] } else { ["one:1", "two:2", "db:3"] };
        let each = |(hop, repeats, session, shift, times): (usize, bool, _, i64, u32)| {
            let hop_us = 300 * hop as i64;
            let mut of = asking(
                hosts[hop],
                servers[hop],
                statements(times, shift + hop_us, |number| shift + 4_000 - hop_us + service(number)),
            );
            of.session = session;
            of.exchanges.iter_mut().filter(|_| repeats).for_each(|exchange| exchange.1 %= 2);
            of
        };
        all.into_iter().map(each).collect()
    })
}

proptest! {
    /// Requests are never asked at the same time of two connections here: else their order decides who comes first.
    #[test]
    fn the_order_of_connections_joins_the_same_pairs(mut all in anything(), turn in 0..6_usize) {
        for (place, of) in (0..).zip(&mut all) {
            of.exchanges.iter_mut().for_each(|exchange| (exchange.2, exchange.3) = (exchange.2 + place, exchange.3 + place));
        }
        let mut turned: Vec<(usize, Asking)> = all.iter().cloned().enumerate().collect();
        let turn = turn % turned.len();
        turned.rotate_left(turn);
        let order: Vec<usize> = turned.iter().map(|(place, _)| *place).collect();
        let turned: Vec<Asking> = turned.into_iter().map(|(_, of)| of).collect();
        let name = |all: &[Asking], of: &dyn Fn(usize) -> usize, row: u32| {
            let mut row = row as usize;
            for (place, asking) in all.iter().enumerate() {
                if row < asking.exchanges.len() {
                    return (of(place), row);
                }
                row -= asking.exchanges.len();
            }
            unreachable!()
        };
        let named = |all: &[Asking], of: &dyn Fn(usize) -> usize| legs(all).map(|(is_inner, pairs)| {
            let mut inner: Vec<_> = (0..all.len()).filter(|&place| is_inner[place]).map(of).collect();
            let mut pairs: Vec<_> = pairs.iter().map(|pair| pair.map(|row| name(all, of, row))).collect();
            inner.sort_unstable();
            pairs.sort_unstable();
            (inner, pairs)
        });
        prop_assert_eq!(named(&all, &|place| place), named(&turned, &|place| order[place]));
    }

    #[test]
    fn an_exchange_lies_within_the_one_that_waits_for_it(all in anything()) {
        let (_, rows) = tables(&all);
        for [outer, inner] in legs(&all).map_or(Vec::new(), |(_, pairs)| pairs) {
            let [outer, inner] = [outer, inner].map(|row| rows.all[row as usize]);
            prop_assert!(outer.request_ns <= inner.request_ns && inner.response_ns <= outer.response_end_ns);
            prop_assert!(outer.connection != inner.connection);
        }
    }
}
