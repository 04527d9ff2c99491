//! The silences of one side that end with a retransmission (a time-out) or with a late acknowledgment (Nagle's
//! algorithm against the peer's delayed ACK, RFC 1122 §4.2.3.2 and §4.2.3.4).

use super::rtt::RttSample;

/// The shortest retransmission time-out in use (Linux), less what clocks and timers are off.
pub const TIMEOUT_NS: i64 = 190_000_000;
/// A delayed acknowledgment comes after 40 ms (Linux) to 500 ms (the most that RFC 1122 allows); less the same.
const DELAYED_NS: std::ops::RangeInclusive<i64> = 30_000_000..=510_000_000;
/// A shorter silence may be the hosts' own.
const MIN_SILENCE_NS: i64 = 1_000_000;
/// What a host takes to send what it held back, once it may.
const PROMPT_NS: i64 = 1_000_000;
/// Segments that fill the window of a new connection (RFC 6928).
const INITIAL_WINDOW: u32 = 10;
/// A sender that paces lets about 1 ms pass from burst to burst (Linux); a shorter pause may be the hosts' own.
const MIN_PACED_NS: i64 = 200_000;
/// No acknowledgment of a flight can have come back by then, in tenths of the RTT.
const UNHEARD_TENTHS: i64 = 9;
/// No flight is known to have begun.
const LONG_AGO_NS: i64 = i64::MIN;

/// When one side sent, and what it waited for.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    last_sent_ns: Option<i64>,
    /// When it sent the first of what is under way, and how many segments since.
    flight_ns: i64,
    segments: u32,
    /// What it sent last filled its segments: more was waiting to be sent.
    was_full: bool,
    /// The peer has sent data since.
    is_answered: bool,
    /// With the last of that it acknowledged everything.
    is_heard: bool,
    least_rtt_ns: i64,
    held: Option<DelayedSegment>,
}

/// What had kept back a packet of one side, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    pub kind: Kind,
    pub ns: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is sent again: after a time-out that is not counted yet, if after any.
    SentAgain,
    /// Its sender waited for acknowledgments; the peer sent data meanwhile, or not.
    Silent { answered: bool },
    /// Its sender paces: nothing was in its way.
    Paced,
    /// A delayed acknowledgment (Nagle).
    Stalled,
}

/// All that was sent has been acknowledged, late.
#[derive(Clone, Copy, Debug)]
struct DelayedSegment {
    until_ns: i64,
    waited_ns: i64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            last_sent_ns: None,
            flight_ns: 0,
            segments: 0,
            was_full: false,
            is_answered: false,
            is_heard: false,
            least_rtt_ns: i64::MAX,
            held: None,
        }
    }
}

impl Pace {
    /// The peer has acknowledged everything with a packet of its own. `far_ns`: capture point → peer → capture point.
    pub fn acknowledged(&mut self, sample: RttSample, far_ns: Option<i64>) {
        let usual_ns = self.least_rtt_ns.min(far_ns.unwrap_or(i64::MAX));
        self.least_rtt_ns = self.least_rtt_ns.min(sample.rtt_ns);
        let waited_ns = sample.rtt_ns.saturating_sub(usual_ns);
        let late = DELAYED_NS.contains(&waited_ns) && sample.segments == 1;
        self.held = late.then_some(DelayedSegment { until_ns: sample.time_ns, waited_ns });
    }

    /// The peer sent data: what this side sends now, it sends for another reason.
    #[inline]
    pub fn peer_sent(&mut self, acknowledges_all: bool) {
        (self.is_answered, self.is_heard) = (true, acknowledges_all);
        self.held = None;
    }

    /// Was this side's data acknowledged late, with nothing said since?
    #[inline]
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// How long a delayed acknowledgment kept the new data that passes now. `near_ns`: the peer's packet passes the
    /// capture point → this side's answer does.
    #[inline]
    pub fn sent_new(&mut self, time_ns: i64, near_ns: Option<i64>) -> Option<Signal> {
        self.last_sent_ns = Some(time_ns);
        self.is_answered = false;
        let held = self.held.take()?;
        let prompt_ns = near_ns.unwrap_or(0).max(0) + PROMPT_NS;
        let is_prompt = (0..=prompt_ns).contains(&(time_ns - held.until_ns));
        is_prompt.then_some(Signal { kind: Kind::Stalled, ns: held.waited_ns })
    }

    /// How long this side had to wait for acknowledgments before the new data that pass now: its window was full. It
    /// goes on a round trip after what filled it, so such a silence is no longer than one, and hardly shorter. Where
    /// the peer sent data meanwhile it may have waited for that; who had filled no window did.
    #[inline]
    pub fn silent(&self, time_ns: i64, rtt_ns: Option<i64>) -> Option<Signal> {
        let answered = self.is_answered;
        let (before_ns, rtt_ns) = (self.last_sent_ns?, rtt_ns?);
        let ns = time_ns - before_ns;
        let waits = ns >= MIN_SILENCE_NS.max(rtt_ns / 2) && ns <= rtt_ns + rtt_ns / 2;
        let may = waits && (!answered || self.segments >= INITIAL_WINDOW);
        may.then_some(Signal { kind: Kind::Silent { answered }, ns })
    }

    /// How long the new data that pass now were kept back though they were ready, as the segment before them was full,
    /// and though no acknowledgment can have been waited for, as none of this flight's can have come: by a sender that
    /// paces.
    #[inline]
    pub fn paced(&self, time_ns: i64, rtt_ns: Option<i64>) -> Option<Signal> {
        let (before_ns, rtt_ns) = (self.last_sent_ns.filter(|_| self.was_full)?, rtt_ns?);
        let (since_ns, ns) = (time_ns.saturating_sub(self.flight_ns), time_ns - before_ns);
        let unheard = since_ns.saturating_mul(10) <= rtt_ns.saturating_mul(UNHEARD_TENTHS) && !self.is_answered;
        (unheard && ns >= MIN_PACED_NS).then_some(Signal { kind: Kind::Paced, ns })
    }

    /// New data pass, in full segments or not. They begin a flight where the peer spoke before, and all was
    /// acknowledged.
    #[inline]
    pub fn flies(&mut self, time_ns: i64, is_full: bool) {
        self.was_full = is_full;
        self.segments = self.segments.saturating_add(1);
        if self.last_sent_ns.is_none() || self.is_answered {
            let begins = self.last_sent_ns.is_none() || self.is_heard;
            self.flight_ns = if begins { time_ns } else { LONG_AGO_NS };
            self.segments = if begins { 1 } else { self.segments };
        }
    }

    /// How long this side was silent before it sent again, where that was a time-out.
    pub fn sent_again(&mut self, time_ns: i64) -> Option<i64> {
        let before_ns = self.last_sent_ns.replace(time_ns)?;
        Some(time_ns - before_ns).filter(|&silent_ns| silent_ns >= TIMEOUT_NS)
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
