//! A recording: what was read of some captures, the many rows packed, the few as Arrow. The only folder that knows Arrow.
//!
//! ```text
//! packets ─► pipeline ─► Tables ─► Recording ─► rows and columns, for whoever computes
//! ```

mod checks;
mod clock_readings;
mod columns;
mod connections;
mod database_connections;
mod exchanges;
mod grouped;
mod groups;
mod intake;
mod of;
mod packed;
mod renamed;
mod rows;
mod samples;
mod selected;
mod tables;
mod taps;
mod view;
mod words;

pub use checks::Refusal;
pub use clock_readings::ClockReading;
pub use database_connections::{DatabaseConnection, DatabaseConnections, host_of};
pub use exchanges::{Column, ExchangeColumns, ExchangeRows};
pub use grouped::Groups;
pub use groups::groups;
pub use intake::Part;
pub use of::SmallTables;
pub use packed::NULL;
pub use renamed::Words;
pub use samples::{SampleBatches, SampleColumns};
pub use selected::{Edge, Window};
pub use tables::Tables;
pub use taps::{TapRow, rows as tap_rows};
#[cfg(test)]
pub(crate) use words::Errors;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, TimestampNanosecondType, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::ArrowError;

use crate::capture::HostCurve;
use crate::case::Case;
use crate::cases::Cases;
use crate::layers::tls::Random;
use crate::ledger::Limits;
use crate::note::{Note, NoteCode};
use crate::sql::{StatementKind, Statements};

type Timestamps = PrimitiveArray<TimestampNanosecondType>;

/// All that is known of what was captured.
#[derive(Clone, Debug)]
pub struct Recording {
    /// One row a file.
    pub captures: RecordBatch,
    /// What went wrong without stopping the reading.
    pub notes: RecordBatch,
    /// What of the notes adds up over the parts of a recording.
    pub cases: RecordBatch,
    /// One row a TCP connection.
    pub connections: RecordBatch,
    /// All that were read, with the names that were read, whatever is selected and renamed.
    pub all_connections: RecordBatch,
    pub is_renamed: bool,
    /// When it begins and ends, in ns since 1970, where it is a window.
    pub period_ns: Option<[i64; 2]>,
    pub exchanges: ExchangeColumns,
    /// Texts by number, and what they do where they are fingerprints.
    pub statements: RecordBatch,
    /// Tags by number.
    pub tags: RecordBatch,
    pub samples: SampleColumns,
    pub clock_readings: RecordBatch,
    pub segments: RecordBatch,
    pub taps: RecordBatch,
    pub host_curve: Option<HostCurve>,
    /// Names of that curve's hosts, where these are not their addresses.
    pub curve_hosts: Option<Vec<String>>,
    /// The client randoms of its TLS sessions.
    pub client_randoms: Arc<[Random]>,
    /// What is computed from it does not fit in the memory that reading may take.
    pub is_large: bool,
}

impl Recording {
    /// The recording of what was read.
    pub fn new(read: Tables, limits: &Limits) -> Result<Recording, ArrowError> {
        let connections = read.connections()?;
        Ok(Recording {
            captures: read.captures()?,
            notes: read.notes()?,
            cases: read.cases()?,
            all_connections: connections.clone(),
            connections,
            is_renamed: false,
            period_ns: None,
            statements: read.statements()?,
            tags: read.tags()?,
            clock_readings: read.clock_readings()?,
            segments: read.segments()?,
            taps: read.taps()?,
            host_curve: read.host_curve(),
            curve_hosts: None,
            client_randoms: read.client_randoms().into(),
            is_large: read.exchanges.are_analysed_on_disk(limits),
            exchanges: read.exchanges,
            samples: read.samples,
        })
    }

    /// Which statements end a transaction, by number.
    pub fn ending_statements(&self) -> Result<Vec<bool>, ArrowError> {
        let kinds = self.statements.column_by_name("kind").and_then(|kinds| kinds.as_string_opt::<i32>());
        let kinds = kinds.ok_or_else(|| ArrowError::SchemaError("statements are of no kinds".into()))?;
        Ok(kinds.iter().map(|kind| kind == Some(StatementKind::End.as_str())).collect())
    }
}

/// The notes that cases of several parts make together, each with what its first frame is called in the files.
fn notes_of(cases: Vec<(Case, Option<String>)>) -> Result<RecordBatch, ArrowError> {
    let places: HashMap<u64, String> =
        cases.iter().filter_map(|(case, place)| Some((case.frame()?, place.clone()?))).collect();
    let all = Cases::of(cases.into_iter().map(|(case, _)| case));
    let notes = all.notes();
    let named = notes.iter().cloned().map(|note| note.named(|frame| places.get(&frame).cloned()));
    note_table(&named.collect::<Vec<_>>())
}

fn note_table(notes: &[Note]) -> Result<RecordBatch, ArrowError> {
    batch(vec![
        ("code", strings(notes.iter().map(|note| Some(note.code.as_str())))),
        ("severity", strings(notes.iter().map(|note| Some(severity(note))))),
        ("message", strings(notes.iter().map(|note| Some(Statements::printable(&note.message))))),
        ("count", numbers(notes.iter().map(|note| note.count))),
        ("first_frame", optional::<UInt64Type>(notes.iter().map(|note| note.frame))),
    ])
}

fn severity(note: &Note) -> &'static str {
    match note.code {
        NoteCode::FileDamaged
        | NoteCode::FileUnreadable
        | NoteCode::OneDirection
        | NoteCode::ClockRange
        | NoteCode::TooManyConnections
        | NoteCode::TooManyExchanges => "error",
        NoteCode::ClockBackwards
        | NoteCode::DuplicatePackets
        | NoteCode::Reordered
        | NoteCode::Offloaded
        | NoteCode::OtherSecrets
        | NoteCode::Relayed
        | NoteCode::ProxyHeader
        | NoteCode::OtherDatabase => "info",
        _ => "warning",
    }
}

fn batch(columns: Vec<(&'static str, ArrayRef)>) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_from_iter(columns)
}

fn strings<T: AsRef<str>>(values: impl Iterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(StringArray::from_iter(values))
}

fn numbers(values: impl IntoIterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn optional<T: ArrowPrimitiveType>(values: impl Iterator<Item = Option<T::Native>>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter(values))
}

fn booleans(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(BooleanArray::from_iter(values.map(Some)))
}

fn times(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(Timestamps::from_iter(values).with_timezone("UTC"))
}
