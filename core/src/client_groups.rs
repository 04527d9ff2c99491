//! Client groups: all connections between two hosts. A projection needs these together, and no others with them; so a
//! recording is divided into parts of whole groups.
//!
//! Hosts are those inside of all tunnels. What a proxy passes on is another group than what it was asked.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::capture::Captures;
use crate::packet::{Dissected, Dissector, Segment};

/// Packets between two looks at whether to go on.
const CANCEL_INTERVAL: u64 = 4096;

/// Two hosts, whoever of them sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hosts {
    pub low: IpAddr,
    pub high: IpAddr,
}

impl Hosts {
    #[inline]
    pub fn of(segment: &Segment<'_>) -> Hosts {
        Hosts::between(segment.source.address, segment.destination.address)
    }

    #[inline]
    fn between(one: IpAddr, other: IpAddr) -> Hosts {
        Hosts { low: one.min(other), high: one.max(other) }
    }

    /// The same on every machine and in every version, as those who read the parts must agree on them.
    #[inline]
    pub fn hash(self) -> u64 {
        let with = |hash: u64, address: IpAddr| match address {
            IpAddr::V4(address) => mixed(hash ^ (4 << 32 | u64::from(address.to_bits()))),
            IpAddr::V6(address) => [6, (address.to_bits() >> 64) as u64, address.to_bits() as u64]
                .into_iter()
                .fold(hash, |hash, word| mixed(hash ^ word)),
        };
        with(with(0, self.low), self.high)
    }
}

/// One step of splitmix64 (<https://prng.di.unimi.it/splitmix64.c>): every bit of the result depends on every one given.
#[inline]
fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// One of several parts of a recording, which together are all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Is each number in it, up to the last that is?
    has: Vec<bool>,
    of: NonZeroU32,
}

impl Part {
    /// What has these numbers (from 0) of so many; `None` where there is no such number.
    pub fn new(numbers: &[u32], of: u32) -> Option<Part> {
        let of = NonZeroU32::new(of).filter(|of| numbers.iter().all(|&number| number < of.get()))?;
        let mut has = vec![false; numbers.iter().max().map_or(0, |&last| last as usize + 1)];
        numbers.iter().for_each(|&number| has[number as usize] = true);
        Some(Part { has, of })
    }

    #[inline]
    pub fn holds(&self, hosts: Hosts) -> bool {
        let number = hosts.hash() % u64::from(self.of.get());
        self.has.get(number as usize).is_some_and(|&has| has)
    }
}

/// What the captures hold of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pub hosts: Hosts,
    pub packets: u64,
    /// The packets' bytes on the wire.
    pub bytes: u64,
    /// The earliest and the latest time of a packet.
    pub first_ns: i64,
    pub last_ns: i64,
}

/// All groups of a recording, the largest first: nothing is read but the packets' headers. `None` where there are more
/// than `most`; where somebody stops it, those of what was read.
pub fn groups(mut recording: Captures, most: usize, fragments: usize, cancel: &AtomicBool) -> Option<Vec<Group>> {
    let mut dissector = Dissector::within(fragments);
    let mut found: HashMap<Hosts, Group, ahash::RandomState> = HashMap::default();
    while let Some(packet) = recording.next_packet() {
        dissector.dissect(&packet, |dissected| {
            if let Dissected::Tcp(segment) = dissected {
                let hosts = Hosts::of(segment);
                let time_ns = packet.time_ns;
                let empty = Group { hosts, packets: 0, bytes: 0, first_ns: time_ns, last_ns: time_ns };
                let group = found.entry(hosts).or_insert(empty);
                group.packets += 1;
                group.bytes += u64::from(packet.original_length);
                (group.first_ns, group.last_ns) = (group.first_ns.min(time_ns), group.last_ns.max(time_ns));
            }
        });
        if found.len() > most {
            return None;
        }
        let is_time = packet.frame % CANCEL_INTERVAL == 0;
        if is_time && (cancel.load(Ordering::Relaxed) || recording.stopped()) {
            break;
        }
    }
    let mut groups: Vec<Group> = found.into_values().collect();
    groups.sort_unstable_by_key(|group| (std::cmp::Reverse(group.bytes), group.hosts));
    Some(groups)
}

#[cfg(test)]
#[path = "client_groups_tests.rs"]
mod tests;
