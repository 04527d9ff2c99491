//! Whether handshakes or acknowledgments count, by the weight behind each, and why.

use super::agreement::{
    AGREEMENT_SHARE, CLEAR_NS, CLEAR_RATIO, HOST_NS, MEAN_EXCESS_SHARE, MIN_BOUNDS, MIN_CONSISTENT, agree,
};
use super::baseline::{Method, Reason};
use super::evidence::Evidence;
use super::level::MIN_UNIFORM;
use super::values::MIN_FOR_DENSITY;

/// The responses' say about a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Responses {
    pub count: u64,
    /// No measurement is much longer: several bounds are shorter.
    pub limit: f64,
    /// The faster quarter; NaN where there are few.
    pub faster: f64,
    pub steady: bool,
}

/// The measurements that count.
#[derive(Clone, Copy, Debug)]
pub struct Weighed {
    pub method: Method,
    pub reason: Reason,
    pub weight: f64,
    /// The measurement that weighs as much; NaN where there is none.
    pub rival: f64,
}

/// Handshakes or acknowledgments.
#[derive(Clone, Copy)]
struct Direct {
    value: f64,
    count: u64,
    /// Responses do not refute it.
    stands: bool,
}

/// Weigh `handshake` and `data`, the typical ones of a half.
///
/// A measurement of which several responses are faster is refuted, by many also one that is later than a quarter of them.
/// The heavier counts where the two are apart.
pub fn weigh(evidence: &Evidence, [handshake, data]: [f64; 2], responses: &Responses) -> Weighed {
    let handshake = responses.judge(handshake, evidence.handshakes.count());
    let data = responses.judge(data, evidence.acks.count());
    match [handshake.stands, data.stands] {
        [false, false] => Weighed::of(Method::Unknown, Reason::None, 0.0),
        [true, false] => {
            Weighed::of(Method::Handshake, handshake.why_by_handshake(data), responses.weight_of(handshake))
        }
        [false, true] => Weighed::of(
            Method::InStream,
            data.why_by_data(handshake, evidence.is_syn_resent),
            responses.weight_of(data),
        ),
        [true, true] if agree(handshake.value, data.value) => responses.weigh_both(handshake, data),
        [true, true] => responses.weigh_apart(handshake, data),
    }
}

impl Responses {
    fn judge(&self, value: f64, count: u64) -> Direct {
        let is_late = self.count >= MIN_UNIFORM && value > self.faster + (MEAN_EXCESS_SHARE * self.faster).max(HOST_NS);
        let is_refuted = is_late || value > self.limit && !self.agree(value);
        Direct { value, count, stands: count >= MIN_FOR_DENSITY || count > 0 && !is_refuted }
    }

    fn agree(&self, value: f64) -> bool {
        agree(value, self.limit) || agree(value, self.faster)
    }

    /// The weight that they add to what they agree with.
    fn weight(&self, value: f64) -> f64 {
        match self.count {
            _ if !self.agree(value) => 0.0,
            0 => 0.0,
            1..MIN_BOUNDS => 1.0,
            MIN_BOUNDS.. => 2.0,
        }
    }

    /// The weight of one beside which nothing stands.
    fn weight_of(&self, direct: Direct) -> f64 {
        direct.weight() + self.weight(direct.value)
    }

    /// Handshakes and acknowledgments that agree: both count.
    fn weigh_both(&self, handshake: Direct, data: Direct) -> Weighed {
        let is_within = difference(handshake, data) <= AGREEMENT_SHARE * handshake.value.min(data.value);
        let of_responses = self.weight(handshake.value).max(self.weight(data.value));
        let reason = if is_within { Reason::Agree } else { Reason::Near };
        Weighed::of(Method::Both, reason, handshake.weight() + data.weight() + of_responses)
    }

    /// Handshakes and acknowledgments that are apart: the heavier count. Responses bear out the longer ones only where
    /// they tell them from the shorter ones.
    fn weigh_apart(&self, handshake: Direct, data: Direct) -> Weighed {
        let tells = self.steady || difference(handshake, data) > CLEAR_NS;
        let weight = |one: Direct, other: Direct| {
            one.weight() + if tells || one.value < other.value { self.weight(one.value) } else { 0.0 }
        };
        let [by_handshake, by_data] = [weight(handshake, data), weight(data, handshake)];
        let wins_even = data.value < handshake.value || data.count >= MIN_CONSISTENT;
        let (heavier, rival) = if by_data > by_handshake || wins_even && by_data == by_handshake {
            (Weighed::of(Method::InStream, data.why_by_data(handshake, false), by_data), handshake.value)
        } else {
            (Weighed::of(Method::Handshake, handshake.why_by_handshake(data), by_handshake), data.value)
        };
        let is_even = (by_handshake - by_data).abs() < 1.0;
        if is_even { Weighed { reason: Reason::Split, rival, ..heavier } } else { heavier }
    }
}

impl Direct {
    /// A measurement weighs 1, several 2.
    fn weight(self) -> f64 {
        (1 + self.count.min(MIN_CONSISTENT)) as f64 / 2.0
    }

    /// Why handshakes count, not `data`.
    fn why_by_handshake(self, data: Direct) -> Reason {
        if data.count == 0 {
            Reason::Alone
        } else if data.value < self.value {
            Reason::Middlebox
        } else {
            Reason::LateData
        }
    }

    /// Why acknowledgments count, not the `handshake`.
    fn why_by_data(self, handshake: Direct, is_syn_resent: bool) -> Reason {
        if handshake.count == 0 {
            return if is_syn_resent { Reason::Resent } else { Reason::Data };
        }
        let is_clear = self.value > CLEAR_RATIO * handshake.value && difference(handshake, self) > CLEAR_NS;
        if is_clear {
            Reason::SynAnswered
        } else if self.value > handshake.value {
            Reason::SlowData
        } else {
            Reason::SlowHandshake
        }
    }
}

impl Weighed {
    fn of(method: Method, reason: Reason, weight: f64) -> Weighed {
        Weighed { method, reason, weight, rival: f64::NAN }
    }
}

fn difference(one: Direct, other: Direct) -> f64 {
    (one.value - other.value).abs()
}
