//! What waited for the network, how often and for how long: the figures that a sentence about its cost consists of.

use super::attribute::Sum;
use super::recorded::Phases;

/// The waits whose time is known: captured whole, on connections with a baseline.
#[derive(Default)]
pub struct Timed {
    pub round_trips: u64,
    pub handshakes: u64,
    pub greetings: u64,
    pub hang_ups: u64,
    /// One after the other; as the runtime has them, since some may run side by side; and that at the two ends of the
    /// baselines' ranges.
    pub ns: [Sum; 4],
    /// The least and the largest baseline among them.
    pub baselines_ns: Option<[f64; 2]>,
}

impl Timed {
    /// So many waits, in an interval in which the client `waited` so long; of which `hidden` passed before the capture saw
    /// anything of it, and `network` is in the runtime. False where the RTT is not known.
    pub fn add(&mut self, phases: &Phases, phase: u32, trips: f64, [hidden, waited]: [i64; 2], network: f64) -> bool {
        let [baseline, low, high] =
            [&phases.baseline_ns, &phases.low_ns, &phases.high_ns].map(|rtt_ns| rtt_ns[phase as usize]);
        if trips <= 0.0 || !phases.is_known(phase) {
            return false;
        }
        let at = |rtt_ns: f64| (trips * rtt_ns - hidden as f64).max(0.0).min(waited as f64);
        let alone = at(baseline);
        let part = if alone > 0.0 { network / alone } else { 1.0 };
        let all = [alone, network, at(low).min(alone) * part, at(high).max(alone) * part];
        self.ns.iter_mut().zip(all).for_each(|(sum, ns)| sum.add(ns));
        let [least, most] = self.baselines_ns.unwrap_or([baseline; 2]);
        self.baselines_ns = Some([least.min(baseline), most.max(baseline)]);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(rtt_ns: f64) -> Phases {
        let all = || vec![rtt_ns];
        Phases { baseline_ns: all(), low_ns: all(), high_ns: all(), near_share: vec![0.0], ..Phases::default() }
    }

    #[test]
    fn waits_of_an_rtt_that_is_known_to_be_zero_count_and_of_an_unknown_one_do_not() {
        let counted = |rtt_ns: f64| {
            let mut timed = Timed::default();
            (timed.add(&phases(rtt_ns).known(0.0), 0, 1.0, [0, 50], 0.0), timed.baselines_ns)
        };
        assert_eq!(counted(0.0), (true, Some([0.0; 2])));
        assert_eq!(counted(f64::NAN), (false, None));
    }
}
