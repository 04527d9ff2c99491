//! RTT samples by the half of the path that they measure: the acknowledgments of what one side sent.

use crate::side::Side;
use crate::stream::RttSample;

/// Those of one half, on connections that count.
#[derive(Debug, Default, PartialEq)]
pub struct Half {
    pub connection: Vec<i32>,
    /// When the acknowledgment passed, since the recording began.
    pub time_ns: Vec<i64>,
    pub rtt_ns: Vec<i64>,
    /// Of one segment.
    pub alone: Vec<bool>,
    /// Few segments were in flight.
    pub quiet: Vec<bool>,
}

/// What is asked for.
pub struct Asked<'a> {
    /// The number of the connection of each stream; -1 of those that do not count.
    pub connection_of: &'a [i64],
    pub start_ns: i64,
    /// More segments in flight are not few.
    pub few: i64,
    /// Which of the far half's, and of the near one's, are wanted, if not all.
    pub wanted: Option<[&'a [bool]; 2]>,
}

/// The far half and the near one, and how many of each passed.
#[derive(Default)]
pub struct Halves {
    pub found: [Half; 2],
    passed: [usize; 2],
}

impl Halves {
    /// The next sample of a stream, which that side acknowledged.
    pub fn add(&mut self, stream: u32, side: Side, sample: &RttSample, asked: &Asked) {
        let connection = asked.connection_of.get(stream as usize);
        let Some(&connection) = connection.filter(|&&connection| connection >= 0) else { return };
        let half = usize::from(side == Side::Server);
        let passed = self.passed[half];
        self.passed[half] += 1;
        if asked.wanted.is_some_and(|wanted| wanted[half].get(passed) != Some(&true)) {
            return;
        }
        let found = &mut self.found[half];
        found.connection.push(connection as i32);
        found.time_ns.push(sample.time_ns.wrapping_sub(asked.start_ns));
        found.rtt_ns.push(sample.rtt_ns);
        found.alone.push(sample.segments == 1);
        found.quiet.push(i64::from(sample.in_flight) <= asked.few);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_half_has_the_wanted_samples_of_connections_that_count() {
        let sample = |rtt_ns, segments, in_flight| RttSample { time_ns: 100 + rtt_ns, rtt_ns, segments, in_flight };
        let samples = [
            (5, Side::Client, sample(1, 1, 10)),
            (4, Side::Client, sample(2, 1, 1)),
            (5, Side::Server, sample(3, 2, 11)),
            (9, Side::Client, sample(4, 1, 1)),
            (5, Side::Client, sample(5, 2, 1)),
        ];
        let halves_of = |asked: &Asked| {
            let mut halves = Halves::default();
            samples.iter().for_each(|(stream, side, sample)| halves.add(*stream, *side, sample, asked));
            halves
        };
        let all = Asked { connection_of: &[-1, -1, -1, -1, -1, 7], start_ns: 100, few: 10, wanted: None };
        let [far, near] = &halves_of(&all).found;
        assert_eq!((&far.connection, &far.rtt_ns, &far.time_ns), (&vec![7, 7], &vec![1, 5], &vec![1, 5]));
        assert_eq!((&far.alone, &far.quiet), (&vec![true, false], &vec![true, true]));
        assert_eq!((&near.rtt_ns, &near.alone, &near.quiet), (&vec![3], &vec![false], &vec![false]));
        let halves = halves_of(&Asked { wanted: Some([&[false, true], &[false]]), ..all });
        assert_eq!((&halves.found[0].rtt_ns, halves.found[1].rtt_ns.len()), (&vec![5], 0));
    }
}
