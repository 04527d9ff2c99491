//! Real clients against a scripted Oracle server, and a few packets of real servers: calls, round trips, rows and SQL
//! as the clients' own scripts have them. The captures lie beside the project, not in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use latpcap_core::capture::Source;
use latpcap_core::pipeline::{self, Options};
use latpcap_core::protocols::REGISTRY;

/// What a capture holds of one command: exchanges, round trips, rows, affected rows.
type Counts = (u64, u64, u64, u64);
type Commands = Vec<(&'static str, Counts)>;

const CONNECT: (&str, Counts) = ("connect", (1, 1, 0, 0));
const NEGOTIATION: [(&str, Counts); 3] = [CONNECT, ("protocol", (1, 1, 0, 0)), ("data_types", (1, 1, 0, 0))];
const TWO_PHASES: (&str, Counts) = ("authenticate", (2, 2, 0, 0));
const FAST: [(&str, Counts); 3] = [CONNECT, ("fast_authentication", (1, 1, 0, 0)), ("authenticate", (1, 1, 0, 0))];
const VERSION: (&str, Counts) = ("version", (1, 1, 0, 0));
const END: [(&str, Counts); 2] = [("logoff", (1, 1, 0, 0)), ("disconnect", (1, 0, 0, 0))];

fn python_19c() -> Commands {
    [&NEGOTIATION[..], &[TWO_PHASES], &END].concat()
}

fn python_23ai() -> Commands {
    [&FAST[..], &END].concat()
}

fn jdbc_19c() -> Commands {
    [&NEGOTIATION[..], &[TWO_PHASES, VERSION], &END].concat()
}

/// The whole truth: per file what its session has in common with others, and what is its own.
#[rustfmt::skip]
fn truth() -> Vec<(&'static str, Commands, Commands)> {
    let session = [("execute", (11, 13, 3, 102)), ("reexecute", (4, 4, 0, 4)), ("rollback", (2, 2, 0, 0)), ("fetch", (1, 1, 98, 0)),
        ("ping", (1, 1, 0, 0)), ("commit", (1, 1, 0, 0))];
    let lobs = [("execute", (2, 2, 0, 0)), ("fetch", (1, 1, 5, 0)), ("lob_read", (10, 10, 0, 0))];
    let nplus1 = [("execute", (2, 2, 3, 0)), ("fetch", (2, 2, 198, 0)), ("reexecute_fetch", (199, 199, 199, 0))];
    let one = [("execute", (1, 1, 1, 0))];
    let bits = [("execute", (1, 1, 2, 0)), ("fetch", (3, 3, 298, 0))];
    let by_100 = [("execute", (1, 1, 2, 0)), ("fetch", (200, 200, 19_998, 0))];
    let toad = [("connect", (2, 2, 0, 0)), ("native_services", (1, 1, 0, 0)), ("protocol", (1, 1, 0, 0)), ("data_types", (1, 1, 0, 0)),
        TWO_PHASES, VERSION, ("open_session", (1, 1, 0, 0)), ("open_cursor", (5, 5, 0, 0)), ("parse", (48, 49, 0, 0)),
        ("execute", (48, 48, 338, 0)), ("close_cursor", (5, 5, 0, 0)), ("fetch", (26, 26, 598, 0)), ("commit", (1, 1, 0, 0)),
        ("rollback", (1, 1, 0, 0))];
    vec![
        ("jdbc_19c_ano_rtt5", jdbc_19c(), [&one[..], &[("native_services", (1, 1, 0, 0))]].concat()),
        ("jdbc_19c_fetch100_20k_rtt2", jdbc_19c(), vec![("execute", (1, 1, 100, 0)), ("fetch", (200, 200, 19_900, 0))]),
        ("jdbc_19c_fetch10_20k_rtt2", jdbc_19c(), vec![("execute", (1, 1, 10, 0)), ("fetch", (2000, 2000, 19_990, 0))]),
        ("jdbc_19c_lob_rtt5", jdbc_19c(), vec![("execute", (2, 2, 5, 0))]),
        ("jdbc_19c_nplus1_rtt5", jdbc_19c(), vec![("execute", (201, 201, 210, 0)), ("fetch", (3, 3, 190, 0))]),
        ("jdbc_19c_session_rtt5", jdbc_19c(), vec![("execute", (10, 11, 11, 55)), ("fetch", (3, 3, 90, 0)), ("ping", (1, 1, 0, 0)),
            ("commit", (1, 1, 0, 0)), ("rollback", (1, 1, 0, 0))]),
        ("py_19c_bitvector_rtt5", python_19c(), bits.to_vec()),
        ("py_19c_fetch100_20k_rtt2", python_19c(), by_100.to_vec()),
        ("py_19c_fetch10_20k_rtt2", python_19c(), vec![("execute", (1, 1, 2, 0)), ("fetch", (2000, 2000, 19_998, 0))]),
        ("py_19c_lob_rtt5", python_19c(), lobs.to_vec()),
        ("py_19c_longsql_rtt5", python_19c(), one.to_vec()),
        ("py_19c_nplus1_rtt5", python_19c(), nplus1.to_vec()),
        ("py_19c_oob_rtt5", python_19c(), one.to_vec()),
        ("py_19c_redirect_rtt5", python_19c(), [&one[..], &[("connect", (2, 2, 0, 0))]].concat()),
        ("py_19c_refuse_rtt5", vec![CONNECT], vec![]),
        ("py_19c_resend_rtt5", python_19c(), [&one[..], &[("connect", (1, 2, 0, 0))]].concat()),
        ("py_19c_session_rtt5", python_19c(), session.to_vec()),
        ("py_23ai_bitvector_rtt5", python_23ai(), bits.to_vec()),
        ("py_23ai_fetch100_20k_rtt2", python_23ai(), by_100.to_vec()),
        ("py_23ai_lob_rtt5", python_23ai(), lobs.to_vec()),
        ("py_23ai_nplus1_rtt1", python_23ai(), nplus1.to_vec()),
        // Seven statements, a commit and the pipeline's end share one wait.
        ("py_23ai_pipeline_rtt5", python_23ai(), vec![("execute", (7, 1, 2, 5)), ("commit", (1, 0, 0, 0)), ("pipeline_end", (1, 0, 0, 0))]),
        ("py_23ai_session_rtt5", python_23ai(), session.to_vec()),
        ("arkime-arkime__oracle", vec![CONNECT], vec![]),
        ("cisco-system-traffic-generator-trex-core__Oracle", END.to_vec(), toad.to_vec()),
        ("cisco-system-traffic-generator-trex-core__oracle", END.to_vec(), toad.to_vec()),
        ("deepflowio-deepflow__syn-ack-ack-retrans-and-client-payload", vec![CONNECT], vec![]),
        ("net-tns_redirect", vec![CONNECT], vec![]),
        ("net-tns_refuse", vec![CONNECT], vec![]),
        ("net-tns_tns_packets", vec![("connect", (1, 2, 0, 0)), ("native_services", (1, 1, 0, 0)), END[1]], vec![("execute", (1, 1, 5, 0))]),
    ]
}

fn captures() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/captures/tns");
    if !folder.is_dir() {
        println!("skipped: no captures in {}", folder.display());
    }
    folder.is_dir().then_some(folder)
}

/// One exchange as these tests compare it.
#[derive(Debug)]
struct Seen {
    command: String,
    round_trips: u64,
    rows: Option<u64>,
    affected_rows: Option<u64>,
    error: Option<String>,
    sql: Option<String>,
    complete: bool,
}

const OF_THE_PATH: [&str; 2] = ["duplicate-packets", "timeouts"];

struct Reading {
    exchanges: Vec<Seen>,
    connections: RecordBatch,
    /// Of the reading, not of what the packets met on their way.
    notes: usize,
}

fn read(folder: &Path, name: &str) -> Reading {
    let options = Options { show_literals: true, ..Options::default() };
    let source = Source::path(folder.join(format!("{name}.pcap")));
    let tables = pipeline::open_and_read(vec![source], &options).unwrap();
    let texts: Vec<String> =
        (0..tables.statements.len() as u32).map(|id| tables.statements.text(id).to_owned()).collect();
    let (connections, told) = (tables.connections().unwrap(), tables.notes().unwrap());
    let notes = told["code"].as_string::<i32>().iter().flatten().filter(|code| !OF_THE_PATH.contains(code)).count();
    let batch = tables.exchanges.batch().unwrap();
    let exchanges = (0..batch.num_rows()).map(|row| seen(&batch, row, &texts)).collect();
    Reading { exchanges, connections, notes }
}

fn seen(batch: &RecordBatch, row: usize, texts: &[String]) -> Seen {
    let commands = batch["command"].as_dictionary::<UInt16Type>();
    let number = |name: &str| {
        let column = &batch[name];
        let value = match column.as_primitive_opt::<UInt32Type>() {
            Some(column) => column.value(row).into(),
            None => column.as_primitive::<UInt64Type>().value(row),
        };
        column.is_valid(row).then_some(value)
    };
    let errors = batch["error"].as_string::<i32>();
    Seen {
        command: commands.values().as_string::<i32>().value(commands.keys().value(row) as usize).to_owned(),
        round_trips: number("round_trips").unwrap(),
        rows: number("rows"),
        affected_rows: number("affected_rows"),
        error: errors.is_valid(row).then(|| errors.value(row).to_owned()),
        sql: number("text").map(|id| texts[id as usize].clone()),
        complete: batch["complete"].as_boolean().value(row),
    }
}

fn counts(exchanges: &[Seen]) -> BTreeMap<String, Counts> {
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for seen in exchanges {
        let of = counts.entry(seen.command.clone()).or_default();
        of.0 += 1;
        of.1 += seen.round_trips;
        of.2 += seen.rows.unwrap_or(0);
        of.3 += seen.affected_rows.unwrap_or(0);
    }
    counts
}

#[test]
fn calls_round_trips_and_rows_are_those_of_the_clients() {
    assert!(REGISTRY.iter().any(|protocol| protocol.name == "oracle"));
    let Some(folder) = captures() else { return };
    for (name, common, own) in truth() {
        let mut expected: BTreeMap<String, Counts> = BTreeMap::new();
        expected.extend(common.into_iter().chain(own).map(|(command, counts)| (command.to_owned(), counts)));
        let reading = read(&folder, name);
        assert_eq!(counts(&reading.exchanges), expected, "{name}");
        assert_eq!(reading.notes, 0, "{name}");
    }
}

#[test]
fn every_exchange_of_a_whole_session_is_complete() {
    let Some(folder) = captures() else { return };
    for (name, ..) in truth().iter().filter(|(name, ..)| name.starts_with("py_") || name.starts_with("jdbc_")) {
        let incomplete: Vec<_> = read(&folder, name).exchanges.into_iter().filter(|seen| !seen.complete).collect();
        assert!(incomplete.is_empty(), "{name}: {incomplete:?}");
    }
}

/// The statements of a capture in their order, repetitions left out.
fn statements(folder: &Path, name: &str) -> Vec<String> {
    let mut statements: Vec<String> = read(folder, name).exchanges.into_iter().filter_map(|seen| seen.sql).collect();
    statements.dedup();
    statements
}

#[test]
fn statements_are_those_of_the_scripts() {
    let Some(folder) = captures() else { return };
    let session = [
        "select 1 from dual",
        "select * from no_such_table",
        "insert into dup_key values (1)",
        "insert into items (id, name) values (:1, :2)",
        "update items set qty = qty + 1",
        "begin null; end;",
        "begin pkg.proc(:a, :b); end;",
        "create table t (id number)",
        "select id from empty_table",
        "select id, txt from wide_table",
    ];
    assert_eq!(statements(&folder, "py_19c_session_rtt5"), session);
    assert_eq!(statements(&folder, "py_23ai_session_rtt5"), session);
    let nplus1 = ["select id from order_ids", "select id, name, qty from items where id = :1"];
    assert_eq!(statements(&folder, "py_23ai_nplus1_rtt1"), nplus1);
    assert_eq!(statements(&folder, "jdbc_19c_nplus1_rtt5"), nplus1.map(|text| text.replace(":1", ":1 ")));
    let big = ["select id, name, amount, created from big_table"];
    assert_eq!(statements(&folder, "py_19c_fetch10_20k_rtt2"), big);
    assert_eq!(statements(&folder, "jdbc_19c_fetch10_20k_rtt2"), big);
    assert_eq!(statements(&folder, "net-tns_tns_packets"), ["select BANNER from SYS.V_$VERSION"]);
}

#[test]
fn a_statement_of_three_packets_is_whole() {
    let Some(folder) = captures() else { return };
    let text = format!("select /* {} */ 1 from dual", "x".repeat(20_000));
    let statements = statements(&folder, "py_19c_longsql_rtt5");
    // Texts may be shortened where they are kept; beginning and single occurrence are what counts then.
    assert_eq!(statements.len(), 1);
    let kept = statements[0].trim_end_matches('…');
    assert!(text.starts_with(kept) && kept.len() > 1000, "{} bytes", kept.len());
}

#[test]
fn errors_keep_their_code_and_cost_a_second_round_trip() {
    let Some(folder) = captures() else { return };
    for name in ["py_19c_session_rtt5", "py_23ai_session_rtt5"] {
        let failed: Vec<_> = read(&folder, name).exchanges.into_iter().filter(|seen| seen.error.is_some()).collect();
        let codes: Vec<_> = failed.iter().map(|seen| (&seen.error.as_ref().unwrap()[..9], seen.round_trips)).collect();
        assert_eq!(codes, [("ORA-00942", 2), ("ORA-00001", 2)], "{name}");
    }
    let refused = &read(&folder, "net-tns_refuse").exchanges[0];
    assert!(refused.error.as_ref().unwrap().starts_with("ORA-12618"));
}

#[test]
fn a_connection_knows_user_service_and_version() {
    let Some(folder) = captures() else { return };
    let told = |name: &str, column: &str| {
        let connections = read(&folder, name).connections;
        let column = connections[column].as_string::<i32>();
        column.value(column.len() - 1).to_owned()
    };
    assert_eq!(told("py_23ai_session_rtt5", "server_version"), "23.26.2.0.0");
    assert_eq!(told("jdbc_19c_session_rtt5", "user"), "SCOTT");
    assert_eq!(told("py_19c_redirect_rtt5", "database"), "freepdb1");
    assert_eq!(told("cisco-system-traffic-generator-trex-core__oracle", "server_version"), "10.2.0.1.0");
    assert_eq!(told("cisco-system-traffic-generator-trex-core__oracle", "user"), "secure");
}

/// The packets of a pcap file (microseconds, little-endian) from packet `first` on.
fn without_beginning(file: &[u8], first: usize) -> Vec<u8> {
    let mut at = 24;
    for _ in 0..first {
        at += 16 + u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap()) as usize;
    }
    [&file[..24], &file[at..]].concat()
}

#[test]
fn a_capture_that_begins_in_mid_connection_counts_on() {
    let Some(folder) = captures() else { return };
    // Begun before the first statement, before a fetch, and (old clients, small packets) in a row of statements.
    let cases = [
        ("py_19c_fetch100_20k_rtt2", 19, 202),
        ("py_19c_nplus1_rtt5", 30, 0),
        ("cisco-system-traffic-generator-trex-core__Oracle", 37, 0),
    ];
    for (name, first, least) in cases {
        let file = std::fs::read(folder.join(format!("{name}.pcap"))).unwrap();
        let whole = read(&folder, name);
        let tables =
            pipeline::open_and_read(vec![Source::bytes("part", without_beginning(&file, first))], &Options::default())
                .unwrap();
        let connections = tables.connections().unwrap();
        assert_eq!(connections["protocol"].as_string::<i32>().value(0), "oracle", "{name}");
        let batch = tables.exchanges.batch().unwrap();
        let trips: u64 = batch["round_trips"].as_primitive::<UInt32Type>().iter().flatten().map(u64::from).sum();
        let all: u64 = whole.exchanges.iter().map(|seen| seen.round_trips).sum();
        assert!(trips >= least && trips < all && trips + 20 >= all, "{name}: {trips} of {all}");
    }
}

/// The same capture with a snap length of `kept` bytes.
fn snapped(file: &[u8], kept: u32) -> Vec<u8> {
    let mut cut = file[..24].to_vec();
    let mut at = 24;
    while at < file.len() {
        let length = u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap());
        cut.extend(&file[at..at + 8]);
        cut.extend(length.min(kept).to_le_bytes());
        cut.extend(&file[at + 12..at + 16 + length.min(kept) as usize]);
        at += 16 + length as usize;
    }
    cut
}

#[test]
fn a_snap_length_of_96_counts_every_round_trip() {
    let Some(folder) = captures() else { return };
    for (name, ..) in truth().iter().filter(|(name, ..)| name.starts_with("py_") || name.starts_with("jdbc_")) {
        let file = std::fs::read(folder.join(format!("{name}.pcap"))).unwrap();
        let source = Source::bytes("cut", snapped(&file, 96));
        let tables = pipeline::open_and_read(vec![source], &Options::default()).unwrap();
        let batch = tables.exchanges.batch().unwrap();
        let trips = batch["round_trips"].as_primitive::<UInt32Type>();
        let whole = read(&folder, name).exchanges;
        assert_eq!(
            trips.iter().flatten().map(u64::from).sum::<u64>(),
            whole.iter().map(|seen| seen.round_trips).sum::<u64>(),
            "{name}"
        );
    }
}
