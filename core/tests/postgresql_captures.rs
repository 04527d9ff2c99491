//! PostgreSQL as real servers and clients speak it: the counts must be those of the client.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use latpcap_core::capture::Source;
use latpcap_core::pipeline::{self, Options};
use latpcap_core::recording::Tables;
use proptest::prelude::*;
use support::Sender::{Client, Server};
use support::*;

/// What a capture must come to: round trips, rows, and how often each command.
type Counts = (u32, u64, &'static [(&'static str, usize)]);

const LOGIN_FAILED: &[(&str, usize)] = &[("authenticate", 1)];
const PSQL_TLS: &[(&str, usize)] = &[("authenticate", 2), ("tls", 1), ("unreadable", 2)];

/// The captures of public projects, their waits counted by hand: TLS, refused logins and cancelled queries included.
const SHARED: &[(&str, Counts)] = &[
    (
        "OISF-suricata-verify__TLPW-Jason-copyfrom-small.pcap",
        (5, 0, &[("authenticate", 1), ("query", 1), ("terminate", 1), ("tls", 1)]),
    ),
    ("OISF-suricata-verify__UnknownMessage.pcap", (1, 0, &[("unknown", 1)])),
    ("OISF-suricata-verify__pgsql-5524__input.pcap", (5, 0, &[("authenticate", 1), ("execute", 4), ("terminate", 1)])),
    ("OISF-suricata-verify__pgsql-bug-5579__input.pcap", (2, 4, &[("authenticate", 1), ("query", 1)])),
    ("OISF-suricata-verify__pgsql-bug-6080-probe-test-01__input.pcap", (0, 0, &[])),
    (
        "OISF-suricata-verify__pgsql-cancel-request__input.pcap",
        (4, 0, &[("authenticate", 1), ("cancel", 1), ("query", 1), ("terminate", 1), ("tls", 1)]),
    ),
    (
        "OISF-suricata-verify__pgsql-copy-data-out__input.pcap",
        (4, 5, &[("authenticate", 1), ("query", 1), ("terminate", 1), ("tls", 1)]),
    ),
    (
        "OISF-suricata-verify__pgsql-pwd-output-disabled__input.pcap",
        (3, 0, &[("authenticate", 1), ("terminate", 1), ("tls", 1)]),
    ),
    (
        "OISF-suricata-verify__pgsql-query-keyword-01__input.pcap",
        (5, 1, &[("authenticate", 1), ("query", 2), ("terminate", 1), ("tls", 1)]),
    ),
    (
        "OISF-suricata-verify__pgsql-simple-query-rollback__input.pcap",
        (26, 8, &[("authenticate", 1), ("query", 22), ("terminate", 1), ("tls", 1)]),
    ),
    (
        "OISF-suricata-verify__pgsql-ssl-rejected-md5-auth-simple-query__input.pcap",
        (6, 3, &[("authenticate", 2), ("query", 1), ("terminate", 1), ("tls", 2)]),
    ),
    ("OISF-suricata-verify__pgsql-upgrade-tls__input.pcap", (5, 0, &[("authenticate", 2), ("tls", 1)])),
    ("arkime-arkime__postgres-badpass.pcap", (2, 0, &[("authenticate", 1), ("tls", 1)])),
    ("arkime-arkime__postgres-good.pcap", (3, 0, &[("authenticate", 1), ("tls", 1)])),
    ("arkime-arkime__postgres-no-sslrequest.pcap", (1, 0, &[("authenticate", 1), ("terminate", 1)])),
    ("deepflowio-deepflow__simple_query.pcap", (1, 0, &[("query", 1)])),
    ("ntop-nDPI__pgsql.pcap", (17, 1, &[("authenticate", 4), ("execute", 7), ("gss", 2), ("tls", 2)])),
    ("ntop-nDPI__pgsql2.pcapng", (3, 0, &[("authenticate", 1), ("tls", 1)])),
    ("seladb-PcapPlusPlus__postgres.pcapng", (1, 0, LOGIN_FAILED)),
    ("urso-packetbeat__pgsql_long_result.pcap", (1, 15, &[("query", 1)])),
    ("urso-packetbeat__pgsql_request_response.pcap", (1, 4, &[("query", 1)])),
    ("zeek-zeek__bad-backend-message-1.pcap", (1, 0, LOGIN_FAILED)),
    ("zeek-zeek__bad-startup-message-1.pcap", (1, 0, &[("unknown", 1)])),
    ("zeek-zeek__psql-aws-ssl-disable-15432.pcap", (3, 1, &[("authenticate", 1), ("query", 1), ("terminate", 1)])),
    ("zeek-zeek__psql-aws-ssl-disable.pcap", (3, 1, &[("authenticate", 1), ("query", 1), ("terminate", 1)])),
    ("zeek-zeek__psql-aws-ssl-preferred.pcap", (6, 0, PSQL_TLS)),
    ("zeek-zeek__psql-aws-ssl-require-15432.pcap", (6, 0, PSQL_TLS)),
    ("zeek-zeek__psql-aws-ssl-require.pcap", (6, 0, PSQL_TLS)),
    (
        "zeek-zeek__psql-create-insert-select-delete-drop.pcap",
        (10, 2, &[("authenticate", 1), ("query", 7), ("terminate", 1)]),
    ),
    ("zeek-zeek__psql-insert-fail-drop-fail.pcap", (8, 0, &[("authenticate", 1), ("query", 5), ("terminate", 1)])),
    ("zeek-zeek__psql-login-fail.pcap", (3, 0, LOGIN_FAILED)),
    ("zeek-zeek__psql-login-no-role.pcap", (2, 0, &[("authenticate", 1), ("tls", 1)])),
    ("zeek-zeek__psql-login-no-sslrequest.pcap", (4, 0, &[("authenticate", 2), ("terminate", 1)])),
    ("zeek-zeek__psql-login-wrong.pcap", (4, 0, &[("authenticate", 1), ("tls", 1)])),
    ("zeek-zeek__psql-login.pcap", (4, 0, &[("authenticate", 1), ("tls", 1)])),
    ("zeek-zeek__psql-select-now.pcap", (5, 1, &[("authenticate", 1), ("query", 1), ("terminate", 1), ("tls", 1)])),
];

#[test]
fn shared_captures_come_to_their_true_counts() {
    let Some(folder) = shared() else { return };
    for (name, (round_trips, rows, commands)) in SHARED {
        let seen = exchanges(open(&folder.join(name)));
        let wanted = commands.iter().map(|(command, count)| (command.to_string(), *count)).collect();
        assert_eq!((sum(&seen), rows_of(&seen), commands_of(&seen)), (*round_trips, *rows, wanted), "{name}");
    }
}

#[test]
fn other_protocols_on_its_port_are_not_postgresql() {
    let Some(folder) = shared() else { return };
    for name in ["zeek-zeek__http-on-port-5432.pcap", "zeek-zeek__mysql-on-port-5432.pcap"] {
        assert!(!protocols(&open(&folder.join(name))).contains(&"postgresql".to_owned()), "{name}");
    }
}

fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/captures/postgresql");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: the shared captures are not here");
    None
}

// --- fixtures -------------------------------------------------------------------------------------------------------

#[test]
fn every_fixture_has_the_round_trips_that_its_client_counted() {
    for (name, facts) in fixtures() {
        let seen = exchanges(open(&name));
        assert_eq!(Some(u64::from(sum(&seen))), facts.round_trips, "{}", name.display());
        assert!(seen.iter().all(|seen| seen.complete), "{}", name.display());
    }
}

#[test]
fn the_rows_are_those_that_the_application_received() {
    let told_by_the_tool = ["pgbench", "psql-session", "logical-replication", "psycopg2-terminated"];
    // The application sees only the last of several results, nothing of a refused pipeline or of what its driver asks
    // for itself, and only one leg of a pooler; inside TLS no rows are seen.
    let more_on_the_wire = [
        "psycopg2-notices",
        "psycopg3-pipeline-error",
        "pgbouncer",
        "psycopg2-tls",
        "libpq18-direct-tls",
        "node-drivers",
    ];
    for (path, facts) in fixtures() {
        let name = path.file_name().unwrap().to_str().unwrap();
        if !told_by_the_tool.iter().chain(&more_on_the_wire).any(|other| name.starts_with(other)) {
            assert_eq!(Some(rows_of(&exchanges(open(&path)))), facts.rows, "{name}");
        }
    }
}

#[test]
fn a_pipeline_counts_alike_at_both_ends() {
    let ends: Vec<_> =
        fixtures().into_iter().filter(|(path, _)| path.to_string_lossy().contains("pipeline-all")).collect();
    assert_eq!(ends.len(), 2);
    let told: Vec<_> =
        ends.iter().map(|(path, _)| exchanges(open(path))).map(|seen| (sum(&seen), seen.len())).collect();
    assert_eq!(told, [(4, 302), (4, 302)]);
}

#[test]
fn a_fixture_that_begins_late_has_the_round_trips_of_what_is_left() {
    for name in ["asyncpg-portal10", "jdbc-transactions", "psycopg2-errors"] {
        let path = fixture_folder().join(format!("{name}.pcapng"));
        let whole = exchanges(open(&path));
        for first in (13..60).step_by(7) {
            let left: u32 =
                whole.iter().filter(|seen| seen.frames[0] >= Some(first)).map(|seen| seen.round_trips).sum();
            let late = exchanges(open_from(&path, first));
            assert_eq!(sum(&late), left, "{name} from frame {first}");
        }
    }
}

#[derive(Debug)]
struct Facts {
    round_trips: Option<u64>,
    rows: Option<u64>,
}

fn fixture_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/postgresql")
}

/// Each capture with what its `.toml` says.
fn fixtures() -> Vec<(PathBuf, Facts)> {
    let files = fs::read_dir(fixture_folder()).expect("the fixtures are part of the repository");
    let mut found: Vec<_> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    found.sort();
    found.into_iter().map(|toml| (capture_of(&toml), facts(&fs::read_to_string(&toml).unwrap()))).collect()
}

fn capture_of(toml: &Path) -> PathBuf {
    let plain = toml.with_extension("pcapng");
    if plain.exists() { plain } else { toml.with_extension("pcapng.zst") }
}

fn facts(toml: &str) -> Facts {
    let number = |name: &str| {
        let line = toml.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))?;
        line.parse().ok()
    };
    Facts { round_trips: number("round_trips"), rows: number("rows") }
}

fn open(path: &Path) -> Tables {
    pipeline::open_and_read(vec![Source::path(path.to_str().unwrap())], &Options::default()).unwrap()
}

/// As if the capture had begun with this frame. Blocks of pcapng: type u32, length u32, …; packets are type 6.
fn open_from(path: &Path, first: u32) -> Tables {
    let file = fs::read(path).unwrap();
    let (mut kept, mut rest, mut frame) = (Vec::new(), &file[..], 0);
    while rest.len() >= 12 {
        let (kind, length) = (rest[0], u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize);
        frame += u32::from(kind == 6);
        if kind != 6 || frame >= first {
            kept.extend_from_slice(&rest[..length]);
        }
        rest = &rest[length..];
    }
    read_file(kept)
}

fn sum(seen: &[Seen]) -> u32 {
    seen.iter().map(|seen| seen.round_trips).sum()
}

fn rows_of(seen: &[Seen]) -> u64 {
    seen.iter().filter_map(|seen| seen.rows).sum()
}

fn commands_of(seen: &[Seen]) -> BTreeMap<String, usize> {
    let mut commands = BTreeMap::new();
    for seen in seen {
        *commands.entry(seen.command.clone()).or_default() += 1;
    }
    commands
}

fn protocols(tables: &Tables) -> Vec<String> {
    use arrow_array::cast::AsArray;
    let connections = tables.connections().unwrap();
    connections["protocol"].as_string::<i32>().iter().flatten().map(str::to_owned).collect()
}

// --- what may happen to packets ------------------------------------------------------------------------------------

fn tagged(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn ready(tag: &str) -> Vec<u8> {
    [tagged(b'C', format!("{tag}\0").as_bytes()), tagged(b'Z', b"I")].concat()
}

fn ask(sql: &str) -> Vec<u8> {
    tagged(b'Q', format!("{sql}\0").as_bytes())
}

/// Bind and Execute of a statement that was prepared as `s`, without the Sync.
fn execute(number: u32) -> Vec<u8> {
    let value = format!("{number:03}");
    let body = [b"\0s\0\0\0\0\x01\0\0\0\x03".as_slice(), value.as_bytes(), b"\0\0"].concat();
    [tagged(b'B', &body), tagged(b'E', b"\0\0\0\0\0")].concat()
}

fn executed(number: u32) -> Vec<u8> {
    [tagged(b'2', b""), tagged(b'C', format!("UPDATE {number}\0").as_bytes())].concat()
}

fn trusted() -> Wire {
    let mut wire = Wire::new();
    wire.handshake();
    let startup = b"\0\0\0\x13\0\x03\0\0user\0zeek\0\0".to_vec();
    wire.ask(&startup, &[tagged(b'R', b"\0\0\0\0"), tagged(b'Z', b"I")].concat());
    wire.ask(
        &[tagged(b'P', b"s\0update t set a = $1\0\0\0"), tagged(b'S', b"")].concat(),
        &[tagged(b'1', b""), tagged(b'Z', b"I")].concat(),
    );
    wire
}

/// Query number `n` affects `n` rows, by turns simple and prepared.
fn numbered(count: u32) -> Wire {
    let mut wire = trusted();
    for number in 0..count {
        if number % 2 == 0 {
            wire.ask(&ask(&format!("update t set a = {number}")), &ready(&format!("UPDATE {number}")));
        } else {
            wire.ask(&[execute(number), tagged(b'S', b"")].concat(), &[executed(number), tagged(b'Z', b"I")].concat());
        }
    }
    wire
}

fn told(tables: Tables) -> Vec<(u32, Option<u64>, bool)> {
    let works = exchanges(tables).into_iter().filter(|seen| matches!(seen.command.as_str(), "query" | "execute"));
    works.map(|seen| (seen.round_trips, seen.affected, seen.complete)).collect()
}

#[test]
fn several_syncs_sent_without_waiting_are_one_round_trip() {
    let mut wire = trusted();
    let requests: Vec<_> = (0..5).flat_map(|number| [execute(number), tagged(b'S', b"")].concat()).collect();
    let answers: Vec<_> = (0..5).flat_map(|number| [executed(number), tagged(b'Z', b"I")].concat()).collect();
    wire.ask(&requests, &answers);
    let counts: Vec<_> =
        told(wire.read()).iter().map(|(round_trips, affected, _)| (*round_trips, affected.unwrap())).collect();
    assert_eq!(counts, [(1, 0), (0, 1), (0, 2), (0, 3), (0, 4)]);
}

#[test]
fn one_batch_is_one_round_trip_even_if_its_answers_are_acknowledged_between() {
    let mut wire = trusted();
    for number in 0..5 {
        wire.ask(&execute(number), &executed(number));
    }
    wire.ask(&tagged(b'S', b""), &tagged(b'Z', b"I"));
    assert_eq!(exchanges(wire.read()).iter().skip(2).map(|seen| seen.round_trips).sum::<u32>(), 1);
}

#[test]
fn a_sync_behind_the_beginning_of_a_long_answer_is_no_second_wait() {
    let mut wire = trusted();
    let rows = tagged(b'D', &[0, 1, 0, 0, 0, 1, b'x']).repeat(500);
    wire.ask(&execute(1), &[tagged(b'2', b""), rows].concat());
    wire.ask(&tagged(b'S', b""), &ready("SELECT 500"));
    assert_eq!(told(wire.read()), [(1, None, true)]);
}

#[test]
fn copy_in_is_two_round_trips_whatever_its_volume() {
    let mut wire = trusted();
    wire.ask(&ask("copy t from stdin"), &tagged(b'G', &[0, 0, 0]));
    for _ in 0..20 {
        wire.send(Client, &tagged(b'd', &[b'x'; 5000]));
        wire.send(Server, &tagged(b'N', b"SNOTICE\0Mstill here\0\0"));
    }
    wire.ask(&tagged(b'c', b""), &ready("COPY 20"));
    assert_eq!(told(wire.read()), [(2, Some(20), true)]);
}

/// Close and Sync of the statement `s`, and their answer.
fn close() -> [Vec<u8>; 2] {
    [[tagged(b'C', b"Ss\0"), tagged(b'S', b"")].concat(), [tagged(b'3', b""), tagged(b'Z', b"I")].concat()]
}

/// The round trips of the last command.
fn last_round_trips(wire: &Wire, command: &str) -> u32 {
    exchanges(wire.read()).into_iter().rfind(|seen| seen.command == command).unwrap().round_trips
}

#[test]
fn a_client_that_hangs_up_has_not_waited_for_what_it_closed() {
    let [asked, answer] = close();
    let mut wire = trusted();
    wire.send(Client, &asked);
    wire.segment(Client, ACK | FIN, &[]);
    wire.now_ns += wire.rtt_ns;
    wire.send(Server, &answer);
    assert_eq!(last_round_trips(&wire, "close"), 0);
    // At the server the answer passes before the FIN does, which left before it came.
    let last = wire.packets.len() - 1;
    wire.packets.swap(last - 1, last);
    let early = wire.packets[last].time_ns - 100;
    wire.packets[last - 1].time_ns = early;
    assert_eq!(last_round_trips(&wire, "close"), 0);
}

#[test]
fn a_client_that_says_good_bye_has_not_waited_either_unless_it_has_read_the_answer() {
    let [asked, answer] = close();
    let mut wire = trusted();
    wire.send(Client, &[asked.clone(), tagged(b'X', b"")].concat());
    wire.send(Server, &answer);
    assert_eq!(last_round_trips(&wire, "close"), 0);
    let mut wire = trusted();
    wire.ask(&asked, &answer);
    wire.send(Client, &tagged(b'X', b"")).segment(Client, ACK | FIN, &[]);
    assert_eq!(last_round_trips(&wire, "close"), 1);
}

#[test]
fn a_query_whose_answer_never_came_was_waited_for() {
    let mut wire = trusted();
    wire.send(Client, &ask("select pg_sleep(60)"));
    wire.now_ns += 30_000_000_000;
    wire.segment(Client, ACK | FIN, &[]);
    assert_eq!(last_round_trips(&wire, "query"), 1);
}

#[test]
fn an_error_is_kept_where_the_server_hangs_up_without_ready_for_query() {
    let mut wire = trusted();
    wire.ask(&ask("select 1"), &tagged(b'E', b"SERROR\0VERROR\0C57014\0Mcanceled\0\0"));
    wire.segment(Server, ACK | FIN, &[]);
    let error = exchanges(wire.read()).pop().unwrap().error.unwrap();
    assert!(error.starts_with("57014"), "{error}");
}

#[test]
fn a_snap_length_of_96_still_counts_every_round_trip() {
    let mut wire = trusted();
    for number in 0..5 {
        let rows = tagged(b'D', &[b'x'; 200]).repeat(20);
        wire.ask(&ask(&format!("select {number} {}", "or x = 1 ".repeat(30))), &[rows, ready("SELECT 20")].concat());
    }
    let seen = told(read_file(pcap(&wire.packets, 96)));
    assert_eq!(seen.iter().map(|(round_trips, ..)| round_trips).sum::<u32>(), 5);
}

#[test]
fn a_capture_of_the_client_alone_counts_its_requests() {
    let mut wire = numbered(50);
    wire.packets.retain(|packet| packet.bytes[12..16] == [10, 0, 0, 1]);
    let seen = told(wire.read());
    assert_eq!(seen.len(), 50);
    assert!(seen.iter().all(|(round_trips, _, complete)| *round_trips == 1 && !complete));
}

/// Its parameters show which request it was.
fn pairs(packets: &[Packet]) -> Vec<(u64, u64)> {
    let complete = exchanges(read(packets)).into_iter().filter(|seen| seen.complete);
    complete.filter_map(|seen| Some((seen.parameters, seen.affected?))).collect()
}

fn never_mispairs(packets: &[Packet], count: u32) -> Result<(), TestCaseError> {
    let right = pairs(&numbered(count).packets);
    for pair in pairs(packets) {
        prop_assert!(right.contains(&pair), "{pair:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn dropped_packets_never_mispair(dropped in prop::collection::vec(0usize..90, 1..20)) {
        let mut packets = numbered(40).packets;
        for index in dropped {
            if index < packets.len() {
                packets.remove(index);
            }
        }
        never_mispairs(&packets, 40)?;
    }

    #[test]
    fn shuffled_packets_never_mispair(packets in Just(numbered(40).packets).prop_shuffle()) {
        never_mispairs(&packets, 40)?;
    }

    #[test]
    fn any_cut_into_packets_gives_the_same_exchanges(mss in 1usize..200) {
        let dialogue = |mss| {
            let mut wire = trusted();
            wire.mss = mss;
            wire.ask(&ask("select a"), &[tagged(b'D', &[b'x'; 300]).repeat(9), ready("SELECT 9")].concat());
            wire.ask(&[execute(7), tagged(b'S', b"")].concat(), &[executed(7), tagged(b'Z', b"I")].concat());
            told(wire.read())
        };
        prop_assert_eq!(dialogue(mss), dialogue(100_000));
    }

    #[test]
    fn damaged_bytes_never_panic(flips in prop::collection::vec((0usize..6000, any::<u8>()), 1..60)) {
        let mut file = pcap(&numbered(40).packets, 262_144);
        for (index, value) in flips {
            let length = file.len();
            file[24 + index % (length - 24)] = value;
        }
        let _ = exchanges(read_file(file));
    }
}
