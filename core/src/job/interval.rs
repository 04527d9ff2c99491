//! What a step took, cut like an exchange that was captured.

use super::Replay;
use super::attribute::Kind;
use super::network::Network;
use super::pieces::Pieces;
use super::step::Step;
use super::step_body::is_exchange;

/// When a step asked, had sent its request, was answered first, and was over, ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    pub asked: f64,
    pub sent: f64,
    pub answered: f64,
    pub over: f64,
}

impl From<[f64; 4]> for Moments {
    fn from([asked, sent, answered, over]: [f64; 4]) -> Moments {
        Moments { asked, sent, answered, over }
    }
}

/// A whole number of ns.
pub fn ns(time: f64) -> i64 {
    (time + 0.5) as i64
}

/// The interval of a step at this RTT: when it begins, no earlier than what is `before` it on its connection is over,
/// and its pieces.
pub fn interval(
    replay: &Replay,
    network: &Network,
    step: &Step,
    moments: Moments,
    rtt: f64,
    before: i64,
) -> (i64, Pieces<i64>) {
    if step.stalled_before <= 0.0 && step.stalled_within <= 0.0 && network.loss <= 0.0 {
        return cut(step, moments, rtt, before, 0);
    }
    let longer = rtt - replay.connections.baseline_ns[step.phase as usize];
    let lost = ns(network.resent(step, replay.segments(step.row), rtt));
    let (stalled, within) = match step.stalled_within {
        0.0 => (0.0, 0.0),
        timer if step.has_room_for(timer) => (0.0, longer),
        timer => (timer + rtt, 0.0), // it lies in the gap, of which the replay does not know that it is longer
    };
    let later = if stalled > 0.0 { longer } else { 0.0 };
    let [asked, sent, answered] = [moments.asked, moments.sent, moments.answered].map(|time| time + later);
    let over = moments.over - within;
    let (begin, mut pieces) = cut(step, Moments { asked, sent, answered, over }, rtt, before, lost);
    if within != 0.0 {
        pieces.stall(step.stalled_within, ns(step.stalled_within + rtt - longer));
        let piece = if pieces.request_stalled > 0 { &mut pieces.request_stalled } else { &mut pieces.response_stalled };
        *piece = (*piece + ns(within)).max(0);
    }
    let stalled = stalled + if step.stalled_before > 0.0 { step.stalled_before + rtt } else { 0.0 };
    pieces.stalled = ns(stalled).min(begin.saturating_sub(before.max(0))).max(0);
    (begin - pieces.stalled, pieces)
}

/// The same without what stalls add to it; so much of its end was `lost`.
fn cut(step: &Step, moments: Moments, rtt: f64, before: i64, lost: i64) -> (i64, Pieces<i64>) {
    let over = ns(moments.over).max(before);
    let begin = ns(moments.asked).max(before).min(over);
    let sent = ns(moments.sent).max(begin);
    let travelled = match step.round_trips {
        0.0 if step.answered => rtt * step.trips - (sent as f64 - moments.sent), // with the one before it
        trips => rtt * step.trips * trips,
    };
    let lost = lost.min(over - begin);
    let pieces = Pieces::cut(over - begin - lost, sent - begin, ns(moments.answered) - sent, ns(travelled));
    (begin, Pieces { response_loss: lost, ..pieces })
}

impl Step {
    /// A stall of so long a timer lies within it, not in the gap before its last packet.
    fn has_room_for(&self, timer: f64) -> bool {
        [self.request, self.response, self.service].iter().any(|&part| part >= timer)
    }
}

/// It took time, or somebody waited for it: nobody did for what is sent without a wait, wherever it lies in a gap.
pub fn counts(step: &Step, pieces: &Pieces<i64>) -> bool {
    pieces.all() > 0 || step.round_trips > 0.0
}

/// Which parts a step's interval belongs to.
pub fn kind(replay: &Replay, step: &Step) -> Kind {
    match is_exchange(step.row) {
        true => replay.connections.kinds[step.row as usize],
        false => Kind::Setup { whole: true },
    }
}
