//! The exchanges of a job as they are held while it is divided and replayed: its table is read once.
//!
//! Most of them are alike: some packets, an answer, nothing lost and nothing held up. Of those is held what tells them
//! apart, 36 bytes each; the others as they are.

use super::UNSEEN;
use super::exchange::Exchange;
use super::filled::{Filled, in_packets};
use super::piece::{COMMAND, PURPOSES, Piece};
use super::recorded::Connections;
use super::table::Table;
use crate::protocols::Purpose;
use crate::recording::Column;

/// Up to this many unusual rows are kept whole, however few rows there are.
const MAX_UNUSUAL_ROWS: usize = 1 << 12;
/// One unusual row in this many is kept whole.
const ROWS_PER_UNUSUAL: usize = 8;

/// The rows of a table.
#[derive(Debug, Default)]
pub struct PackedRows {
    rows: Vec<Row>,
    flags: Vec<Flags>,
    /// Those that are not like most, by row.
    others: Vec<Exchange>,
    /// Too many are not.
    pub given_up: bool,
}

/// When it began, how long after that its request was sent, after that it was answered, and that answer was over, ns.
#[derive(Clone, Copy, Debug)]
struct Row {
    begin: i64,
    sent: u32,
    waited: u32,
    answered: u32,
    bytes: [u32; 2],
    /// The number of its statement, or of its command, and its purpose, as an exchange has them.
    asked: u32,
}

#[derive(Clone, Copy, Debug)]
struct Flags {
    flags: u16,
    round_trips: u8,
}

const ANSWERED: u16 = 1;
const TIMED: u16 = 1 << 1;
const COMPLETE: u16 = 1 << 2;
const ENDS: u16 = 1 << 3;
const SHARED: u16 = 1 << 4;
const DEFERRED: u16 = 1 << 5;
const STREAMED: u16 = 1 << 6;
const RESENT: u16 = 1 << 7;
const STALLED: u16 = 1 << 8;
const STATEMENT: u16 = 1 << 9;

const SETUP: u32 = Purpose::Setup as u32;

impl PackedRows {
    /// None yet of so many.
    pub fn of(rows: usize) -> PackedRows {
        PackedRows { rows: Vec::with_capacity(rows), flags: Vec::with_capacity(rows), ..PackedRows::default() }
    }

    /// None at all, where there is no room for them.
    pub fn nothing() -> PackedRows {
        PackedRows { given_up: true, ..PackedRows::default() }
    }

    /// The next rows.
    pub fn add(&mut self, filled: &Filled) {
        if self.given_up {
            return;
        }
        let piece = &filled.piece;
        for place in 0..piece.rows.len() {
            let exchange = filled.exchange(place);
            let (row, flags) = packed(piece, place, &exchange);
            if unpacked(&row, flags, exchange.row, piece.owners[place], &piece.of.connections) != exchange {
                self.others.push(exchange);
            }
            self.rows.push(row);
            self.flags.push(flags);
            if self.others.len() > MAX_UNUSUAL_ROWS.max(self.rows.len() / ROWS_PER_UNUSUAL) {
                *self = PackedRows::nothing();
                return;
            }
        }
    }

    /// Rows that were added, as they are with what others tell.
    pub fn replace(&mut self, filled: &Filled) {
        let rows = filled.piece.rows.clone();
        let mut again = PackedRows::of(rows.len());
        again.add(filled);
        if self.given_up || again.given_up {
            *self = PackedRows::nothing();
            return;
        }
        self.rows[rows.clone()].copy_from_slice(&again.rows);
        self.flags[rows.clone()].copy_from_slice(&again.flags);
        self.others.retain(|other| !rows.contains(&(other.row as usize)));
        let place = self.others.partition_point(|other| (other.row as usize) < rows.start);
        self.others.splice(place..place, again.others);
    }

    /// All, if they are worth it.
    pub fn found(self) -> Option<PackedRows> {
        (!self.given_up).then_some(self)
    }

    /// Each row of what was recorded.
    pub fn each(&self, of: &Table, take: &mut dyn FnMut(&Exchange)) {
        let mut others = self.others.iter().peekable();
        let rows = self.rows.iter().zip(&self.flags).zip(of.owners(0..self.rows.len()));
        for (number, ((row, &flags), owner)) in (0..).zip(rows) {
            match others.next_if(|other| other.row == number) {
                Some(other) => take(other),
                None => take(&unpacked(row, flags, number, owner, &of.connections)),
            }
        }
    }
}

fn packed(piece: &Piece, place: usize, exchange: &Exchange) -> (Row, Flags) {
    let short = |length: i64| u32::try_from(length).unwrap_or(u32::MAX);
    let Exchange { request, request_end, response, response_end, statement, .. } = *exchange;
    let of_statement = statement >= PURPOSES;
    let command = short((exchange.kind & !COMMAND) as i64);
    let asked = if of_statement { statement } else { command.wrapping_mul(PURPOSES).wrapping_add(statement) };
    let row = Row {
        begin: request,
        sent: short(request_end.wrapping_sub(request)),
        waited: short(response.wrapping_sub(request_end)),
        answered: short(response_end.wrapping_sub(response)),
        bytes: [Column::request_wire_bytes, Column::response_wire_bytes].map(|sizes| short(piece.at(sizes, place))),
        asked,
    };
    let flags = [
        (ANSWERED, response != UNSEEN),
        (TIMED, exchange.waited != UNSEEN),
        (COMPLETE, exchange.complete),
        (ENDS, exchange.ends_transaction),
        (SHARED, exchange.shared),
        (DEFERRED, exchange.deferred),
        (STREAMED, exchange.streamed),
        (RESENT, exchange.resent),
        (STALLED, exchange.was_stalled),
        (STATEMENT, of_statement),
    ];
    let flags = flags.into_iter().filter(|&(_, is_so)| is_so).fold(0, |all, (flag, _)| all | flag);
    (row, Flags { flags, round_trips: u8::try_from(exchange.round_trips).unwrap_or(u8::MAX) })
}

fn unpacked(
    row: &Row,
    Flags { flags, round_trips }: Flags,
    number: u32,
    [connection, phase]: [u32; 2],
    connections: &Connections,
) -> Exchange {
    let has = |flag: u16| flags & flag != 0;
    let request_end = row.begin.wrapping_add(row.sent.into());
    let response = if has(ANSWERED) { request_end.wrapping_add(row.waited.into()) } else { UNSEEN };
    let response_end = if has(ANSWERED) { response.wrapping_add(row.answered.into()) } else { UNSEEN };
    let purpose = row.asked % PURPOSES;
    let (statement, kind) = match has(STATEMENT) {
        true => (row.asked, u64::from(row.asked / PURPOSES - 1)),
        false => (purpose, COMMAND | u64::from(row.asked / PURPOSES)),
    };
    let alone = row.bytes.map(|bytes| f64::from(bytes) / connections.segment_bytes[connection as usize]);
    Exchange {
        row: number,
        connection,
        phase,
        request: row.begin,
        request_end,
        response,
        response_end,
        waited: if has(TIMED) { row.waited.into() } else { UNSEEN },
        round_trips: round_trips.into(),
        setup: purpose == SETUP,
        complete: has(COMPLETE),
        ends_transaction: has(ENDS),
        shared: has(SHARED),
        deferred: has(DEFERRED),
        streamed: has(STREAMED),
        statement,
        segments: alone.map(|alone| in_packets(alone, alone)),
        alone,
        stalled: [0.0; 2],
        lost_before: 0,
        silent: 0.0,
        request_silent: 0.0,
        paced: [0.0; 2],
        since_push: 0.0,
        resent: has(RESENT),
        was_stalled: has(STALLED),
        kind,
    }
}
