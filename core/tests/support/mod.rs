//! Builds small captures of MySQL dialogues packet by packet, and reads them back.
#![allow(dead_code)] // each test file uses its own part

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use latpcap_core::capture::Source;
use latpcap_core::pipeline::{self, Options};
use latpcap_core::recording::Tables;

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;
const MSS: usize = 1448;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    Client,
    Server,
}
use Sender::{Client, Server};

/// One packet: when, and the IP packet.
#[derive(Clone, Debug)]
pub struct Packet {
    pub time_ns: u64,
    pub bytes: Vec<u8>,
}

/// One TCP connection between 10.0.0.1:40000 and 10.0.0.2:3306, seen at the client.
pub struct Wire {
    pub packets: Vec<Packet>,
    pub now_ns: u64,
    sequence: [u32; 2],
    pub rtt_ns: u64,
    pub mss: usize,
}

impl Wire {
    pub fn new() -> Wire {
        Wire {
            packets: Vec::new(),
            now_ns: 1_000_000_000,
            sequence: [1000, 4_294_967_000],
            rtt_ns: 1_000_000,
            mss: MSS,
        }
    }

    pub fn handshake(&mut self) -> &mut Self {
        self.segment(Client, SYN, &[]);
        self.now_ns += self.rtt_ns;
        self.segment(Server, SYN | ACK, &[]);
        self.now_ns += 10_000;
        self.segment(Client, ACK, &[])
    }

    /// Payload in one direction, cut at the MSS, 10 µs between packets.
    pub fn send(&mut self, from: Sender, payload: &[u8]) -> &mut Self {
        for part in payload.chunks(self.mss) {
            self.segment(from, ACK, part);
            self.now_ns += 10_000;
        }
        self
    }

    /// A request and its response, one round trip apart.
    pub fn ask(&mut self, request: &[u8], response: &[u8]) -> &mut Self {
        self.send(Client, request);
        self.now_ns += self.rtt_ns;
        self.send(Server, response);
        self
    }

    pub fn segment(&mut self, from: Sender, flags: u8, payload: &[u8]) -> &mut Self {
        let (own, other) = (from as usize, 1 - from as usize);
        let ack = if flags & ACK != 0 { self.sequence[other] } else { 0 };
        let bytes = ip_packet(from, self.sequence[own], ack, flags, payload);
        let length = payload.len() as u32 + u32::from(flags & (SYN | FIN) != 0);
        self.sequence[own] = self.sequence[own].wrapping_add(length);
        self.packets.push(Packet { time_ns: self.now_ns, bytes });
        self
    }

    pub fn read(&self) -> Tables {
        read(&self.packets)
    }
}

fn ip_packet(from: Sender, sequence: u32, ack: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let (client, server) = (([10, 0, 0, 1], 40_000u16), ([10, 0, 0, 2], 3306u16));
    let (source, destination) = if from == Client { (client, server) } else { (server, client) };
    let mut bytes = vec![0x45, 0];
    bytes.extend(((40 + payload.len()) as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    bytes.extend(source.0);
    bytes.extend(destination.0);
    bytes.extend(source.1.to_be_bytes());
    bytes.extend(destination.1.to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.extend(payload);
    bytes
}

/// A pcap file (nanoseconds, raw IP) of these packets; each cut at `snap` bytes.
pub fn pcap(packets: &[Packet], snap: usize) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xa1b2_3c4du32.to_le_bytes());
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(262_144u32.to_le_bytes());
    file.extend(101u32.to_le_bytes());
    for packet in packets {
        let kept = packet.bytes.len().min(snap);
        file.extend(((packet.time_ns / 1_000_000_000) as u32).to_le_bytes());
        file.extend(((packet.time_ns % 1_000_000_000) as u32).to_le_bytes());
        file.extend((kept as u32).to_le_bytes());
        file.extend((packet.bytes.len() as u32).to_le_bytes());
        file.extend(&packet.bytes[..kept]);
    }
    file
}

/// Packets of several connections that take turns, each with its own statements and errors.
pub fn traffic(connections: u16, queries: u32) -> Vec<Packet> {
    let mut packets = Vec::new();
    for connection in 0..connections {
        let mut wire = logged_in();
        wire.now_ns += u64::from(connection) * 7_000;
        for number in 0..queries {
            wire.now_ns += 3_000_000;
            match number % 4 {
                0 => wire.ask(&query(&format!("select c{number} from t{connection}")), &result(3, 10)),
                1 => wire.ask(&query("select 1"), &failed(number)),
                2 => wire.send(Client, &query("begin")).send(Client, &query("commit")).send(Server, &ok(1, 0)),
                _ => wire.ask(&query(&"x".repeat(2_000)), &ok(1, 1)),
            };
            wire.segment(Client, ACK, b"");
        }
        wire.packets.iter_mut().for_each(|packet| with_client_port(packet, 40_000 + connection));
        packets.extend(wire.packets);
    }
    packets.sort_by_key(|packet| packet.time_ns);
    packets
}

pub fn failed(number: u32) -> Vec<u8> {
    mysql(1, &[b"\xff\x28\x04#42000near ", number.to_string().as_bytes()].concat())
}

pub fn with_client_port(packet: &mut Packet, port: u16) {
    let at = if packet.bytes[12..16] == [10, 0, 0, 1] { 20 } else { 22 };
    packet.bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
}

pub fn read(packets: &[Packet]) -> Tables {
    read_file(pcap(packets, 262_144))
}

pub fn read_file(file: Vec<u8>) -> Tables {
    pipeline::open_and_read(vec![Source::bytes("test", file)], &Options::default()).unwrap()
}

// --- MySQL ----------------------------------------------------------------------------------------------------------

pub fn mysql(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    packet.push(sequence);
    packet.extend(payload);
    packet
}

pub fn greeting() -> Vec<u8> {
    let mut payload = b"\x0a10.11.6-MariaDB\0\x07\0\0\0abcdefgh\0".to_vec();
    payload.extend(0xf7feu16.to_le_bytes());
    payload.extend([45, 2, 0]);
    payload.extend(0x81bfu16.to_le_bytes());
    payload.push(21);
    payload.extend([0; 10]);
    payload.extend(b"ijklmnopqrst\0mysql_native_password\0");
    mysql(0, &payload)
}

pub fn login() -> Vec<u8> {
    let mut payload = 0x000a_a205u32.to_le_bytes().to_vec();
    payload.extend(0x0100_0000u32.to_le_bytes());
    payload.push(45);
    payload.extend([0; 23]);
    payload.extend(b"lab\0\x14");
    payload.extend([7; 20]);
    payload.extend(b"mysql_native_password\0");
    mysql(1, &payload)
}

pub fn query(sql: &str) -> Vec<u8> {
    mysql(0, &[b"\x03", sql.as_bytes()].concat())
}

/// OK with the affected rows (at most 250), in answer to a command.
pub fn ok(sequence: u8, affected: u8) -> Vec<u8> {
    mysql(sequence, &[0, affected, 0, 2, 0, 0, 0])
}

/// A result of `rows` rows of one column, `width` bytes each, EOF packets included.
pub fn result(rows: usize, width: usize) -> Vec<u8> {
    let mut bytes = mysql(1, &[1]);
    bytes.extend(mysql(2, b"\x03def\0\0\0\x01a\0\x0c\x21\0\xff\0\0\0\xfd\0\0\0\0\0"));
    bytes.extend(mysql(3, &[0xfe, 0, 0, 2, 0]));
    let mut sequence = 4u8;
    for _ in 0..rows {
        let mut row = vec![0xfc];
        row.extend((width as u16).to_le_bytes());
        row.extend(vec![b'x'; width]);
        bytes.extend(mysql(sequence, &row));
        sequence = sequence.wrapping_add(1);
    }
    bytes.extend(mysql(sequence, &[0xfe, 0, 0, 2, 0]));
    bytes
}

/// A connection that has just logged in.
pub fn logged_in() -> Wire {
    let mut wire = Wire::new();
    wire.handshake();
    wire.now_ns += wire.rtt_ns;
    wire.send(Server, &greeting());
    wire.ask(&login(), &ok(2, 0));
    wire
}

// --- tables ---------------------------------------------------------------------------------------------------------

/// An exchange as a test wants to see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub command: String,
    pub round_trips: u32,
    pub rows: Option<u64>,
    pub affected: Option<u64>,
    pub error: Option<String>,
    pub complete: bool,
    pub parameters: u64,
    pub frames: [Option<u32>; 4],
    pub times: [Option<i64>; 4],
    pub waited_ns: Option<i64>,
}

pub fn exchanges(tables: Tables) -> Vec<Seen> {
    let batch = tables.exchanges.batch().unwrap();
    (0..batch.num_rows()).map(|row| seen(&batch, row)).collect()
}

fn seen(batch: &RecordBatch, row: usize) -> Seen {
    let u64s = |name: &str| {
        let column = batch[name].as_primitive::<UInt64Type>();
        column.is_valid(row).then(|| column.value(row))
    };
    let u32s = |name: &str| {
        let column = batch[name].as_primitive::<UInt32Type>();
        column.is_valid(row).then(|| column.value(row))
    };
    let times = |name: &str| {
        let column = batch[name].as_primitive::<TimestampNanosecondType>();
        column.is_valid(row).then(|| column.value(row))
    };
    let waited = batch["waited_ns"].as_primitive::<Int64Type>();
    let commands = batch["command"].as_dictionary::<UInt16Type>();
    let names = commands.values().as_string::<i32>();
    let marks = ["request", "request_end", "response", "response_end"];
    Seen {
        command: names.value(commands.keys().value(row) as usize).to_owned(),
        round_trips: u32s("round_trips").unwrap(),
        rows: u64s("rows"),
        affected: u64s("affected_rows"),
        error: error(batch, row),
        complete: batch["complete"].as_boolean().value(row),
        parameters: u64s("parameters").unwrap(),
        frames: marks.map(|mark| u32s(&format!("{mark}_frame"))),
        times: marks.map(|mark| times(&format!("{mark}_time"))),
        waited_ns: waited.is_valid(row).then(|| waited.value(row)),
    }
}

fn error(batch: &RecordBatch, row: usize) -> Option<String> {
    let column = batch["error"].as_string::<i32>();
    column.is_valid(row).then(|| column.value(row).to_owned())
}
