//! Any bytes as a capture file: pcap or pcapng, compressed or not. Whatever it is, its packets come in order and end.
#![no_main]

use latpcap_core::capture::{Captures, Source};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let half = bytes.len() / 2;
    read(vec![Source::bytes("whole", bytes)]);
    read(vec![Source::bytes("one", &bytes[..half]), Source::bytes("other", &bytes[half..])]);
});

fn read(sources: Vec<Source>) {
    let Ok(mut recording) = Captures::open(sources) else { return };
    let mut frames = 0;
    while let Some(packet) = recording.next_packet() {
        assert!(packet.frame > frames);
        assert!(packet.original_length as usize >= packet.bytes.len());
        frames = packet.frame;
    }
    recording.notes().iter().for_each(|note| assert!(!note.message.is_empty()));
}
