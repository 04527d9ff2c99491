//! Senders that pace (BBR, a fair queue): what they have ready leaves evenly over the round trip, not at once.
//!
//! `core/src/stream/pace.rs` sums up how long segments came late though more was ready and no acknowledgment can have
//! been waited for. A single late one may be a host that stood still; here is decided who paces.

use std::collections::BTreeMap;

use super::UNSEEN;
use super::piece::Piece;
use super::transfer::INITIAL_WINDOW;
use crate::recording::Column;

/// A pace lets about 1 ms pass from burst to burst; hosts stand still for less.
const MIN_WAIT_NS: f64 = 500e3;
/// At a shorter RTT, the one burst that a pace sends in a millisecond takes a round trip or longer.
const MIN_RTT_NS: f64 = 2e6;
/// A pace takes between these shares of the RTT: about half of it (BBR), or a tenth where it is slow.
const RTT_SHARES: [f64; 2] = [0.1, 0.9];
/// A sender paces if at least this share of its large messages leaves that way.
const MIN_PACED_SHARE: f64 = 0.25;
/// A message that spends less than this share of its time on the pace waits for rounds and production.
const MAX_MIXED_SHARE: f64 = 0.25;
/// A message that spends at least this share of its time on the pace waits for nothing else.
const MIN_PURE_SHARE: f64 = 0.75;
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
        let connections = &piece.of.connections;
        let sender = [&connections.client, &connections.server][side][piece.connection(place)];
        let at = |of: [Column; 2]| piece.at(of[side], place);
        let begin = at([Column::request_time, Column::response_time]);
        let seen = side == 0 || begin != UNSEEN;
        Message {
            sender,
            late: at([Column::request_paced_ns, Column::response_paced_ns]) as f64,
            spread: at([Column::request_end_time, Column::response_end_time]).wrapping_sub(begin) as f64,
            bytes: if seen { at([Column::request_wire_bytes, Column::response_wire_bytes]) as f64 } else { 0.0 },
        }
    }

    fn is_large(&self) -> bool {
        self.bytes > INITIAL_WINDOW * MSS_BYTES
    }

    fn shows(&self, rtt_ns: f64) -> bool {
        let [least, most] = RTT_SHARES;
        let as_a_pace = self.late >= MIN_WAIT_NS.max(least * rtt_ns) && self.late <= most * rtt_ns;
        self.is_large() && rtt_ns >= MIN_RTT_NS && as_a_pace
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
                let rtt_ns = piece.of.phases.baseline_ns[piece.owners[place][1] as usize];
                let shows = message.shows(rtt_ns);
                let counts = self.sides[side].entry(message.sender).or_default();
                counts[0] += 1;
                counts[1] += usize::from(shows);
                if shows && message.late > MIN_PURE_SHARE * message.spread {
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
                if shows > 0 && shows as f64 > MIN_PACED_SHARE * of as f64 {
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
            if message.late <= MAX_MIXED_SHARE * message.spread || paced.senders.binary_search(&message.sender).is_err()
            {
                return 0.0;
            }
            // all else of those that take several rounds is pace as well
            paced.beside.map_or(message.late, |beside| message.late.max(message.spread - beside * message.bytes))
        })
    }
}
