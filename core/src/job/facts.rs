//! What all exchanges of a recording tell together: found before any of them is cut.

use std::io;
use std::ops::Range;

use super::UNSEEN;
use super::logins::Login;
use super::missing::may_be_missing;
use super::pacing::{Pacing, Senders};
use super::piece::{ALWAYS, Piece, RARE};
use super::table::Table;
use crate::passes::ascending;
use crate::protocols::Purpose;
use crate::recording::Column;

#[derive(Debug)]
pub struct Facts {
    /// Of each connection: when its client closed the session, as the last thing on it, without an answer.
    pub session_closed: Vec<i64>,
    /// Its largest request, and its largest response.
    pub largest: [Vec<i64>; 2],
    /// The login that opened it.
    pub logins: Vec<Login>,
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
    /// Columns from which an exchange is read.
    pub columns: Vec<Column>,
}

impl Default for Facts {
    /// Anything may be.
    fn default() -> Facts {
        Facts {
            session_closed: Vec::new(),
            largest: [Vec::new(), Vec::new()],
            logins: Vec::new(),
            waits: Vec::new(),
            usual_ns: None,
            misses: false,
            pacing: Pacing::default(),
            depending: Vec::new(),
            bytes: [0; 2],
            request_silent: 0,
            loses: false,
            columns: columns(|_| true),
        }
    }
}

impl Facts {
    /// What all exchanges tell; `take` gets them piece by piece.
    pub fn of<'a>(table: &'a Table, mut take: impl FnMut(Piece<'a>)) -> io::Result<Facts> {
        let connections = table.connections.count();
        let mut facts = Facts {
            session_closed: vec![UNSEEN; connections],
            largest: [vec![0; connections], vec![0; connections]],
            logins: vec![Login::default(); connections],
            waits: vec![false; connections],
            ..Facts::default()
        };
        let (mut senders, mut pieces, mut has) = (Senders::default(), Vec::new(), RARE.map(|_| false));
        table.pieces(&columns(|_| true), |piece| {
            has.iter_mut().zip(RARE).for_each(|(has, rare)| *has |= piece.has_any(rare));
            let mut misses = false;
            for place in 0..piece.rows.len() {
                facts.add(&piece, place);
                misses |= may_be_missing(&piece, place);
            }
            pieces.push((piece.rows.clone(), misses));
            senders.add(&piece);
            take(piece);
        })?;
        facts.columns = columns(|column| RARE.iter().zip(has).any(|(&rare, has)| rare == column && has));
        facts.loses = facts.columns.contains(&Column::retransmissions);
        facts.pacing = senders.pacing();
        facts.misses = pieces.iter().any(|&(_, misses)| misses);
        pieces.retain(|&(_, misses)| misses || facts.pacing.messages > 0);
        facts.depending = pieces.into_iter().map(|(rows, _)| rows).collect();
        Ok(facts)
    }

    fn add(&mut self, piece: &Piece, place: usize) {
        let connection = piece.connection(place);
        let is_close = piece.purpose(place) == Purpose::Disconnect && piece.at(Column::response_time, place) == UNSEEN;
        self.session_closed[connection] = if is_close { piece.at(Column::request_end_time, place) } else { UNSEEN };
        self.logins[connection].add(piece, place);
        self.waits[connection] |= piece.at(Column::round_trips, place) > 0;
        self.request_silent = self.request_silent.saturating_add(piece.at(Column::request_silent_ns, place));
        for (side, of) in [Column::request_wire_bytes, Column::response_wire_bytes].into_iter().enumerate() {
            let bytes = piece.at(of, place);
            self.largest[side][connection] = self.largest[side][connection].max(bytes);
            self.bytes[side] += bytes as u64;
        }
    }
}

/// Columns that are read of every row, the rare ones that some row `has`, and commands where something was lost.
fn columns(has: impl Fn(Column) -> bool) -> Vec<Column> {
    let command = has(Column::retransmissions).then_some(Column::command);
    ALWAYS.into_iter().chain(RARE.into_iter().filter(|&rare| has(rare))).chain(command).collect()
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
