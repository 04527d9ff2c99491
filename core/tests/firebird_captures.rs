//! Real Firebird captures against what their clients did: the truth is the table in the captures' own README.
//!
//! Rows, blobs and executions were counted by the client programs, round trips by their system calls (how often a read
//! that returned data followed a write, for each socket).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use latpcap_core::capture::Source;
use latpcap_core::pipeline::{self, Options};
use latpcap_core::recording::Tables;

/// The captures, or `None` (said aloud) where they are not at hand.
fn captures() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/captures/firebird");
    if folder.join("README.md").exists() {
        return Some(folder);
    }
    println!("skipped: the Firebird captures are not at {}", folder.display());
    None
}

/// What is counted of one capture. `None` where the table does not say.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counts {
    executions: Option<u64>,
    fetches: Option<u64>,
    rows: Option<u64>,
    blobs: Option<u64>,
    transactions_ended: Option<u64>,
    /// For each attachment.
    round_trips: Vec<u64>,
    packets: Option<u64>,
}

/// The rows of the README's table by file name.
fn truths(readme: &str) -> BTreeMap<String, Counts> {
    let rows = readme.lines().filter(|line| line.starts_with("| fb"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        // Cells begin with a number, or say `(enc)` or `-`.
        let number = |at: usize| cells[at].split_whitespace().next().and_then(|word| word.parse().ok());
        let round_trips = cells[10].split('+').map(|part| part.trim().parse().unwrap()).collect();
        let counts = Counts {
            executions: number(5),
            fetches: number(6),
            rows: number(7),
            blobs: number(8),
            transactions_ended: number(9),
            round_trips,
            packets: number(12),
        };
        (cells[1].to_owned(), counts)
    })
    .collect()
}

/// An exchange, as far as it is counted here.
struct Seen {
    stream: u32,
    command: String,
    round_trips: u64,
    rows: Option<u64>,
    failed: bool,
    statement: Option<u32>,
    complete: bool,
}

/// What a capture was read as.
struct Reading {
    seen: Vec<Seen>,
    statements: Vec<String>,
    notes: Vec<String>,
}

fn read(path: &Path) -> Reading {
    reading(pipeline::open_and_read(vec![Source::path(path)], &Options::default()).unwrap())
}

fn reading(tables: Tables) -> Reading {
    let told = tables.notes().unwrap();
    let notes = (0..told.num_rows()).map(|row| told["message"].as_string::<i32>().value(row).to_owned()).collect();
    let statements = (0..tables.statements.len()).map(|id| tables.statements.text(id as u32).to_owned()).collect();
    let batch = tables.exchanges.batch().unwrap();
    let seen = (0..batch.num_rows()).map(|row| exchange(&batch, row)).collect();
    Reading { seen, statements, notes }
}

fn exchange(batch: &RecordBatch, row: usize) -> Seen {
    let commands = batch["command"].as_dictionary::<UInt16Type>();
    let command = commands.values().as_string::<i32>().value(commands.keys().value(row) as usize).to_owned();
    let rows = batch["rows"].as_primitive::<UInt64Type>();
    let statements = batch["text"].as_primitive::<UInt32Type>();
    Seen {
        stream: batch["stream"].as_primitive::<UInt32Type>().value(row),
        command,
        round_trips: batch["round_trips"].as_primitive::<UInt32Type>().value(row).into(),
        rows: rows.is_valid(row).then(|| rows.value(row)),
        failed: batch["error"].is_valid(row),
        statement: statements.is_valid(row).then(|| statements.value(row)),
        complete: batch["complete"].as_boolean().value(row),
    }
}

impl Seen {
    /// An `execute` that has rows was sent together with its first fetch.
    fn is_merged(&self) -> bool {
        self.command == "execute" && self.rows.is_some()
    }

    fn is_execution(&self) -> bool {
        let failed_before = self.command == "prepare_statement" && self.failed;
        self.command.starts_with("exec") || failed_before
    }

    fn is_blob(&self) -> bool {
        ["open_blob", "open_blob2", "create_blob", "create_blob2"].contains(&self.command.as_str())
    }
}

impl Reading {
    fn count(&self, wanted: impl Fn(&Seen) -> bool) -> u64 {
        self.seen.iter().filter(|seen| wanted(seen)).count() as u64
    }

    fn rows(&self) -> u64 {
        self.seen.iter().filter_map(|seen| seen.rows).sum()
    }

    fn round_trips(&self) -> Vec<u64> {
        let mut of = BTreeMap::<u32, u64>::new();
        for seen in &self.seen {
            *of.entry(seen.stream).or_default() += seen.round_trips;
        }
        of.into_values().collect()
    }

    fn counts(&self) -> Counts {
        Counts {
            executions: Some(self.count(Seen::is_execution)),
            fetches: Some(self.count(|seen| seen.command == "fetch" || seen.is_merged())),
            rows: Some(self.rows()),
            blobs: Some(self.count(Seen::is_blob)),
            transactions_ended: Some(self.count(|seen| ["commit", "rollback"].contains(&seen.command.as_str()))),
            round_trips: self.round_trips(),
            packets: Some(self.seen.len() as u64 + self.count(Seen::is_merged)),
        }
    }
}

/// Where the client program's own count is of something else than what is on the wire.
fn on_the_wire(file: &str, mut truth: Counts) -> Counts {
    let is = |what: &str| file.contains(what);
    if is("crypt") {
        // Rows and statements are opaque: the round trips alone are there.
        truth = Counts { round_trips: truth.round_trips, ..Counts::default() };
    }
    if is("isql-script") {
        // Statements of the script; on the wire isql also executes `commit` and `rollback` as SQL, and the DDL.
        truth.executions = Some(13);
    }
    if is("-events") {
        // The program counted the posting attachment; the other one executes and commits a DELETE before.
        truth.executions = truth.executions.map(|executions| executions + 1);
        truth.transactions_ended = truth.transactions_ended.map(|ended| ended + 1);
    }
    if is("-kinds") {
        // 20 of the 30 rows have a blob that is not null; the program did not count them.
        truth.blobs = Some(20);
    }
    if is("pure-blobwrite") {
        // firebirdsql sends the value inside the row, as a string: no blob is created.
        truth.blobs = Some(0);
    }
    truth
}

#[test]
fn every_capture_is_counted_as_its_client_counted() {
    let Some(folder) = captures() else { return };
    let truths = truths(&std::fs::read_to_string(folder.join("README.md")).unwrap());
    assert!(truths.len() > 60);
    let mut wrong = Vec::new();
    for (file, truth) in truths {
        if !folder.join(&file).exists() {
            continue;
        }
        let truth = on_the_wire(&file, truth);
        let reading = read(&folder.join(&file));
        let ours = reading.counts();
        let pairs = [
            ("executions", ours.executions, truth.executions),
            ("fetches", ours.fetches, truth.fetches),
            ("rows", ours.rows, truth.rows),
            ("blobs", ours.blobs, truth.blobs),
            ("transactions ended", ours.transactions_ended, truth.transactions_ended),
            ("packets", ours.packets, truth.packets),
        ];
        for (what, ours, truth) in pairs {
            if truth.is_some() && ours != truth {
                wrong.push(format!("{file}: {what} {ours:?}, truth {truth:?}"));
            }
        }
        if ours.round_trips != truth.round_trips {
            wrong.push(format!("{file}: round trips {:?}, truth {:?}", ours.round_trips, truth.round_trips));
        }
        if !reading.seen.iter().all(|seen| seen.complete || file.contains("crypt")) {
            wrong.push(format!("{file}: incomplete exchanges"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_statement_of_a_capture_has_its_text_and_its_blobs() {
    let Some(folder) = captures() else { return };
    for file in ["fb3-fbc3-blobs.pcap", "fb3-pure-bigblob.pcap", "fb4-fbc5-bigblob.pcap", "fb3-jaybird-blobs.pcap"] {
        let reading = read(&folder.join(file));
        let of_blobs = |seen: &&Seen| seen.is_blob() || ["get_segment", "info_blob"].contains(&seen.command.as_str());
        for seen in reading.seen.iter().filter(of_blobs) {
            let text = &reading.statements[seen.statement.unwrap() as usize];
            assert!(text.to_lowercase().contains("from docs"), "{file}: {text}");
        }
    }
}

#[test]
fn captures_that_begin_late_miss_packets_or_were_cut_are_counted_as_their_rows_say() {
    let Some(folder) = captures() else { return };
    // Of 19 changes of direction in the blobs one is the answer to a close_blob, which is not waited for.
    let truths = [
        ("derived-mid-fb3-fbc3-nplus1.pcap", 11, 36),
        ("derived-mid-fb3-pure-nplus1.pcap", 75, 72),
        ("derived-mid-fb4-fbc5-blobs.pcap", 18, 0),
        ("derived-loss-fb3-fbc3-fetch20k.pcap", 27, 19_000),
        ("derived-snap96-fb3-fbc3-nplus1.pcap", 28, 0),
    ];
    for (file, round_trips, rows) in truths {
        let reading = read(&folder.join(file));
        assert_eq!((reading.round_trips(), reading.rows()), (vec![round_trips], rows), "{file}");
        let told = !file.contains("mid");
        assert_eq!(reading.notes.is_empty(), !told, "{file}: {:?}", reading.notes);
    }
}

/// A number among the facts of a fixture.
fn fact(facts: &str, name: &str) -> Option<u64> {
    facts.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('=')?.trim().parse().ok())
}

#[test]
fn every_fixture_is_counted_as_its_client_counted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/firebird");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let captures: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "pcapng")).collect();
    assert!(captures.len() > 20);
    for path in captures {
        let facts = std::fs::read_to_string(path.with_extension("toml")).unwrap();
        let reading = read(&path);
        let ours: u64 = reading.round_trips().iter().sum();
        if let Some(truth) = fact(&facts, "round_trips") {
            assert_eq!(ours, truth, "{}: round trips", path.display());
        }
        let readable = !facts.contains("encryption");
        if let Some(truth) = fact(&facts, "rows").filter(|_| readable) {
            // Rows that the application did not get are said in the notes.
            let told_apart = facts.contains("notes");
            assert!(reading.rows() == truth || told_apart && reading.rows() > truth, "{}: rows", path.display());
        }
        assert_eq!(reading.notes.is_empty(), !facts.contains("are missing"), "{}: {:?}", path.display(), reading.notes);
    }
}

// --- damage ---------------------------------------------------------------------------------------------------------

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// The records of a little-endian pcap file, headers included.
fn records(file: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    let mut rest = &file[FILE_HEADER..];
    while rest.len() > RECORD_HEADER {
        let kept = u32::from_le_bytes([rest[8], rest[9], rest[10], rest[11]]) as usize;
        let (record, after) = rest.split_at(RECORD_HEADER + kept);
        records.push(record.to_vec());
        rest = after;
    }
    records
}

fn damaged(file: &[u8], records: impl IntoIterator<Item: AsRef<[u8]>>) -> Reading {
    let mut damaged = file[..FILE_HEADER].to_vec();
    for record in records {
        damaged.extend_from_slice(record.as_ref());
    }
    reading(pipeline::open_and_read(vec![Source::bytes("damaged", damaged)], &Options::default()).unwrap())
}

/// The record, cut at `snap` bytes.
fn cut(mut record: Vec<u8>, snap: usize) -> Vec<u8> {
    record.truncate(RECORD_HEADER + snap);
    let kept = (record.len() - RECORD_HEADER) as u32;
    record[8..12].copy_from_slice(&kept.to_le_bytes());
    record
}

/// Captures of several clients and versions, with their round trips and rows.
const SOUND: [(&str, u64, u64); 8] = [
    ("fb3-fbc3-nplus1.pcap", 28, 100),
    ("fb3-pure-nplus1.pcap", 89, 100),
    ("fb3-jaybird-nplus1new.pcap", 54, 75),
    ("fb3-fbc3-proc.pcap", 15, 13),
    ("fb4-fbc4-kinds.pcap", 87, 30),
    ("fb4-fbc5-bigblob.pcap", 9, 1),
    ("fb3-p10-pure-kinds.pcap", 71, 30),
    ("fb3-isql-show.pcap", 47, 44),
];

#[test]
fn a_capture_may_begin_at_any_packet() {
    let Some(folder) = captures() else { return };
    for (file, round_trips, rows) in SOUND {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let records = records(&bytes);
        let mut fewer = round_trips;
        for first in 1..records.len() {
            let reading = damaged(&bytes, &records[first..]);
            let told: u64 = reading.round_trips().iter().sum();
            // One packet less is at most one wait less; isql's messages need the formats of what was compiled before.
            assert!(told <= round_trips && reading.rows() <= rows, "{file} from {first}: {told}, {}", reading.rows());
            // It is recognised a few packets late where messages of unknown requests come first; and whether lazy sending
            // was agreed on is learnt late where the client closes blobs only.
            assert!(told + 5 >= fewer || file.contains("-p10-"), "{file} from {first}: {told} after {fewer}");
            fewer = fewer.min(told);
        }
    }
}

#[test]
fn any_packet_may_be_missing() {
    let Some(folder) = captures() else { return };
    for (file, round_trips, rows) in SOUND {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let records = records(&bytes);
        for missing in 4..records.len() {
            let kept = records.iter().enumerate().filter(|(at, _)| *at != missing);
            let reading = damaged(&bytes, kept.map(|(_, record)| record));
            let told: u64 = reading.round_trips().iter().sum();
            assert!(told.abs_diff(round_trips) <= 2, "{file} without {missing}: {told}");
            assert!(reading.rows() <= rows, "{file} without {missing}: {} rows", reading.rows());
        }
    }
}

#[test]
fn after_a_hole_in_a_compressed_stream_the_turns_are_left() {
    let Some(folder) = captures() else { return };
    for (file, round_trips, rows) in [
        ("fb3-fbc3-compress20k.pcap", 27, 20_000),
        ("fb3-fbc3-compress.pcap", 112, 120),
        ("fb3-pure-crypt-nplus1.pcap", 91, 0),
    ] {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let records = records(&bytes);
        for missing in 4..records.len() {
            let kept = records.iter().enumerate().filter(|(at, _)| *at != missing);
            let reading = damaged(&bytes, kept.map(|(_, record)| record));
            let told: u64 = reading.round_trips().iter().sum();
            assert!(told.abs_diff(round_trips) <= 2, "{file} without {missing}: {told}");
            assert!(reading.rows() <= rows, "{file} without {missing}");
        }
    }
}

#[test]
fn a_hole_inside_a_batch_of_rows_costs_the_rows_of_that_batch() {
    let Some(folder) = captures() else { return };
    let bytes = std::fs::read(folder.join("fb3-jaybird-fetch20k.pcap")).unwrap();
    let records = records(&bytes);
    for missing in 14..100.min(records.len()) {
        let kept = records.iter().enumerate().filter(|(at, _)| *at != missing);
        let reading = damaged(&bytes, kept.map(|(_, record)| record));
        let lost = 20_000 - reading.rows();
        assert!(lost <= 800, "without {missing}: {lost} rows are lost");
        assert!(reading.round_trips()[0].abs_diff(59) <= 1, "without {missing}");
    }
}

#[test]
fn packets_may_be_cut_anywhere() {
    let Some(folder) = captures() else { return };
    for (file, round_trips, rows) in SOUND {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        for snap in [66, 70, 78, 96, 128, 200, 300] {
            let reading = damaged(&bytes, records(&bytes).into_iter().map(|record| cut(record, snap)));
            let told: u64 = reading.round_trips().iter().sum();
            println!("{file} at {snap}: {told} of {round_trips}");
            assert!(reading.rows() <= rows, "{file} at {snap}: {} rows", reading.rows());
            assert!(told <= round_trips * 2, "{file} at {snap}: {told}");
        }
    }
}

#[test]
fn any_bytes_may_follow_a_real_beginning() {
    let Some(folder) = captures() else { return };
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    for (file, _, rows) in SOUND {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let records = records(&bytes);
        for from in (4..records.len()).step_by(3) {
            let spoilt = records.iter().enumerate().map(|(at, record)| {
                let mut record = record.clone();
                // Ethernet, IP and TCP are left as they are.
                let payload = (RECORD_HEADER + 66).min(record.len());
                for byte in record[payload..].iter_mut().filter(|_| at >= from) {
                    noise ^= noise << 13;
                    noise ^= noise >> 7;
                    noise ^= noise << 17;
                    *byte = noise as u8;
                }
                record
            });
            let reading = damaged(&bytes, spoilt);
            assert!(reading.rows() <= rows + 1, "{file} from {from}: {} rows", reading.rows());
        }
    }
}
