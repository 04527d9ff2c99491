//! The TCP handshake: when its packets passed, and what that tells of the RTT.

use crate::packet::{Flags, Segment};
use crate::side::Side;

/// When the packets of the TCP handshake passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    pub syn_ns: Option<i64>,
    pub syn_ack_ns: Option<i64>,
    pub ack_ns: Option<i64>,
    /// A SYN or SYN/ACK was sent more than once: the times may belong to different duplicates.
    pub retransmitted: bool,
    /// The half that each side answers cannot be timed: what it answers was sent more than once before it did, or the
    /// capture's clock was set meanwhile.
    ambiguous: [bool; 2],
}

impl Handshake {
    /// Can the segment be a part of it that is still to come, or come again?
    #[inline]
    pub(super) fn goes_on_with(&self, segment: &Segment<'_>) -> bool {
        segment.flags.has(Flags::SYN) || (self.ack_ns.is_none() && self.syn_ack_ns.is_some())
    }

    /// Takes a segment; true for a SYN or SYN/ACK that was sent before.
    pub(super) fn note(&mut self, side: Side, segment: &Segment<'_>) -> bool {
        let time = Some(segment.time_ns);
        let again = match (side, segment.flags.has(Flags::SYN), segment.flags.has(Flags::ACK)) {
            (Side::Client, true, false) => self.syn_ns.replace(self.syn_ns.unwrap_or(segment.time_ns)).is_some(),
            (Side::Server, true, true) => self.syn_ack_ns.replace(self.syn_ack_ns.unwrap_or(segment.time_ns)).is_some(),
            (Side::Client, false, true) if self.syn_ack_ns.is_some() => {
                self.ack_ns = self.ack_ns.or(time);
                false
            }
            _ => false,
        };
        self.retransmitted |= again;
        // What comes once more only after it was answered, leaves no doubt what was answered.
        self.ambiguous[side.other() as usize] |= again && self.answer_ns(side.other()).is_none();
        again
    }

    /// The capture's clock was set: a half that is under way cannot be timed.
    pub(super) fn forget_times(&mut self) {
        for (asked_ns, side) in [(self.syn_ns, Side::Server), (self.syn_ack_ns, Side::Client)] {
            self.ambiguous[side as usize] |= asked_ns.is_some() && self.answer_ns(side).is_none();
        }
    }

    /// When `side` answered: with its SYN/ACK or its ACK.
    fn answer_ns(&self, side: Side) -> Option<i64> {
        match side {
            Side::Client => self.ack_ns,
            Side::Server => self.syn_ack_ns,
        }
    }

    /// SYN → ACK, where each half can be timed.
    pub(super) fn rtt_ns(&self) -> Option<i64> {
        Some(self.half_ns(Side::Client)? + self.half_ns(Side::Server)?)
    }

    /// Between the capture point and one side, there and back: what that side took to answer in the handshake.
    pub fn half_ns(&self, side: Side) -> Option<i64> {
        let asked_ns = match side {
            Side::Client => self.syn_ack_ns,
            Side::Server => self.syn_ns,
        };
        let half_ns = self.answer_ns(side)?.checked_sub(asked_ns?)?;
        (half_ns >= 0 && !self.ambiguous[side as usize]).then_some(half_ns)
    }
}
