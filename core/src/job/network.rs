//! The network that a job is replayed on.

use super::step::Step;
use super::step_body::{GOODBYE, HANDSHAKE, UNSEEN_LOGIN};

/// An RTT that is asked for, and what is added to it, ns; NaN stands for the RTTs as they were.
pub type Asked = [f64; 2];

/// The network that a job is replayed on, but for its RTT.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// The bottleneck in bits a second; infinite for none.
    pub bandwidth: f64,
    /// The part of the packets that is lost.
    pub loss: f64,
    /// How many segments an acknowledged one allows in slow start.
    pub growth: f64,
    /// The largest window in bytes.
    pub window_bytes: f64,
    /// What a receiver with a small buffer takes at once ÷ what it usually does.
    pub receive_window_scale: f64,
    /// What every receiver takes at once, in bytes; infinite for what each took.
    pub receiver_bytes: f64,
    /// The part of a message that is left when it is compressed, and what each byte of it costs, ns.
    pub compressed: f64,
    pub compressing_ns: f64,
    /// The part of the time in which a sender waited for acknowledgments that its application needed all the same.
    pub overlapped_work: f64,
    /// A lost packet is sent again so long after the RTT.
    pub timeout_ns: f64,
    /// Pauses make senders start slowly again.
    pub restarts: bool,
    /// Who is late when a clock is due waits until it is due again.
    pub skips_missed_ticks: bool,
    /// Senders pace large messages where the capture cannot show it.
    pub paces: bool,
    /// The baseline really was at the high end of its range (1), at the low end (-1), or as measured (0).
    pub baseline: i8,
}

/// A sender that hears nothing of the end of a flight sends it again after so many round trips (RFC 8985, section 7).
const PROBE_RTTS: f64 = 2.0;
/// How long a client waits for the answer to its SYN before it asks again (RFC 6298), ns.
const SYN_TIMEOUT_NS: f64 = 1e9;
/// IPv4 and TCP with timestamps, of every segment.
const HEADER_BYTES: f64 = 52.0;
/// Mathis et al. 1997: with loss p a window stays about 1.22 ÷ √p segments large.
const MATHIS_CONSTANT: f64 = 1.22;

impl Network {
    /// The same without loss and bottleneck.
    pub fn unlimited(self) -> Network {
        Network { bandwidth: f64::INFINITY, loss: 0.0, ..self }
    }

    /// A message that fits its window takes as long as it did.
    pub fn is_unlimited(&self) -> bool {
        self.loss <= 0.0 && !self.asks_for_bytes()
    }

    /// Every message takes time by its bytes, however few they are.
    pub fn asks_for_bytes(&self) -> bool {
        self.bandwidth.is_finite() || self.compressing_ns > 0.0
    }

    /// The bottleneck's time for a message of so many packets, which fills so many segments of so many bytes.
    pub fn message_ns(&self, packets: f64, filled: f64, bytes: f64) -> f64 {
        if self.bandwidth.is_infinite() || packets <= 0.0 {
            return 0.0;
        }
        (filled * self.compressed * bytes + self.left_of(packets) * HEADER_BYTES) * 8e9 / self.bandwidth
    }

    /// The bottleneck's time for a segment of so many bytes, ns.
    pub fn segment_ns(&self, bytes: f64) -> f64 {
        if self.bandwidth.is_finite() { (bytes + HEADER_BYTES) * 8e9 / self.bandwidth } else { 0.0 }
    }

    /// What receivers take at once is another than in the capture.
    pub fn sets_receivers(&self) -> bool {
        self.receiver_bytes.is_finite()
    }

    /// What is left of a message of so many segments.
    pub fn left_of(&self, segments: f64) -> f64 {
        segments.min((segments * self.compressed).max(1.0))
    }

    /// The largest window towards who took so much at once, in segments of so many bytes.
    pub fn largest_window(&self, taken: f64, bytes: f64) -> f64 {
        let taken = if self.sets_receivers() { self.receiver_bytes } else { taken };
        let lossy = if self.loss > 0.0 { MATHIS_CONSTANT / self.loss.sqrt() } else { f64::INFINITY };
        (self.window_bytes.min(taken * self.receive_window_scale) / bytes).min(lossy)
    }

    /// The mean RTT of a phase with these baselines; where its baseline was really higher, less of what was observed
    /// was service. NaN stands for the RTT that it had.
    pub fn rtt(&self, rtt_ns: f64, [low, measured, high]: [f64; 3]) -> f64 {
        let really = match self.baseline {
            _ if rtt_ns.is_nan() => return measured,
            0 => measured,
            1.. => high,
            _ => low,
        };
        (rtt_ns + measured - really).max(0.0)
    }

    /// What retransmissions add on average. A lost lone packet is missed by a timer, one of several by a probe.
    pub fn resent(&self, step: &Step, segments: [f64; 2], rtt: f64) -> f64 {
        if self.loss <= 0.0 || !step.answered {
            return 0.0;
        }
        let hit = |packets: f64| 1.0 - (1.0 - self.loss).powf(packets);
        match step.row {
            HANDSHAKE => return step.trips * hit(2.0) * SYN_TIMEOUT_NS,
            GOODBYE | UNSEEN_LOGIN => return step.trips * hit(2.0) * (self.timeout_ns + rtt),
            _ => {}
        }
        let cost =
            |segments: f64| hit(segments) * if segments > 1.0 { PROBE_RTTS * rtt } else { self.timeout_ns + rtt };
        segments.into_iter().map(|segments| cost(self.left_of(segments))).sum()
    }
}
