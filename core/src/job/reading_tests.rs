use proptest::prelude::*;

use super::super::UNSEEN;
use super::super::logins::{Login, Next};
use super::super::recorded::{Connections, Phases};
use super::super::tests::Made;
use super::*;
use crate::ledger::Limits;
use crate::recording::{Errors, ExchangeColumns, ExchangeRows, NULL};

/// Exchanges as a recording keeps them; `number` tells what each has in a column.
fn kept(rows: usize, number: impl Fn(&'static str, usize) -> i64) -> ExchangeColumns {
    let mut exchanges = ExchangeRows::within(&Limits::of(1 << 30), None);
    let purposes = ["execute", "setup", "unreadable", "cancel"].as_slice();
    for (column, words) in [("wait", ["own", "shared"].as_slice()), ("purpose", purposes), ("command", &["a", "b"])] {
        exchanges.know(column, Errors::saved(words.iter().copied().map(str::to_owned).collect()));
    }
    let names: Vec<&str> = ExchangeColumns::names().collect();
    (0..rows).for_each(|row| exchanges.add(std::array::from_fn(|column| number(names[column], row))));
    exchanges.sorted().unwrap()
}

fn of_table(exchanges: ExchangeColumns, ends: Vec<bool>, phases: Phases, connections: Connections) -> Recorded {
    let mut table = Table::of(exchanges, ends);
    (table.phases, table.connections) = (phases, connections);
    Recorded::of(table)
}

/// A job of these exchanges on so many connections, each with a phase of its own.
fn recorded(connections: u32, exchanges: ExchangeColumns) -> Recorded {
    let phases = exchanges.numbers(Column::stream, &(0..exchanges.len())).unwrap();
    let phases: Vec<u32> = phases.into_iter().map(|phase| phase as u32).collect();
    let Made { phases: of, connections, .. } = Made::with(connections, 10.0);
    let mut recorded = of_table(exchanges, vec![false, true], of, connections);
    assert!(recorded.read(&phases).unwrap());
    recorded
}

fn all(recorded: &Recorded) -> Vec<Exchange> {
    let mut all = Vec::new();
    recorded.each(&mut |exchange| all.push(*exchange)).unwrap();
    all
}

/// Exchanges of which anything may be so, by chance.
struct Anything {
    connections: usize,
    seed: u64,
    /// Of so many one is unlike most.
    one_in: u64,
}

impl Anything {
    fn chance(&self, name: &str, row: usize) -> u64 {
        name.bytes().chain(row.to_le_bytes()).fold(self.seed, |mixed, byte| {
            (mixed ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        })
    }

    fn number(&self, name: &str, row: usize) -> i64 {
        let chance = self.chance(name, row);
        let (unlike, some) = ((chance >> 32).is_multiple_of(self.one_in), (chance % 1000) as i64);
        let after = |before: &str| match self.number(before, row) {
            NULL => NULL,
            before => before + some,
        };
        match name {
            "stream" => (row % self.connections) as i64,
            "exchange" => (row / self.connections) as i64,
            "request_time" | "response_time" if unlike => NULL,
            "request_time" => 1_000_000 * row as i64,
            "response_time" => 1_000_000 * row as i64 + 2000 + some,
            "request_end_time" => after("request_time"),
            "response_end_time" => after("response_time"),
            "waited_ns" if unlike => some,
            "waited_ns" => match ["response_time", "request_end_time"].map(|time| self.number(time, row)) {
                [NULL, _] | [_, NULL] => NULL,
                [answered, sent] => answered - sent,
            },
            "fingerprint" if some < 300 => NULL,
            "purpose" | "wait" | "command" | "fingerprint" => some % 2,
            "complete" => i64::from(!unlike),
            "round_trips" => some % 3,
            "request_wire_bytes" | "response_wire_bytes" => some * if unlike { 1 << 40 } else { 7 },
            _ if unlike => some,
            _ => 0,
        }
    }
}

proptest! {
    #[test]
    fn what_is_held_of_exchanges_is_what_their_table_says(
        rows in 1..300_usize, connections in 1..4_usize, seed in any::<u64>(),
        one_in in prop_oneof![Just(1_u64), 2..9_u64, Just(200)],
    ) {
        let of = Anything { connections, seed, one_in };
        let mut recorded = recorded(connections as u32, kept(rows, |name, row| of.number(name, row)));
        let held = all(&recorded);
        prop_assert!(recorded.held.take().is_some());
        let read = all(&recorded);
        let but_for_kind = |of: &Exchange| Exchange { kind: if recorded.facts.loses { of.kind } else { 0 }, ..*of };
        prop_assert!(held.iter().map(but_for_kind).eq(read.iter().map(but_for_kind)));
    }

    #[test]
    fn each_exchange_belongs_to_its_connection_and_phase(
        streams in prop::collection::vec((0..5_u32, 0..3_u32), 0..100), parts in prop::collection::vec(0..100_usize, 2),
    ) {
        let streams = { let mut streams = streams; streams.sort_by_key(|&(stream, _)| stream); streams };
        let kept = kept(streams.len(), |name, row| match name {
            "stream" => 7 * i64::from(streams[row].0),
            "exchange" => row as i64,
            _ => 0,
        });
        let Made { phases, mut connections, .. } = Made::with(5, 10.0);
        connections.stream.iter_mut().for_each(|stream| *stream *= 7);
        let mut recorded = of_table(kept, Vec::new(), phases, connections);
        let phases: Vec<u32> = streams.iter().map(|&(_, phase)| phase).collect();
        prop_assert!(recorded.read(&phases).unwrap());
        let expected: Vec<[u32; 2]> = streams.iter().map(|&(stream, phase)| [stream, phase]).collect();
        let (begin, end) = (parts[0].min(parts[1]).min(streams.len()), parts[0].max(parts[1]).min(streams.len()));
        prop_assert_eq!(recorded.table.owners(begin..end).collect::<Vec<_>>(), &expected[begin..end]);
        prop_assert!(all(&recorded).iter().map(|of| [of.connection, of.phase]).eq(expected));
    }
}

#[test]
fn exchanges_of_unknown_connections_or_phases_are_no_job() {
    let streams = |streams: &'static [i64]| {
        kept(streams.len(), |name, row| if name == "stream" { streams[row] } else { row as i64 })
    };
    let fits = |stream: &'static [i64], phases: &[u32]| {
        let Made { phases: of, connections, .. } = Made::with(2, 10.0);
        of_table(streams(stream), Vec::new(), of, connections).read(phases).unwrap()
    };
    assert!(fits(&[0, 1, 1], &[0, 1, 1]));
    assert!(!fits(&[0, 2], &[0, 1]), "no connection has that number");
    assert!(!fits(&[0, 1], &[0, 2]), "there is no such phase");
    assert!(!fits(&[0, 1], &[0]), "one has none");
}

#[test]
fn a_login_ends_where_the_work_begins() {
    const EXECUTE: i64 = 0;
    const SETUP: i64 = 1;
    const UNREADABLE: i64 = 2;
    const CANCEL: i64 = 3;
    let login = |purposes: &'static [i64]| {
        let number = |name, row: usize| match name {
            "exchange" => row as i64,
            "purpose" => purposes[row],
            "request_time" | "request_end_time" => 100 * row as i64,
            "response_time" | "response_end_time" => 100 * row as i64 + 10,
            "complete" => i64::from(purposes[row] != UNREADABLE),
            "round_trips" => 1 + row as i64,
            _ => 0,
        };
        recorded(1, kept(purposes.len(), number)).facts.logins[0]
    };
    let none = Login::default();
    let whole = Login {
        first_ns: 0,
        is_asked_first: true,
        end_ns: 110,
        round_trips: 3,
        work_ns: 200,
        next: Next::Work,
        ..none
    };
    assert_eq!(login(&[]), none);
    assert_eq!(login(&[SETUP, SETUP, EXECUTE, SETUP, EXECUTE]), whole, "what follows its work is none of it");
    assert_eq!(login(&[SETUP, SETUP]), Login { work_ns: UNSEEN, next: Next::Login, ..whole }, "it went no further");
    assert_eq!(login(&[SETUP, SETUP, CANCEL]), Login { next: Next::Cancelled, ..whole });
    assert_eq!(login(&[SETUP, UNREADABLE, EXECUTE]), Login { is_partial: true, ..whole }, "a part is missing");
    assert_eq!(login(&[UNREADABLE, SETUP, EXECUTE]), Login { is_partial: true, is_asked_first: false, ..whole });
    assert_eq!(login(&[EXECUTE, SETUP]), Login { first_ns: 0, work_ns: 0, next: Next::Work, ..none });
}

#[test]
fn what_was_not_captured_lies_between_its_neighbours() {
    let asks = |at: i64| [at, at, at + 10, at + 12];
    let (request, answer) = ([60, 61, NULL, NULL], [NULL, NULL, 110, 111]);
    let captured = [asks(0), asks(20), asks(40), request, asks(80), answer, asks(120)];
    let number = |name, row: usize| match (name, captured[row]) {
        ("exchange", _) => row as i64,
        ("request_time", times) => times[0],
        ("request_end_time", times) => times[1],
        ("response_time", times) => times[2],
        ("response_end_time", times) => times[3],
        ("complete", times) => i64::from(!times.contains(&NULL)),
        ("waited_ns", times) if !times.contains(&NULL) => times[2] - times[1],
        ("waited_ns", _) => NULL,
        ("round_trips", _) => 1,
        _ => 0,
    };
    let kept = all(&recorded(1, kept(captured.len(), number)));
    let times: Vec<[i64; 4]> =
        kept.iter().map(|of| [of.request, of.request_end, of.response, of.response_end]).collect();
    assert_eq!(times[3], [60, 61, 71, 71], "it waited as its siblings do");
    assert_eq!(times[5], [100, 100, 110, 111]);
    assert!([0, 1, 2, 4, 6].iter().all(|&row| times[row] == captured[row]), "what was captured keeps its times");
}
