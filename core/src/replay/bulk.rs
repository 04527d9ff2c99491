//! Transfers of many segments, and what the capture tells of their senders.

use super::Replay;
use super::body::Body;
use super::transfer::{INITIAL_WINDOW, Path, Sender};

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

/// The transfers of a job that need more than a few segments, in the order of their turns.
pub fn bulks(replay: &Replay) -> Vec<Bulk> {
    let large = |(_, turn): &(u32, Body)| replay.segments(turn.row).iter().any(|&segments| segments > FEW_SEGMENTS);
    let turns = (0..).zip(replay.turns.bodies.iter()).filter(large);
    turns.flat_map(|(number, turn)| of_turn(&turn, number, replay.segments(turn.row))).flatten().collect()
}

fn of_turn(turn: &Body, number: u32, [request, response]: [f64; 2]) -> [Option<Bulk>; 2] {
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

/// Production times are found to this, ns.
const PRECISION_NS: f64 = 1e3;

impl Bulk {
    /// Before anything is known of its sender.
    pub fn unknown(&self) -> Bulk {
        Bulk { production: 0.0, window: 0.0, ..*self }
    }

    /// Split what was observed into the sender's rounds and the application's production.
    pub fn learn(&mut self, mut sender: Sender, now: f64, observed: f64, path: &Path) {
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
