//! The steps of a replay, and where its time goes: by the same rule as that of what was captured.

use super::abreast::{ABREAST, Times};
use super::attribute::{Kind, Parts, attribute};
use super::body::{GOODBYE, HANDSHAKE};
use super::pieces::Pieces;
use super::run::{Run, Walk};
use super::shared_time::SharedTime;
use super::{Network, Replay};

/// The parts of the time that `replay` takes at each RTT (NaN for those as they were); a longer pause of the client than
/// `think_ns` is think time.
pub fn parts(replay: &Replay, rtts_ns: &[f64], network: &Network, think_ns: f64) -> Vec<Parts> {
    let walk = Walk::new(replay, network);
    let through = |rtts_ns: &[f64]| {
        let mut runs = [Run::stepping(&walk, rtts_ns)];
        walk.all(&mut runs);
        let [run] = &runs;
        (0..rtts_ns.len()).map(|place| At { replay, network, run, place }.parts(think_ns)).collect::<Vec<_>>()
    };
    rtts_ns.chunks(ABREAST).flat_map(through).collect()
}

/// A replay at one of the RTTs of a run.
struct At<'a> {
    replay: &'a Replay,
    network: &'a Network,
    run: &'a Run,
    place: usize,
}

impl At<'_> {
    fn parts(&self, think_ns: f64) -> Parts {
        let order = self.order();
        let spans = self.stretches(&order).map(|(_, begin, pieces)| (begin, begin + pieces.all()));
        let shared = SharedTime::of(spans.collect(), None);
        let mut parts = attribute(self.stretches(&order), &shared, |_, _| ());
        parts.rest(shared.idle(0, self.run.latest()[self.place].round() as i64), think_ns);
        parts
    }

    fn ns(&self, times: Times) -> i64 {
        times.0[self.place].round() as i64
    }

    /// The turns of each connection together, in the order in which they ask.
    fn order(&self) -> Vec<u32> {
        let key = |&number: &u32| {
            let asked = self.ns(self.run.steps[number as usize].asked);
            (self.replay.turns.bodies.of(number).connection, asked)
        };
        let mut order: Vec<u32> = (0..self.replay.turns.len() as u32).collect();
        order.sort_by_cached_key(key);
        order
    }

    /// The stretch of each turn: it begins where the one before it on its connection ended.
    fn stretches(&self, order: &[u32]) -> impl Iterator<Item = (Kind, i64, Pieces<i64>)> {
        let (mut connection, mut before) = (None, i64::MIN);
        order.iter().map(move |&number| {
            let turn = self.replay.turn(number);
            if connection != Some(turn.connection) {
                (connection, before) = (Some(turn.connection), i64::MIN);
            }
            let step = &self.run.steps[number as usize];
            let over = self.ns(step.over).max(before);
            let begin = self.ns(step.asked).max(before).min(over);
            let rtt = self.run.rtt(turn.phase, self.place);
            let longer = rtt - self.replay.connections.baseline_ns[turn.phase as usize];
            let within = if turn.stalled_within > 0.0 { turn.stalled_within + rtt - longer } else { 0.0 };
            let added = if turn.stalled_within > 0.0 { (longer.round() as i64).min(over - begin) } else { 0 };
            let segments = self.replay.segments(turn.row);
            let lost = (self.network.resent(&turn, segments, rtt).round() as i64).min(over - begin - added.max(0));
            let sent = self.ns(step.sent).max(begin);
            let mut travelled = rtt * turn.trips * turn.round_trips;
            if turn.round_trips == 0.0 && turn.answered {
                travelled = rtt * turn.trips - (sent as f64 - step.sent.0[self.place]); // with the one before it
            }
            let length = over - begin - added - lost;
            let mut pieces = Pieces::cut(length, sent - begin, self.ns(step.answered) - sent, travelled.round() as i64);
            pieces.hold(turn.stalled_within, within.round() as i64);
            pieces.response_held += added;
            pieces.response_loss = lost;
            if turn.stalled_before > 0.0 {
                pieces.held =
                    ((turn.stalled_before + rtt).round() as i64).min(begin.saturating_sub(before.max(0))).max(0);
            }
            before = over;
            (self.kind(turn.row), begin - pieces.held, pieces)
        })
    }

    fn kind(&self, row: u32) -> Kind {
        match row {
            HANDSHAKE | GOODBYE => Kind::Setup { whole: true },
            row => self.replay.connections.kinds[row as usize],
        }
    }
}
