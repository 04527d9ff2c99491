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
mod tests {
    use super::*;

    fn between(one: &str, other: &str) -> Hosts {
        Hosts::between(one.parse().unwrap(), other.parse().unwrap())
    }

    fn hash(one: &str, other: &str) -> u64 {
        between(one, other).hash()
    }

    /// Who reads a part may run another version than who reads the others.
    #[test]
    fn the_hash_never_changes() {
        assert_eq!(hash("10.0.0.1", "10.0.0.2"), 0x2e6b_e231_ae86_3170);
        assert_eq!(hash("fd00::1", "fd00::2"), 0x5066_81a8_1ff7_5120);
    }

    #[test]
    fn both_directions_are_of_one_group_and_versions_of_ip_are_not() {
        assert_eq!(hash("10.0.0.1", "10.0.0.2"), hash("10.0.0.2", "10.0.0.1"));
        assert_ne!(hash("10.0.0.1", "10.0.0.2"), hash("::10.0.0.1", "::10.0.0.2"));
        assert_ne!(hash("10.0.0.1", "10.0.0.2"), hash("10.0.0.1", "10.0.0.3"));
    }

    #[test]
    fn each_group_is_in_one_part_and_parts_are_about_alike() {
        for of in [1, 2, 3, 7] {
            let mut held = vec![0; of as usize];
            for host in 0..=255 {
                let hosts = between(&format!("10.0.0.{host}"), "10.1.0.1");
                let parts = (0..of).filter(|&number| Part::new(&[number], of).unwrap().holds(hosts));
                parts.for_each(|number| held[number as usize] += 1);
            }
            assert_eq!(held.iter().sum::<u32>(), 256);
            assert!(held.iter().all(|&groups| groups > 256 / of / 2), "{held:?}");
        }
    }

    #[test]
    fn there_is_no_part_beyond_the_last() {
        assert_eq!(Part::new(&[2], 2), None);
        assert_eq!(Part::new(&[0], 0), None);
    }

    #[test]
    fn a_part_of_several_numbers_holds_what_these_hold() {
        let several = Part::new(&[1, 4], 7).unwrap();
        for host in 0..=255 {
            let hosts = between(&format!("10.0.0.{host}"), "10.1.0.1");
            let one_by_one = [1, 4].into_iter().any(|number| Part::new(&[number], 7).unwrap().holds(hosts));
            assert_eq!(several.holds(hosts), one_by_one);
        }
    }
}
