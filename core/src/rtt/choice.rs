//! The RTT of one half of a path, from weighed evidence: what most of it supports, and how sure that is.
//!
//! Handshakes and acknowledgments name an RTT; responses and answers bound it from above, and bear out a measurement that
//! they agree with. No single packet decides: a bound takes several, and one that contradicts all else is an outlier.

use super::baseline::{Method, Reason};

/// The RTT of a half, and the measurements behind it: ns, NaN where unknown.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    pub value: f64,
    pub method: Method,
    pub reason: Reason,
    /// The RTT before responses bounded it; NaN where nothing was measured.
    pub measured: f64,
    /// The RTT by other evidence of the same weight; NaN where there is none.
    pub rival: f64,
    /// The weight of the evidence: a measurement weighs 1, several of a kind 2, responses that bear them out up to 2.
    pub weight: f64,
    /// Measurements that the value rests on.
    pub samples: u64,
    /// Handshakes and acknowledgments there were.
    pub direct: u64,
    /// Measurements behind a direct value, and their spread: a tenth of them is no longer than the first of these.
    pub pooled: u64,
    pub tenth: f64,
    pub middle: f64,
    /// Three quarters are no longer than this.
    pub upper: f64,
    /// The least, the middle and the mean acknowledgment.
    pub in_stream: [f64; 3],
    /// How many there were.
    pub responses: u64,
    /// The fastest of them.
    pub quickest: f64,
    /// The response floor and the faster quarter of the responses; NaN where there are few.
    pub floor: f64,
    pub faster: f64,
    /// The bound that several responses or answers stay below; NaN where there are none.
    pub bound: f64,
    /// The fastest answer; NaN where there is none.
    pub fastest: f64,
    /// Its responses measure the RTT: they are many or of several statements, and the faster ones alike.
    pub steady: bool,
    /// By how much the responses were faster than the value, on the average over all of them.
    pub deficit: f64,
    /// The hosts' time at another time, which was subtracted from the fastest responses; else NaN.
    pub work: f64,
    /// The low and the high end of its RTT, where that varies.
    pub varying: Option<[f64; 2]>,
}

// STAND-IN, until rtt-choice is merged.
pub const AGREEMENT_SHARE: f64 = 0.10;
pub const CLEAR_NS: f64 = 1e6;
pub const STRONG_WEIGHT: f64 = 2.0;
pub const MIN_UNIFORM: u64 = 20;
pub const HOST_NS: f64 = 1e5;
pub const HANDSHAKE_NS: f64 = 2e5;
pub const MEAN_EXCESS_SHARE: f64 = 0.02;

impl Chosen {
    pub fn least(&self) -> f64 {
        self.value.min(self.rival)
    }

    pub fn most(&self) -> f64 {
        self.least().min(self.bound)
    }

    pub fn is_bound_only(&self) -> bool {
        !(self.method != Method::Floor || self.measured <= 2.0 * self.value)
    }

    pub fn range(&self, _tick_ns: i64) -> [f64; 2] {
        [self.value; 2]
    }
}

pub fn choose(_evidence: &super::evidence::Evidence, _tick_ns: i64) -> Chosen {
    todo!()
}

pub fn less_work(chosen: Chosen, _other: &Chosen) -> Chosen {
    chosen
}
