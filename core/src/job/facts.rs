//! What all exchanges of a recording tell together: found before any of them is cut.

use std::ops::Range;

use super::UNSEEN;
use super::columns::{Of, Piece, RARE_COLUMNS, Source, Table};
use super::missing::may_be_missing;
use super::pacing::{Pacing, Senders};
use crate::passes::ascending;
use crate::protocols::Purpose;

#[derive(Debug)]
pub struct Facts {
    /// Of each connection: when its client closed the session, as the last thing on it, without an answer.
    pub session_closed: Vec<i64>,
    /// Its largest request, and its largest response.
    pub largest: [Vec<i64>; 2],
    /// Its client waits for something.
    pub waits: Vec<bool>,
    /// What a round trip takes on it with what the server does, NaN where nothing tells; where packets are missing.
    pub usual_ns: Option<Vec<f64>>,
    /// Some are.
    pub misses: bool,
    pub pacing: Pacing,
    /// Pieces of the table of whose exchanges something depends on what others tell.
    pub depending: Vec<Range<usize>>,
    /// Bytes of all requests, and of all responses; and how long clients waited for acknowledgments, ns.
    pub bytes: [u64; 2],
    pub request_silent: i64,
    /// Packets were sent again.
    pub loses: bool,
    rare: [bool; RARE_COLUMNS],
}

impl Default for Facts {
    /// Anything may be.
    fn default() -> Facts {
        Facts {
            session_closed: Vec::new(),
            largest: [Vec::new(), Vec::new()],
            waits: Vec::new(),
            usual_ns: None,
            misses: false,
            pacing: Pacing::default(),
            depending: Vec::new(),
            bytes: [0; 2],
            request_silent: 0,
            loses: false,
            rare: [true; RARE_COLUMNS],
        }
    }
}

impl Facts {
    /// Some row has something in a rare column; all have a command.
    pub fn has(&self, rare: usize) -> bool {
        self.rare.get(rare).copied().unwrap_or(self.loses)
    }

    /// What all exchanges tell; `take` gets them piece by piece.
    pub fn of<'a, S: Source>(table: &Table<'a, S>, mut take: impl FnMut(Piece<'a>)) -> Result<Facts, S::Error> {
        let connections = table.connections.count();
        let mut facts = Facts {
            session_closed: vec![UNSEEN; connections],
            largest: [vec![0; connections], vec![0; connections]],
            waits: vec![false; connections],
            rare: [false; RARE_COLUMNS],
            ..Facts::default()
        };
        let (mut senders, mut pieces) = (Senders::default(), Vec::new());
        table.pieces(
            |_| true,
            |piece| {
                for (rare, column) in facts.rare.iter_mut().zip(piece.rare()) {
                    *rare |= column.iter().any(|&number| number != 0);
                }
                let mut misses = false;
                for place in 0..piece.rows.len() {
                    facts.add(&piece, place);
                    misses |= may_be_missing(&piece, place);
                }
                pieces.push((piece.rows.clone(), misses));
                senders.add(&piece);
                take(piece);
            },
        )?;
        facts.loses = facts.has(Of::Retransmissions as usize - Of::Streamed as usize);
        facts.pacing = senders.pacing();
        facts.misses = pieces.iter().any(|&(_, misses)| misses);
        pieces.retain(|&(_, misses)| misses || facts.pacing.messages > 0);
        facts.depending = pieces.into_iter().map(|(rows, _)| rows).collect();
        Ok(facts)
    }

    fn add(&mut self, piece: &Piece, place: usize) {
        let connection = piece.connection(place);
        let is_close = piece.purpose(place) == Purpose::Disconnect && piece.at(Of::Response, place) == UNSEEN;
        self.session_closed[connection] = if is_close { piece.at(Of::RequestEnd, place) } else { UNSEEN };
        self.waits[connection] |= piece.at(Of::RoundTrips, place) > 0;
        self.request_silent = self.request_silent.saturating_add(piece.at(Of::RequestSilent, place));
        for (side, of) in [Of::RequestBytes, Of::ResponseBytes].into_iter().enumerate() {
            let bytes = piece.at(of, place);
            self.largest[side][connection] = self.largest[side][connection].max(bytes);
            self.bytes[side] += bytes as u64;
        }
    }
}

/// What exchanges with one round trip wait, and on which connections.
#[derive(Default)]
pub struct Waits {
    connection: Vec<i64>,
    waited: Vec<i64>,
}

impl Waits {
    /// One was captured and waited so long.
    pub fn add(&mut self, connection: usize, complete: bool, round_trips: u32, waited: i64) {
        if complete && round_trips == 1 && waited >= 0 {
            self.connection.push(connection as i64);
            self.waited.push(waited);
        }
    }

    /// At the median: of each connection, else of all.
    pub fn usual(mut self, connections: usize) -> Vec<f64> {
        let (waited, starts) = ascending(Some(&self.connection), &self.waited, None, connections);
        let of_all = median(&mut self.waited);
        let usual = |edges: &[i64]| match &waited[edges[0] as usize..edges[1] as usize] {
            [] => of_all,
            own => own[own.len().div_ceil(2) - 1] as f64,
        };
        starts.windows(2).map(usual).collect()
    }
}

/// NaN of none.
pub fn median(values: &mut [i64]) -> f64 {
    values.sort_unstable();
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[middle] as f64,
        _ => (values[middle - 1] as f64 + values[middle] as f64) / 2.0,
    }
}
