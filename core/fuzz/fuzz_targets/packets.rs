//! Any bytes as packets of any link type: `link type u16 | wire length beyond u8 | length u16 | bytes`, one after another.
#![no_main]

use latpcap_core::capture::Packet;
use latpcap_core::packet::{Dissected, Dissector};
use latpcap_fuzz::Feed;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut feed = Feed(input);
    let mut dissector = Dissector::new();
    let mut frame = 0;
    while !feed.is_empty() {
        frame += 1;
        let link_type = feed.u16();
        let beyond = u32::from(feed.u8());
        let length = usize::from(feed.u16());
        let bytes = feed.bytes(length);
        let original_length = bytes.len() as u32 + beyond;
        let packet = Packet {
            frame,
            time_ns: frame as i64 * 1_000_000,
            tap: 0,
            place: 0,
            alone: true,
            link_type,
            bytes,
            original_length,
        };
        dissector.dissect(&packet, |dissected| {
            if let Dissected::Tcp(segment) = dissected {
                assert!(segment.wire_length as usize >= segment.payload.len());
            }
        });
    }
});
