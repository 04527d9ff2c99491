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

/// The acknowledgments of one half, column by column.
pub struct Acks<'a> {
    pub connection: &'a [i32],
    pub rtt_ns: &'a [i64],
    pub alone: &'a [bool],
    pub quiet: &'a [bool],
}

/// What else is known of where they come from.
pub struct Beside<'a> {
    /// The path of each connection, and whether its handshake or a response was measured.
    pub path: &'a [i64],
    pub is_shown: &'a [bool],
    /// The least handshake of each path, and the least response.
    pub handshake_ns: &'a [i64],
    pub response_ns: &'a [i64],
    /// What is so much later than the fastest of its path was delayed.
    pub delayed_ns: i64,
    /// Fewer of a connection that is not shown are what is left of one.
    pub several: u32,
}

pub const CLEAN: u8 = 1;
pub const LATE: u8 = 2;

impl Acks<'_> {
    /// Which are clean, and which may have been delayed; 0 for those behind many segments on a path that has quiet ones.
    ///
    /// One segment alone may be acknowledged late, and nothing in a late ACK says so: where neither a handshake nor an ACK
    /// of several segments was about as late, it may have been.
    pub fn told_apart(&self, beside: &Beside) -> Vec<u8> {
        let rows = || self.connection.iter().enumerate().map(|(row, &connection)| (row, connection as usize));
        let path = |connection: usize| beside.path[connection] as usize;
        let mut has_quiet = vec![false; beside.response_ns.len()];
        rows().for_each(|(row, connection)| has_quiet[path(connection)] |= self.quiet[row]);
        let counts = |row: usize, path: usize| self.quiet[row] || !has_quiet[path];

        let (mut least, mut confirmed) = (beside.response_ns.to_vec(), beside.handshake_ns.to_vec());
        let mut of_connection = vec![0_u32; beside.path.len()];
        for (row, connection) in rows().filter(|&(row, connection)| counts(row, path(connection))) {
            let (path, rtt_ns) = (path(connection), self.rtt_ns[row]);
            of_connection[connection] += 1;
            let least = if self.alone[row] { &mut least[path] } else { &mut confirmed[path] };
            *least = rtt_ns.min(*least);
        }
        let left_over = |connection: usize| !beside.is_shown[connection] && of_connection[connection] < beside.several;
        let told = |(row, connection): (usize, usize)| {
            let (path, rtt_ns) = (path(connection), self.rtt_ns[row]);
            let is_prompt = rtt_ns < least[path].min(confirmed[path]).saturating_add(beside.delayed_ns);
            let slow = self.alone[row] && rtt_ns >= beside.delayed_ns;
            let unsure = slow && confirmed[path] > rtt_ns.saturating_add(beside.delayed_ns) || left_over(connection);
            match counts(row, path) {
                false => 0,
                true if is_prompt && !unsure => CLEAN,
                true => LATE,
            }
        };
        rows().map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_acknowledgments_bound_and_those_behind_many_segments_do_not_count() {
        let acks = Acks {
            connection: &[0, 0, 0, 0, 1, 1, 2],
            rtt_ns: &[5, 30, 5, 7, 5, 50, 5],
            alone: &[true, true, false, true, true, true, true],
            quiet: &[true, true, true, false, false, false, false],
        };
        let beside = Beside {
            path: &[0, 1, 1],
            is_shown: &[false, true, false],
            handshake_ns: &[1_000, 1_000],
            response_ns: &[1_000, 1_000],
            delayed_ns: 20,
            several: 3,
        };
        assert_eq!(acks.told_apart(&beside), [CLEAN, LATE, CLEAN, 0, CLEAN, LATE, LATE]);
        let slow = Beside { delayed_ns: 4, handshake_ns: &[1_000, 8], ..beside };
        assert_eq!(acks.told_apart(&slow)[4..], [CLEAN, LATE, LATE]);
        assert_eq!(acks.told_apart(&Beside { handshake_ns: &[1_000, 1_000], ..slow })[4..], [LATE, LATE, LATE]);
    }

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
