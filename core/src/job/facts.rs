//! What all exchanges of a recording tell together: found before any of them is cut.

use super::UNSEEN;
use super::columns::{Of, Piece, RARE_COLUMNS, Source, Table};
use super::missing::may_be_missing;
use super::pacing::{Pacing, Senders};
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
    pub pacing: Pacing,
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
            pacing: Pacing::default(),
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

    /// What is held of an exchange depends on what others tell.
    pub fn fill_in(&self) -> bool {
        self.usual_ns.is_some() || self.pacing.messages > 0
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
        let (mut senders, mut misses) = (Senders::default(), false);
        table.pieces(
            |_| true,
            |piece| {
                for (rare, column) in facts.rare.iter_mut().zip(piece.rare()) {
                    *rare |= column.iter().any(|&number| number != 0);
                }
                for place in 0..piece.rows.len() {
                    facts.add(&piece, place);
                    misses |= may_be_missing(&piece, place);
                }
                senders.add(&piece);
                take(piece);
            },
        )?;
        facts.loses = facts.has(Of::Retransmissions as usize - Of::Streamed as usize);
        facts.pacing = senders.pacing();
        if misses {
            facts.usual_ns = Some(usual(table, connections)?);
        }
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

/// What an exchange with one round trip waits at the median: of each connection, else of all.
fn usual<S: Source>(table: &Table<'_, S>, connections: usize) -> Result<Vec<f64>, S::Error> {
    let mut waits = Vec::new();
    table.pieces(
        |_| false,
        |piece| {
            for place in 0..piece.rows.len() {
                let waited = piece.at(Of::Waited, place);
                if piece.is_complete(place) && piece.at(Of::RoundTrips, place) == 1 && waited >= 0 {
                    waits.push((piece.connection(place), waited));
                }
            }
        },
    )?;
    let mut all: Vec<i64> = waits.iter().map(|&(_, waited)| waited).collect();
    let mut usual = vec![median(&mut all); connections];
    waits.sort_unstable();
    for own in waits.chunk_by(|one, other| one.0 == other.0) {
        let (connection, waited) = own[own.len().div_ceil(2) - 1];
        usual[connection] = waited as f64;
    }
    Ok(usual)
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
