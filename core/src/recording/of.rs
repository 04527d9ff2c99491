//! A recording of tables that somebody has: the only way in beside reading captures.
//!
//! ```text
//! connections ─► which have rows ──────────┐
//! texts of each part ─► one numbering ─────┼─► exchanges and samples, batch by batch, packed as they come ─► Recording
//! other small tables ─► in order, joined ──┘
//! ```
//!
//! Nothing in them is believed: the columns are those of the core, and hold what a capture may.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt32Type, UInt64Type};
use arrow_array::{Array, BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::concat::concat;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;

use super::checks::{MAX_COUNT, Refusal, Streams, checked, damaged};
use super::intake::{Intake, Part};
use super::{Recording, SampleBatches, SampleColumns, batch, notes_of, strings};
use crate::capture::{HostCurve, Source};
use crate::case::{Case, kind};
use crate::disk::{Overflow, Room};
use crate::ledger::Limits;
use crate::options::Options;
use crate::pipeline;
use crate::side::Side;
use crate::stream::RttSample;

/// Every connection up to the highest number needs this much memory: more could not have been read.
const MIN_BYTES_PER_CONNECTION: usize = 64;
/// An Arrow array of strings has no more bytes.
const MAX_TEXT_BYTES: usize = i32::MAX as usize;
/// A pcap of Ethernet.
const NO_PACKET: [u8; 24] = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0];

/// The small tables of a recording, each of one or several pieces; of texts and notes a piece a part.
pub struct SmallTables {
    like: Recording,
    memory: usize,
    pieces: HashMap<&'static str, Vec<RecordBatch>>,
    text_bytes: HashMap<(&'static str, usize), usize>,
    chosen: Option<Vec<bool>>,
    streams: Option<Streams>,
}

impl SmallTables {
    /// Their names, in the order in which they are to be added: connections come before their rows.
    pub const NAMES: [&'static str; 9] =
        ["captures", "notes", "cases", "connections", "statements", "tags", "taps", "clock_readings", "segments"];

    /// None yet. Of the `chosen` connections alone, rows are kept.
    pub fn new(memory: usize, chosen: Option<&[u32]>) -> Result<SmallTables, Refusal> {
        let source = Source::bytes("", NO_PACKET.as_slice());
        let nothing = pipeline::open_and_read(vec![source], &Options::default()).map_err(io::Error::other)?;
        let most = memory / MIN_BYTES_PER_CONNECTION;
        let chosen = chosen.map(|streams| {
            let mut chosen = vec![false; streams.iter().max().map_or(0, |&last| (last as usize).min(most) + 1)];
            streams.iter().for_each(|&stream| {
                chosen.get_mut(stream as usize).into_iter().for_each(|is_chosen| *is_chosen = true)
            });
            chosen
        });
        let (pieces, text_bytes) = (HashMap::new(), HashMap::new());
        let like = Recording::new(nothing, &Limits::of(memory))?;
        Ok(SmallTables { like, memory, pieces, text_bytes, chosen, streams: None })
    }

    /// One more piece of the table of that name.
    pub fn add(&mut self, name: &'static str, batches: &[RecordBatch]) -> Result<(), Refusal> {
        let like = self.empty(name);
        let checked: Vec<_> = batches.iter().map(|batch| checked(name, batch, &like)).collect::<Result<_, _>>()?;
        let piece = joined(&like, &checked)?;
        for (place, column) in
            piece.columns().iter().enumerate().filter(|(_, column)| *column.data_type() == DataType::Utf8)
        {
            let bytes = self.text_bytes.entry((name, place)).or_default();
            *bytes += column.as_string::<i32>().value_data().len();
            if *bytes > MAX_TEXT_BYTES {
                return Err(Refusal::TooMuch("holds more texts than fit".into()));
            }
        }
        let piece = match name {
            "connections" => self.known(piece)?,
            "clock_readings" | "segments" => self.kept(piece)?,
            _ => piece,
        };
        self.pieces.entry(name).or_default().push(piece);
        Ok(())
    }

    fn empty(&self, name: &str) -> RecordBatch {
        let like = &self.like;
        match name {
            "captures" => &like.captures,
            "notes" => &like.notes,
            "cases" => &like.cases,
            "connections" => &like.connections,
            "statements" => &like.statements,
            "tags" => &like.tags,
            "taps" => &like.taps,
            "clock_readings" => &like.clock_readings,
            _ => &like.segments,
        }
        .slice(0, 0)
    }

    /// Connections whose numbers are no higher than there is memory for.
    fn known(&self, piece: RecordBatch) -> Result<RecordBatch, Refusal> {
        match streams_of(&piece)?.iter().max() {
            Some(&highest) if highest as usize > self.memory / MIN_BYTES_PER_CONNECTION => {
                Err(Refusal::TooMuch(format!("names connection {highest}: raise --memory, or it is damaged")))
            }
            _ => Ok(piece),
        }
    }

    /// The rows of connections that are kept.
    fn kept(&mut self, piece: RecordBatch) -> Result<RecordBatch, Refusal> {
        let streams = self.streams()?;
        let is_kept = streams_of(&piece)?.iter().map(|&stream| streams.keeps(stream as usize, false));
        let is_kept: Vec<bool> = is_kept.collect::<Result<_, _>>()?;
        Ok(filter_record_batch(&piece, &is_kept.into())?)
    }

    /// All connections, when all of them are there.
    fn streams(&mut self) -> Result<&Streams, Refusal> {
        if self.streams.is_none() {
            let mut is_database = Vec::new();
            for piece in self.pieces.get("connections").into_iter().flatten() {
                let Some(protocols) = piece.column_by_name("protocol") else { continue };
                for (row, &stream) in streams_of(piece)?.iter().enumerate() {
                    let stream = stream as usize;
                    is_database.resize(is_database.len().max(stream + 1), None);
                    if is_database[stream].replace(protocols.is_valid(row)).is_some() {
                        let what = "holds connections of another part: name each part once";
                        return Err(Refusal::TooMuch(what.into()));
                    }
                }
            }
            self.streams = Some(Streams { is_database, chosen: self.chosen.take() });
        }
        self.streams.as_ref().ok_or_else(|| Refusal::Damaged("it has no connections".into()))
    }

    /// A whole table.
    fn whole(&mut self, name: &'static str) -> Result<RecordBatch, Refusal> {
        let (like, pieces) = (self.empty(name), self.pieces.remove(name).unwrap_or_default());
        Ok(joined(&like, &pieces)?)
    }

    /// A table in the order of connections; rows of one stay in theirs.
    fn by_stream(&mut self, name: &'static str) -> Result<RecordBatch, Refusal> {
        let table = self.whole(name)?;
        let streams = streams_of(&table)?;
        if streams.is_sorted() {
            return Ok(table);
        }
        let mut order: Vec<u32> = (0..streams.len() as u32).collect();
        order.sort_by_key(|&row| streams[row as usize]);
        Ok(take_record_batch(&table, &UInt32Array::from(order))?)
    }

    /// The notes: what is said of files each part says, what cases count adds up over the parts.
    fn notes(&mut self, cases: &RecordBatch) -> Result<RecordBatch, Refusal> {
        if self.pieces.get("notes").is_none_or(|parts| parts.len() < 2) {
            return self.whole("notes");
        }
        let (said, added) = (self.whole("notes")?, notes_of(cases_of(cases)?)?);
        let codes = |notes: &RecordBatch| notes.column(0).as_string::<i32>().clone();
        let (counted, code, message) = (codes(&added), codes(&said), said.column(2).as_string::<i32>());
        let mut known = HashSet::new();
        let mut is_new = |row: usize| {
            let (code, message) = (code.value(row), message.value(row));
            !counted.iter().flatten().any(|of_cases| of_cases == code) && known.insert((code.to_owned(), message))
        };
        let is_kept: BooleanArray = (0..said.num_rows()).map(|row| Some(is_new(row))).collect();
        Ok(joined(&said, &[filter_record_batch(&said, &is_kept)?, added])?)
    }
}

impl Recording {
    /// The recording of these tables; `exchanges` are batches of the parts with these numbers, and `samples`, of which
    /// those of a connection are in their order, likewise without. What is beyond memory goes to the `disk`.
    pub fn of<E: From<Refusal>>(
        mut small: SmallTables,
        parts: Vec<Part>,
        host_curve: Option<HostCurve>,
        (limits, disk): (&Limits, Option<&Room>),
        exchanges: impl Iterator<Item = Result<(usize, RecordBatch), E>>,
        samples: impl Iterator<Item = Result<RecordBatch, E>>,
    ) -> Result<Recording, E> {
        let mut texts = |name| texts(&small.pieces.remove(name).unwrap_or_default());
        let ((statements, of_statements), (tags, of_tags)) = (texts("statements")?, texts("tags")?);
        let tags = tags.project(&[1]).map_err(Refusal::from)?;
        let mut small_table = |name| small.whole(name);
        let (captures, cases, taps) = (small_table("captures")?, small_table("cases")?, small_table("taps")?);
        let notes = small.notes(&cases)?;
        small.streams()?;
        let [connections, clock_readings, segments] =
            [small.by_stream("connections")?, small.by_stream("clock_readings")?, small.by_stream("segments")?];
        let streams = small.streams()?;
        let mut intake = Intake::new(streams, parts, [of_statements, of_tags], (limits, disk))?;
        for each in exchanges {
            let (part, batch) = each?;
            intake.add(part, &batch)?;
        }
        let exchanges = intake.finish()?;
        let overflow = Overflow::within(disk.map(Room::for_rows));
        let schema = SampleBatches::schema().map_err(Refusal::from)?;
        let samples = SampleColumns::saved(limits.samples, overflow, |take| {
            samples.into_iter().try_for_each(|batch| Ok::<(), E>(add_samples(&batch?, &schema, streams, take)?))
        })?;
        Ok(Recording {
            captures,
            notes,
            cases,
            all_connections: connections.clone(),
            connections,
            is_renamed: false,
            period_ns: None,
            statements,
            tags,
            clock_readings,
            segments,
            taps,
            host_curve,
            curve_hosts: None,
            client_randoms: Arc::default(),
            is_large: exchanges.are_analysed_on_disk(limits),
            exchanges,
            samples,
        })
    }
}

fn add_samples(
    batch: &RecordBatch,
    schema: &SchemaRef,
    streams: &Streams,
    take: &mut dyn FnMut(u32, Side, RttSample),
) -> Result<(), Refusal> {
    let batch = checked("rtt_samples", batch, &RecordBatch::new_empty(schema.clone()))?;
    let numbers = |column: usize| batch.column(column).as_primitive::<UInt32Type>().values();
    let (stream, segments, in_flight) = (numbers(0), numbers(4), numbers(5));
    let by_server = batch.column(1).as_boolean();
    let time = batch.column(2).as_primitive::<TimestampNanosecondType>().values();
    let rtt = batch.column(3).as_primitive::<Int64Type>().values();
    for row in 0..batch.num_rows() {
        if streams.keeps(stream[row] as usize, false)? {
            let side = if by_server.value(row) { Side::Client } else { Side::Server };
            let sample =
                RttSample { time_ns: time[row], rtt_ns: rtt[row], segments: segments[row], in_flight: in_flight[row] };
            take(stream[row], side, sample);
        }
    }
    Ok(())
}

fn streams_of(table: &RecordBatch) -> Result<&[u32], Refusal> {
    let column = table.column_by_name("stream").and_then(|column| column.as_primitive_opt::<UInt32Type>());
    column.map(|streams| &**streams.values()).ok_or_else(|| Refusal::Damaged("`stream` is missing".into()))
}

fn cases_of(cases: &RecordBatch) -> Result<Vec<(Case, Option<String>)>, Refusal> {
    let texts = |column: usize| cases.column(column).as_string::<i32>();
    let numbers = |column: usize| cases.column(column).as_primitive::<UInt64Type>().values();
    let place = texts(7);
    let mut all = Vec::with_capacity(cases.num_rows());
    for row in 0..cases.num_rows() {
        let [port, count, first, span_ns] = [2, 3, 4, 5].map(|column| numbers(column)[row]);
        let word = texts(0).value(row);
        let (Some(code), Ok(port)) = (kind(word), u16::try_from(port)) else {
            return damaged(format!("of `cases` there is no note `{word}` of port {port}"));
        };
        if count > MAX_COUNT || first > MAX_COUNT {
            return damaged("`count` of `cases` is more than any capture has");
        }
        let (name, text) = (texts(1).value(row).to_owned().into(), texts(6).value(row).to_owned());
        let case = Case { code, name, port, count, first, span_ns: span_ns as i64, text };
        all.push((case, place.is_valid(row).then(|| place.value(row).to_owned())));
    }
    Ok(all)
}

/// The table of the texts of all parts, each once, with what it does where it is a fingerprint in any of them; and of
/// each part the numbers that its texts have there.
fn texts(parts: &[RecordBatch]) -> Result<(RecordBatch, Vec<Vec<u32>>), Refusal> {
    let (mut all, mut known) = (Vec::<(&str, Option<&str>)>::new(), HashMap::<_, u32, ahash::RandomState>::default());
    let mut numbers = Vec::new();
    for part in parts {
        let column = |name| part.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
        let (texts, kinds) = (column("text"), column("kind"));
        let mut of_part = Vec::new();
        for (row, text) in texts.into_iter().flatten().enumerate() {
            let text = text.unwrap_or_default();
            let number = *known.entry(text).or_insert(all.len() as u32);
            if number as usize == all.len() {
                all.push((text, None));
            }
            let kind = &mut all[number as usize].1;
            *kind = kind.or(kinds.filter(|kinds| kinds.is_valid(row)).map(|kinds| kinds.value(row)));
            of_part.push(number);
        }
        numbers.push(of_part);
    }
    let table = batch(vec![
        ("id", Arc::new(UInt32Array::from_iter_values(0..all.len() as u32))),
        ("text", strings(all.iter().map(|&(text, _)| Some(text)))),
        ("kind", strings(all.iter().map(|&(_, kind)| kind))),
    ])?;
    Ok((table, numbers))
}

/// All rows of these pieces, in columns like those.
fn joined(like: &RecordBatch, pieces: &[RecordBatch]) -> Result<RecordBatch, ArrowError> {
    match pieces {
        [] => Ok(like.slice(0, 0)),
        [piece] => Ok(piece.clone()),
        _ => {
            let columns = like.schema_ref().fields().iter().enumerate().map(|(place, field)| {
                let pieces: Vec<&dyn Array> = pieces.iter().map(|piece| piece.column(place).as_ref()).collect();
                Ok((field.name(), concat(&pieces)?))
            });
            RecordBatch::try_from_iter(columns.collect::<Result<Vec<_>, ArrowError>>()?)
        }
    }
}
