//! Refusals of what a capture cannot hold: what follows from it would be wrong, or take a time without end.

use std::io;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{Array, PrimitiveArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use crate::capture::possible_time;
use crate::sql::Statements;

/// The largest file or message.
const MAX_BYTES: u64 = 1 << 40;
/// The largest number of packets, frames or connections.
pub const MAX_COUNT: u64 = 1 << 53;
/// Columns of connections that may be null.
const UNKNOWN_OF_CONNECTIONS: [&str; 38] = [
    "protocol",
    "server_version",
    "user",
    "database",
    "application",
    "driver",
    "driver_version",
    "driver_known_by",
    "framework",
    "framework_known_by",
    "former_users",
    "former_databases",
    "encryption",
    "compression",
    "tls_version",
    "tls_cipher",
    "server_name",
    "certificate_subject",
    "tls_resumed",
    "tls_reading",
    "data_end",
    "syn_time",
    "syn_ack_time",
    "ack_time",
    "client_fin_time",
    "server_fin_time",
    "client_reset_time",
    "server_reset_time",
    "server_handshake_ns",
    "client_handshake_ns",
    "server_answer_ns",
    "client_answer_ns",
    "client_mss",
    "server_mss",
    "cancels",
    "session",
    "client_window_bytes",
    "server_window_bytes",
];

/// Why tables are no recording.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("is damaged: {0}")]
    Damaged(String),
    /// It is more than memory holds, or is there twice.
    #[error("{0}")]
    TooMuch(String),
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    #[error(transparent)]
    Disk(#[from] io::Error),
}

pub fn damaged<T>(what: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Damaged(what.into()))
}

/// The connections, by their numbers.
pub struct Streams {
    /// Who is there, and whether it is a database's.
    pub is_database: Vec<Option<bool>>,
    /// Connections whose rows are kept; all where nobody chose.
    pub chosen: Option<Vec<bool>>,
}

impl Streams {
    /// Rows of this connection are kept; refused where no such connection, or no database's, is there.
    pub fn keeps(&self, stream: usize, database: bool) -> Result<bool, Refusal> {
        match self.is_database.get(stream) {
            Some(&Some(is_database)) if is_database || !database => {
                Ok(self.chosen.as_ref().is_none_or(|chosen| chosen.get(stream) == Some(&true)))
            }
            _ => damaged("it has rows of connections that are not there"),
        }
    }
}

/// The columns of a table alone, of the types that they have in the core, with values that a capture may hold.
pub fn checked(table: &str, batch: &RecordBatch, like: &RecordBatch) -> Result<RecordBatch, Refusal> {
    let mut columns = Vec::new();
    for field in like.schema_ref().fields() {
        let name = field.name();
        let Some(column) = batch.column_by_name(name).filter(|column| column.data_type() == field.data_type()) else {
            return damaged(format!("`{name}` is missing, or of another type than this latpcap writes"));
        };
        if column.null_count() > 0 && !may_be_null(table, name) {
            return damaged(format!("`{name}` is missing in a row"));
        }
        check_numbers(name, column)?;
        if let Some(texts) = column.as_string_opt::<i32>() {
            texts.iter().flatten().try_for_each(|text| check_text(name, text))?;
        }
        columns.push((name.as_str(), column.clone()));
    }
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn may_be_null(table: &str, column: &str) -> bool {
    match table {
        "captures" => matches!(column, "first_time" | "last_time" | "tick_ns"),
        "notes" => column == "first_frame",
        "cases" => column == "place",
        "statements" => column == "kind",
        "connections" => UNKNOWN_OF_CONNECTIONS.contains(&column) || column.ends_with("_window_limit_bytes"),
        "taps" => column.ends_with("_ns") || column.ends_with("_ppb"),
        _ => false,
    }
}

/// Refuse what no capture has: what follows from it would take a time without end.
pub fn check_numbers(name: &str, column: &dyn Array) -> Result<(), Refusal> {
    let is_span = name.ends_with("_ns");
    let is_beyond = match column.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => has::<TimestampNanosecondType>(column, is_no_time),
        DataType::Int64 if is_span => has::<Int64Type>(column, is_no_time),
        DataType::UInt64 if is_span => has::<UInt64Type>(column, |span| i64::try_from(span).map_or(true, is_no_time)),
        _ => false,
    };
    if is_beyond {
        return damaged(format!("`{name}` is a time that no capture has"));
    }
    let is_huge = name.ends_with("_bytes")
        && match column.data_type() {
            DataType::UInt64 => has::<UInt64Type>(column, |bytes| bytes > MAX_BYTES),
            DataType::Int64 => has::<Int64Type>(column, |bytes| !(0..=MAX_BYTES as i64).contains(&bytes)),
            _ => false,
        };
    if is_huge { damaged(format!("`{name}` is more than any capture has")) } else { Ok(()) }
}

fn is_no_time(time_ns: i64) -> bool {
    possible_time(time_ns) != time_ns
}

fn has<T: ArrowPrimitiveType>(column: &dyn Array, is: impl Fn(T::Native) -> bool) -> bool {
    let numbers: &PrimitiveArray<T> = column.as_primitive();
    match numbers.nulls() {
        None => numbers.values().iter().any(|&number| is(number)),
        Some(_) => numbers.iter().flatten().any(is),
    }
}

/// Refuse what could steer a terminal: latpcap writes no such text.
pub fn check_text(name: &str, text: &str) -> Result<(), Refusal> {
    if Statements::is_printable(text) {
        return Ok(());
    }
    damaged(format!("a text of `{name}` has characters that latpcap never writes"))
}
