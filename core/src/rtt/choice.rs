//! The RTT of one half of a path, from weighed evidence: what most of it supports, and how sure that is.
//!
//! Handshakes and acknowledgments name an RTT; responses and answers bound it from above, and bear out a measurement that
//! they agree with. No single packet decides: a bound takes several, and one that contradicts all else is an outlier.

pub use super::agreement::{
    AGREEMENT_SHARE, CLEAR_NS, FLOOR_QUANTILE, HANDSHAKE_NS, HOST_NS, MEAN_EXCESS_SHARE, STRONG_WEIGHT,
};
use super::agreement::{CLEAR_RATIO, FASTER_QUANTILE, MIN_BOUNDS, MIN_CONSISTENT, agree, of_several};
use super::baseline::{Method, Reason};
use super::evidence::Evidence;
use super::level::Level;
pub use super::level::{MIN_UNIFORM, UNIFORM_SPREAD, is_no_work};
use super::values::{MAX_TICK_SHARE, MIN_FOR_DENSITY, NO_STATEMENT, Values};
use super::varying::{Varying, varying};
use super::weighing::{Responses, Weighed, weigh};

/// At least this share of an RTT is network, however short it is.
pub const MIN_NETWORK_SHARE: f64 = 0.25;

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

/// Weigh the evidence of a half.
pub fn choose(evidence: &Evidence, tick_ns: i64) -> Chosen {
    let Evidence { handshakes, acks, responses, bounds, .. } = evidence;
    let typical = [handshakes, acks].map(|measured| measured.typical(tick_ns));
    let [handshake, data] = typical;
    let bound = of_several(bounds, 1);
    let level = Level::of(responses, &evidence.late, handshake.min(data), tick_ns);
    let varies = varying(handshakes, acks, responses, tick_ns);
    let shown = Responses {
        count: responses.count(),
        limit: if varies.is_some() { f64::INFINITY } else { limit(bounds, typical, tick_ns) },
        faster: if responses.count() < MIN_BOUNDS { f64::NAN } else { responses.quantile(FASTER_QUANTILE) },
        steady: level.is_uniform && level.ns - bound <= (UNIFORM_SPREAD * bound).max(HOST_NS),
    };
    let Weighed { method, reason, weight, rival } = weigh(evidence, typical, &shown);
    let is_confirmed = reason == Reason::Alone && shown.faster <= CLEAR_RATIO * handshake;
    let pool = match method {
        Method::Both => Values::joined([handshakes, acks]),
        Method::Handshake => handshakes.clone(),
        Method::InStream => acks.clone(),
        _ => Values::default(),
    };
    let measured = pool.typical(tick_ns);
    let are_few = pool.count() < MIN_FOR_DENSITY && varies.is_none();
    let value = if are_few { lowered(measured, evidence, &shown) } else { measured };
    let chosen = Chosen {
        value,
        method,
        reason: if is_confirmed { Reason::Confirmed } else { reason },
        measured: if measured.is_nan() { handshake.min(data) } else { measured },
        rival,
        weight,
        samples: pool.count(),
        direct: handshakes.count() + acks.count(),
        pooled: pool.count(),
        tenth: pool.quantile(0.1),
        middle: pool.quantile(0.5),
        upper: pool.quantile(0.75),
        in_stream: [acks.quantile(0.0), acks.quantile(0.5), acks.mean()],
        responses: responses.count(),
        quickest: responses.quantile(0.0),
        floor: responses.quantile(FLOOR_QUANTILE),
        faster: shown.faster,
        bound,
        fastest: evidence.answers.quantile(0.0),
        steady: shown.steady,
        deficit: 0.0,
        work: f64::NAN,
        varying: None,
    };
    let chosen = chosen.by_responses(responses, tick_ns).split(&level).by_variation(varies, typical);
    Chosen { deficit: deficit(chosen.value, responses), ..chosen }
}

/// Choose between measurements of one path that no capture shows: `bounds` are those of anything that was answered.
pub fn of_measurements(handshakes: &[i64], acks: &[i64], bounds: &[i64], tick_ns: i64) -> Chosen {
    let of = |measured: &[i64]| Values::of(measured.iter().copied());
    let evidence = Evidence {
        handshakes: of(handshakes),
        acks: of(acks),
        responses: Values::of_statements(bounds.iter().map(|&ns| (ns, NO_STATEMENT))),
        answers: Values::of(bounds.iter().copied().min()),
        bounds: of(bounds),
        is_syn_resent: handshakes.is_empty(),
        ..Evidence::default()
    };
    choose(&evidence, tick_ns)
}

/// Take off what was work of the hosts where only responses are known of a period.
///
/// `other` is a period of the same path of which more is known, and so how much of its responses was work.
pub fn less_work(chosen: Chosen, other: &Chosen) -> Chosen {
    let work = other.floor - other.value;
    let fits = work >= 0.0 && work < (1.0 - MIN_NETWORK_SHARE) * chosen.floor;
    if !fits || !matches!(chosen.reason, Reason::Floor | Reason::Steady) {
        return chosen;
    }
    let value = chosen.floor - work;
    Chosen { value, measured: value, reason: Reason::Changed, work, ..chosen }
}

impl Chosen {
    /// The RTT measured to the host that answers: the shorter of two readings.
    pub fn least(&self) -> f64 {
        self.value.min(self.rival)
    }

    /// The least bound, or what was measured where that is less; of two measurements as heavy the longer one.
    pub fn most(&self) -> f64 {
        let measured = if self.reason == Reason::Split { self.value.max(self.rival) } else { self.least() };
        measured.min(self.bound)
    }

    /// No measurement supports the RTT.
    pub fn is_bound_only(&self) -> bool {
        let is_near = self.measured <= CLEAR_RATIO * self.value;
        self.method == Method::Floor && !is_near
    }

    /// Let responses decide if nothing else is known, or several were faster than all measurements.
    fn by_responses(self, responses: &Values, tick_ns: i64) -> Chosen {
        let is_late = self.value > self.faster + tick_ns as f64;
        let is_bounded = self.responses > 0 || !self.fastest.is_nan();
        if !is_late && (self.method != Method::Unknown || !is_bounded) {
            return self;
        }
        let bound = if is_coarse(tick_ns, self.bound) && self.responses > 0 {
            responses.typical(tick_ns).min(self.bound + tick_ns as f64)
        } else {
            self.bound
        };
        let (value, reason) = if self.steady {
            (bound, Reason::Steady)
        } else if self.direct > 0 {
            (bound, Reason::SlowDirect)
        } else {
            (bound.min(self.quickest).min(self.fastest), Reason::Floor)
        };
        let weight = if self.steady { STRONG_WEIGHT } else { 0.0 };
        Chosen { value, method: Method::Floor, reason, samples: self.responses, weight, ..self }
    }

    /// Measurements beside uniform responses that take clearly longer: nothing tells which is the path's.
    ///
    /// A host on the way answered (firewall, NAT, proxy), or the server takes its time for each. Where responses to several
    /// statements are alike, they count: no work is the same for each of them. Else acknowledgments bear a handshake out.
    fn split(self, level: &Level) -> Chosen {
        let are_several = level.kinds >= MIN_CONSISTENT;
        let is_borne_out = self.method != Method::Handshake || self.direct != self.pooled;
        let apart = if are_several { AGREEMENT_SHARE } else { 1.0 / CLEAR_RATIO } * self.value + CLEAR_NS;
        let is_apart = level.is_uniform && level.ns - self.value > apart;
        if !is_apart || self.method == Method::Floor {
            return self;
        }
        let reason = Reason::SplitSyn;
        match (are_several, is_borne_out) {
            (true, _) => Chosen {
                value: level.ns,
                measured: level.ns,
                rival: self.value,
                method: Method::Floor,
                samples: self.responses,
                reason,
                ..self
            },
            (false, false) => Chosen { rival: level.ns, reason, ..self },
            (false, true) => self,
        }
    }

    /// Let all measurements count if the RTT varies: fast responses and answers refute none of them.
    fn by_variation(self, varies: Option<Varying>, [handshake, data]: [f64; 2]) -> Chosen {
        let Some(Varying { value, range }) = varies else { return self };
        let method = if data.is_nan() {
            Method::Handshake
        } else if handshake.is_nan() {
            Method::InStream
        } else {
            Method::Both
        };
        Chosen {
            value,
            measured: value,
            rival: f64::NAN,
            method,
            reason: Reason::Varies,
            samples: self.direct,
            weight: STRONG_WEIGHT,
            varying: Some(range),
            ..self
        }
    }
}

/// Several bounds are shorter than what is longer than this: of two measurements that agree, several more.
fn limit(bounds: &Values, [handshake, data]: [f64; 2], tick_ns: i64) -> f64 {
    let rounding = if is_coarse(tick_ns, of_several(bounds, 1)) { tick_ns as f64 } else { 0.0 };
    of_several(bounds, if agree(handshake, data) { MIN_CONSISTENT } else { 1 }) + rounding
}

/// Lower the typical one of few measurements: to the fastest answer, where they agree, and to what bounds it.
fn lowered(typical: f64, evidence: &Evidence, responses: &Responses) -> f64 {
    let (fastest, mut value) = (evidence.answers.quantile(0.0), typical);
    if agree(typical, fastest) {
        value = typical.min(fastest.max(typical - (MEAN_EXCESS_SHARE * typical).max(HOST_NS / 4.0)));
    }
    if value > responses.limit {
        let are_near = agree(value, responses.faster);
        value = if are_near {
            value.min(of_several(&evidence.bounds, MIN_BOUNDS))
        } else {
            of_several(&evidence.bounds, 1)
        };
    }
    value
}

/// Rounding hides a value of which the clock's tick is so large a share.
fn is_coarse(tick_ns: i64, value: f64) -> bool {
    tick_ns as f64 > MAX_TICK_SHARE * value
}

/// How much faster than the value the responses were, on the average over all of them: no service time is made 0 by
/// decree. What is missing there is too much in the RTT, and lowers its low end.
fn deficit(value: f64, responses: &Values) -> f64 {
    let missing = responses.all().iter().map(|each| (value - each.ns as f64).max(0.0) * f64::from(each.times));
    missing.sum::<f64>() / responses.count().max(1) as f64
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
