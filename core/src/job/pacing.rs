//! Senders that pace (BBR, a fair queue): what they have ready leaves evenly over the round trip, not at once.
//!
//! `core/src/stream/pace.rs` sums up how long segments came late though more was ready and no acknowledgment can have been
//! waited for. A single late one may be a host that stood still; here is decided who paces.

use std::collections::BTreeMap;

use super::UNSEEN;
use super::columns::{Of, Piece};
use super::transfer::INITIAL_WINDOW;

/// A pace lets about 1 ms pass from burst to burst; hosts stand still for less.
const LEAST_NS: f64 = 500e3;
/// On a nearer network all that a pace sends in a millisecond, which is one burst, takes a round trip or longer.
const LEAST_RTT_NS: f64 = 2e6;
/// A pace takes about half of the RTT (BBR), a slow one a tenth; and less than all of it.
const OF_RTT: [f64; 2] = [0.1, 0.9];
/// More than that of a sender's large messages leave so.
const MANY: f64 = 0.25;
/// Of the time that a message takes: below the one, it waits for rounds and production; above the other, for nothing else.
const MOSTLY: f64 = 0.25;
const ALONE: f64 = 0.75;
/// What a segment holds on Ethernet.
const MSS_BYTES: f64 = 1460.0;

/// Who paces: client hosts, and servers.
#[derive(Debug, Default)]
pub struct Pacing {
    sides: [Paced; 2],
    /// How many large messages show it, of so many that the same senders sent.
    pub messages: usize,
    pub of: usize,
}

#[derive(Debug, Default)]
struct Paced {
    senders: Vec<u32>,
    /// What a message takes beside its pace, in ns a byte, where that shows.
    beside: Option<f64>,
}

/// A message, as far as it was captured.
struct Message {
    sender: u32,
    late: f64,
    spread: f64,
    bytes: f64,
}

impl Message {
    fn of(piece: &Piece, place: usize, side: usize) -> Message {
        let connections = piece.connections;
        let sender = [&connections.client, &connections.server][side][piece.connection(place)];
        let at = |of: [Of; 2]| piece.at(of[side], place);
        let begin = at([Of::Request, Of::Response]);
        let seen = side == 0 || begin != UNSEEN;
        Message {
            sender,
            late: at([Of::RequestPaced, Of::ResponsePaced]) as f64,
            spread: at([Of::RequestEnd, Of::ResponseEnd]).wrapping_sub(begin) as f64,
            bytes: if seen { at([Of::RequestBytes, Of::ResponseBytes]) as f64 } else { 0.0 },
        }
    }

    fn is_large(&self) -> bool {
        self.bytes > INITIAL_WINDOW * MSS_BYTES
    }

    fn shows(&self, rtt_ns: f64) -> bool {
        let [least, most] = OF_RTT;
        let as_a_pace = self.late >= LEAST_NS.max(least * rtt_ns) && self.late <= most * rtt_ns;
        self.is_large() && rtt_ns >= LEAST_RTT_NS && as_a_pace
    }
}

/// How many large messages each sender sent, and how many of them show a pace.
#[derive(Debug, Default)]
pub struct Senders {
    sides: [BTreeMap<u32, [usize; 2]>; 2],
    /// What those took beside their pace that waited for nothing else, in ns a byte.
    beside: [Vec<f64>; 2],
}

impl Senders {
    pub fn add(&mut self, piece: &Piece) {
        for side in 0..2 {
            for place in 0..piece.rows.len() {
                let message = Message::of(piece, place, side);
                if !message.is_large() {
                    continue;
                }
                let rtt_ns = piece.phases.baseline_ns[piece.places[place][1] as usize];
                let shows = message.shows(rtt_ns);
                let counts = self.sides[side].entry(message.sender).or_default();
                counts[0] += 1;
                counts[1] += usize::from(shows);
                if shows && message.late > ALONE * message.spread {
                    self.beside[side].push((message.spread - message.late) / message.bytes);
                }
            }
        }
    }

    /// Who paces: more than a quarter of what is larger than the initial window leaves so.
    pub fn pacing(self) -> Pacing {
        let mut pacing = Pacing::default();
        for (side, (senders, mut beside)) in self.sides.into_iter().zip(self.beside).enumerate() {
            for (sender, [of, shows]) in senders {
                if shows > 0 && shows as f64 > MANY * of as f64 {
                    pacing.sides[side].senders.push(sender);
                    pacing.messages += shows;
                    pacing.of += of;
                }
            }
            beside.sort_by(f64::total_cmp);
            let middle = beside.len() / 2;
            pacing.sides[side].beside = match beside.len() {
                0 => None,
                count if count % 2 == 1 => Some(beside[middle]),
                _ => Some(f64::midpoint(beside[middle - 1], beside[middle])),
            };
        }
        pacing
    }
}

impl Pacing {
    /// How long a row's request, and its response, were kept back by who paces.
    pub fn of(&self, piece: &Piece, place: usize) -> [f64; 2] {
        [0, 1].map(|side| {
            let paced = &self.sides[side];
            if paced.senders.is_empty() {
                return 0.0;
            }
            let message = Message::of(piece, place, side);
            if message.late <= MOSTLY * message.spread || paced.senders.binary_search(&message.sender).is_err() {
                return 0.0;
            }
            // all else of those that take several rounds is pace as well
            paced.beside.map_or(message.late, |beside| message.late.max(message.spread - beside * message.bytes))
        })
    }
}
