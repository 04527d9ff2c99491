//! A part of a recording: some of its connections, and of these what passed in a window of time.
//!
//! Connections keep their `tcp.stream` numbers, packets their frame numbers; texts, which exchanges refer to, and what is
//! said of files and of taps stay those of all. A window has the exchanges that begin in it, so that windows side by side
//! add up to the whole. What is known of a connection stays known, wherever that was seen; but its handshake takes time
//! and round trips only in the window in which it began.
//!
//! ```text
//! window                  |---------------|
//! exchange          1═══════2               until 2 its connection is under way; it is counted in the window before
//!                           2──3════4       3 is in the window, and the time before it began there: it is known
//!                                    5═══════6     in the window, to its end
//! ```

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, TimestampNanosecondType, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, Field, Schema};
use arrow_select::filter::filter_record_batch;

use super::{Column, NULL, Recording, Timestamps};
use crate::note::NoteCode;

/// A column of the connections in a window: until when an exchange goes on that began before it.
pub(super) const UNDER_WAY: &str = "under_way_until";
/// Notes about connections that are no database's, and so are never selected.
const OF_OTHERS: [NoteCode; 4] =
    [NoteCode::Refused, NoteCode::Unanswered, NoteCode::Unrecognised, NoteCode::OtherDatabase];

/// The begin or the end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// In ns since 1970; of a frame, when what begins there passed.
    pub ns: i64,
    /// The first or the last frame, where that was asked for.
    pub frame: Option<i64>,
}

/// From when to when; a time at which it ends is no part of it, a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: Edge,
    pub to: Edge,
    /// When it begins and ends, as far as the connections reach.
    pub period_ns: [i64; 2],
}

impl Window {
    /// Whether something that begins then, at that frame, begins in the window.
    fn holds(&self, begin_ns: i64, frame: i64) -> bool {
        let is_behind = self.from.frame.map_or(self.from.ns <= begin_ns, |first| first <= frame);
        is_behind && self.to.frame.map_or(begin_ns < self.to.ns, |last| frame <= last)
    }

    fn has_time(&self, ns: i64) -> bool {
        self.from.ns <= ns && ns < self.to.ns
    }
}

/// Sums over a connection's exchanges in a window: how many, round trips, request and response bytes, retransmissions.
type Sums = [u64; 5];
/// These as columns of the connections.
const SUMS: [&str; 5] = ["exchanges", "round_trips", "request_bytes", "response_bytes", "retransmissions"];

impl Recording {
    /// The recording with some of its connections in it.
    pub fn select(&self, streams: &[u32]) -> Result<Recording, ArrowError> {
        let chosen: HashSet<u32, ahash::RandomState> = streams.iter().copied().collect();
        let is_chosen = |stream: i64| chosen.contains(&(stream as u32));
        let is_kept: Vec<bool> = self.exchanges.all_numbers(Column::stream)?.into_iter().map(is_chosen).collect();
        Ok(Recording {
            notes: filtered(&self.notes, |row, notes| {
                let code = notes.column_by_name("code").and_then(|code| code.as_string_opt::<i32>());
                code.is_none_or(|code| OF_OTHERS.iter().all(|other| code.value(row) != other.as_str()))
            })?,
            connections: of_streams(&self.connections, &chosen)?,
            exchanges: self.exchanges.kept(&is_kept),
            samples: self.samples.picked(|stream| chosen.contains(&stream)),
            clock_readings: of_streams(&self.clock_readings, &chosen)?,
            segments: of_streams(&self.segments, &chosen)?,
            ..self.clone()
        })
    }

    /// The recording within a window: connections that have an exchange that begins in it or goes on into it, and those
    /// that began in it; `None` where no exchange begins in it.
    pub fn within(&self, window: &Window) -> Result<Option<Recording>, ArrowError> {
        let begins_ns = self.begins_ns()?;
        let is_kept = self.are_in(window, &begins_ns)?;
        if !is_kept.contains(&true) {
            return Ok(None);
        }
        let [begin_ns, _] = window.period_ns;
        let under_way = self.under_way(begin_ns, &begins_ns)?;
        let exchanges = self.exchanges.kept(&is_kept).cut(begin_ns);
        let mut sums = HashMap::<u32, Sums, ahash::RandomState>::default();
        let columns = [
            Column::stream,
            Column::round_trips,
            Column::request_bytes,
            Column::response_bytes,
            Column::retransmissions,
        ];
        exchanges.each(columns, |[stream, numbers @ ..]| {
            let [count, sums @ ..] = sums.entry(stream as u32).or_default();
            *count += 1;
            sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum = sum.saturating_add(number as u64));
        })?;
        let (streams, starts) = (column::<UInt32Type>(&self.connections, "stream")?, self.times("start")?);
        let frames = column::<UInt64Type>(&self.connections, "first_frame")?;
        let connections = filtered(&self.connections, |row, _| {
            let began = window.holds(starts.value(row), frames.value(row) as i64);
            began || sums.contains_key(&streams.value(row)) || under_way[row].is_some()
        })?;
        let there: Vec<u32> = column::<UInt32Type>(&connections, "stream")?.values().to_vec();
        let until = streams.values().iter().copied().zip(under_way).collect();
        let part = self.select(&there)?;
        Ok(Some(Recording {
            connections: clipped(&connections, window, &sums, &until)?,
            exchanges,
            samples: part.samples.within([window.from.ns, window.to.ns]),
            clock_readings: at_times(&part.clock_readings, window)?,
            segments: at_times(&part.segments, window)?,
            period_ns: Some(window.period_ns),
            ..part
        }))
    }

    /// The rows of the connections that are database traffic.
    pub fn database_rows(&self) -> Vec<i64> {
        let protocol = self.connections.column_by_name("protocol");
        let is_database = |&row: &i64| protocol.is_some_and(|protocol| protocol.is_valid(row as usize));
        (0..self.connections.num_rows() as i64).filter(is_database).collect()
    }

    /// From the first packet to the last data of the database connections, in ns since 1970; `None` without any.
    pub fn reach_ns(&self) -> Result<Option<[i64; 2]>, ArrowError> {
        let [starts, ends, data_ends] = [self.times("start")?, self.times("end")?, self.times("data_end")?];
        let database_rows = self.database_rows();
        let rows = || database_rows.iter().map(|&row| row as usize);
        let last_data = rows().filter(|&row| data_ends.is_valid(row)).map(|row| data_ends.value(row)).max();
        let last = last_data.or_else(|| rows().map(|row| ends.value(row)).max());
        Ok(rows().map(|row| starts.value(row)).min().zip(last).map(|(begin, end)| [begin, end]))
    }

    /// Whether no time of its connections is left out; `whole`: the recording that it is a window of, where that is known.
    pub fn holds_all_time(&self, whole: Option<&Recording>) -> Result<bool, ArrowError> {
        let (Some(period_ns), Some(whole)) = (self.period_ns, whole) else { return Ok(self.period_ns.is_none()) };
        let reach_ns = whole.reach_ns()?.map(|[begin, end]| match whole.period_ns {
            None => [begin, end],
            Some([first, last]) => [begin.max(first), end.min(last)],
        });
        Ok(reach_ns.is_some_and(|[begin, end]| period_ns == [begin, end.max(begin)]))
    }

    /// When the first packet from `frame` on passed that opens a connection, begins or ends a request or a response, in
    /// ns since 1970; `None` where there is none.
    pub fn passed_ns(&self, frame: i64) -> Result<Option<i64>, ArrowError> {
        let (starts, frames) = (self.times("start")?, column::<UInt64Type>(&self.connections, "first_frame")?);
        let opened =
            frames.iter().zip(starts.iter()).filter(|(first, _)| first.is_some_and(|first| first as i64 >= frame));
        let mut earliest = opened.filter_map(|(_, start)| start).min().unwrap_or(i64::MAX);
        let frames =
            [Column::request_frame, Column::request_end_frame, Column::response_frame, Column::response_end_frame];
        let times = [Column::request_time, Column::request_end_time, Column::response_time, Column::response_end_time];
        for (of_frame, of_time) in frames.into_iter().zip(times) {
            self.exchanges.each([of_frame, of_time], |[at, time]| {
                if at >= frame && time != NULL {
                    earliest = earliest.min(time);
                }
            })?;
        }
        Ok(Some(earliest).filter(|&earliest| earliest != i64::MAX))
    }

    /// When each exchange begins, in ns since 1970, in their order; one that was not captured at all when the one before
    /// it does, the first of a connection when that does.
    pub fn begins_ns(&self) -> Result<Vec<i64>, ArrowError> {
        let streams = self.exchanges.all_numbers(Column::stream)?;
        let mut begins = self.exchanges.all_numbers(Column::request_time)?;
        for (begin, answered) in begins.iter_mut().zip(self.exchanges.all_numbers(Column::response_time)?) {
            *begin = if *begin == NULL { answered } else { *begin };
        }
        if !begins.contains(&NULL) {
            return Ok(begins);
        }
        let (known, starts) = (column::<UInt32Type>(&self.connections, "stream")?, self.times("start")?);
        let opened: HashMap<i64, i64> =
            known.values().iter().map(|&stream| stream.into()).zip(starts.values().iter().copied()).collect();
        for row in 0..begins.len() {
            if begins[row] == NULL {
                let is_first = row == 0 || streams[row - 1] != streams[row];
                let opened = || opened.get(&streams[row]).copied().unwrap_or(0);
                begins[row] = if is_first { opened() } else { begins[row - 1] };
            }
        }
        Ok(begins)
    }

    /// Which exchanges begin in a window.
    fn are_in(&self, window: &Window, begins_ns: &[i64]) -> io::Result<Vec<bool>> {
        let requests = self.exchanges.all_numbers(Column::request_frame)?;
        let responses = self.exchanges.all_numbers(Column::response_frame)?;
        let first =
            requests.into_iter().zip(responses).map(|(asked, answered)| if asked == NULL { answered } else { asked });
        Ok(begins_ns.iter().zip(first).map(|(&begin_ns, frame)| window.holds(begin_ns, frame)).collect())
    }

    /// Until when an exchange of each connection went on that began before `begin_ns`, in the rows of the connections.
    fn under_way(&self, begin_ns: i64, begins_ns: &[i64]) -> Result<Vec<Option<i64>>, ArrowError> {
        let streams = self.exchanges.all_numbers(Column::stream)?;
        let mut ends = self.exchanges.all_numbers(Column::request_end_time)?;
        let answered = self.exchanges.all_numbers(Column::response_end_time)?;
        ends.iter_mut().zip(answered).for_each(|(end, answered)| *end = answered.max(*end));
        let mut until = HashMap::<i64, i64, ahash::RandomState>::default();
        for ((stream, &begin), end) in streams.into_iter().zip(begins_ns).zip(ends) {
            if begin < begin_ns && begin_ns < end {
                until.entry(stream).and_modify(|until| *until = end.max(*until)).or_insert(end);
            }
        }
        let before = self.connections.column_by_name(UNDER_WAY).and_then(|times| times.as_primitive_opt());
        let before = |row| -> Option<i64> {
            let times: &Timestamps = before?;
            times.is_valid(row).then(|| times.value(row)).filter(|&time| time > begin_ns)
        };
        let streams = column::<UInt32Type>(&self.connections, "stream")?.values().iter().enumerate();
        Ok(streams.map(|(row, &stream)| until.get(&stream.into()).copied().max(before(row))).collect())
    }

    fn times(&self, name: &str) -> Result<&Timestamps, ArrowError> {
        column::<TimestampNanosecondType>(&self.connections, name)
    }
}

/// Connections in a window: what is counted is that of the exchanges; a handshake before it is no part of it.
fn clipped(
    connections: &RecordBatch,
    window: &Window,
    sums: &HashMap<u32, Sums, ahash::RandomState>,
    until: &HashMap<u32, Option<i64>>,
) -> Result<RecordBatch, ArrowError> {
    let streams = column::<UInt32Type>(connections, "stream")?;
    let time = |name| column::<TimestampNanosecondType>(connections, name);
    let (syn, start) = (time("syn_time")?, time("start")?);
    let shook: Vec<bool> =
        syn.iter().zip(start.values()).map(|(syn, &start)| window.has_time(syn.unwrap_or(start))).collect();
    let mut columns = Vec::new();
    for field in connections.schema().fields().iter().filter(|field| field.name() != UNDER_WAY) {
        let name = field.name().as_str();
        let changed: ArrayRef = match name {
            "syn_time" | "syn_ack_time" | "ack_time" => {
                let seen = time(name)?.iter().zip(&shook).map(|(time, &shook)| time.filter(|_| shook));
                Arc::new(Timestamps::from_iter(seen).with_data_type(field.data_type().clone()))
            }
            "start" | "end" | "data_end" => {
                let within = |ns: i64| ns.max(window.from.ns).min(window.to.ns);
                Arc::new(
                    time(name)?.unary::<_, TimestampNanosecondType>(within).with_data_type(field.data_type().clone()),
                )
            }
            _ => match SUMS.iter().position(|sum| *sum == name) {
                None => Arc::clone(named(connections, name)?),
                Some(at) => {
                    let sum = |stream| sums.get(stream).map_or(0, |sums| sums[at]);
                    counts(streams.values().iter().map(sum), field.data_type() == &arrow_schema::DataType::UInt32)
                }
            },
        };
        columns.push((Arc::clone(field), changed));
    }
    let until = streams.values().iter().map(|stream| until.get(stream).copied().flatten());
    let until = Timestamps::from_iter(until).with_data_type(start.data_type().clone());
    columns.push((Arc::new(Field::new(UNDER_WAY, until.data_type().clone(), true)), Arc::new(until)));
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let nullable = fields.into_iter().map(|field| field.as_ref().clone().with_nullable(true)).collect::<Vec<_>>();
    RecordBatch::try_new(Arc::new(Schema::new(nullable)), arrays)
}

fn counts(counts: impl Iterator<Item = u64>, are_small: bool) -> ArrayRef {
    match are_small {
        true => Arc::new(UInt32Array::from_iter_values(counts.map(|count| count as u32))),
        false => super::numbers(counts),
    }
}

fn of_streams(table: &RecordBatch, chosen: &HashSet<u32, ahash::RandomState>) -> Result<RecordBatch, ArrowError> {
    let streams = column::<UInt32Type>(table, "stream")?;
    filtered(table, |row, _| chosen.contains(&streams.value(row)))
}

fn at_times(table: &RecordBatch, window: &Window) -> Result<RecordBatch, ArrowError> {
    let times = column::<TimestampNanosecondType>(table, "time")?;
    filtered(table, |row, _| window.has_time(times.value(row)))
}

fn filtered(table: &RecordBatch, is_kept: impl Fn(usize, &RecordBatch) -> bool) -> Result<RecordBatch, ArrowError> {
    let is_kept: BooleanArray = (0..table.num_rows()).map(|row| Some(is_kept(row, table))).collect();
    filter_record_batch(table, &is_kept)
}

pub(super) fn column<'a, T: ArrowPrimitiveType>(
    table: &'a RecordBatch,
    name: &str,
) -> Result<&'a PrimitiveArray<T>, ArrowError> {
    let array = named(table, name)?.as_primitive_opt();
    array.ok_or_else(|| ArrowError::SchemaError(format!("column `{name}` is of another type")))
}

pub(super) fn named<'a>(table: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, ArrowError> {
    table.column_by_name(name).ok_or_else(|| ArrowError::SchemaError(format!("there is no column `{name}`")))
}
