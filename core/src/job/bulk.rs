//! Transfers of many segments, and what the capture tells of their senders.

use super::Replay;
use super::network::Network;
use super::rtt_batch::Times;
use super::step_body::Body;
use super::transfer::{INITIAL_WINDOW, Path, Sender};

/// A transfer of many segments.
#[derive(Clone, Copy, Debug)]
pub struct Bulk {
    pub step: u32,
    /// Which of the step's intervals it fills.
    pub interval: Interval,
    pub sender: Side,
    pub segments: f64,
    /// How long its sender waited for acknowledgments in a row when it was captured.
    pub silent: f64,
    /// How long its sender kept it back by its pace, which follows the RTT.
    pub paced: f64,
    /// How long the application takes to produce it.
    pub production: f64,
    /// Segments that were under way at once when it was captured, at least.
    pub window: f64,
    /// No more were, though more could have been sent.
    pub most: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

impl Side {
    pub fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    Request,
    Response,
    /// Everything but the round trips of a step that has some in its middle.
    Whole,
}

/// Fewer segments than this do not move a window.
pub const FEW_SEGMENTS: f64 = INITIAL_WINDOW / 2.0;

/// How long the senders of an exchange waited for acknowledgments in a row, and what each kept back by its pace.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendWaits {
    pub row: u32,
    pub silent: f64,
    pub paced: [f64; 2],
}

/// The transfers of a job that need more than a few segments, in the order of their steps; `send_waits` by row.
pub fn bulks(replay: &Replay, send_waits: &[SendWaits]) -> Vec<Bulk> {
    let is_large = |segments: [f64; 2]| segments.iter().any(|&segments| segments > FEW_SEGMENTS);
    if !replay.segments.values().any(|&segments| is_large(segments)) {
        return Vec::new();
    }
    let large = |(_, step): &(u32, Body)| is_large(replay.segments(step.row));
    let steps = (0..).zip(replay.steps.bodies.iter()).filter(large);
    let with_sender = |bulk: Bulk, row: u32| {
        let waits = send_waits.binary_search_by_key(&row, |waits| waits.row);
        let waits = waits.map_or(SendWaits::default(), |place| send_waits[place]);
        Bulk { silent: waits.silent, paced: waits.paced[bulk.sender as usize], ..bulk }
    };
    let bulks = steps.map(|(number, step)| (step.row, of_step(&step, number, replay.segments(step.row))));
    bulks.flat_map(|(row, bulks)| bulks.map(|bulk| Some(with_sender(bulk?, row)))).flatten().collect()
}

const UNKNOWN: Bulk = Bulk {
    step: 0,
    interval: Interval::Request,
    sender: Side::Client,
    segments: 0.0,
    silent: 0.0,
    paced: 0.0,
    production: 0.0,
    window: 0.0,
    most: f64::INFINITY,
};

fn of_step(step: &Body, number: u32, [request, response]: [f64; 2]) -> [Option<Bulk>; 2] {
    let bulk = |sender, interval, segments: f64| {
        let bulk = Bulk { step: number, interval, sender, segments, ..UNKNOWN };
        (segments > FEW_SEGMENTS).then_some(bulk)
    };
    match step.whole {
        true if request > response => [bulk(Side::Client, Interval::Whole, request), None],
        true => [bulk(Side::Server, Interval::Whole, response), None],
        false => [
            bulk(Side::Client, Interval::Request, request),
            bulk(Side::Server, Interval::Response, response).filter(|_| step.answered),
        ],
    }
}

/// Production times are found to this, ns, and windows to this, segments.
const PRECISION_NS: f64 = 1e3;
const PRECISION_SEGMENTS: f64 = 0.01;
/// A receiver acknowledges every second segment at the latest (RFC 9293, section 3.8.6.3).
const MIN_WINDOW_SEGMENTS: f64 = 2.0;
/// A receiver's window limits a transfer that fills at least this share of it in every round trip: it opens in steps.
const MIN_FILLED_SHARE: f64 = 0.75;
/// A smaller share shows the same if a segment took longer than applications mostly need.
const MIN_SLOW_FILLED_SHARE: f64 = 0.5;
/// Applications mostly need less than this for a segment.
const SLOW_SEGMENT_NS: f64 = 50e3;
/// A sender that paces sends what its pace has for about so long in one burst (Linux: `sk_pacing_shift` of 10).
const BURST_NS: f64 = 1e6;
/// BBR sends at 2 ÷ ln 2 of the rate at which its last flight was acknowledged: n segments that take p to send are by a
/// round trip later, so p = RTT ÷ (that - 1). It keeps to that gain where it never had enough to send to find the path
/// full.
const BBR_RTT_RATIO: f64 = 1.0 / (2.0 / std::f64::consts::LN_2 - 1.0);
/// At least this many bursts show a pace: after a pause the first ones go on credit, as one.
const MIN_BURSTS: f64 = 4.0;
/// An application needs at most this share of its time beside a window that limits its transfer.
const MAX_WORK_SHARE: f64 = 0.1;

impl Bulk {
    /// Before anything is known of its sender.
    pub fn unknown(&self) -> Bulk {
        let Bulk { production, window, most, .. } = UNKNOWN;
        Bulk { production, window, most, ..*self }
    }

    /// What this path lets its sender do, who may have so many segments under way.
    pub fn path(path: &Path, most: f64) -> Path {
        if most.is_finite() { Path { largest: most, ..*path } } else { *path }
    }

    /// How many segments were under way at once, at least, as far as `network` leaves room for them, and how many may
    /// be.
    pub fn windows(&self, path: &Path, network: &Network) -> [f64; 2] {
        let is_set = network.sets_receivers();
        let least = if is_set || network.loss > 0.0 { self.window.min(path.largest) } else { self.window };
        [least, if is_set { path.largest } else { self.most * network.receive_window_scale }]
    }

    /// How long the application takes to produce it, and to compress it in segments of so many bytes.
    pub fn produced(&self, network: &Network, bytes: f64) -> f64 {
        self.production + self.segments * bytes * network.compressing_ns
    }

    /// How long its sender's pace keeps it back at these RTTs. A pace is about so much in a round trip, so its time
    /// grows with it; but what goes in a millisecond goes at once. Where it `may` be unseen, it hides behind the
    /// production.
    pub fn paced(&self, rtts: &Times, baseline: f64, may: bool) -> Times {
        let (of_rtt, hidden) = match self.paced > 0.0 {
            true => ((self.paced + BURST_NS) / baseline.max(1.0), 0.0),
            false if may && self.segments > INITIAL_WINDOW && BBR_RTT_RATIO * baseline < MIN_BURSTS * BURST_NS => {
                (BBR_RTT_RATIO, self.production)
            }
            false => return Times::default(),
        };
        (rtts.times(of_rtt) - Times::all(BURST_NS + hidden)).max(Times::default())
    }

    /// Split what was observed into the sender's rounds and the application's production, of which a part was `hidden`
    /// while the sender waited for acknowledgments.
    pub fn learn(&mut self, sender: Sender, now: f64, observed: f64, path: &Path, hidden: f64) {
        let observed = (observed - self.paced).max(0.0);
        let mut sender = sender;
        let grown = sender.window();
        while self.time(sender, now, 0.0, path) > observed && sender.window() < self.segments {
            sender.widen(2.0 * sender.window());
        }
        if sender.window() > grown {
            self.window = sender.window();
        }
        if self.fills(observed, path) {
            self.production = if hidden < 1.0 { 0.0 } else { MAX_WORK_SHARE * observed };
            return self.narrow(sender, now, observed, path);
        }
        let most = self.solved(sender, now, observed, path);
        let least = most.min(observed - self.silent.min(observed));
        self.production = hidden * most + (1.0 - hidden) * least;
    }

    /// About as much went in every round trip as the receiver takes at once: that was what it waited for.
    fn fills(&self, observed: f64, path: &Path) -> bool {
        let in_a_round = self.segments * path.rtt_ns / observed.max(1.0);
        let filled = if observed > SLOW_SEGMENT_NS * self.segments { MIN_SLOW_FILLED_SHARE } else { MIN_FILLED_SHARE };
        path.narrow && self.segments > path.largest && in_a_round > filled * path.largest
    }

    /// The production with which it takes as long as was observed.
    fn solved(&self, sender: Sender, now: f64, observed: f64, path: &Path) -> f64 {
        let (mut low, mut high) = (0.0, observed);
        if self.time(sender, now, observed, path) <= observed {
            low = observed;
        }
        while high - low > PRECISION_NS {
            let middle = f64::midpoint(low, high);
            if self.time(sender, now, middle, path) > observed { high = middle } else { low = middle }
        }
        low
    }

    /// The receiver took as much at once as shows in how long it took.
    fn narrow(&mut self, sender: Sender, now: f64, observed: f64, path: &Path) {
        let (mut low, mut high) = (MIN_WINDOW_SEGMENTS, self.segments);
        while high - low > PRECISION_SEGMENTS {
            self.most = f64::midpoint(low, high);
            if self.time(sender, now, self.production, path) > observed { low = self.most } else { high = self.most }
        }
        self.most = high;
    }

    fn time(&self, mut sender: Sender, now: f64, production: f64, path: &Path) -> f64 {
        sender.narrow(self.most);
        sender.send(now, self.segments, production, &Bulk::path(path, self.most))
    }
}
