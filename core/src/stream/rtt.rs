//! In-stream round-trip times: data → the acknowledgment that covers it (RFC 6298 §3, Karn's rule).
//!
//! A pure ACK comes at once, so it measures. One that carries data waited for the application, so it only bounds: the
//! RTT is no longer. As it acknowledges the very bytes, it proves that, whatever the messages in them say. One that echoes
//! a timestamp older than the data's (RFC 7323 §4.3) answers a copy that was sent before, and tells nothing of this one.

use std::collections::VecDeque;
use std::num::NonZeroU32;

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
    in_flight: u16,
    /// Its sender's clock.
    timestamp: Option<NonZeroU32>,
}

/// An acknowledgment of everything before an offset.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledging {
    pub offset: u64,
    pub time_ns: i64,
    /// The packet has no data.
    pub pure: bool,
    /// The timestamp that it echoes.
    pub echo: Option<u32>,
}

impl InFlight {
    #[inline]
    pub fn sent(&mut self, end: u64, time_ns: i64, timestamp: Option<u32>) {
        if self.segments.len() == IN_FLIGHT {
            self.segments.pop_front();
        }
        let in_flight = self.segments.len() as u16 + 1;
        self.segments.push_back(Sent { end, time_ns, in_flight, timestamp: timestamp.and_then(NonZeroU32::new) });
    }

    /// Keep no room for segments to come.
    pub fn shrink(&mut self) {
        self.segments.shrink_to_fit();
    }

    /// Bytes from `offset` on were sent again: their acknowledgment could belong to either copy.
    pub fn resent(&mut self, offset: u64) {
        self.segments.retain(|sent| sent.end <= offset);
    }

    /// The other side received more.
    #[inline]
    pub fn acknowledged(&mut self, by: Acknowledging) -> Option<Acknowledged> {
        let oldest = self.segments.front()?.timestamp;
        let mut newest = None;
        let mut segments = 0;
        while let Some(&sent) = self.segments.front() {
            if sent.end > by.offset {
                break;
            }
            newest = Some(sent);
            segments += 1;
            self.segments.pop_front();
        }
        let Sent { end, time_ns: sent_ns, in_flight, .. } = newest?;
        let rtt_ns = by.time_ns - sent_ns;
        // A delayed acknowledgment of several segments echoes the first one's.
        let of_a_copy = by.echo.zip(oldest).is_some_and(|(echo, sent)| (echo.wrapping_sub(sent.get()) as i32) < 0);
        (end == by.offset && rtt_ns >= 0 && !of_a_copy).then_some(match by.pure {
            true => {
                Acknowledged::Sample(RttSample { time_ns: by.time_ns, rtt_ns, segments, in_flight: in_flight.into() })
            }
            false => Acknowledged::Bound(rtt_ns),
        })
    }
}

#[cfg(test)]
#[path = "rtt_tests.rs"]
mod tests;
