//! In-stream round-trip times: data → the acknowledgment that covers it (RFC 6298 §3, Karn's rule).
//!
//! A pure ACK comes at once, so it measures. One that carries data waited for the application, so it only bounds: the
//! RTT is no longer. As it acknowledges the very bytes, it proves that, whatever the messages in them say.

use std::collections::VecDeque;

/// Segments in flight that are remembered per direction; older ones give no sample.
const IN_FLIGHT: usize = 1024;

/// What the acknowledgment of data says of the RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// It carried no data.
    Sample(RttSample),
    /// It did: the RTT is no longer than this.
    Bound(i64),
}

/// One clean measurement on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// When the acknowledgment passed.
    pub time_ns: i64,
    pub rtt_ns: i64,
    /// Data segments that the acknowledgment covered: one alone may have been delayed by its receiver.
    pub segments: u32,
    /// Segments that were under way when the newest of these was sent, itself included: behind many it had to queue.
    pub in_flight: u32,
}

/// The segments of one direction that still wait for their acknowledgment.
#[derive(Debug, Default)]
pub struct InFlight {
    segments: VecDeque<Sent>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    time_ns: i64,
    in_flight: u32,
}

impl InFlight {
    #[inline]
    pub fn sent(&mut self, end: u64, time_ns: i64) {
        if self.segments.len() == IN_FLIGHT {
            self.segments.pop_front();
        }
        let in_flight = self.segments.len() as u32 + 1;
        self.segments.push_back(Sent { end, time_ns, in_flight });
    }

    /// Keep no room for segments to come.
    pub fn shrink(&mut self) {
        self.segments.shrink_to_fit();
    }

    /// Bytes from `offset` on were sent again: their acknowledgment could belong to either copy.
    pub fn resent(&mut self, offset: u64) {
        self.segments.retain(|sent| sent.end <= offset);
    }

    /// The other side acknowledged everything before `offset`; `pure`: by a packet without data.
    #[inline]
    pub fn acknowledged(&mut self, offset: u64, time_ns: i64, pure: bool) -> Option<Acknowledged> {
        let mut newest = None;
        let mut segments = 0;
        while let Some(&sent) = self.segments.front() {
            if sent.end > offset {
                break;
            }
            newest = Some(sent);
            segments += 1;
            self.segments.pop_front();
        }
        let Sent { end, time_ns: sent_ns, in_flight } = newest?;
        let rtt_ns = time_ns - sent_ns;
        (end == offset && rtt_ns >= 0).then_some(match pure {
            true => Acknowledged::Sample(RttSample { time_ns, rtt_ns, segments, in_flight }),
            false => Acknowledged::Bound(rtt_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(acknowledged: Option<Acknowledged>) -> RttSample {
        match acknowledged {
            Some(Acknowledged::Sample(sample)) => sample,
            other => panic!("{other:?} is no sample"),
        }
    }

    #[test]
    fn a_pure_acknowledgment_gives_a_sample() {
        let mut flight = InFlight::default();
        flight.sent(100, 1_000);
        let sample = sample(flight.acknowledged(100, 5_000, true));
        assert_eq!((sample.rtt_ns, sample.segments), (4_000, 1));
    }

    #[test]
    fn an_answer_that_carries_the_acknowledgment_is_a_bound_only() {
        let mut flight = InFlight::default();
        flight.sent(100, 1_000);
        assert_eq!(flight.acknowledged(100, 5_000, false), Some(Acknowledged::Bound(4_000)));
        assert_eq!(flight.acknowledged(100, 6_000, true), None);
    }

    #[test]
    fn what_was_sent_twice_gives_none() {
        let mut flight = InFlight::default();
        flight.sent(100, 1_000);
        flight.sent(200, 1_500);
        flight.resent(100);
        assert_eq!(flight.acknowledged(200, 9_000, true), None);
    }

    #[test]
    fn one_acknowledgment_of_two_segments_is_timed_from_the_newer() {
        let mut flight = InFlight::default();
        flight.sent(100, 1_000);
        flight.sent(200, 1_500);
        let sample = sample(flight.acknowledged(200, 2_000, true));
        assert_eq!((sample.rtt_ns, sample.segments), (500, 2));
    }

    #[test]
    fn a_sample_tells_how_many_segments_were_under_way() {
        let mut flight = InFlight::default();
        flight.sent(100, 1_000);
        flight.sent(200, 1_500);
        assert_eq!(sample(flight.acknowledged(100, 2_000, true)).in_flight, 1);
        flight.sent(300, 2_500);
        assert_eq!(sample(flight.acknowledged(300, 3_000, true)).in_flight, 2);
    }
}
