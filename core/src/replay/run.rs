//! One pass over the turns of a job.

use super::transfer::{INITIAL_WINDOW, Path, Sender};
use super::turn::{GOODBYE, HANDSHAKE, Starts, Turn};
use super::{Job, Network, Replay};

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

/// One pass over the turns.
pub struct Run<'a> {
    network: &'a Network,
    /// At the baseline, to learn from what was observed.
    learning: bool,
    /// When each lane's last turn was over.
    lanes: Vec<f64>,
    connections: Vec<Progress>,
    pub bulks: Vec<Bulk>,
    pub halvings: Vec<[u8; 2]>,
    next_bulk: usize,
    next_lock: usize,
    /// When the lock that each turn waits for was free; empty where none does.
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

impl<'a> Run<'a> {
    pub fn new(replay: &Replay, network: &'a Network, learning: bool) -> Run<'a> {
        Run {
            network,
            learning,
            lanes: vec![0.0; replay.lanes],
            connections: vec![Progress::default(); replay.job.connections()],
            bulks: replay.bulks.clone(),
            halvings: if learning { replay.halvings.clone() } else { Vec::new() },
            next_bulk: 0,
            next_lock: 0,
            free: if replay.locks.is_empty() { Vec::new() } else { vec![f64::NEG_INFINITY; replay.turns.len()] },
            latest: 0.0,
        }
    }

    pub fn all(&mut self, replay: &Replay) {
        for (turn, number) in replay.turns.iter().zip(0..) {
            self.turn(replay, turn, number);
        }
    }

    fn turn(&mut self, replay: &Replay, turn: &Turn, number: u32) {
        let connection = turn.connection as usize;
        let rtt = self.rtt(&replay.job, turn.phase as usize);
        let before = self.connections[connection];
        let longer = rtt - replay.job.baseline_ns[turn.phase as usize];
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
            false => asked + self.stretch(replay, turn, number, Stretch::Request, asked, turn.request, rtt),
        };
        let over = if turn.whole {
            sent + turn.trips * turn.round_trips * rtt
                + self.stretch(replay, turn, number, Stretch::Whole, sent, turn.service, rtt)
        } else if turn.answered {
            let free = self.free.get(number as usize).copied().unwrap_or(f64::NEG_INFINITY);
            let response = ((sent + turn.trips * rtt).max(before.answered) + turn.service).max(free);
            self.release(replay, number, response);
            response + self.stretch(replay, turn, number, Stretch::Response, response, turn.response, rtt)
        } else {
            sent
        };
        let over = over + held(turn.stalled_within) + self.resent(replay, turn, rtt);
        self.connections[connection].asked = sent;
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
    fn release(&mut self, replay: &Replay, holder: u32, answered: f64) {
        while let Some(lock) = replay.locks.get(self.next_lock).filter(|lock| lock.holder <= holder) {
            self.next_lock += 1;
            if lock.holder == holder {
                let waiter = &replay.turns[lock.waiter as usize];
                self.free[lock.waiter as usize] = answered + lock.lag;
                if lock.waiter < holder {
                    self.over(waiter, answered + lock.lag + waiter.response);
                }
            }
        }
    }

    /// The mean RTT of a phase; where its baseline was really higher, less of what was observed was service.
    fn rtt(&self, job: &Job, phase: usize) -> f64 {
        let measured = job.baseline_ns[phase];
        let really = match self.network.baseline {
            _ if self.learning || self.network.rtt_ns.is_nan() => return measured + self.network.added_ns,
            0 => measured,
            1.. => job.high_ns[phase],
            _ => job.low_ns[phase],
        };
        (self.network.rtt_ns + self.network.added_ns + measured - really).max(0.0)
    }

    /// How long a stretch of a turn takes that was `observed` to take so long.
    #[expect(clippy::too_many_arguments)]
    fn stretch(
        &mut self,
        replay: &Replay,
        turn: &Turn,
        number: u32,
        stretch: Stretch,
        now: f64,
        observed: f64,
        rtt: f64,
    ) -> f64 {
        let bulk = self.bulks.get_mut(self.next_bulk).filter(|bulk| bulk.turn == number && bulk.stretch == stretch);
        let [request, response] = replay.segments(turn);
        let (sender, segments) = match (&bulk, stretch) {
            (Some(bulk), _) => (bulk.sender, bulk.segments),
            (None, Stretch::Request) => (Side::Client, request),
            (None, _) => (Side::Server, response),
        };
        let connection = turn.connection as usize;
        let path = self.network.path(&replay.job, connection, sender, rtt, self.learning);
        let side = sender as usize;
        let sender = &mut self.connections[connection].senders[side];
        if self.learning {
            self.halvings[number as usize][side] = sender.halvings(now, &path);
            sender.halve(self.halvings[number as usize][side]);
        } else if self.network.restarts {
            sender.halve(replay.halvings[number as usize][side]);
        }
        let Some(bulk) = bulk else {
            let time = sender.send(now, segments, observed.max(0.0), &path);
            return if self.learning { observed } else { time + observed.min(0.0) };
        };
        self.next_bulk += 1;
        if self.learning {
            bulk.learn(*sender, now, observed, &path);
        }
        sender.widen(if self.network.loss > 0.0 { bulk.window.min(path.largest) } else { bulk.window });
        let time = sender.send(now, segments, bulk.production, &path);
        if self.learning { observed } else { time + observed.min(0.0) }
    }

    /// What retransmissions add on average. A lost lone packet is missed by a timer, one of several by a probe.
    fn resent(&self, replay: &Replay, turn: &Turn, rtt: f64) -> f64 {
        let loss = self.network.loss;
        if self.learning || loss <= 0.0 || !turn.answered {
            return 0.0;
        }
        let hit = |packets: f64| 1.0 - (1.0 - loss).powf(packets);
        match turn.row {
            HANDSHAKE => return turn.trips * hit(2.0) * SYN_TIMEOUT_NS,
            GOODBYE => return turn.trips * hit(2.0) * (self.network.timeout_ns + rtt),
            _ => {}
        }
        let cost = |segments: f64| {
            hit(segments) * if segments > 1.0 { PROBE_RTTS * rtt } else { self.network.timeout_ns + rtt }
        };
        replay.segments(turn).into_iter().map(cost).sum()
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

impl Network {
    fn path(&self, job: &Job, connection: usize, sender: Side, rtt_ns: f64, learning: bool) -> Path {
        let segment_bytes = job.segment_bytes[connection];
        let taken = match sender {
            Side::Client => job.server_window_bytes[connection],
            Side::Server => job.client_window_bytes[connection],
        };
        let free = learning || !self.bandwidth.is_finite();
        let segment_ns = if free { 0.0 } else { (segment_bytes + HEADER_BYTES) * 8e9 / self.bandwidth };
        let lossy = if learning || self.loss <= 0.0 { f64::INFINITY } else { MATHIS / self.loss.sqrt() };
        let largest = (self.window_bytes.min(taken) / segment_bytes).min(lossy);
        Path { rtt_ns, largest, growth: self.growth, segment_ns }
    }
}

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
