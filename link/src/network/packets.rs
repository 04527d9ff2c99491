//! Which packets matter to the network of a job, and the few that are made here.

use std::io::{Error, ErrorKind};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use etherparse::icmpv4::DestUnreachableHeader;
use etherparse::icmpv6::DestUnreachableCode;
use etherparse::{
    Icmpv4Type, Icmpv6Type, IpHeaders, NetSlice, PacketBuilder, PacketBuilderStep, SlicedPacket, TransportSlice,
};

const TIME_TO_LIVE: u8 = 64;
/// A receiver's window that is never used: what resets has nothing to receive.
const NO_WINDOW: u16 = 0;
/// An ICMP error quotes no more, so that it fits into any MTU.
const QUOTED: usize = 512;

/// Who talks to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    pub client: SocketAddr,
    pub server: SocketAddr,
}

/// What a packet of the job is.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen<'a> {
    /// A TCP connection is asked for, with this first sequence number.
    Opening(Flow, u32),
    /// Another TCP segment, and whether it carries bytes or an end.
    Segment(Flow, bool),
    /// A UDP datagram.
    Datagram(Flow, &'a [u8]),
    Other,
}

pub fn look(packet: &[u8]) -> Seen<'_> {
    let Ok(sliced) = SlicedPacket::from_ip(packet) else {
        return Seen::Other;
    };
    let (source, destination): (IpAddr, IpAddr) = match &sliced.net {
        Some(NetSlice::Ipv4(ip)) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        Some(NetSlice::Ipv6(ip)) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        _ => return Seen::Other,
    };
    let flow = |from, to| Flow { client: SocketAddr::new(source, from), server: SocketAddr::new(destination, to) };
    match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) if tcp.syn() && !tcp.ack() => {
            Seen::Opening(flow(tcp.source_port(), tcp.destination_port()), tcp.sequence_number())
        }
        Some(TransportSlice::Tcp(tcp)) => {
            let carries = !tcp.payload().is_empty() || tcp.fin() || tcp.rst();
            Seen::Segment(flow(tcp.source_port(), tcp.destination_port()), carries)
        }
        Some(TransportSlice::Udp(udp)) => {
            Seen::Datagram(flow(udp.source_port(), udp.destination_port()), udp.payload())
        }
        _ => Seen::Other,
    }
}

/// From or to ::1: only the loopback device takes such a packet.
pub fn is_ipv6_loopback(packet: &[u8]) -> bool {
    let address = |from: usize| packet.get(from..from + 16) == Some(Ipv6Addr::LOCALHOST.octets().as_slice());
    packet.first().is_some_and(|byte| byte >> 4 == 6) && (address(8) || address(24))
}

/// The server's answer to an opening that came to nothing; none where silence is the answer.
pub fn refusal(opening: &[u8], why: &Error) -> Option<Vec<u8>> {
    match (look(opening), why.kind()) {
        (_, ErrorKind::TimedOut) => None,
        (_, ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable) => unreachable(opening, why.kind()),
        (Seen::Opening(flow, sequence), _) => reset(flow, sequence),
        _ => None,
    }
}

/// What a host's kernel answers where nothing listens.
fn reset(flow: Flow, sequence: u32) -> Option<Vec<u8>> {
    let (from, to) = (flow.server, flow.client);
    let packet = ip(from.ip(), to.ip())?.tcp(from.port(), to.port(), 0, NO_WINDOW);
    written(|bytes| packet.rst().ack(sequence.wrapping_add(1)).write(bytes, &[]).is_ok())
}

/// The network's answer to a packet that cannot arrive; nothing listens there unless `why` is another.
pub fn unreachable(packet: &[u8], why: ErrorKind) -> Option<Vec<u8>> {
    let (source, destination) = match SlicedPacket::from_ip(packet).ok()?.net? {
        NetSlice::Ipv4(ip) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        NetSlice::Ipv6(ip) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        NetSlice::Arp(_) => return None,
    };
    let answer = ip(destination, source)?;
    let answer = match destination {
        IpAddr::V4(_) => answer.icmpv4(Icmpv4Type::DestinationUnreachable(match why {
            ErrorKind::NetworkUnreachable => DestUnreachableHeader::Network,
            ErrorKind::HostUnreachable => DestUnreachableHeader::Host,
            _ => DestUnreachableHeader::Port,
        })),
        IpAddr::V6(_) => {
            let code = match why {
                ErrorKind::NetworkUnreachable => DestUnreachableCode::NoRoute,
                ErrorKind::HostUnreachable => DestUnreachableCode::Address,
                _ => DestUnreachableCode::Port,
            };
            let answer = ip(destination, source)?.icmpv6(Icmpv6Type::DestinationUnreachable(code));
            return written(|bytes| answer.write(bytes, quoted(packet)).is_ok());
        }
    };
    written(|bytes| answer.write(bytes, quoted(packet)).is_ok())
}

/// A UDP datagram; none where it is too long for a packet.
pub fn datagram(from: SocketAddr, to: SocketAddr, payload: &[u8]) -> Option<Vec<u8>> {
    let packet = ip(from.ip(), to.ip())?.udp(from.port(), to.port());
    written(|bytes| packet.write(bytes, payload).is_ok())
}

fn quoted(packet: &[u8]) -> &[u8] {
    &packet[..packet.len().min(QUOTED)]
}

fn ip(from: IpAddr, to: IpAddr) -> Option<PacketBuilderStep<IpHeaders>> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => Some(PacketBuilder::ipv4(from.octets(), to.octets(), TIME_TO_LIVE)),
        (IpAddr::V6(from), IpAddr::V6(to)) => Some(PacketBuilder::ipv6(from.octets(), to.octets(), TIME_TO_LIVE)),
        _ => None,
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> bool) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    write(&mut bytes).then_some(bytes)
}

#[cfg(test)]
#[path = "packets_tests.rs"]
mod tests;
