//! The packets of one relayed connection, as they would have passed between the application and the server: IP and TCP
//! headers around the bytes that the relay handed on.
//!
//! Sequence numbers count those bytes. Acknowledgment numbers are the caller's: what the sender of a packet had
//! received.

use std::net::{IpAddr, SocketAddr};

use latpcap_core::capture::writing::{self as pcapng, Head as PacketHead};
use latpcap_core::side::Side;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;

const TCP: u8 = 6;
const TCP_HEADER: usize = 20;
const HOPS: u8 = 64;
/// Neither window is known: so large that it is no limit.
const WINDOW: u16 = u16::MAX;
const WINDOW_SCALE: u8 = 14;
/// Puts the numbers of connections that follow each other far apart (2^32 divided by the golden ratio).
const SPREAD: u32 = 0x9e37_79b9;
/// What IP's length field leaves for TCP's payload.
const MAX_PAYLOAD_BYTES: usize = 65_535 - 20 - TCP_HEADER;

/// Where the blocks of a packet go.
pub trait Sink {
    /// A packet is recorded, whose block is `length` bytes long at most: `write` appends it.
    fn packet(&mut self, length: usize, write: impl FnOnce(&mut Vec<u8>, u32));
}

/// The numbers of one connection.
pub struct Packets {
    addresses: [SocketAddr; 2],
    /// What each side has sent: its SYN counts one, as does its FIN.
    sent: [u64; 2],
    /// The number of each side's SYN: two connections of the same ports are told apart by it.
    first: [u32; 2],
    /// What fits a segment, beside TCP's usual options.
    segment: usize,
    identification: [u16; 2],
}

impl Packets {
    /// `number`: how many connections there were before.
    pub fn new(number: u32, client: SocketAddr, server: SocketAddr) -> Self {
        let first = [number.wrapping_mul(SPREAD), (!number).wrapping_mul(SPREAD)];
        Self { addresses: [client, server], sent: [0, 0], first, segment: MAX_PAYLOAD_BYTES, identification: [0, 0] }
    }

    /// `mss`: what the client announces.
    pub fn syn(&mut self, sink: &mut impl Sink, time_ns: u64, mss: u16) {
        self.sent[Side::Client as usize] = 0;
        self.write(sink, time_ns, Side::Client, SYN, 0, Some(mss), &[]);
        self.sent[Side::Client as usize] = 1;
    }

    /// The server lets the client in. `mss`: what it announces; `segment`: what fits a segment of either.
    pub fn established(&mut self, sink: &mut impl Sink, time_ns: u64, mss: u16, segment: usize) {
        self.segment = segment.clamp(1, MAX_PAYLOAD_BYTES);
        self.write(sink, time_ns, Side::Server, SYN | ACK, 1, Some(mss), &[]);
        self.sent[Side::Server as usize] = 1;
        self.write(sink, time_ns, Side::Client, ACK, 1, None, &[]);
    }

    /// The server does not.
    pub fn refused(&mut self, sink: &mut impl Sink, time_ns: u64) {
        self.write(sink, time_ns, Side::Server, RST | ACK, 1, None, &[]);
    }

    /// `received`: how many of the other side's bytes the sender of these had received.
    pub fn data(&mut self, sink: &mut impl Sink, time_ns: u64, side: Side, received: u64, bytes: &[u8]) {
        let segments = bytes.len().div_ceil(self.segment);
        for (number, segment) in bytes.chunks(self.segment).enumerate() {
            let push = if number + 1 == segments { PSH } else { 0 };
            self.write(sink, time_ns, side, ACK | push, received + 1, None, segment);
            self.sent[side as usize] += segment.len() as u64;
        }
    }

    pub fn fin(&mut self, sink: &mut impl Sink, time_ns: u64, side: Side, received: u64) {
        self.write(sink, time_ns, side, FIN | ACK, received + 1, None, &[]);
        self.sent[side as usize] += 1;
    }

    pub fn reset(&mut self, sink: &mut impl Sink, time_ns: u64, side: Side, received: u64) {
        self.write(sink, time_ns, side, RST | ACK, received + 1, None, &[]);
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a header")]
    fn write(
        &mut self,
        sink: &mut impl Sink,
        time_ns: u64,
        side: Side,
        flags: u8,
        acknowledged: u64,
        mss: Option<u16>,
        payload: &[u8],
    ) {
        let mut head = Head::new();
        let (from, to) = (self.addresses[side as usize], self.addresses[side.other() as usize]);
        let options = mss.map_or(0, |_| SYN_OPTIONS);
        let length = TCP_HEADER + options + payload.len();
        let identification = &mut self.identification[side as usize];
        *identification = identification.wrapping_add(1);
        head.ip(from.ip(), to.ip(), length as u16, *identification);
        let tcp = head.length;
        head.put(&from.port().to_be_bytes());
        head.put(&to.port().to_be_bytes());
        let sequence = self.first[side as usize].wrapping_add(self.sent[side as usize] as u32);
        let acknowledged = match flags & ACK {
            0 => 0,
            _ => self.first[side.other() as usize].wrapping_add(acknowledged as u32),
        };
        head.put(&sequence.to_be_bytes());
        head.put(&acknowledged.to_be_bytes());
        head.put(&[((TCP_HEADER + options) as u8 / 4) << 4, flags]);
        head.put(&WINDOW.to_be_bytes());
        head.put(&[0; 4]);
        if let Some(mss) = mss {
            let [high, low] = mss.to_be_bytes();
            head.put(&[2, 4, high, low, 3, 3, WINDOW_SCALE, 1]);
        }
        let pseudo = address_sum(from.ip()) + address_sum(to.ip()) + u64::from(TCP) + length as u64;
        let sum = checksum(pseudo + sum(&head.bytes[tcp..head.length]) + sum(payload));
        head.bytes[tcp + 16..tcp + 18].copy_from_slice(&sum);
        let head = &head.bytes[..head.length];
        sink.packet(pcapng::packet_block_length(head.len() + payload.len()), |out, snap_length| {
            packet(out, time_ns, head, payload, snap_length);
        });
    }
}

/// Appends a packet of `head` and `payload`; no more of it is kept than the `snap_length` (0: all).
pub fn packet(out: &mut Vec<u8>, time_ns: u64, head: &[u8], payload: &[u8], snap_length: u32) {
    let length = head.len() + payload.len();
    let captured = if snap_length == 0 { length } else { length.min(snap_length as usize) };
    let head = head.get(..captured).unwrap_or(head);
    let before = PacketHead { interface: 0, time_ns, original_length: length as u32 };
    pcapng::packet(out, &before, &[head, &payload[..captured - head.len()]], []);
}

/// MSS, window scale, and one that does nothing.
const SYN_OPTIONS: usize = 8;

/// The headers of one packet.
struct Head {
    bytes: [u8; 40 + TCP_HEADER + SYN_OPTIONS],
    length: usize,
}

impl Head {
    fn new() -> Self {
        Self { bytes: [0; 40 + TCP_HEADER + SYN_OPTIONS], length: 0 }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn ip(&mut self, from: IpAddr, to: IpAddr, length: u16, identification: u16) {
        match (from, to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                self.put(&[0x45, 0]);
                self.put(&(20 + length).to_be_bytes());
                self.put(&identification.to_be_bytes());
                self.put(&[0x40, 0, HOPS, TCP, 0, 0]);
                self.put(&from.octets());
                self.put(&to.octets());
                let sum = checksum(sum(&self.bytes[..20]));
                self.bytes[10..12].copy_from_slice(&sum);
            }
            _ => {
                self.put(&[0x60, 0, 0, 0]);
                self.put(&length.to_be_bytes());
                self.put(&[TCP, HOPS]);
                self.put(&six(from));
                self.put(&six(to));
            }
        }
    }
}

fn six(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn address_sum(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    }
}

/// The 16-bit words added up, an odd byte filled with zero (RFC 1071).
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let rest = words.remainder();
    let whole: u64 = words.map(|word| u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    whole + u64::from(u32::from_be_bytes(last))
}

fn checksum(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

#[cfg(test)]
#[path = "packets_tests.rs"]
mod tests;
