//! Walks from a packet's first byte to the TCP segment inside, one header at a time.

use super::Segment;
use super::fragments::{Datagram, Fragments};
use super::part::{Addresses, MAX_HEADERS, Malformed, Next, Part};
use super::{ethernet, ip, link, linktype, ppp, tcp, wifi};
use crate::capture::Packet;

/// How often one packet may hold a fragment that completes a datagram that holds a fragment.
const MAX_DATAGRAMS: usize = 8;

/// What a packet holds.
#[derive(Clone, Copy, Debug)]
pub enum Dissected<'a> {
    Tcp(Segment<'a>),
    /// No TCP, or a piece of a datagram whose rest is still missing.
    Other,
    /// A LINKTYPE that is not read here.
    UnknownLinkType(u16),
    /// Several Wi-Fi frames: [`Dissector::dissect`] looks into each.
    Aggregate(&'a [u8]),
    /// Encrypted below IP, by what is named.
    Encrypted(&'static str),
    /// No TCP segment: an IP datagram, or a piece of one, whose end was not captured.
    Cut,
    /// Headers that contradict themselves, or that the snap length cut.
    Malformed(Malformed),
}

impl Dissected<'_> {
    /// Is some of the packet's IP datagram missing? What the snap length takes behind it (padding, check sequences) is
    /// not missed.
    pub fn is_cut(&self, packet: &Packet<'_>) -> bool {
        match self {
            Dissected::Tcp(segment) => segment.payload.len() < segment.wire_length as usize,
            Dissected::Cut => true,
            Dissected::Malformed(Malformed::TooShort(_)) => packet.is_cut(),
            _ => false,
        }
    }
}

/// Finds TCP segments; remembers the pieces of datagrams that are not whole yet.
#[derive(Default)]
pub struct Dissector {
    fragments: Fragments,
    /// The last datagram put together: a segment borrows from it.
    datagram: Vec<u8>,
}

/// Where a walk ends.
enum Walk<'a> {
    Done(Dissected<'a>),
    /// The packet completed a datagram, which is to be walked next.
    Whole(Datagram),
}

impl Dissector {
    pub fn new() -> Self {
        Self::default()
    }

    /// Pieces of datagrams may take so many bytes.
    pub fn within(bytes: usize) -> Self {
        Self { fragments: Fragments::within(bytes), ..Self::default() }
    }

    /// Datagrams in pieces that were given up to make room for others.
    pub fn fragments_given_up(&self) -> u64 {
        self.fragments.given_up
    }

    /// Hands on what the packet holds: at most one segment, but for Wi-Fi, which puts several frames in one.
    #[inline]
    pub fn dissect(&mut self, packet: &Packet<'_>, mut take: impl FnMut(&Dissected<'_>)) {
        match plain(packet) {
            Some(segment) => take(&Dissected::Tcp(segment)),
            None => self.dissect_another(packet, &mut take),
        }
    }

    /// The same of a packet that is not plain.
    fn dissect_another(&mut self, packet: &Packet<'_>, take: &mut dyn FnMut(&Dissected<'_>)) {
        match self.walked(whole(packet), *packet) {
            Dissected::Aggregate(bytes) => {
                let bytes = bytes.to_vec();
                for frame in wifi::subframes(&bytes) {
                    take(&self.subframe(frame, *packet));
                }
            }
            dissected => take(&dissected),
        }
    }

    /// One frame of several, from its LLC header on.
    fn subframe<'a>(&'a mut self, frame: &'a [u8], packet: Packet<'a>) -> Dissected<'a> {
        match ethernet::llc(Part::whole(frame)) {
            Ok(next) => self.walked(next, packet),
            Err(short) => Dissected::Malformed(short.into()),
        }
    }

    /// What the packet holds; several Wi-Fi frames stay together.
    #[inline]
    pub fn segment<'a>(&'a mut self, packet: Packet<'a>) -> Dissected<'a> {
        match plain(&packet) {
            Some(segment) => Dissected::Tcp(segment),
            None => self.walked(whole(&packet), packet),
        }
    }

    fn walked<'a>(&'a mut self, start: Next<'a>, packet: Packet<'a>) -> Dissected<'a> {
        match walk(start, Addresses::default(), &packet, Some(&mut self.fragments)) {
            Walk::Done(dissected) => dissected,
            Walk::Whole(datagram) => self.datagram(datagram, packet),
        }
    }

    /// Walks a datagram that was put together, which may itself be the last piece of one inside a tunnel.
    fn datagram<'a>(&'a mut self, mut datagram: Datagram, packet: Packet<'a>) -> Dissected<'a> {
        for _ in 0..MAX_DATAGRAMS {
            let start = Next::Protocol(datagram.protocol, Part::whole(&datagram.bytes));
            let addresses = datagram.addresses;
            match walk(start, addresses, &packet, Some(&mut self.fragments)) {
                Walk::Whole(inner) => datagram = inner,
                Walk::Done(_) => break,
            }
        }
        // Once more, now that the bytes stay where they are and all fragments have been counted.
        self.datagram = std::mem::take(&mut datagram.bytes);
        let part = Part::whole(&self.datagram);
        let start = Next::Protocol(datagram.protocol, part);
        match walk(start, datagram.addresses, &packet, None) {
            Walk::Done(dissected) => dissected,
            Walk::Whole(_) => Dissected::Other,
        }
    }
}

fn whole<'a>(packet: &Packet<'a>) -> Next<'a> {
    Next::Link(packet.link_type, Part::of(packet))
}

/// The segment of a packet that is TCP in IP right behind its link layer, as most are: the steps that `walk` would make,
/// without looking at what else there could be. `None` says nothing of the packet: it is to be walked.
#[inline(always)]
fn plain<'a>(packet: &Packet<'a>) -> Option<Segment<'a>> {
    tcp_in_ip(packet, ip_in(packet)?)
}

/// The IP datagram behind the link layer, or behind one tag.
#[inline(always)]
fn ip_in<'a>(packet: &Packet<'a>) -> Option<Part<'a>> {
    use ethernet::{IP_VERSION_4, IP_VERSION_6};
    let part = Part::of(packet);
    let next = match packet.link_type {
        linktype::ETHERNET => match ethernet::next(part).ok()? {
            Next::EtherType(IP_VERSION_4 | IP_VERSION_6, part) => return Some(part),
            Next::EtherType(tag, part) => ethernet::by_type(tag, part),
            _ => return None,
        },
        link_type => link::next(link_type, part),
    };
    match next.ok()? {
        Next::EtherType(IP_VERSION_4 | IP_VERSION_6, part) | Next::Ip(part) => Some(part),
        _ => None,
    }
}

/// The segment of an IP datagram that holds nothing else; `None` says nothing of it.
#[inline(always)]
fn tcp_in_ip<'a>(packet: &Packet<'_>, part: Part<'a>) -> Option<Segment<'a>> {
    let mut addresses = Addresses::default();
    let Ok(Next::Protocol(ip::TCP, part)) = ip::next(part, &mut addresses) else { return None };
    tcp::segment(packet, addresses, part).ok()
}

fn walk<'a>(
    start: Next<'a>,
    mut addresses: Addresses,
    packet: &Packet<'_>,
    fragments: Option<&mut Fragments>,
) -> Walk<'a> {
    let (mut next, mut is_cut) = (start, false);
    for _ in 0..MAX_HEADERS {
        if let Next::Ip(part) = next
            && let Some(segment) = tcp_in_ip(packet, part)
        {
            return Walk::Done(Dissected::Tcp(segment));
        }
        next = match step(next, &mut addresses) {
            Ok(next) => next,
            Err(malformed) => return Walk::Done(Dissected::Malformed(malformed)),
        };
        match next {
            Next::Tcp(part) => {
                return Walk::Done(match tcp::segment(packet, addresses, part) {
                    Ok(segment) => Dissected::Tcp(segment),
                    Err(malformed) => Dissected::Malformed(malformed),
                });
            }
            Next::Fragment(fragment) => {
                return fragments
                    .and_then(|fragments| fragments.add(addresses, fragment, packet.time_ns))
                    .map_or(Walk::Done(Dissected::Other), Walk::Whole);
            }
            Next::UnknownLinkType(link_type) => {
                return Walk::Done(Dissected::UnknownLinkType(link_type));
            }
            Next::Aggregate(part) => return Walk::Done(Dissected::Aggregate(part.bytes)),
            Next::Encrypted(what) => return Walk::Done(Dissected::Encrypted(what)),
            Next::Cut => return Walk::Done(Dissected::Cut),
            Next::Nothing if is_cut => return Walk::Done(Dissected::Cut),
            Next::Nothing => return Walk::Done(Dissected::Other),
            Next::Protocol(_, part) => is_cut = part.is_cut(),
            _ => {}
        }
    }
    Walk::Done(Dissected::Malformed(Malformed::TooDeep))
}

/// Reads one header.
fn step<'a>(next: Next<'a>, addresses: &mut Addresses) -> Result<Next<'a>, Malformed> {
    Ok(match next {
        Next::Link(link_type, part) => link::next(link_type, part)?,
        Next::EtherType(ether_type, part) => ethernet::by_type(ether_type, part)?,
        Next::Ppp(part) => ppp::next(part)?,
        Next::Ip(part) => ip::next(part, addresses)?,
        Next::Protocol(protocol, part) => ip::by_protocol(protocol, part)?,
        end => end,
    })
}

#[cfg(test)]
#[path = "dissector_tests.rs"]
mod tests;
