//! Turns of one connection that nothing but the windows of its senders can hold up: their times add up.
//!
//! In a chain (`program.rs`) the windows have no part either, so all RTTs go through it abreast. Otherwise each RTT goes
//! on by itself until a window is full, or was used enough to grow: that turn is walked by the usual rule.

use super::transfer::Sender;
use super::turn::Turn;
use super::{Halvings, Replay};

/// So many turns are looked at together.
pub const BLOCK: usize = 512;
/// So many RTTs go through the turns together: more would hold more of their connections than a cache does.
pub const ABREAST: usize = 16;

/// What counts of such a turn.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    pub number: u32,
    gap: f64,
    request: f64,
    trips: f64,
    service: f64,
    response: f64,
    segments: [f64; 2],
    halvings: Halvings,
}

impl Plain {
    pub fn of(replay: &Replay, number: u32) -> Plain {
        let turn = replay.turn(number);
        Plain {
            number,
            gap: turn.gap,
            request: turn.request,
            trips: turn.trips,
            service: turn.service,
            response: turn.response,
            segments: replay.segments(turn.row),
            halvings: replay.halvings[number as usize],
        }
    }
}

/// When `turns` that wait for one round trip each are over, at each of `rtts`: the first begins at `now`.
pub fn wait_through(turns: impl Iterator<Item = Turn>, now: &mut [f64], rtts: &[f64]) {
    let (mut lanes, mut waits) = ([0.0; ABREAST], [0.0; ABREAST]);
    lanes[..now.len()].copy_from_slice(now);
    waits[..now.len()].copy_from_slice(rtts);
    for turn in turns {
        for (lane, wait) in lanes.iter_mut().zip(&waits) {
            *lane = *lane + turn.gap + turn.request + wait + turn.service + turn.response;
        }
    }
    now.copy_from_slice(&lanes[..now.len()]);
}

/// Go on from `now` with those of `turns` that find their windows, and leave them, as they are: how many these are, and
/// when they are over.
pub fn go_on(turns: &[Plain], now: f64, rtt: f64, senders: &mut [Sender; 2]) -> (usize, f64) {
    let ([mut client, mut server], mut over) = (*senders, now);
    let fits = |turn: &&Plain| {
        let (before, asked) = (client, over + turn.gap);
        let answered = asked + turn.request + turn.trips * rtt + turn.service;
        let fits = turn.halvings == [0; 2]
            && client.fits(asked, turn.segments[0], rtt)
            && server.fits(answered, turn.segments[1], rtt);
        (client, over) = if fits { (client, answered + turn.response) } else { (before, over) };
        fits
    };
    let count = turns.iter().take_while(fits).count();
    *senders = [client, server];
    (count, over)
}
