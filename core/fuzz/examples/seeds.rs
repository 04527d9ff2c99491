//! Writes seeds for every target from real captures: `seeds CORPUS CAPTURE…`.
//!
//! Each capture gives its first packets as a small pcap, plain and compressed, its packets by link type, its segments, the
//! turns of its connections (with its secrets, where `CAPTURE.keys` has some), and the statements of its requests.

use latpcap_core::side::Side;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use latpcap_core::capture::{Captures, Packet, Source};
use latpcap_core::conversation::{Common, Conversation, Hints};
use latpcap_core::packet::{Dissected, Dissector, Flags};
use latpcap_core::protocols::{REGISTRY, protocol_on};
use latpcap_core::sql::Statements;
use latpcap_core::stream::Connections;
use latpcap_fuzz::Turn;
use lz4_flex::frame::FrameEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Small seeds are tried often.
const SEED_BYTES: usize = 16 << 10;
/// Pieces of one connection.
const PIECES: usize = 4;

fn main() {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let corpus = arguments.next().expect("seeds CORPUS CAPTURE…");
    for path in arguments {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Seeds { corpus: &corpus, name }.of(&path);
    }
}

struct Seeds<'a> {
    corpus: &'a Path,
    name: String,
}

impl Seeds<'_> {
    fn of(&self, path: &Path) {
        let raw = fs::read(path).unwrap_or_default();
        self.write("capture", "raw", &raw[..raw.len().min(SEED_BYTES)]);
        let packets = packets(path);
        let small = pcap(&packets);
        let halves = small.len() / 2;
        self.write("pipeline", "pcap", &small);
        self.write("capture", "pcap", &small[..halves]);
        self.write("capture", "gz", &gzip(&small));
        self.write("capture", "zst", &compress_to_vec(&small[..], CompressionLevel::Fastest));
        self.write("capture", "lz4", &lz4(&small));
        self.write("packets", "packets", &as_packets(&packets));
        self.write("reassembly", "segments", &as_segments(&packets));
        for (number, input) in as_turns(&packets).iter().enumerate() {
            self.write("decoders", &format!("turns{number}"), input);
        }
        self.statements(&packets);
        // Its secrets lie beside it.
        if let Ok(keys) = fs::read(path.with_extension("").with_extension("keys")) {
            for (number, turns) in as_turns(&packets).iter().enumerate().take(1) {
                let head = [turns[0], 1, number as u8];
                let length = (keys.len() as u16).to_le_bytes();
                self.write("tls", &format!("tls{number}"), &[&head[..], &length, &keys, &turns[3..]].concat());
            }
        }
    }

    fn write(&self, target: &str, kind: &str, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let folder = self.corpus.join(target);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{}.{kind}", self.name)), bytes).unwrap();
    }

    /// The text of the connections' requests, whatever is around it.
    fn statements(&self, packets: &[Owned]) {
        for (number, input) in as_turns(packets).iter().enumerate().take(1) {
            let printable: Vec<u8> =
                input.iter().copied().filter(|byte| (0x20..0x7f).contains(byte)).take(2000).collect();
            self.write("sql", &format!("text{number}"), &[&[number as u8][..], &printable].concat());
        }
    }
}

struct Owned {
    time_ns: i64,
    link_type: u16,
    bytes: Vec<u8>,
    original_length: u32,
}

impl Owned {
    fn packet(&self, frame: u64) -> Packet<'_> {
        let Owned { time_ns, link_type, ref bytes, original_length } = *self;
        Packet { frame, time_ns, tap: 0, place: 0, alone: true, link_type, bytes, original_length }
    }
}

fn packets(path: &Path) -> Vec<Owned> {
    let Ok(mut recording) = Captures::open(vec![Source::path(path)]) else { return Vec::new() };
    let mut packets = Vec::new();
    let mut total = 0;
    while let Some(packet) = recording.next_packet() {
        let Packet { time_ns, link_type, bytes, original_length, .. } = packet;
        total += bytes.len();
        packets.push(Owned { time_ns, link_type, bytes: bytes.to_vec(), original_length });
        if total > 2 << 20 {
            break;
        }
    }
    packets
}

fn pcap(packets: &[Owned]) -> Vec<u8> {
    let link_type = packets.first().map_or(1, |packet| packet.link_type);
    let mut file = 0xa1b2_3c4du32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    file.extend(u32::from(link_type).to_le_bytes());
    for packet in packets.iter().filter(|packet| packet.link_type == link_type) {
        if file.len() + packet.bytes.len() > SEED_BYTES {
            break;
        }
        let (seconds, nanoseconds) =
            (packet.time_ns.div_euclid(1_000_000_000), packet.time_ns.rem_euclid(1_000_000_000));
        for number in [seconds as u32, nanoseconds as u32, packet.bytes.len() as u32, packet.original_length] {
            file.extend(number.to_le_bytes());
        }
        file.extend(&packet.bytes);
    }
    file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn as_packets(packets: &[Owned]) -> Vec<u8> {
    let mut input = Vec::new();
    for packet in packets.iter().filter(|packet| packet.bytes.len() <= usize::from(u16::MAX)) {
        if input.len() + packet.bytes.len() > SEED_BYTES / 4 {
            break;
        }
        input.extend(packet.link_type.to_le_bytes());
        input.push((packet.original_length - packet.bytes.len() as u32).min(255) as u8);
        input.extend((packet.bytes.len() as u16).to_le_bytes());
        input.extend(&packet.bytes);
    }
    input
}

/// Who sent how much, and with which flags: as the target `reassembly` reads it.
fn as_segments(packets: &[Owned]) -> Vec<u8> {
    let mut dissector = Dissector::new();
    let mut input = Vec::new();
    let mut first = None;
    for (packet, frame) in packets.iter().zip(1..) {
        let Dissected::Tcp(segment) = dissector.segment(packet.packet(frame)) else { continue };
        let from = u8::from(segment.source != *first.get_or_insert(segment.source));
        let flags = match segment.flags {
            flags if flags.has(Flags::SYN | Flags::ACK) => 1,
            flags if flags.has(Flags::SYN) => 0,
            flags if flags.has(Flags::RST) => 2,
            flags if flags.has(Flags::FIN) => 3,
            _ => 4,
        };
        input.extend([from | flags << 1, 0, 0]);
        input.extend((segment.wire_length.min(0x3fff) as u16).to_le_bytes());
        input.push(1);
        if input.len() > 1200 {
            break;
        }
    }
    input
}

/// The turns of each connection of a known protocol, in pieces; the first one begins where the connection does.
fn as_turns(packets: &[Owned]) -> Vec<Vec<u8>> {
    let mut dissector = Dissector::new();
    let mut connections = Connections::default();
    let mut seen: BTreeMap<usize, Seen> = BTreeMap::new();
    for (packet, frame) in packets.iter().zip(1..) {
        let Dissected::Tcp(segment) = dissector.segment(packet.packet(frame)) else { continue };
        let is_server_port = |port| protocol_on(port).is_some();
        let Some((number, side)) = connections.number_of(&segment, &|_| true, &is_server_port) else { break };
        let connection = connections.get_mut(number);
        let port = connection.server.port;
        let seen = seen.entry(number).or_insert_with(|| Seen::new(port));
        let fresh = connection.is_fresh(side, &segment);
        let accepted = connection.accept(side, &segment, fresh);
        if let Some(chunk) = accepted.and_then(|arrival| arrival.chunk) {
            seen.take(chunk.side, chunk.bytes);
        }
        while let Some(chunk) = connection.streams.release() {
            seen.take(chunk.side, chunk.bytes);
        }
    }
    seen.into_values().filter_map(Seen::inputs).take(3).flatten().collect()
}

struct Seen {
    by_port: Option<&'static latpcap_core::protocols::Protocol>,
    turns: Vec<(Side, Vec<u8>)>,
}

impl Seen {
    fn new(port: u16) -> Seen {
        Seen { by_port: protocol_on(port), turns: Vec::new() }
    }

    fn take(&mut self, side: Side, bytes: &[u8]) {
        match self.turns.last_mut() {
            Some((last, turn)) if *last == side && turn.len() + bytes.len() < 60_000 => turn.extend(bytes),
            _ => self.turns.push((side, bytes.to_vec())),
        }
    }

    fn inputs(self) -> Option<Vec<Vec<u8>>> {
        let protocol = self.protocol()?;
        let mut inputs = Vec::new();
        let mut turns = self.turns.iter().peekable();
        while turns.peek().is_some() && inputs.len() < PIECES {
            let mut input = vec![protocol, if inputs.is_empty() { 1 } else { 5 }, inputs.len() as u8];
            while let Some((side, bytes)) =
                turns.next_if(|(_, bytes)| input.len() + bytes.len() < SEED_BYTES || input.len() == 3)
            {
                Turn::write(*side, bytes, &mut input);
            }
            inputs.push(input);
        }
        Some(inputs)
    }

    /// Its number in the registry, by what it says.
    fn protocol(&self) -> Option<u8> {
        let mut conversation =
            Conversation::new(Hints { by_port: self.by_port, oriented: true, from_start: true, forced: None });
        let mut common = Common::new(Statements::new(false));
        let mut next = [latpcap_core::stream::START; 2];
        for (frame, (side, bytes)) in (1..).zip(&self.turns) {
            let mark = latpcap_core::stream::Mark { frame, time_ns: frame as i64 };
            let (offset, acknowledged) = (next[*side as usize], next[side.other() as usize]);
            next[*side as usize] += bytes.len() as u64;
            conversation.read(
                &latpcap_core::stream::Chunk { side: *side, mark, acknowledged, offset, lost: 0, bytes, cut: 0 },
                &mut common,
            );
        }
        conversation.finish(&mut common);
        let name = conversation.dialogue()?.protocol;
        Some(REGISTRY.iter().position(|protocol| protocol.name == name)? as u8)
    }
}
