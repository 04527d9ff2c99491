//! From a packet's bytes to the TCP segment inside: link layers, IP, tunnels.

mod cooked;
mod dissector;
mod ethernet;
mod fragments;
mod frame_relay;
mod gre;
mod ip;
mod juniper;
mod link;
mod linktype;
mod mpls;
mod part;
mod ppp;
mod tcp;
mod udp;
mod wifi;

use std::net::IpAddr;

pub use dissector::{Dissected, Dissector};
pub use linktype::name as link_type_name;
pub use part::Malformed;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    pub address: IpAddr,
    pub port: u16,
}

/// The TCP flags of a segment (RFC 9293 §3.1), one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
    pub const PSH: u8 = 0x08;
    pub const ACK: u8 = 0x10;

    pub fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }
}

/// One TCP segment, its payload borrowed from the packet (or from a reassembled datagram).
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    pub frame: u64,
    pub time_ns: i64,
    /// Where it was captured, see [`Packet::tap`](crate::capture::Packet).
    pub tap: u16,
    pub source: Endpoint,
    pub destination: Endpoint,
    /// The IPv4 identification; 0 where there is none.
    pub identification: u16,
    pub sequence: u32,
    pub acknowledgment: u32,
    pub flags: Flags,
    pub window: u16,
    /// From the SYN's options: maximum segment size and window scale.
    pub maximum_segment_size: Option<u16>,
    pub window_scale: Option<u8>,
    /// The sender's clock, where the segment has it where most do: right behind the header.
    pub timestamp: Option<u32>,
    /// The other side's timestamp that it echoes.
    pub echo: Option<u32>,
    /// It says that data of the other side came twice (D-SACK).
    pub came_twice: bool,
    /// The payload that was captured.
    pub payload: &'a [u8],
    /// The payload's length on the wire; more than `payload.len()` where the snap length cut it.
    pub wire_length: u32,
}
