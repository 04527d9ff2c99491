//! A connection that several taps saw, as the captures at its client and at its server do: each packet counts once, as
//! the tap saw it that saw the connection first. Packets of the others are left out, those that they saw earlier, too:
//! times of two places make no round trip. Only what the first tap missed is taken from them
//! (`reassembly/other_taps.rs`).

use crate::packet::Segment;
use crate::side::Side;

/// Where the first tap shows nothing for so long of what another one shows, it saw its last.
const GONE_NS: i64 = 2_000_000_000;
/// Taps that see a packet at times so far apart are at two places.
const ELSEWHERE_NS: u64 = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tap {
    /// The one that counts.
    This,
    /// One that is left out.
    Other,
    /// One that was left out, and is the only one now.
    Only,
}

/// The taps that are left out.
#[derive(Debug, Default)]
pub struct OtherTaps {
    taps: Vec<Other>,
    elsewhere: bool,
    /// From when on they have shown what the first one did not.
    alone_since_ns: Option<i64>,
}

#[derive(Debug)]
struct Other {
    tap: u16,
    /// What it showed last of each side it showed so much later than the one that counts, as their clocks say.
    later_ns: [Option<i64>; 2],
}

impl OtherTaps {
    /// A tap showed a packet of the one that counts, so much later.
    pub fn add(&mut self, tap: u16, side: Side, later_ns: i64) {
        self.elsewhere |= later_ns.unsigned_abs() > ELSEWHERE_NS;
        if self.of(tap).is_none() {
            self.taps.push(Other { tap, later_ns: [None; 2] });
        }
        if let Some(other) = self.taps.iter_mut().find(|other| other.tap == tap) {
            other.later_ns[side as usize] = Some(later_ns);
        }
    }

    /// When the one that counts would have shown a packet of another one.
    pub fn time_ns(&self, side: Side, segment: &Segment<'_>) -> i64 {
        let of_side = |side: Side| self.of(segment.tap)?.later_ns[side as usize];
        let later_ns = of_side(side).or(of_side(side.other())).unwrap_or(0);
        segment.time_ns.saturating_sub(later_ns)
    }

    fn of(&self, tap: u16) -> Option<&Other> {
        self.taps.iter().find(|other| other.tap == tap)
    }

    /// Times that they show are those of another place.
    pub fn are_elsewhere(&self) -> bool {
        self.elsewhere
    }

    /// Which tap shows the segment? `fresh`: it brings something new.
    pub fn look(&mut self, segment: &Segment<'_>, fresh: bool) -> Tap {
        if self.of(segment.tap).is_none() {
            self.alone_since_ns = None;
            return Tap::This;
        }
        if !fresh {
            return Tap::Other;
        }
        let since_ns = *self.alone_since_ns.get_or_insert(segment.time_ns);
        match segment.time_ns.saturating_sub(since_ns) > GONE_NS {
            true => Tap::Only,
            false => Tap::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use crate::stream::tests::segment;

    fn at(ms: i64, tap: u16) -> Segment<'static> {
        Segment { time_ns: ms * 1_000_000, tap, ..segment(Flags::ACK) }
    }

    #[test]
    fn a_tap_is_left_out_until_the_other_one_saw_its_last() {
        let mut others = OtherTaps::default();
        others.add(1, Side::Client, 0);
        assert_eq!(others.look(&at(0, 1), true), Tap::Other);
        assert_eq!(others.look(&at(8, 0), true), Tap::This);
        assert_eq!(others.look(&at(60_000, 1), true), Tap::Other, "after a long pause");
        assert_eq!(others.look(&at(61_999, 1), true), Tap::Other);
        assert_eq!(others.look(&at(99_999, 1), false), Tap::Other, "nothing new");
        assert_eq!(others.look(&at(62_001, 1), true), Tap::Only);
    }
}
