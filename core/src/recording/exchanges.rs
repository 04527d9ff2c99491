//! The table of exchanges, column by column, so that a million of them cost little more than their numbers.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::columns::{Kind, Value};
use super::renamed::other_count;
use super::rows::{Expected, Rows};
use super::view::{Cut, View};
use super::words::{Errors, Names};
use crate::disk::{Overflow, Room};
use crate::exchange::{Exchange, Span};
use crate::ledger::Limits;
use crate::side::Side;
use crate::sql::NO_TAGS;
use crate::stream::Mark;

/// Bytes that the measures, the projection and the findings take for a row at their peak: 250 to 330 of MySQL and
/// PostgreSQL, 400 of Firebird and TNS, where several requests make one statement.
const ANALYSED: usize = 500;
/// What of it stays in memory where the rest is on disk, most of it the turns that are replayed: 140 where connections
/// work one after the other, 170 where they do side by side.
const ANALYSED_BESIDE_DISK: usize = 175;
/// What the disk takes for a row.
const ANALYSED_ON_DISK: u64 = 500;

/// Of the room for errors, one part in so many is for their codes: a few bytes each, and few of them.
const CODES: usize = 16;

/// What a row is made of.
struct Row<'a> {
    exchange: &'a Exchange,
    /// The first and the last packet of the request, then of the response.
    marks: [Option<Mark>; 4],
}

impl<'a> Row<'a> {
    fn new(exchange: &'a Exchange) -> Row<'a> {
        let ends = |span: Option<Span>| [span.map(|span| span.first), span.map(|span| span.last)];
        let ([first, last], [answer, end]) = (ends(exchange.request), ends(exchange.response));
        let marks = [first, last, answer, end].map(|mark| mark.filter(|mark| mark.frame > 0));
        Row { exchange, marks }
    }

    fn frame(&self, place: usize) -> Option<u32> {
        self.marks[place].map(|mark| mark.frame as u32)
    }

    fn time_ns(&self, place: usize) -> Option<i64> {
        self.marks[place].map(|mark| mark.time_ns)
    }
}

/// What the numbers of columns stand for.
#[derive(Clone, Debug, Default)]
struct Words {
    command: Names,
    purpose: Names,
    wait: Names,
    transaction: Names,
    error: Errors,
    error_code: Errors,
}

impl Words {
    /// The words of a recording that was saved.
    fn know(&mut self, column: &str, words: Errors) {
        match column {
            "command" => self.command = Names::saved(&words),
            "purpose" => self.purpose = Names::saved(&words),
            "wait" => self.wait = Names::saved(&words),
            "transaction" => self.transaction = Names::saved(&words),
            "error" => self.error = words,
            "error_code" => self.error_code = words,
            _ => {}
        }
    }

    fn of(&self, column: Column) -> Vec<&str> {
        match column {
            Column::command => self.command.all(),
            Column::purpose => self.purpose.all(),
            Column::wait => self.wait.all(),
            Column::transaction => self.transaction.all(),
            Column::error => self.error.all(),
            Column::error_code => self.error_code.all(),
            _ => Vec::new(),
        }
    }
}

/// Declares each column once: its name, its kind, what is expected of it, and what it takes from a row.
macro_rules! columns {
    ($($name:ident: $kind:ident $(, $expected:ident($($other:ident),*))? = $value:expr;)*) => {
        /// A column of the table, by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, reason = "they are the names of the columns")]
        pub enum Column {
            $($name,)*
        }

        pub(super) const COLUMNS: [(&str, Column, Kind); [$(Column::$name,)*].len()] =
            [$((stringify!($name), Column::$name, Kind::$kind),)*];

        const EXPECTED: [Expected; COLUMNS.len()] =
            [$([$(Expected::$expected($(Column::$other as usize),*),)? Expected::Unknown][0],)*];

        #[inline]
        fn numbers(row: &Row<'_>, words: &mut Words) -> [i64; COLUMNS.len()] {
            [$({
                let value: fn(&Row<'_>, &mut Words) -> _ = $value;
                Value::number(value(row, words))
            },)*]
        }
    };
}

columns! {
    stream: U32 = |row, _| row.exchange.connection;
    exchange: U32 = |row, _| row.exchange.number;
    command: Name = |row, words| words.command.number(row.exchange.command);
    purpose: Name = |row, words| words.purpose.number(row.exchange.purpose.as_str());
    fingerprint: U32 = |row, _| row.exchange.sql.map(|sql| sql.fingerprint);
    text: U32, As(fingerprint) = |row, _| row.exchange.sql.map(|sql| sql.text);
    parameters: Hash = |row, _| row.exchange.sql.map_or(0, |sql| sql.parameters);
    tags: U32 = |row, _| row.exchange.sql.map(|sql| sql.tags).filter(|&tags| tags != NO_TAGS);
    request_frame: U32 = |row, _| row.frame(0);
    request_end_frame: U32, As(request_frame) = |row, _| row.frame(1);
    response_frame: U32, As(request_end_frame) = |row, _| row.frame(2);
    response_end_frame: U32, As(response_frame) = |row, _| row.frame(3);
    request_time: Time = |row, _| row.time_ns(0);
    request_end_time: Time, As(request_time) = |row, _| row.time_ns(1);
    response_time: Time, As(request_end_time) = |row, _| row.time_ns(2);
    response_end_time: Time, As(response_time) = |row, _| row.time_ns(3);
    request_bytes: U64 = |row, _| row.exchange.request_bytes;
    response_bytes: U64 = |row, _| row.exchange.response_bytes;
    request_wire_bytes: U64, As(request_bytes) = |row, _| row.exchange.request_wire_bytes;
    response_wire_bytes: U64, As(response_bytes) = |row, _| row.exchange.response_wire_bytes;
    streamed_bytes: U64 = |row, _| row.exchange.streamed_bytes;
    round_trips: U32 = |row, _| row.exchange.round_trips;
    wait: Name = |row, words| words.wait.number(row.exchange.wait.as_str());
    waited_ns: I64, Between(request_end_time, response_time) = |row, _| row.exchange.waited_ns;
    rows: U64 = |row, _| row.exchange.rows.filter(is_count);
    affected_rows: U64 = |row, _| row.exchange.affected_rows.filter(is_count);
    error: Text = |row, words| row.exchange.error.as_ref().map(|error| words.error.number(&error.message));
    error_code: Text = |row, words| row.exchange.error.as_ref().map(|error| words.error_code.number(&error.code));
    delta_ns: I64 = |row, _| row.exchange.delta_ns;
    client_ns: I64 = |row, _| row.exchange.client_ns;
    retransmissions: U32 = |row, _| row.exchange.retransmissions;
    stalled_ns: I64 = |row, _| row.exchange.stalled_ns;
    lost_before_ns: I64 = |row, _| row.exchange.send_delays.lost_ns;
    silent_ns: I64 = |row, _| row.exchange.send_delays.silent_ns.iter().sum::<i64>();
    request_silent_ns: I64 = |row, _| row.exchange.send_delays.silent_ns[Side::Client as usize];
    request_paced_ns: I64 = |row, _| row.exchange.send_delays.paced_ns[Side::Client as usize];
    response_paced_ns: I64 = |row, _| row.exchange.send_delays.paced_ns[Side::Server as usize];
    since_push_ns: I64 = |row, _| row.exchange.since_push_ns;
    transaction: Text = |row, words| row.exchange.transaction.map(|status| words.transaction.number(status));
    complete: Flag = |row, _| row.exchange.complete;
}

/// Columns that may be null.
pub(super) const UNKNOWN: [Column; 20] = [
    Column::fingerprint,
    Column::text,
    Column::tags,
    Column::request_frame,
    Column::request_end_frame,
    Column::response_frame,
    Column::response_end_frame,
    Column::request_time,
    Column::request_end_time,
    Column::response_time,
    Column::response_end_time,
    Column::waited_ns,
    Column::rows,
    Column::affected_rows,
    Column::error,
    Column::error_code,
    Column::delta_ns,
    Column::client_ns,
    Column::transaction,
    Column::parameters,
];

/// More rows than a number can hold are no count, whatever a server says.
fn is_count(rows: &u64) -> bool {
    i64::try_from(*rows).is_ok()
}

type Packed = Rows<{ COLUMNS.len() }>;

/// The exchanges while they come, packed.
#[derive(Debug)]
pub struct ExchangeRows {
    rows: Packed,
    words: Words,
    /// The disk, and the rows of which it has room for all that is computed from them.
    disk_bytes: u64,
    most_on_disk: usize,
}

/// Exchanges column by column: some rows of those that came, in some order. All such views share the packed rows.
#[derive(Clone, Debug)]
pub struct ExchangeColumns {
    rows: Arc<Packed>,
    words: Arc<Words>,
    view: View,
    disk_bytes: u64,
}

impl ExchangeRows {
    /// Within these limits, and what a disk has room for.
    pub fn within(limits: &Limits, disk: Option<&Room>) -> ExchangeRows {
        let mut words = Words::default();
        words.error_code.most = limits.errors / CODES;
        words.error.most = limits.errors - limits.errors / CODES;
        let rows = Rows::new(EXPECTED, limits.rows, Overflow::within(disk.map(Room::for_rows)));
        let disk_bytes = disk.map_or(0, |room| room.bytes);
        ExchangeRows { rows, words, disk_bytes, most_on_disk: (disk_bytes / ANALYSED_ON_DISK) as usize }
    }

    /// The words that the numbers of a column stand for, in a recording that was saved.
    pub(crate) fn know(&mut self, column: &str, words: Errors) {
        self.words.know(column, words);
    }

    /// A row of it, as the numbers of its columns; null is [`super::NULL`].
    #[inline]
    pub(crate) fn add(&mut self, row: [i64; COLUMNS.len()]) {
        self.rows.push(row);
    }

    /// One more row; an error's code and message are as they may be shown.
    pub fn take(&mut self, exchange: &Exchange) {
        self.rows.push(numbers(&Row::new(exchange), &mut self.words));
    }

    /// What the rows and their texts take in memory.
    #[inline]
    pub fn bytes(&self) -> usize {
        bytes(&self.rows, &self.words)
    }

    /// The same with what will be computed from them, as far as that will not be on disk.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        let on_disk = self.rows.overflow().takes() && self.rows.len() <= self.most_on_disk;
        self.bytes() + self.rows.len() * if on_disk { ANALYSED_BESIDE_DISK } else { ANALYSED }
    }

    /// Why the disk takes no more.
    pub fn refusal(&self) -> Option<String> {
        let too_few = || format!("{} bytes of disk are too few", self.disk_bytes);
        let is_beyond = self.disk_bytes > 0 && self.rows.len() > self.most_on_disk;
        self.rows.overflow().refusal().map(str::to_owned).or_else(|| is_beyond.then(too_few))
    }

    /// How many errors came when there was no room left for a text of their own.
    pub fn errors_overflowed(&self) -> u64 {
        self.words.error.overflowed
    }

    /// All are there, in the order of connections and requests; they came in the order of their ends.
    pub fn sorted(mut self) -> io::Result<ExchangeColumns> {
        let view = self.rows.sort(Column::stream as usize, Column::exchange as usize)?;
        Ok(ExchangeColumns {
            rows: Arc::new(self.rows),
            words: Arc::new(self.words),
            view,
            disk_bytes: self.disk_bytes,
        })
    }
}

impl ExchangeColumns {
    /// What the columns are called, in their order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        COLUMNS.iter().map(|&(name, ..)| name)
    }

    /// Of so many rows, what is computed from them is more than `memory` bytes.
    pub fn are_too_many(rows: usize, memory: usize) -> bool {
        rows.saturating_mul(ANALYSED) > memory
    }

    /// Bytes of all rows and their texts in memory, not of the view alone.
    pub fn bytes(&self) -> usize {
        bytes(&self.rows, &self.words)
    }

    /// There is a disk, and what is computed from them goes there: in memory there is no room for it.
    pub fn are_analysed_on_disk(&self, limits: &Limits) -> bool {
        self.disk_bytes > 0 && self.bytes() + self.len() * ANALYSED > limits.memory
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.view.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As an Arrow table.
    pub fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let array = |&(name, column, kind): &(_, Column, Kind)| {
            let words = self.words.of(column);
            Ok((name, kind.array(&self.rows, &self.view, column as usize, &(0..self.len()), &words)?))
        };
        RecordBatch::try_from_iter(COLUMNS.iter().map(array).collect::<Result<Vec<_>, ArrowError>>()?)
    }

    /// The columns of these names alone, texts as numbers; of all rows, or of those `within`.
    pub fn coded<'a>(&self, names: &'a [String], within: Option<Range<usize>>) -> Result<RecordBatch, ArrowError> {
        let within = within.unwrap_or(0..usize::MAX);
        let within = within.start.min(self.len())..within.end.min(self.len());
        let array = |name: &'a String| {
            let known = COLUMNS.iter().find(|(known, ..)| known == name);
            let &(_, column, kind) =
                known.ok_or_else(|| ArrowError::SchemaError(format!("exchanges have no column `{name}`")))?;
            Ok((name, kind.coded(&self.rows, &self.view, column as usize, &within, &self.words.of(column))?))
        };
        RecordBatch::try_from_iter(names.iter().map(array).collect::<Result<Vec<_>, ArrowError>>()?)
    }

    /// A column of the exchanges `within`, in the order in which they are read: numbers, [`super::NULL`] for null.
    pub fn numbers(&self, column: Column, within: &Range<usize>) -> io::Result<Vec<i64>> {
        self.rows.column(&self.view, column as usize, within, |number| number, |_| {})
    }

    /// A column of all exchanges, likewise.
    pub fn all_numbers(&self, column: Column) -> io::Result<Vec<i64>> {
        self.numbers(column, &(0..self.len()))
    }

    /// The words that the numbers of a column stand for.
    pub fn words(&self, column: Column) -> Vec<&str> {
        self.words.of(column)
    }

    /// Some columns of each exchange, in the order of their ends.
    pub fn each<const SOME: usize>(&self, columns: [Column; SOME], take: impl FnMut([i64; SOME])) -> io::Result<()> {
        self.rows.each(&self.view, columns.map(|column| column as usize), take)
    }

    /// Some columns of each exchange, in the order of their ends, with its place in the order of connection and request.
    pub fn each_placed<const SOME: usize>(
        &self,
        columns: [Column; SOME],
        take: impl FnMut(usize, [i64; SOME]),
    ) -> io::Result<()> {
        self.rows.each_placed(&self.view, columns.map(|column| column as usize), take)
    }

    /// A view of the exchanges that are kept, by their places in the order in which they are read.
    pub fn kept(&self, is_kept: &[bool]) -> ExchangeColumns {
        self.seen(self.view.kept(is_kept))
    }

    /// A view of these exchanges in which spans that began before `begin_ns` are null.
    pub fn cut(mut self, begin_ns: i64) -> ExchangeColumns {
        let begin = self.view.cut.map_or(begin_ns, |before| before.begin.max(begin_ns));
        let spans = [Column::delta_ns as usize, Column::client_ns as usize];
        self.view.cut = Some(Cut { spans, end: Column::request_time as usize, begin });
        self
    }

    /// The exchanges group by group, in each in their order, and where each group begins, at last where all end. `group`
    /// says which one of so many a connection is in; the exchanges of one in none are left out.
    pub fn grouped(
        &self,
        group: impl Fn(u32) -> Option<u32>,
        groups: usize,
    ) -> io::Result<(ExchangeColumns, Vec<usize>)> {
        let group = |stream: i64| group(stream as u32);
        let of_places = self.rows.column(&self.view, Column::stream as usize, &(0..self.len()), group, |_| {})?;
        let (view, bounds) = self.view.grouped(&of_places, groups);
        Ok((self.seen(view), bounds))
    }

    /// A view from each bound up to the next one, by places; together they take 8 bytes an exchange.
    pub fn split(&self, bounds: &[usize]) -> Vec<ExchangeColumns> {
        self.view.split(bounds).into_iter().map(|view| self.seen(view)).collect()
    }

    /// The texts of errors by their numbers.
    pub fn errors(&self) -> Vec<String> {
        self.words.error.all().into_iter().map(str::to_owned).collect()
    }

    /// A view of these rows with other texts of errors, in the order of [`ExchangeColumns::errors`].
    pub fn with_errors(&self, texts: Vec<String>) -> Result<ExchangeColumns, ArrowError> {
        let known = self.words.error.all().len();
        if texts.len() != known {
            return Err(other_count(texts.len(), known));
        }
        let words = Words { error: Errors::saved(texts), ..(*self.words).clone() };
        Ok(ExchangeColumns { words: Arc::new(words), ..self.clone() })
    }

    fn seen(&self, view: View) -> ExchangeColumns {
        ExchangeColumns { view, ..self.clone() }
    }
}

#[inline]
fn bytes(rows: &Packed, words: &Words) -> usize {
    rows.bytes() + words.error.bytes + words.error_code.bytes
}
