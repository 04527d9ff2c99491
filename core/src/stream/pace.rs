//! The silences of one side that end with a retransmission (a time-out) or with a late acknowledgment (Nagle's algorithm
//! against the peer's delayed ACK, RFC 1122 §4.2.3.2 and §4.2.3.4).

use super::rtt::RttSample;

/// The shortest retransmission time-out in use (Linux), less what clocks and timers are off.
pub const TIMEOUT_NS: i64 = 190_000_000;
/// A delayed acknowledgment comes after 40 ms (Linux) to 500 ms (the most that RFC 1122 allows); less the same.
const DELAYED_NS: std::ops::RangeInclusive<i64> = 30_000_000..=510_000_000;
/// A shorter silence may be the hosts' own.
const LEAST_SILENCE_NS: i64 = 1_000_000;
/// What a host takes to send what it held back, once it may.
const PROMPT_NS: i64 = 1_000_000;

/// When one side sent, and what it waited for.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    last_sent_ns: Option<i64>,
    /// The peer has sent data since.
    is_answered: bool,
    least_rtt_ns: i64,
    held: Option<Held>,
}

/// All that was sent has been acknowledged, late.
#[derive(Clone, Copy, Debug)]
struct Held {
    until_ns: i64,
    waited_ns: i64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { last_sent_ns: None, is_answered: false, least_rtt_ns: i64::MAX, held: None }
    }
}

impl Pace {
    /// The peer has acknowledged everything with a packet of its own. `far_ns`: capture point → peer → capture point.
    pub fn acknowledged(&mut self, sample: RttSample, far_ns: Option<i64>) {
        let usual_ns = self.least_rtt_ns.min(far_ns.unwrap_or(i64::MAX));
        self.least_rtt_ns = self.least_rtt_ns.min(sample.rtt_ns);
        let waited_ns = sample.rtt_ns.saturating_sub(usual_ns);
        let late = DELAYED_NS.contains(&waited_ns) && sample.segments == 1;
        self.held = late.then_some(Held { until_ns: sample.time_ns, waited_ns });
    }

    /// The peer sent data: what this side sends now, it sends for another reason.
    #[inline]
    pub fn peer_sent(&mut self) {
        self.is_answered = true;
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
    pub fn sent_new(&mut self, time_ns: i64, near_ns: Option<i64>) -> Option<i64> {
        self.last_sent_ns = Some(time_ns);
        self.is_answered = false;
        let held = self.held.take()?;
        let prompt_ns = near_ns.unwrap_or(0).max(0) + PROMPT_NS;
        (0..=prompt_ns).contains(&(time_ns - held.until_ns)).then_some(held.waited_ns)
    }

    /// How long this side had to wait for acknowledgments before the new data that pass now: its window was full. It
    /// goes on a round trip after what filled it, so such a silence is no longer than one, and hardly shorter.
    #[inline]
    pub fn silent_ns(&self, time_ns: i64, rtt_ns: Option<i64>) -> i64 {
        let (Some(before_ns), Some(rtt_ns), false) = (self.last_sent_ns, rtt_ns, self.is_answered) else { return 0 };
        let silent_ns = time_ns - before_ns;
        if silent_ns >= LEAST_SILENCE_NS.max(rtt_ns / 2) && silent_ns <= rtt_ns + rtt_ns / 2 { silent_ns } else { 0 }
    }

    /// How long this side was silent before it sent again, where that was a time-out.
    pub fn sent_again(&mut self, time_ns: i64) -> Option<i64> {
        let before_ns = self.last_sent_ns.replace(time_ns)?;
        Some(time_ns - before_ns).filter(|&silent_ns| silent_ns >= TIMEOUT_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn late(rtt_ms: i64) -> RttSample {
        RttSample { time_ns: 100 * MS, rtt_ns: rtt_ms * MS, segments: 1, in_flight: 1 }
    }

    fn stalled_ms(rtt_ms: i64, far_ms: i64, then_ms: i64) -> Option<i64> {
        let mut pace = Pace::default();
        pace.acknowledged(late(rtt_ms), Some(far_ms * MS));
        pace.sent_new((100 + then_ms) * MS, None).map(|ns| ns / MS)
    }

    #[test]
    fn data_that_waited_for_a_delayed_acknowledgment_was_stalled() {
        assert_eq!(stalled_ms(41, 1, 0), Some(40));
    }

    #[test]
    fn a_long_way_is_no_delay() {
        assert_eq!(stalled_ms(51, 50, 0), None);
    }

    #[test]
    fn data_that_comes_later_did_not_wait_for_the_acknowledgment() {
        assert_eq!(stalled_ms(41, 1, 9), None);
    }

    #[test]
    fn an_answer_of_the_peer_ends_the_wait() {
        let mut pace = Pace::default();
        pace.acknowledged(late(41), Some(MS));
        pace.peer_sent();
        assert_eq!(pace.sent_new(100 * MS, None), None);
    }

    #[test]
    fn a_silence_of_about_a_round_trip_waited_for_acknowledgments() {
        let mut pace = Pace::default();
        assert_eq!(pace.silent_ns(0, Some(10 * MS)), 0);
        pace.sent_new(0, None);
        let after = |pace: &Pace, ms: i64| pace.silent_ns(ms * MS, Some(10 * MS)) / MS;
        assert_eq!([4, 5, 9, 15, 16].map(|ms| after(&pace, ms)), [0, 5, 9, 15, 0]);
        assert_eq!(pace.silent_ns(9 * MS, None), 0);
        pace.peer_sent();
        assert_eq!(after(&pace, 9), 0);
    }

    #[test]
    fn sending_again_after_a_long_silence_is_a_timeout() {
        let mut pace = Pace::default();
        pace.sent_new(0, None);
        assert_eq!(pace.sent_again(20 * MS), None);
        assert_eq!(pace.sent_again(220 * MS), Some(200 * MS));
    }
}
