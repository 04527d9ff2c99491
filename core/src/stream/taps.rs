//! A connection that several taps saw, as the captures at its client and at its server do: each packet counts once, as the
//! tap saw it that saw the connection first. Packets of the others are left out, those that they saw earlier, too: times
//! of two places make no round trip.

use crate::packet::Segment;

/// Where the first tap shows nothing for so long of what another one shows, it saw its last.
const GONE_NS: i64 = 2_000_000_000;

/// The taps that are left out.
#[derive(Debug, Default)]
pub struct OtherTaps {
    taps: Vec<u16>,
    /// From when on they have shown what the first one did not.
    alone_since_ns: Option<i64>,
}

impl OtherTaps {
    pub fn add(&mut self, tap: u16) {
        if !self.taps.contains(&tap) {
            self.taps.push(tap);
        }
    }

    /// Is the segment of a tap that is left out? `fresh`: it brings something new.
    pub fn leave_out(&mut self, segment: &Segment<'_>, fresh: bool) -> bool {
        if !self.taps.contains(&segment.tap) {
            self.alone_since_ns = None;
            return false;
        }
        if !fresh {
            return true;
        }
        let since_ns = *self.alone_since_ns.get_or_insert(segment.time_ns);
        if segment.time_ns.saturating_sub(since_ns) > GONE_NS {
            *self = Self::default();
            return false;
        }
        true
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
        others.add(1);
        assert!(others.leave_out(&at(0, 1), true));
        assert!(!others.leave_out(&at(8, 0), true));
        assert!(others.leave_out(&at(60_000, 1), true), "after a long pause");
        assert!(others.leave_out(&at(61_999, 1), true));
        assert!(others.leave_out(&at(99_999, 1), false), "nothing new");
        assert!(!others.leave_out(&at(62_001, 1), true));
        assert!(!others.leave_out(&at(62_002, 1), true), "it is the only one now");
    }
}
