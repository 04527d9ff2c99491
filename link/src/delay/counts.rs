//! What one direction of a link has done, as it stood when somebody asked.

use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that came in.
    pub received: u64,
    /// Packets that went out, and their bytes, IP's headers included.
    pub sent: u64,
    pub bytes: u64,
    /// Packets that the link lost, as it was asked to.
    pub lost: u64,
    /// Packets that found the bottleneck's queue full.
    pub queue_full: u64,
    /// Packets that the other device did not take: it was down.
    pub refused: u64,
    /// How much later than due the packets went out, all together, and the one that went out latest.
    pub late: Duration,
    pub latest: Duration,
    /// The most packets that were in flight at once.
    pub most_in_flight: u64,
}

impl Counts {
    /// How much later than due a packet went out.
    pub fn mean_late(&self) -> Duration {
        Duration::from_nanos((self.late.as_nanos() as u64).checked_div(self.sent + self.refused).unwrap_or(0))
    }
}
