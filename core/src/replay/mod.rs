//! The job of a recording again, at another RTT: what the network took is computed anew, everything else stays.
//!
//! Each turn keeps its own gap, service time and stalls. Its round trips, the rounds of its transfers and who waits for
//! whom are replayed (docs/model.md C.4). What counts is the difference between two replays.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

mod changes;
mod columns;
mod lanes;
mod locks;
mod program;
mod run;
mod stretch;
mod transfer;
mod turn;

pub use changes::Changes;
use changes::Left;
use columns::columns;
pub use columns::{Cell, Source};
pub use lanes::Waiting;
use program::Program;
use run::{Bulk, FEW_SEGMENTS, Learned, Run, Side, Stretch, Walk};
use stretch::ABREAST;
use turn::{Body, GOODBYE, HANDSHAKE, Start, Turn, Turns};

/// A time that the capture does not tell.
pub const UNSEEN: i64 = i64::MIN;

columns! {
    /// What was captured, column by column. Times are ns since the recording began, as the client saw them.
    Job
    phases {
        /// A connection has a phase for each RTT that its path had, mostly one. The baseline RTT, and the ends of its
        /// range.
        baseline_ns: f64,
        low_ns: f64,
        high_ns: f64,
    }
    connections {
        /// The phase that it was opened in.
        opening: u32,
        /// The number of its client host.
        client: u32,
        /// SYN and SYN/ACK.
        opened_ns: i64,
        established_ns: i64,
        /// The server's FIN, where the client waited for it.
        closed_ns: i64,
        server_first: bool,
        /// The baseline's part between the client and where it was captured: times are uncertain by its jitter.
        near_ns: f64,
        segment_bytes: f64,
        /// The most that the client, and the server, take at once; infinite where that grows as needed.
        client_window_bytes: f64,
        server_window_bytes: f64,
    }
    exchanges {
        /// Ascending; exchanges are in the order of their requests.
        connection: u32,
        /// The phase of its connection.
        phase: u32,
        request_ns: i64,
        request_end_ns: i64,
        response_ns: i64,
        response_end_ns: i64,
        round_trips: u32,
        /// How long a small packet waited for a delayed ACK (Nagle), beside the round trip that it waited as well: before
        /// the request, and within request and response.
        stalled_before_ns: f64,
        stalled_within_ns: f64,
        /// Full segments; a message that shares a packet with the one before has a part of one.
        request_segments: f64,
        response_segments: f64,
        setup: bool,
        ends_transaction: bool,
        /// The client waits for it together with the request before it, or goes on and gets its answer with a later one
        /// (`exchange::Wait`).
        shared: bool,
        deferred: bool,
    }
}

impl Job<'_> {
    /// The columns fit together.
    pub fn check(&self) -> Result<(), &'static str> {
        let phases = self.baseline_ns.len();
        let fit = self.fits(phases, self.connections(), self.rows())
            && self.opening.iter().chain(self.phase.iter()).all(|&phase| (phase as usize) < phases)
            && self.connection.is_sorted()
            && self.connection.last().is_none_or(|&last| (last as usize) < self.connections())
            && self.segment_bytes.iter().all(|&bytes| bytes >= 1.0);
        if fit { Ok(()) } else { Err("the columns of a job do not fit together") }
    }

    fn connections(&self) -> usize {
        self.client.len()
    }

    fn rows(&self) -> usize {
        self.connection.len()
    }

    /// How long a packet waited for a delayed ACK before a row, and within it.
    fn stalls(&self, row: usize) -> [f64; 2] {
        [self.stalled_before_ns[row], self.stalled_within_ns[row]]
    }
}

/// What is still needed of a job when it is cut into turns.
#[derive(Debug)]
struct Connections {
    /// Of each phase.
    baseline_ns: Vec<f64>,
    low_ns: Vec<f64>,
    high_ns: Vec<f64>,
    segment_bytes: Vec<f64>,
    client_window_bytes: Vec<f64>,
    server_window_bytes: Vec<f64>,
    exchanges: usize,
}

impl Connections {
    fn of(job: &Job) -> Connections {
        Connections {
            baseline_ns: job.baseline_ns.to_vec(),
            low_ns: job.low_ns.to_vec(),
            high_ns: job.high_ns.to_vec(),
            segment_bytes: job.segment_bytes.to_vec(),
            client_window_bytes: job.client_window_bytes.to_vec(),
            server_window_bytes: job.server_window_bytes.to_vec(),
            exchanges: job.rows(),
        }
    }

    fn len(&self) -> usize {
        self.segment_bytes.len()
    }
}

/// The network that a job is replayed on, but for its RTT.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// On top of the RTT, ns.
    pub added_ns: f64,
    /// The bottleneck in bits a second; infinite for none.
    pub bandwidth: f64,
    /// The part of the packets that is lost.
    pub loss: f64,
    /// How many segments an acknowledged one allows in slow start.
    pub growth: f64,
    /// The largest window in bytes.
    pub window_bytes: f64,
    /// A lost packet is sent again so long after the RTT.
    pub timeout_ns: f64,
    /// Pauses make senders start slowly again.
    pub restarts: bool,
    /// The baseline really was at the high end of its range (1), at the low end (-1), or as measured (0).
    pub baseline: i8,
}

/// How often the client's and the server's window was halved in the pause before each of a turn's messages.
type Halvings = [u8; 2];

/// A job, ready to be replayed at any RTT.
#[derive(Clone)]
pub struct Replay {
    connections: Arc<Connections>,
    /// Of each row, how many its request and its response have.
    segments: Arc<[Vec<f64>; 2]>,
    turns: Arc<Turns>,
    /// Of each turn; all else of it is the same whoever waits for whom.
    starts: Arc<Vec<Start>>,
    lanes: usize,
    /// Who waits for which of the locks, ascending.
    waiters: Arc<Vec<(u32, u32)>>,
    /// Transfers that need more than a few segments, in the order of their turns.
    bulks: Arc<Vec<Bulk>>,
    /// The pauses of the capture.
    halvings: Arc<Vec<Halvings>>,
    /// The fixes that are made.
    left: Option<Arc<Left>>,
    program: Arc<Program>,
}

impl Replay {
    /// Cut the job into turns, find out who waits for whom and how fast the senders were.
    pub fn new(job: &Job, waiting: Waiting, network: &Network) -> Replay {
        let (turns, starts) = Turns::of(job, waiting);
        let mut waiters: Vec<(u32, u32)> = turns.locks.iter().map(|lock| lock.waiter).zip(0..).collect();
        waiters.sort_unstable();
        let mut replay = Replay {
            connections: Arc::new(Connections::of(job)),
            segments: Arc::new([job.request_segments.to_vec(), job.response_segments.to_vec()]),
            waiters: Arc::new(waiters),
            bulks: Arc::default(),
            halvings: Arc::new(vec![[0; 2]; turns.len()]),
            turns: Arc::new(turns),
            starts: Arc::default(),
            lanes: 0,
            left: None,
            program: Arc::default(),
        };
        replay.bulks = Arc::new(replay.find_bulks());
        replay.starting(starts, network)
    }

    /// The same `job` where its turns wait for each other in another way.
    pub fn waiting(&self, job: &Job, waiting: Waiting, network: &Network) -> Result<Replay, &'static str> {
        if job.rows() != self.connections.exchanges || job.connections() != self.connections.len() {
            return Err("another job");
        }
        Ok(self.clone().starting(Turns::otherwise(job, &self.starts, waiting), network))
    }

    /// The same where its turns start there.
    fn starting(self, starts: Vec<Start>, network: &Network) -> Replay {
        let lanes = starts.iter().map(|start| start.lane as usize + 1).max().unwrap_or(0);
        let mut replay = Replay { starts: Arc::new(starts), lanes, ..self };
        replay.program = Arc::new(Program::of(&replay));
        replay.learned(network)
    }

    /// The same where the senders of the capture are taken to have been like `network`'s: what was observed is replayed.
    pub fn learned(&self, network: &Network) -> Replay {
        let unlimited = Network { bandwidth: f64::INFINITY, loss: 0.0, ..*network };
        let unknown = |bulk: &Bulk| Bulk { production: 0.0, window: 0.0, ..*bulk };
        let learned =
            Learned { bulks: self.bulks.iter().map(unknown).collect(), halvings: vec![[0; 2]; self.turns.len()] };
        let mut runs = [Run::new(self, f64::NAN, Some(learned))];
        Walk::new(self, &unlimited).all(&mut runs);
        let [run] = runs;
        let Learned { bulks, mut halvings } = run.learned.unwrap_or_default();
        for &(number, times) in &self.program.halvings {
            halvings[number as usize] = times;
        }
        Replay { bulks: Arc::new(bulks), halvings: Arc::new(halvings), ..self.clone() }
    }

    /// The job with fixes made.
    pub fn changed(&self, changes: &Changes) -> Result<Replay, &'static str> {
        let left = Left::of(changes, &self.connections)?;
        let segments = [changes.request_segments.to_vec(), changes.response_segments.to_vec()];
        let mut replay = Replay { segments: Arc::new(segments), left: Some(Arc::new(left)), ..self.clone() };
        replay.program = Arc::new(Program::of(&replay));
        Ok(replay)
    }

    /// When the last turn is over at each RTT, in ns since the beginning; NaN stands for the RTTs as they were. The
    /// processors share the RTTs where most turns are walked; those of chains take all RTTs hardly longer than one.
    pub fn run(&self, rtts_ns: &[f64], network: &Network) -> Vec<f64> {
        let alone = 2 * self.program.in_chains() > self.turns.len();
        let processors = if alone { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
        let share = rtts_ns.len().div_ceil(processors).max(1);
        let walk = Walk::new(self, network);
        let run_together = |rtts_ns: &[f64]| {
            let mut runs: Vec<Run> = rtts_ns.iter().map(|&rtt_ns| Run::new(self, rtt_ns, None)).collect();
            walk.all(&mut runs);
            runs.into_iter().map(|run| run.latest)
        };
        let run_share = |share: &[f64]| share.chunks(ABREAST).flat_map(run_together).collect::<Vec<f64>>();
        thread::scope(|scope| {
            let (first, others) = rtts_ns.split_at(share.min(rtts_ns.len()));
            let others: Vec<_> = others.chunks(share).map(|share| scope.spawn(|| run_share(share))).collect();
            let mut over = run_share(first);
            for other in others {
                over.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            over
        })
    }

    /// A turn, with the fixes made.
    fn turn(&self, number: u32) -> Turn {
        let turn = self.turns.turn(number, &self.starts[number as usize]);
        self.left.as_ref().map_or(turn, |left| left.of_turn(&turn, self.connections.baseline_ns[turn.phase as usize]))
    }

    /// The lock that a turn waits for.
    fn lock_of(&self, number: u32) -> Option<usize> {
        let place = self.waiters.binary_search_by_key(&number, |&(waiter, _)| waiter).ok()?;
        Some(self.waiters[place].1 as usize)
    }

    fn find_bulks(&self) -> Vec<Bulk> {
        let large = |(_, turn): &(u32, &Body)| self.segments(turn.row).iter().any(|&segments| segments > FEW_SEGMENTS);
        let turns = (0..).zip(&self.turns.bodies).filter(large);
        turns.flat_map(|(number, turn)| self.bulks_of(turn, number)).flatten().collect()
    }

    fn bulks_of(&self, turn: &Body, number: u32) -> [Option<Bulk>; 2] {
        let [request, response] = self.segments(turn.row);
        let bulk = |sender, stretch, segments: f64| {
            let bulk = Bulk { turn: number, stretch, sender, segments, production: 0.0, window: 0.0 };
            (segments > FEW_SEGMENTS).then_some(bulk)
        };
        match turn.whole {
            true if request > response => [bulk(Side::Client, Stretch::Whole, request), None],
            true => [bulk(Side::Server, Stretch::Whole, response), None],
            false => [
                bulk(Side::Client, Stretch::Request, request),
                bulk(Side::Server, Stretch::Response, response).filter(|_| turn.answered),
            ],
        }
    }

    /// How many segments the request and the response have.
    fn segments(&self, row: u32) -> [f64; 2] {
        match row {
            HANDSHAKE | GOODBYE => [0.0, 0.0],
            row => [self.segments[0][row as usize], self.segments[1][row as usize]],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    const MS: i64 = 1_000_000;

    /// One connection at 1 ms; of each answer when its request was seen, if at all, and its segments.
    fn job(answers: &[(Option<i64>, f64)]) -> Job<'static> {
        let times = |shift: i64| (0..).zip(answers).map(move |(turn, _)| 10 * turn * MS + shift).collect::<Vec<i64>>();
        let asked: Vec<i64> = answers.iter().map(|(asked, _)| asked.map_or(UNSEEN, |time| time * MS)).collect();
        Job {
            opening: vec![0].into(),
            phase: vec![0; answers.len()].into(),
            client: vec![0].into(),
            opened_ns: vec![UNSEEN].into(),
            established_ns: vec![UNSEEN].into(),
            closed_ns: vec![UNSEEN].into(),
            server_first: vec![false].into(),
            baseline_ns: vec![MS as f64].into(),
            low_ns: vec![MS as f64].into(),
            high_ns: vec![MS as f64].into(),
            near_ns: vec![0.0].into(),
            segment_bytes: vec![1448.0].into(),
            client_window_bytes: vec![f64::INFINITY].into(),
            server_window_bytes: vec![f64::INFINITY].into(),
            connection: vec![0; answers.len()].into(),
            request_ns: asked.clone().into(),
            request_end_ns: asked.clone().into(),
            response_ns: times(MS).into(),
            response_end_ns: times(2 * MS).into(),
            round_trips: asked.iter().map(|&time| u32::from(time != UNSEEN)).collect::<Vec<_>>().into(),
            stalled_before_ns: vec![0.0; answers.len()].into(),
            stalled_within_ns: vec![0.0; answers.len()].into(),
            request_segments: vec![1.0; answers.len()].into(),
            response_segments: answers.iter().map(|&(_, segments)| segments).collect::<Vec<_>>().into(),
            setup: vec![false; answers.len()].into(),
            ends_transaction: vec![false; answers.len()].into(),
            shared: vec![false; answers.len()].into(),
            deferred: vec![false; answers.len()].into(),
        }
    }

    impl Job<'_> {
        fn set(&mut self, row: usize, asked: i64, answered: i64) {
            (self.request_ns.to_mut()[row], self.request_end_ns.to_mut()[row]) = (asked, asked);
            (self.response_ns.to_mut()[row], self.response_end_ns.to_mut()[row]) = (answered, answered);
        }
    }

    pub(super) const NETWORK: Network = Network {
        added_ns: 0.0,
        bandwidth: f64::INFINITY,
        loss: 0.0,
        growth: 2.0,
        window_bytes: 4e6,
        timeout_ns: 2e8,
        restarts: true,
        baseline: 0,
    };

    impl Replay {
        fn at(&self, rtt_ms: f64) -> f64 {
            self.run(&[rtt_ms * MS as f64], &NETWORK)[0]
        }
    }

    fn grows_by_ms(answers: &[(Option<i64>, f64)]) -> f64 {
        let replay = Replay::new(&job(answers), Waiting::Evidence, &NETWORK);
        (replay.at(101.0) - replay.at(1.0)) / MS as f64
    }

    #[test]
    fn a_round_trip_grows_by_the_difference() {
        assert_eq!(grows_by_ms(&[(Some(0), 1.0), (Some(10), 1.0)]), 200.0);
    }

    #[test]
    fn each_round_trip_grows_from_the_rtt_of_its_phase() {
        let mut job = job(&[(Some(0), 1.0), (Some(10), 1.0)]);
        let rtts: Cow<[f64]> = vec![MS as f64, 0.5 * MS as f64].into();
        (job.baseline_ns, job.low_ns, job.high_ns) = (rtts.clone(), rtts.clone(), rtts);
        job.phase = vec![0, 1].into();
        let replay = Replay::new(&job, Waiting::Evidence, &NETWORK);
        assert_eq!((replay.at(101.0) - replay.at(f64::NAN)) / MS as f64, 100.0 + 100.5);
        job.phase = vec![0, 2].into();
        assert!(job.check().is_err());
    }

    #[test]
    fn a_packet_that_waited_for_an_acknowledgment_waits_longer() {
        let mut job = job(&[(Some(0), 1.0), (Some(10), 1.0)]);
        (job.stalled_before_ns.to_mut()[1], job.stalled_within_ns.to_mut()[1]) = (40e6, 40e6);
        let replay = Replay::new(&job, Waiting::Evidence, &NETWORK);
        assert_eq!((replay.at(101.0) - replay.at(1.0)) / MS as f64, 400.0);
    }

    #[test]
    fn an_upload_counts_once_and_waits_while_its_window_is_small() {
        let mut job = job(&[(Some(0), 1.0)]);
        (job.request_segments.to_mut()[0], job.round_trips.to_mut()[0], job.response_end_ns.to_mut()[0]) =
            (1000.0, 2, 2000 * MS);
        let replay = Replay::new(&job, Waiting::Evidence, &NETWORK);
        let grown = (replay.at(101.0) - replay.at(1.0)) / MS as f64;
        let idle = [10.0, 20.0, 40.0].map(|window| 101.0 - 2.0 * window).iter().sum::<f64>();
        assert!(
            (grown - 200.0 - idle).abs() < 3.0,
            "two round trips, and three windows that last less than one: {grown}"
        );
    }

    #[test]
    fn what_a_fix_removes_costs_no_round_trip_and_its_share_of_the_time() {
        let replay =
            Replay::new(&job(&[(Some(0), 1.0), (Some(10), 1.0), (Some(20), 1.0)]), Waiting::Evidence, &NETWORK);
        let mut changes = Changes {
            trips: vec![1.0, 0.0, 0.0].into(),
            gap: vec![1.0, 0.5, 1.0].into(),
            service: vec![1.0; 3].into(),
            stalled_before: vec![true; 3].into(),
            stalled_within: vec![true; 3].into(),
            closed: vec![false].into(),
            request_segments: vec![1.0; 3].into(),
            response_segments: vec![1.0; 3].into(),
        };
        let fixed = replay.changed(&changes).unwrap();
        let saved = |rtt: f64| (replay.at(rtt) - fixed.at(rtt)) / MS as f64;
        assert_eq!((saved(1.0), saved(101.0)), (2.0 + 4.0, 202.0 + 4.0));
        changes.trips.to_mut().pop();
        assert!(replay.changed(&changes).is_err());
    }

    /// Three requests, 10 ms apart; the second waited 4 ms for a delayed ACK and a round trip.
    fn stalled() -> Job<'static> {
        let mut job = job(&[(Some(0), 1.0), (Some(10), 1.0), (Some(20), 1.0)]);
        job.stalled_before_ns.to_mut()[1] = 4e6;
        job
    }

    fn unchanged() -> Changes<'static> {
        let whole = || Cow::Owned(vec![1.0; 3]);
        Changes {
            closed: vec![false].into(),
            trips: whole(),
            gap: whole(),
            service: whole(),
            stalled_before: Cow::Owned(vec![true; 3]),
            stalled_within: Cow::Owned(vec![true; 3]),
            request_segments: whole(),
            response_segments: whole(),
        }
    }

    #[test]
    fn a_stall_stays_when_only_the_request_behind_it_goes() {
        let replay = Replay::new(&stalled(), Waiting::Evidence, &NETWORK);
        let saved = |changes: Changes| {
            let fixed = replay.changed(&changes).unwrap();
            [1.0, 101.0].map(|rtt| (replay.at(rtt) - fixed.at(rtt)) / MS as f64)
        };
        assert_eq!(saved(unchanged()), [0.0, 0.0]);
        let ping = Changes { trips: vec![1.0, 0.0, 1.0].into(), gap: vec![1.0, 0.0, 1.0].into(), ..unchanged() };
        // Of its 8 ms of gap, 4 are the stall and 1 the round trip that was waited with it.
        assert_eq!(saved(ping.clone()), [1.0 + 3.0, 101.0 + 3.0]);
        assert_eq!(
            saved(Changes { stalled_before: vec![true, false, true].into(), ..ping }),
            [1.0 + 8.0, 101.0 + 108.0]
        );
    }

    #[test]
    fn who_goes_with_the_request_before_it_waits_no_longer() {
        let mut job = job(&[(Some(0), 1.0), (Some(0), 1.0), (Some(10), 1.0)]);
        (job.round_trips.to_mut()[1], job.shared.to_mut()[1]) = (0, true);
        job.set(0, 0, 2 * MS);
        job.set(1, 0, 3 * MS);
        let replay = Replay::new(&job, Waiting::Evidence, &NETWORK);
        let saved = |trips: [f64; 3]| {
            let fixed = replay.changed(&Changes { trips: trips.to_vec().into(), ..unchanged() }).unwrap();
            (replay.at(101.0) - fixed.at(101.0)) / MS as f64
        };
        assert_eq!(
            saved([0.0, 1.0, 1.0]),
            1.0,
            "the second still waits for its own answer, but not for the first one's service"
        );
        assert_eq!(saved([0.0, 0.0, 1.0]), 101.0);
    }

    /// Twelve transactions of two statements, each followed by another connection's statement that waited for its commit.
    #[test]
    fn who_waited_for_a_lock_waits_for_its_holder() {
        let mut job = job(&[(Some(0), 1.0); 36]);
        job.connection.to_mut()[24..].fill(1);
        job.client = vec![0; 2].into();
        (job.opened_ns, job.established_ns) = (vec![UNSEEN; 2].into(), vec![UNSEEN; 2].into());
        job.opening = vec![0; 2].into();
        job.closed_ns = vec![UNSEEN; 2].into();
        (job.server_first, job.near_ns) = (vec![false; 2].into(), vec![0.0; 2].into());
        (job.segment_bytes, job.client_window_bytes) = (vec![1448.0; 2].into(), vec![f64::INFINITY; 2].into());
        job.server_window_bytes = vec![f64::INFINITY; 2].into();
        for turn in 0..12 {
            let begin = 20 * turn * MS;
            for (row, asked, answered) in [(0, 0, 1), (1, 2, 10)] {
                job.set(2 * turn as usize + row, begin + asked * MS, begin + answered * MS);
                job.ends_transaction.to_mut()[2 * turn as usize + row] = row == 1;
            }
            job.set(24 + turn as usize, begin + 2 * MS, begin + 10 * MS + 50_000);
        }
        let replay = Replay::new(&job, Waiting::Evidence, &NETWORK);
        assert_eq!(replay.turns.locks.len(), 12);
        let grown = (replay.at(2.0) - replay.at(1.0)) / MS as f64;
        assert_eq!(grown, 24.0, "the waiting connection grows with the two round trips of the holding one");
    }

    #[test]
    fn what_the_server_pushes_does_not_hide_the_rounds_of_what_follows() {
        let answer = (Some(10), 400.0);
        let alone = grows_by_ms(&[(Some(0), 1.0), answer]);
        assert!((alone - 300.0).abs() < 1.0, "two round trips and one more for the window: {alone}");
        let behind_a_push = grows_by_ms(&[(None, 400.0), answer]);
        assert!((behind_a_push - (alone - 100.0)).abs() < 1.0, "{behind_a_push}");
    }
}
