//! STAND-IN until rtt-choice and rtt-evidence are there.
use super::evidence::Clean;
use super::values::Values;
use crate::stream::RttSample;

pub const AGREEMENT_SHARE: f64 = 0.10;
pub const FLOOR_QUANTILE: f64 = 0.05;
pub const HOST_NS: f64 = 100_000.0;
pub const UNIFORM_SPREAD: f64 = 0.05;
const CLEAR_NS: f64 = 1_000_000.0;

fn of_several(values: &Values, fewest: u64) -> f64 {
    let count = values.count();
    let few = count.div_ceil(2).min(3).max(fewest);
    let rank = ((FLOOR_QUANTILE * count as f64).ceil() as u64).max(few).wrapping_sub(1);
    values.nth(rank).map_or(f64::NAN, |ns| ns as f64)
}

pub fn is_no_work(responses: &Values, otherwise_ns: f64) -> bool {
    let level = of_several(responses, 1);
    let beyond = if level > otherwise_ns { level - otherwise_ns } else { f64::INFINITY };
    let slack = (0.05 * level).min(AGREEMENT_SHARE * beyond).max(HOST_NS);
    let fifth = of_several(responses, 5);
    let faster = responses.quantile(0.25).max(fifth);
    let alike = !fifth.is_nan() && faster - level <= slack;
    if !(alike && level - otherwise_ns > AGREEMENT_SHARE * otherwise_ns + CLEAR_NS) {
        return false;
    }
    let mut statements: Vec<u32> = responses.all().iter().map(|counted| counted.statement).collect();
    statements.sort_unstable();
    statements.dedup();
    let kinds = statements.into_iter().map(|statement| {
        let floor = of_several(&responses.filtered(|counted| counted.statement == statement), 1);
        let none = statement == u32::MAX;
        match floor >= level - slack && (none || floor <= level + slack) {
            true => 1 + u64::from(none),
            false => 0,
        }
    });
    kinds.sum::<u64>() >= 3
}

impl Clean {
    pub fn takes(&self, sample: &RttSample) -> bool {
        let ns = sample.rtt_ns;
        let is_unsure = sample.segments == 1 && ns >= 20_000_000 && self.confirmed_ns > ns + 20_000_000;
        (!self.needs_quiet || sample.in_flight <= 10) && ns < self.prompt_ns && !is_unsure && !self.is_left_over
    }
}
