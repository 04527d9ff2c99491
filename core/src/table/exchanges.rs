//! The table of exchanges, column by column, so that a million of them cost little more than their numbers.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::columns::{Column, Flag, Kind, Name, Number, Optional, OptionalName, Time};
use super::errors::Errors;
use crate::conversation::Conversation;
use crate::exchange::{Exchange, Span};
use crate::sql::Statements;
use crate::stream::Mark;

/// Bytes that the measures, the projection and the findings take for a row.
const ANALYSED: usize = 480;

/// Of the room for errors, one part in so many is for their codes: a few bytes each, and few of them.
const CODES: usize = 16;

/// What a row is made of.
struct Row {
    stream: u32,
    exchange: Exchange,
    /// The first and the last packet of the request, then of the response.
    marks: [Option<Mark>; 4],
    error: Option<String>,
    error_code: Option<String>,
}

impl Row {
    fn new(stream: u32, mut exchange: Exchange, statements: &Statements) -> Row {
        let error = exchange.error.take();
        let error_code = error.as_ref().map(|error| Statements::error_code(&error.code));
        let error = error.map(|error| statements.error(exchange.sql, &error.code, &error.message));
        let ends = |span: Option<Span>| [span.map(|span| span.first), span.map(|span| span.last)];
        let ([first, last], [answer, end]) = (ends(exchange.request), ends(exchange.response));
        let marks = [first, last, answer, end].map(|mark| mark.filter(|mark| mark.frame > 0));
        Row { stream, exchange, marks, error, error_code }
    }

    fn frame(&self, place: usize) -> Option<u32> {
        self.marks[place].map(|mark| mark.frame as u32)
    }

    fn time_ns(&self, place: usize) -> Option<i64> {
        self.marks[place].map(|mark| mark.time_ns)
    }
}

/// Declares each column once: its name, its kind, and what it takes from a row.
macro_rules! columns {
    ($($name:ident: $kind:ty = $value:expr;)*) => {
        #[derive(Debug, Default)]
        pub struct ExchangeColumns {
            $(pub(super) $name: Column<$kind>,)*
        }

        /// What a row takes, with what is computed from it.
        const ROW_BYTES: usize = ANALYSED $(+ size_of::<<$kind as Kind>::Stored>())*;

        impl ExchangeColumns {
            fn push(&mut self, mut row: Row) {
                $(
                    let value: fn(&mut Row) -> <$kind as Kind>::Value = $value;
                    self.$name.push(value(&mut row));
                )*
            }

            fn permute(&mut self, order: &[u32]) {
                $(self.$name.permute(order);)*
            }

            /// As an Arrow table; the columns move, they are not copied.
            pub fn into_batch(self) -> Result<RecordBatch, ArrowError> {
                RecordBatch::try_from_iter([$((stringify!($name), self.$name.into_array()),)*])
            }
        }
    };
}

columns! {
    stream: Number<u32> = |row| row.stream;
    exchange: Number<u32> = |row| row.exchange.number;
    command: Name = |row| row.exchange.command;
    purpose: Name = |row| row.exchange.purpose.as_str();
    fingerprint: Optional<u32> = |row| row.exchange.sql.map(|sql| sql.fingerprint);
    text: Optional<u32> = |row| row.exchange.sql.map(|sql| sql.text);
    parameters: Number<u64> = |row| row.exchange.sql.map_or(0, |sql| sql.parameters);
    tags: Optional<u32> = |row| row.exchange.sql.map(|sql| sql.tags);
    request_frame: Optional<u32> = |row| row.frame(0);
    request_end_frame: Optional<u32> = |row| row.frame(1);
    response_frame: Optional<u32> = |row| row.frame(2);
    response_end_frame: Optional<u32> = |row| row.frame(3);
    request_time: Time = |row| row.time_ns(0);
    request_end_time: Time = |row| row.time_ns(1);
    response_time: Time = |row| row.time_ns(2);
    response_end_time: Time = |row| row.time_ns(3);
    request_bytes: Number<u64> = |row| row.exchange.request_bytes;
    response_bytes: Number<u64> = |row| row.exchange.response_bytes;
    round_trips: Number<u32> = |row| row.exchange.round_trips;
    wait: Name = |row| row.exchange.wait.as_str();
    waited_ns: Optional<i64> = |row| row.exchange.waited_ns;
    rows: Optional<u64> = |row| row.exchange.rows;
    affected_rows: Optional<u64> = |row| row.exchange.affected_rows;
    error: Errors = |row| row.error.take();
    error_code: Errors = |row| row.error_code.take();
    delta_ns: Optional<i64> = |row| row.exchange.delta_ns;
    client_ns: Optional<i64> = |row| row.exchange.client_ns;
    retransmissions: Number<u32> = |row| row.exchange.retransmissions;
    stalled_ns: Number<i64> = |row| row.exchange.stalled_ns;
    transaction: OptionalName = |row| row.exchange.transaction;
    complete: Flag = |row| row.exchange.complete;
}

impl ExchangeColumns {
    /// Texts and codes of errors may take so many bytes.
    pub fn within(error_bytes: usize) -> ExchangeColumns {
        let mut columns = ExchangeColumns::default();
        columns.error_code.kind.most = error_bytes / CODES;
        columns.error.kind.most = error_bytes - error_bytes / CODES;
        columns
    }

    /// What the rows and their texts take.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        self.stream.rows.len() * ROW_BYTES + self.error.kind.bytes + self.error_code.kind.bytes
    }

    /// Take the exchanges that a conversation has finished; false for none.
    pub fn take(&mut self, connection: usize, conversation: &mut Conversation, statements: &Statements) -> bool {
        let Some(dialogue) = conversation.dialogue_mut() else { return false };
        if !dialogue.pairing.has_finished() {
            return false;
        }
        for exchange in dialogue.pairing.finished() {
            self.push(Row::new(connection as u32, exchange, statements));
        }
        dialogue.pairing.shrink();
        true
    }

    /// How many errors came when there was no room left for a text of their own.
    pub fn errors_overflowed(&self) -> u64 {
        self.error.kind.overflowed
    }

    /// In the order of connections and requests; they came in the order of their ends.
    pub fn sorted(mut self) -> ExchangeColumns {
        let key = |&row: &u32| (self.stream.rows[row as usize], self.exchange.rows[row as usize]);
        let mut order: Vec<u32> = (0..self.stream.rows.len() as u32).collect();
        if order.is_sorted_by_key(key) {
            return self;
        }
        order.sort_unstable_by_key(key);
        self.permute(&order);
        self
    }
}
