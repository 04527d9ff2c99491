//! What is left of a packet below the headers read so far.

use std::net::{IpAddr, Ipv4Addr};

use crate::capture::Packet;
use crate::cursor::{Cursor, TooShort};

/// Headers that one packet may have: real ones stay far below, even tunnels in tunnels.
pub(super) const MAX_HEADERS: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    /// What was captured of it.
    pub bytes: &'a [u8],
    /// Its length on the wire.
    pub wire: usize,
}

impl<'a> Part<'a> {
    #[inline]
    pub fn of(packet: &Packet<'a>) -> Self {
        Self { bytes: packet.bytes, wire: (packet.original_length as usize).max(packet.bytes.len()) }
    }

    pub fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, wire: bytes.len() }
    }

    #[inline]
    pub fn cursor(&self) -> Cursor<'a> {
        Cursor::new(self.bytes)
    }

    /// What follows a header of `length` bytes.
    #[inline]
    pub fn after(&self, length: usize) -> Self {
        Self { bytes: self.bytes.get(length..).unwrap_or_default(), wire: self.wire.saturating_sub(length) }
    }

    /// The same part where a header says how long it is: padding goes, a snap length shows.
    #[inline]
    pub fn sized(&self, length: usize) -> Self {
        Self { bytes: self.bytes.get(..length).unwrap_or(self.bytes), wire: length }
    }

    /// The snap length took some of it.
    pub fn is_cut(&self) -> bool {
        self.bytes.len() < self.wire
    }
}

/// Who an IP datagram goes from and to, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Addresses {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// The IPv4 identification; 0 where there is none.
    pub identification: u16,
}

impl Default for Addresses {
    /// Unspecified before an IP header was read.
    #[inline]
    fn default() -> Self {
        Self {
            source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            identification: 0,
        }
    }
}

/// What a header says comes next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next<'a> {
    /// A frame of this LINKTYPE.
    Link(u16, Part<'a>),
    EtherType(u16, Part<'a>),
    Ppp(Part<'a>),
    /// IPv4 or IPv6, as its first four bits say.
    Ip(Part<'a>),
    /// A protocol of IANA's list, or an IPv6 extension header.
    Protocol(u8, Part<'a>),
    Fragment(Fragment<'a>),
    Tcp(Part<'a>),
    UnknownLinkType(u16),
    /// Several Wi-Fi frames in one packet.
    Aggregate(Part<'a>),
    /// Encrypted below IP, by what is named.
    Encrypted(&'static str),
    /// The snap length took what would tell the rest.
    Cut,
    /// No TCP in there.
    Nothing,
}

/// A piece of a datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment<'a> {
    /// The protocol of the whole datagram.
    pub protocol: u8,
    pub identification: u32,
    pub offset: usize,
    pub more: bool,
    pub part: Part<'a>,
}

/// What makes no sense in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error(transparent)]
    TooShort(#[from] TooShort),
    #[error("the lengths in the {0} header contradict each other")]
    Lengths(&'static str),
    #[error("more than {MAX_HEADERS} headers")]
    TooDeep,
}
