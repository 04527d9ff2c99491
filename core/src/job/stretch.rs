//! What a turn took, cut like an exchange that was captured.

use super::Replay;
use super::attribute::Kind;
use super::body::{GOODBYE, HANDSHAKE};
use super::network::Network;
use super::pieces::Pieces;
use super::turn::Turn;

/// When a turn asked, had sent its request, was answered first, and was over, ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step {
    pub asked: f64,
    pub sent: f64,
    pub answered: f64,
    pub over: f64,
}

impl From<[f64; 4]> for Step {
    fn from([asked, sent, answered, over]: [f64; 4]) -> Step {
        Step { asked, sent, answered, over }
    }
}

/// A whole number of ns.
pub fn ns(time: f64) -> i64 {
    (time + 0.5) as i64
}

/// The stretch of a turn at this RTT: when it begins, no earlier than what is `before` it on its connection is over, and
/// its pieces.
pub fn stretch(
    replay: &Replay,
    network: &Network,
    turn: &Turn,
    step: Step,
    rtt: f64,
    before: i64,
) -> (i64, Pieces<i64>) {
    if turn.stalled_before <= 0.0 && turn.stalled_within <= 0.0 && network.loss <= 0.0 {
        return cut(turn, step, rtt, before, 0);
    }
    let longer = rtt - replay.connections.baseline_ns[turn.phase as usize];
    let lost = ns(network.resent(turn, replay.segments(turn.row), rtt));
    let (held, within) = match turn.stalled_within {
        0.0 => (0.0, 0.0),
        timer if turn.has_room_for(timer) => (0.0, longer),
        timer => (timer + rtt, 0.0), // it lies in the gap, of which the replay does not know that it is longer
    };
    let later = if held > 0.0 { longer } else { 0.0 };
    let [asked, sent, answered] = [step.asked, step.sent, step.answered].map(|time| time + later);
    let over = step.over - within;
    let (begin, mut pieces) = cut(turn, Step { asked, sent, answered, over }, rtt, before, lost);
    if within != 0.0 {
        pieces.hold(turn.stalled_within, ns(turn.stalled_within + rtt - longer));
        let held = if pieces.request_held > 0 { &mut pieces.request_held } else { &mut pieces.response_held };
        *held = (*held + ns(within)).max(0);
    }
    let held = held + if turn.stalled_before > 0.0 { turn.stalled_before + rtt } else { 0.0 };
    pieces.held = ns(held).min(begin.saturating_sub(before.max(0))).max(0);
    (begin - pieces.held, pieces)
}

/// The same without what stalls add to it; so much of its end was `lost`.
fn cut(turn: &Turn, step: Step, rtt: f64, before: i64, lost: i64) -> (i64, Pieces<i64>) {
    let over = ns(step.over).max(before);
    let begin = ns(step.asked).max(before).min(over);
    let sent = ns(step.sent).max(begin);
    let travelled = match turn.round_trips {
        0.0 if turn.answered => rtt * turn.trips - (sent as f64 - step.sent), // with the one before it
        trips => rtt * turn.trips * trips,
    };
    let lost = lost.min(over - begin);
    let pieces = Pieces::cut(over - begin - lost, sent - begin, ns(step.answered) - sent, ns(travelled));
    (begin, Pieces { response_loss: lost, ..pieces })
}

impl Turn {
    /// A stall of so long a timer lies within it, not in the gap before its last packet.
    fn has_room_for(&self, timer: f64) -> bool {
        [self.request, self.response, self.service].iter().any(|&part| part >= timer)
    }
}

/// It took time, or somebody waited for it: nobody did for what is sent without a wait, wherever it lies in a gap.
pub fn counts(turn: &Turn, pieces: &Pieces<i64>) -> bool {
    pieces.all() > 0 || turn.round_trips > 0.0
}

/// Which parts a turn's stretch belongs to.
pub fn kind(replay: &Replay, turn: &Turn) -> Kind {
    match turn.row {
        HANDSHAKE | GOODBYE => Kind::Setup { whole: true },
        row => replay.connections.kinds[row as usize],
    }
}
