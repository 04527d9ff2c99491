//! Segments of two streams in any order, cut, repeated, lost: each byte that comes out stands where its sender put it.
//!
//! A segment is `kind u8 | sequence i8 | acknowledgment i8 | length u16 | snap u8`, both numbers relative to what the
//! sides have sent so far. A byte's value is its sequence number modulo 256.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use latpcap_core::packet::{Endpoint, Flags, Segment};
use latpcap_core::side::Side;
use latpcap_core::stream::{Chunk, Reassembly, START};
use latpcap_fuzz::Feed;
use libfuzzer_sys::fuzz_target;

/// How far one step of a relative number goes: seldom far, sometimes round the whole circle.
const STRIDES: [u32; 4] = [1, 100, 1460, 0x0101_0101];

#[derive(Default)]
struct Told {
    /// The next sequence number that the sender would use.
    next: u32,
    /// Where the last chunk ended.
    end: Option<u64>,
    /// A byte's value, less its offset: the same for every byte.
    phase: Option<u8>,
}

impl Told {
    fn check(&mut self, chunk: &Chunk<'_>) {
        if let Some(end) = self.end {
            assert_eq!(end + chunk.lost, chunk.offset, "chunks follow each other");
        }
        self.end = Some(chunk.offset + chunk.bytes.len() as u64 + chunk.cut);
        for (offset, &byte) in (chunk.offset..).zip(chunk.bytes) {
            let phase = byte.wrapping_sub(offset as u8);
            assert_eq!(*self.phase.get_or_insert(phase), phase, "a byte is out of its place");
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let mut feed = Feed(input);
    let mut sides = [Told { next: 0xffff_ff00, ..Told::default() }, Told { next: 1000, ..Told::default() }];
    let mut streams = Reassembly::default();
    let mut frame = 0;
    while !feed.is_empty() {
        frame += 1;
        let kind = feed.u8();
        let from = usize::from(kind & 1);
        let side = [Side::Client, Side::Server][from];
        let stride = STRIDES[usize::from(kind >> 6)];
        let relative = |number: u32, steps: u8| number.wrapping_add(stride.wrapping_mul(steps as i8 as u32));
        let sequence = relative(sides[from].next, feed.u8());
        let acknowledgment = relative(sides[1 - from].next, feed.u8());
        let length = u32::from(feed.u16() & 0x3fff);
        let snap = usize::from(feed.u8()) * 64;
        let flags = match kind >> 1 & 7 {
            0 => Flags::SYN,
            1 => Flags::SYN | Flags::ACK,
            2 => Flags::RST,
            3 => Flags::FIN | Flags::ACK,
            _ => Flags::ACK,
        };
        let payload: Vec<u8> =
            (0..length).map(|at| sequence.wrapping_add(at + u32::from(flags & Flags::SYN != 0)) as u8).collect();
        let kept = if kind & 0x30 == 0x30 { payload.len().min(snap) } else { payload.len() };
        let payload = &payload[..kept];
        let end = |port| Endpoint { address: IpAddr::V4(Ipv4Addr::LOCALHOST), port };
        let segment = Segment {
            frame,
            time_ns: frame as i64 * 1000,
            tap: 0,
            source: end(from as u16),
            destination: end(1 - from as u16),
            identification: 0,
            sequence,
            acknowledgment,
            flags: Flags(flags),
            window: 65535,
            maximum_segment_size: None,
            window_scale: None,
            timestamp: None,
            echo: None,
            came_twice: false,
            payload,
            wire_length: length,
        };
        let shown_by_another_tap = kind >> 1 & 7 == 7;
        if shown_by_another_tap {
            streams.spare(side, &segment);
            if length == 0 {
                streams.use_spare();
            }
            continue;
        }
        if sequence == sides[from].next {
            sides[from].next = sequence.wrapping_add(length + u32::from(flags & Flags::SYN != 0));
        }
        let accepted = streams.accept(side, &segment);
        if let Some(chunk) = accepted.chunk {
            sides[chunk.side as usize].check(&chunk);
        }
        while let Some(chunk) = streams.release() {
            sides[chunk.side as usize].check(&chunk);
        }
    }
    while let Some(chunk) = streams.finish() {
        sides[chunk.side as usize].check(&chunk);
    }
    for (side, told) in [Side::Client, Side::Server].into_iter().zip(sides) {
        assert_eq!(START + streams.bytes_sent(side), told.end.unwrap_or(START));
    }
});
