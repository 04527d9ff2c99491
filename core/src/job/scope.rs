//! Which part of a job is different elsewhere: some of its servers, or how fast the hosts are.

use super::turn::{Starts, Turn};

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

    /// What a turn takes on these hosts; timers and what lies between a connection's first packet and the recording's
    /// beginning are not theirs. `rtt` is the phase's baseline.
    pub fn of_turn(&self, mut turn: Turn, rtt: f64) -> Turn {
        let stall = turn.stall_within_service(rtt);
        if turn.service > stall {
            turn.service = stall + (turn.service - stall) * self.service;
        }
        let waits_for_client = matches!(turn.starts, Starts::After | Starts::AfterOther);
        if waits_for_client && turn.gap > 0.0 && turn.gap <= self.think_ns {
            let stall = turn.unstall_before(true, rtt);
            turn.gap = stall + turn.gap * self.client;
        }
        turn
    }
}
