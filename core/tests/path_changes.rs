//! When the RTT of a path changed: on a real link, whose delay was set from 5 to 20 ms half-way.

mod support;

use std::path::Path;

use latpcap_core::pipeline::Limits;
use latpcap_core::recording::Recording;
use latpcap_core::rtt::changes::find;
use latpcap_core::rtt::evidence::collect;
use latpcap_core::rtt::phases::{Change, ChangeEvidence, Changes, Phases};
use support::*;

/// The changes of a recording that is one path, of which these halves are network, and the doubt of it.
fn changes(recording: &Recording, relevant: [bool; 2]) -> (Vec<Change>, Vec<f64>) {
    let connections = recording.database_connections().unwrap();
    let phases = Phases::of(&connections, vec![0; connections.len()], Changes::none(1));
    let collected = collect(recording, &connections, &phases).unwrap();
    let (changes, doubted_ns) = find(recording, &connections, &phases, &collected, &[relevant]).unwrap();
    (changes.all().to_vec(), doubted_ns)
}

#[test]
fn the_clocks_of_the_senders_show_that_the_path_of_one_connection_changed() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/mysql/path-changes.pcapng.zst");
    let recording = Recording::new(read_file(std::fs::read(fixture).unwrap()), &Limits::default()).unwrap();
    let change = Change { path: 0, time_ns: 5_999_954_441, shown_by: ChangeEvidence::Clocks };
    assert_eq!(changes(&recording, [true, false]), (vec![change], vec![0.0]));
    assert_eq!(changes(&recording, [false, false]), (vec![], vec![0.0]));
    let blind = Recording { clock_readings: recording.clock_readings.slice(0, 0), ..recording };
    assert_eq!(changes(&blind, [true, false]).0, []);
}

#[test]
fn a_path_that_stays_as_it_is_has_no_change() {
    let recording = Recording::new(read(&traffic(40, 30)), &Limits::default()).unwrap();
    assert_eq!(changes(&recording, [true, true]).0, []);
}
