//! Any bytes as a capture, read to its tables as the command line reads it.
#![no_main]

use latpcap_core::capture::Source;
use latpcap_core::pipeline::{Options, open_and_read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let show_literals = bytes.last().is_some_and(|last| last & 1 == 1);
    let options = Options { show_literals, ..Options::default() };
    let Ok(tables) = open_and_read(vec![Source::bytes("fuzz", bytes)], &options) else { return };
    tables.captures().unwrap();
    tables.notes().unwrap();
    tables.statements().unwrap();
    tables.connections().unwrap();
    tables.rtt_samples().unwrap();
    tables.clock_readings().unwrap();
    tables.exchanges.batch().unwrap();
});
