//! Which part of a job is different elsewhere: some of its servers, or how fast the hosts are.

use super::step::{Starts, Step};

/// What of a job goes its own way, whatever RTT is asked for.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Of each phase: the RTT it has there, ns, beside what is asked for; NaN where it stays as it was.
    pub rtts_ns: Vec<f64>,
    /// How many of the asked RTTs come to that: none where it has its own, one where it has the asked one, more where
    /// each of its round trips takes several further on.
    pub asked: Vec<f64>,
    /// Which part of their own time client and server take.
    pub client: f64,
    pub service: f64,
    /// A longer pause of the client is think time, ns: that stays.
    pub think_ns: f64,
}

impl Scope {
    /// The RTT of a phase where `asked` is asked for; NaN stands for the RTTs as they were.
    pub fn rtt(&self, phase: usize, asked: f64) -> f64 {
        if asked.is_nan() { asked } else { self.rtts_ns[phase] + self.asked[phase] * asked }
    }

    /// What a step takes on these hosts; timers and what lies between a connection's first packet and the recording's
    /// beginning are not theirs. `rtt` is the phase's baseline.
    pub fn of_step(&self, mut step: Step, rtt: f64) -> Step {
        let stall = step.stall_within_service(rtt);
        if step.service > stall {
            step.service = stall + (step.service - stall) * self.service;
        }
        let waits_for_client = matches!(step.starts, Starts::After | Starts::AfterOther);
        if waits_for_client && step.gap > 0.0 && step.gap <= self.think_ns {
            let stall = step.unstall_before(true, rtt);
            step.gap = stall + step.gap * self.client;
        }
        step
    }
}
