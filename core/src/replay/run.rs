//! The job's turns, one after the other, on several networks at once.

use std::ops::Range;
use std::slice;

use super::locks::Lock;
use super::program::{Chain, Program, Step};
use super::stretch::{BLOCK, Plain, go_on, wait_through};
use super::transfer::{INITIAL_WINDOW, Path, Sender};
use super::turn::{GOODBYE, HANDSHAKE, Starts, Turn};
use super::{Halvings, Network, Replay};

/// A transfer of many segments.
#[derive(Clone, Copy, Debug)]
pub struct Bulk {
    pub turn: u32,
    /// Which of the turn's stretches it fills.
    pub stretch: Stretch,
    pub sender: Side,
    pub segments: f64,
    /// How long the application takes to produce it.
    pub production: f64,
    /// Segments that were under way at once when it was captured, at least.
    pub window: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretch {
    Request,
    Response,
    /// Everything but the round trips of a turn that has some in its middle.
    Whole,
}

/// Fewer segments than this do not move a window.
pub const FEW_SEGMENTS: f64 = INITIAL_WINDOW / 2.0;

/// A job, and all of a network but its RTT.
pub struct Walk<'a> {
    replay: &'a Replay,
    network: &'a Network,
    /// Of each connection, the largest window of its client and of its server, in segments.
    largest: Vec<[f64; 2]>,
    /// The bottleneck's time for a segment of each connection; empty without a bottleneck.
    segment_ns: Vec<f64>,
}

/// A turn, and what is the same of it at every RTT.
struct Walked {
    number: u32,
    turn: Turn,
    segments: [f64; 2],
    halvings: Halvings,
    /// Those of the replay that are the turn's.
    bulks: Range<usize>,
    locks: Range<usize>,
    /// The lock that it waits for.
    waits_for: Option<usize>,
}

impl<'a> Walk<'a> {
    pub fn new(replay: &'a Replay, network: &'a Network) -> Walk<'a> {
        let connections = &replay.connections;
        let lossy = if network.loss > 0.0 { MATHIS / network.loss.sqrt() } else { f64::INFINITY };
        let taken = connections.server_window_bytes.iter().zip(&connections.client_window_bytes);
        let windows = taken.zip(&connections.segment_bytes);
        let in_segments = |taken: f64, bytes: f64| (network.window_bytes.min(taken) / bytes).min(lossy);
        let spaced = network.bandwidth.is_finite();
        let sizes = connections.segment_bytes.iter().filter(|_| spaced);
        Walk {
            replay,
            network,
            largest: windows
                .map(|((&server, &client), &bytes)| [in_segments(server, bytes), in_segments(client, bytes)])
                .collect(),
            segment_ns: sizes.map(|bytes| (bytes + HEADER_BYTES) * 8e9 / network.bandwidth).collect(),
        }
    }

    /// Take all of `runs`, `ABREAST` at most, through the whole job.
    pub fn all(&self, runs: &mut [Run]) {
        let mut next = Next::default();
        if self.network.loss > 0.0 || !self.segment_ns.is_empty() {
            (0..self.replay.turns.len() as u32).for_each(|number| self.turn(number, &mut next, runs));
            return;
        }
        let Program { steps, chains, stretches, .. } = &*self.replay.program;
        for step in steps {
            match *step {
                Step::Turn(number) => self.turn(number, &mut next, runs),
                Step::Chain(number) => self.chain(&chains[number as usize], runs),
                Step::Stretch(number) => self.stretch(&stretches[number as usize], &mut next, runs),
            }
        }
    }

    fn turn(&self, number: u32, next: &mut Next, runs: &mut [Run]) {
        let (replay, turn) = (self.replay, self.replay.turn(number));
        let walked = Walked {
            number,
            segments: replay.segments(turn.row),
            halvings: replay.halvings[number as usize],
            bulks: next.bulks(&replay.bulks, number),
            locks: next.locks(&replay.turns.locks, number),
            waits_for: replay.lock_of(number),
            turn,
        };
        runs.iter_mut().for_each(|run| run.turn(self, &walked));
    }

    /// Turns that only wait: all networks go through them abreast.
    fn chain(&self, chain: &Chain, runs: &mut [Run]) {
        let [.., last] = chain.turns[..] else { return };
        let last = self.replay.turn(last);
        let rtts: Vec<f64> = runs.iter().map(|run| run.rtt(self, last.phase)).collect();
        let mut lanes: Vec<f64> = runs.iter().map(|run| run.lanes[last.lane as usize]).collect();
        wait_through(chain.turns.iter().map(|&number| self.replay.turn(number)), &mut lanes, &rtts);
        for ((run, over), rtt) in runs.iter_mut().zip(lanes).zip(rtts) {
            let halvings = if self.network.restarts { chain.halvings } else { [0; 2] };
            run.waited(&last, over, rtt, halvings);
        }
    }

    /// Turns that add up but where a sender's round or window ends. The last one is walked: others go by it.
    fn stretch(&self, numbers: &[u32], next: &mut Next, runs: &mut [Run]) {
        let [numbers @ .., last] = numbers else { return };
        if runs.iter().any(|run| run.learned.is_some()) {
            numbers.iter().for_each(|&number| self.turn(number, next, runs));
        } else {
            numbers.chunks(BLOCK).for_each(|numbers| self.block(numbers, next, runs));
        }
        self.turn(*last, next, runs);
    }

    fn block(&self, numbers: &[u32], next: &mut Next, runs: &mut [Run]) {
        let turns: Vec<Plain> = numbers.iter().map(|&number| Plain::of(self.replay, number)).collect();
        let first = self.replay.turn(numbers[0]);
        for run in runs {
            let mut left = &turns[..];
            while !left.is_empty() {
                left = &left[run.go_on(self, &first, left)..];
                if let [turn, others @ ..] = left {
                    self.turn(turn.number, next, slice::from_mut(run));
                    left = others;
                }
            }
        }
    }

    fn path(&self, connection: usize, sender: Side, rtt_ns: f64) -> Path {
        Path {
            rtt_ns,
            largest: self.largest[connection][sender as usize],
            growth: self.network.growth,
            segment_ns: self.segment_ns.get(connection).copied().unwrap_or(0.0),
        }
    }
}

/// How far the job's bulks and locks have been passed; turns that have any come in their order.
#[derive(Default)]
struct Next {
    bulk: usize,
    lock: usize,
}

impl Next {
    fn bulks(&mut self, bulks: &[Bulk], number: u32) -> Range<usize> {
        let first = self.bulk;
        self.bulk += bulks[first..].iter().take_while(|bulk| bulk.turn == number).count();
        first..self.bulk
    }

    fn locks(&mut self, locks: &[Lock], number: u32) -> Range<usize> {
        let first = self.lock;
        self.lock += locks[first..].iter().take_while(|lock| lock.holder == number).count();
        first..self.lock
    }
}

/// What a replay at the baseline learns of the senders, from what was observed.
#[derive(Default)]
pub struct Learned {
    pub bulks: Vec<Bulk>,
    pub halvings: Vec<Halvings>,
}

/// One way through the turns, at one RTT.
pub struct Run {
    /// NaN for what each connection had.
    rtt_ns: f64,
    pub learned: Option<Learned>,
    /// When each lane's last turn was over.
    lanes: Vec<f64>,
    connections: Vec<Progress>,
    /// When the lock that was waited for was free.
    free: Vec<f64>,
    pub latest: f64,
}

#[derive(Clone, Copy, Default)]
struct Progress {
    asked: f64,
    answered: f64,
    over: f64,
    senders: [Sender; 2],
}

impl Run {
    pub fn new(replay: &Replay, rtt_ns: f64, learned: Option<Learned>) -> Run {
        Run {
            rtt_ns,
            learned,
            lanes: vec![0.0; replay.lanes],
            connections: vec![Progress::default(); replay.connections.len()],
            free: vec![f64::NEG_INFINITY; replay.turns.locks.len()],
            latest: 0.0,
        }
    }

    /// A chain is over, of which `turn` is the last.
    fn waited(&mut self, turn: &Turn, over: f64, rtt: f64, halvings: Halvings) {
        self.lanes[turn.lane as usize] = over;
        let [client, server] = &mut self.connections[turn.connection as usize].senders;
        client.sent_by(over - turn.response - turn.service - rtt);
        server.sent_by(over);
        client.halve(halvings[0]);
        server.halve(halvings[1]);
    }

    /// Take the next turns, of which `turn` is one, as far as the windows allow: how many.
    fn go_on(&mut self, walk: &Walk, turn: &Turn, turns: &[Plain]) -> usize {
        let rtt = self.rtt(walk, turn.phase);
        let progress = &mut self.connections[turn.connection as usize];
        let lane = &mut self.lanes[turn.lane as usize];
        let (count, over) = go_on(turns, *lane, rtt, &mut progress.senders);
        if count > 0 {
            (*lane, progress.over, progress.answered) = (over, over, over);
            self.latest = self.latest.max(over);
        }
        count
    }

    fn turn(&mut self, walk: &Walk, walked: &Walked) {
        let turn = &walked.turn;
        let before = &self.connections[turn.connection as usize];
        let (answered_before, rtt) = (before.answered, self.rtt(walk, turn.phase));
        let longer = rtt - walk.replay.connections.baseline_ns[turn.phase as usize];
        let held = |stalled: f64| if stalled > 0.0 { longer } else { 0.0 };
        let gap = turn.gap + held(turn.stalled_before);
        let asked = match turn.starts {
            Starts::AtFirst => gap,
            Starts::After => self.lanes[turn.after as usize] + gap,
            Starts::AfterOther => (self.lanes[turn.after as usize] + gap).max(before.over),
            Starts::With => before.asked + gap,
        };
        let sent = match turn.whole {
            true => asked,
            false => asked + self.stretch(walk, walked, Stretch::Request, asked, turn.request, rtt),
        };
        let over = if turn.whole {
            sent + turn.trips * turn.round_trips * rtt
                + self.stretch(walk, walked, Stretch::Whole, sent, turn.service, rtt)
        } else if turn.answered {
            let free = walked.waits_for.map_or(f64::NEG_INFINITY, |lock| self.free[lock]);
            let response = ((sent + turn.trips * rtt).max(answered_before) + turn.service).max(free);
            self.release(walk.replay, walked, response);
            response + self.stretch(walk, walked, Stretch::Response, response, turn.response, rtt)
        } else {
            sent
        };
        let over = over + held(turn.stalled_within) + walk.network.resent(walked, rtt);
        self.connections[turn.connection as usize].asked = sent;
        self.over(turn, over);
    }

    fn over(&mut self, turn: &Turn, over: f64) {
        let progress = &mut self.connections[turn.connection as usize];
        progress.over = progress.over.max(over);
        if turn.answered {
            progress.answered = progress.answered.max(over);
        }
        let lane = &mut self.lanes[turn.lane as usize];
        *lane = lane.max(over);
        self.latest = self.latest.max(over);
    }

    /// The turn is answered and frees its locks. Who asked earlier and waited is over only now; nothing that follows on
    /// its lane began before.
    fn release(&mut self, replay: &Replay, holder: &Walked, answered: f64) {
        for number in holder.locks.clone() {
            let Lock { waiter, lag, .. } = replay.turns.locks[number];
            self.free[number] = answered + lag;
            if waiter < holder.number {
                let waiter = replay.turn(waiter);
                self.over(&waiter, answered + lag + waiter.response);
            }
        }
    }

    /// The mean RTT of a phase; where its baseline was really higher, less of what was observed was service.
    fn rtt(&self, walk: &Walk, phase: u32) -> f64 {
        let (phases, phase) = (&walk.replay.connections, phase as usize);
        let measured = phases.baseline_ns[phase];
        let really = match walk.network.baseline {
            _ if self.rtt_ns.is_nan() => return measured + walk.network.added_ns,
            0 => measured,
            1.. => phases.high_ns[phase],
            _ => phases.low_ns[phase],
        };
        (self.rtt_ns + walk.network.added_ns + measured - really).max(0.0)
    }

    /// How long a stretch of a turn takes that was `observed` to take so long.
    fn stretch(&mut self, walk: &Walk, walked: &Walked, stretch: Stretch, now: f64, observed: f64, rtt: f64) -> f64 {
        let is_it = |number: &usize| walk.replay.bulks[*number].stretch == stretch;
        let bulk = walked.bulks.clone().find(is_it);
        let (side, segments) = match (bulk.map(|number| &walk.replay.bulks[number]), stretch) {
            (Some(bulk), _) => (bulk.sender, bulk.segments),
            (None, Stretch::Request) => (Side::Client, walked.segments[0]),
            (None, _) => (Side::Server, walked.segments[1]),
        };
        let connection = walked.turn.connection as usize;
        let path = walk.path(connection, side, rtt);
        let sender = &mut self.connections[connection].senders[side as usize];
        if let Some(learned) = &mut self.learned {
            let halvings = sender.halvings(now, &path);
            learned.halvings[walked.number as usize][side as usize] = halvings;
            sender.halve(halvings);
        } else if walk.network.restarts {
            sender.halve(walked.halvings[side as usize]);
        }
        let production = match bulk {
            None => observed.max(0.0),
            Some(number) => {
                let learned = self.learned.as_mut().map(|learned| &mut learned.bulks[number]);
                let bulk = match learned {
                    Some(bulk) => {
                        bulk.learn(*sender, now, observed, &path);
                        bulk
                    }
                    None => &walk.replay.bulks[number],
                };
                sender.widen(if walk.network.loss > 0.0 { bulk.window.min(path.largest) } else { bulk.window });
                bulk.production
            }
        };
        let time = sender.send(now, segments, production, &path);
        if self.learned.is_some() { observed } else { time + observed.min(0.0) }
    }
}

impl Network {
    /// What retransmissions add on average. A lost lone packet is missed by a timer, one of several by a probe.
    fn resent(&self, walked: &Walked, rtt: f64) -> f64 {
        let turn = &walked.turn;
        if self.loss <= 0.0 || !turn.answered {
            return 0.0;
        }
        let hit = |packets: f64| 1.0 - (1.0 - self.loss).powf(packets);
        match turn.row {
            HANDSHAKE => return turn.trips * hit(2.0) * SYN_TIMEOUT_NS,
            GOODBYE => return turn.trips * hit(2.0) * (self.timeout_ns + rtt),
            _ => {}
        }
        let cost =
            |segments: f64| hit(segments) * if segments > 1.0 { PROBE_RTTS * rtt } else { self.timeout_ns + rtt };
        walked.segments.into_iter().map(cost).sum()
    }
}

/// A sender that hears nothing of the end of a flight sends it again after so many round trips (RFC 8985, section 7).
const PROBE_RTTS: f64 = 2.0;
/// How long a client waits for the answer to its SYN before it asks again (RFC 6298), ns.
const SYN_TIMEOUT_NS: f64 = 1e9;
/// IPv4 and TCP with timestamps, of every segment.
const HEADER_BYTES: f64 = 52.0;
/// Mathis et al. 1997: with loss p a window stays about 1.22 ÷ √p segments large.
const MATHIS: f64 = 1.22;

impl Bulk {
    /// Split what was observed into the sender's rounds and the application's production.
    fn learn(&mut self, mut sender: Sender, now: f64, observed: f64, path: &Path) {
        let segments = self.segments;
        let time = |sender: Sender, production: f64| {
            let mut sender = sender;
            sender.send(now, segments, production, path)
        };
        let observed = observed.max(0.0);
        let grown = sender.window();
        while time(sender, 0.0) > observed && sender.window() < segments {
            sender.widen(2.0 * sender.window());
        }
        if sender.window() > grown {
            self.window = sender.window();
        }
        let (mut low, mut high) = (0.0, observed);
        if time(sender, observed) <= observed {
            low = observed;
        }
        while high - low > PRECISION_NS {
            let middle = f64::midpoint(low, high);
            if time(sender, middle) > observed { high = middle } else { low = middle }
        }
        self.production = low;
    }
}

/// Production times are found to this, ns.
const PRECISION_NS: f64 = 1e3;
