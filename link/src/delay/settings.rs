//! What a link is asked to do. All of it may change while it runs; what is in flight keeps the time it was given.

use std::num::NonZeroU64;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Each direction takes half of it.
    pub rtt: Duration,
    /// How far the RTT may stray, up or down; each direction by half of it, evenly distributed.
    pub jitter: Duration,
    /// The share of packets that is lost in each direction: 0 to 1.
    pub loss: f64,
    /// The bottleneck of each direction: a packet leaves it when the packets before have left, and then takes its delay.
    pub bits_per_second: Option<NonZeroU64>,
    /// What may wait at the bottleneck; a packet that finds more waiting there is dropped. Without it nothing is.
    pub queue_bytes: Option<u64>,
    /// Where the random numbers of losses and jitter begin: the same packets in the same order fare the same with the
    /// same seed. They begin again when it changes.
    pub seed: u64,
    /// How long before a packet is due its thread may stop sleeping and watch the clock: it does so as much earlier as
    /// it has woken up late recently.
    pub spin: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rtt: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: 0.0,
            bits_per_second: None,
            queue_bytes: None,
            seed: 0,
            spin: Duration::from_micros(250),
        }
    }
}
