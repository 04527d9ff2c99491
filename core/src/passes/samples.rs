//! RTT samples by the half of the path that they measure: the acknowledgments of what one side sent.

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

/// Samples, column by column.
pub struct Samples<'a> {
    pub stream: &'a [i64],
    /// The server acknowledged: the far half.
    pub by_server: &'a [i64],
    pub time_ns: &'a [i64],
    pub rtt_ns: &'a [i64],
    pub segments: &'a [i64],
    pub in_flight: &'a [i64],
}

/// The far half and the near one, and how many of each passed.
#[derive(Default)]
pub struct Halves {
    pub found: [Half; 2],
    passed: [usize; 2],
}

impl Halves {
    /// The next samples.
    pub fn add(&mut self, samples: &Samples, asked: &Asked) {
        for (place, &stream) in samples.stream.iter().enumerate() {
            let of_stream = usize::try_from(stream).ok().and_then(|stream| asked.connection_of.get(stream));
            let Some(&connection) = of_stream.filter(|&&connection| connection >= 0) else { continue };
            let half = usize::from(samples.by_server[place] != 1);
            let passed = self.passed[half];
            self.passed[half] += 1;
            if asked.wanted.is_some_and(|wanted| wanted[half].get(passed) != Some(&true)) {
                continue;
            }
            let found = &mut self.found[half];
            found.connection.push(connection as i32);
            found.time_ns.push(samples.time_ns[place].wrapping_sub(asked.start_ns));
            found.rtt_ns.push(samples.rtt_ns[place]);
            found.alone.push(samples.segments[place] == 1);
            found.quiet.push(samples.in_flight[place] <= asked.few);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_half_has_the_wanted_samples_of_connections_that_count() {
        let samples = Samples {
            stream: &[5, 4, 5, 9, 5],
            by_server: &[1, 1, 0, 1, 1],
            time_ns: &[101, 102, 103, 104, 105],
            rtt_ns: &[1, 2, 3, 4, 5],
            segments: &[1, 1, 2, 1, 2],
            in_flight: &[10, 1, 11, 1, 1],
        };
        let all = Asked { connection_of: &[-1, -1, -1, -1, -1, 7], start_ns: 100, few: 10, wanted: None };
        let mut halves = Halves::default();
        halves.add(&samples, &all);
        let [far, near] = &halves.found;
        assert_eq!((&far.connection, &far.rtt_ns, &far.time_ns), (&vec![7, 7], &vec![1, 5], &vec![1, 5]));
        assert_eq!((&far.alone, &far.quiet), (&vec![true, false], &vec![true, true]));
        assert_eq!((&near.rtt_ns, &near.alone, &near.quiet), (&vec![3], &vec![false], &vec![false]));
        let mut halves = Halves::default();
        halves.add(&samples, &Asked { wanted: Some([&[false, true], &[false]]), ..all });
        assert_eq!((&halves.found[0].rtt_ns, halves.found[1].rtt_ns.len()), (&vec![5], 0));
    }
}
