//! Tables that Python hands over, as the core takes them in.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyIterator};

use latpcap_core::recording::{Part, Refusal, SmallTables};

use super::CaptureError;
use super::errors::python_error;

/// Why there is no recording: Python raised something, or the core refuses what it got.
pub enum Stopped {
    Python(PyErr),
    Core(Refusal),
}

impl From<PyErr> for Stopped {
    fn from(error: PyErr) -> Stopped {
        Stopped::Python(error)
    }
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Stopped {
        Stopped::Core(refusal)
    }
}

impl Stopped {
    pub fn raised(self) -> PyErr {
        match self {
            Stopped::Python(error) => error,
            Stopped::Core(Refusal::Disk(error)) => error.into(),
            Stopped::Core(Refusal::Arrow(error)) => python_error(error),
            Stopped::Core(refusal) => CaptureError::new_err(refusal.to_string()),
        }
    }
}

/// The number of a part's scan, and words by column.
#[derive(FromPyObject)]
pub struct SavedPart(u32, HashMap<String, Vec<String>>);

impl From<SavedPart> for Part {
    fn from(SavedPart(scan, words): SavedPart) -> Part {
        Part { scan, words }
    }
}

/// The tables of these names, each an iterable of pieces.
pub fn small_tables(tables: &Bound<'_, PyDict>, memory: usize, chosen: Option<&[u32]>) -> Result<SmallTables, Stopped> {
    let mut small = SmallTables::new(memory, chosen)?;
    for name in SmallTables::NAMES {
        for piece in tables.get_item(name)?.map(|pieces| pieces.try_iter()).transpose()?.into_iter().flatten() {
            small.add(name, &batches(&piece?)?)?;
        }
    }
    Ok(small)
}

/// Batches of exchanges, each with the number of its part.
pub fn exchanges(pieces: &Bound<'_, PyAny>) -> PyResult<impl Iterator<Item = Result<(usize, RecordBatch), Stopped>>> {
    let each = |piece: PyResult<Bound<'_, PyAny>>| {
        let (part, table): (usize, Bound<'_, PyAny>) = piece?.extract()?;
        Ok(batches(&table)?.into_iter().map(move |batch| (part, batch)).collect())
    };
    Ok(flattened(pieces.try_iter()?, each))
}

/// Batches of RTT samples.
pub fn samples(pieces: &Bound<'_, PyAny>) -> PyResult<impl Iterator<Item = Result<RecordBatch, Stopped>>> {
    Ok(flattened(pieces.try_iter()?, |piece| batches(&piece?)))
}

fn flattened<'py, T>(
    pieces: Bound<'py, PyIterator>,
    each: impl Fn(PyResult<Bound<'py, PyAny>>) -> PyResult<Vec<T>>,
) -> impl Iterator<Item = Result<T, Stopped>> {
    pieces.flat_map(move |piece| match each(piece) {
        Ok(batches) => batches.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error.into())],
    })
}

fn batches(table: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    stream(table)?.map(|batch| batch.map_err(python_error)).collect()
}

/// The batches of a table, by the Arrow PyCapsule interface.
#[allow(unsafe_code)]
pub fn stream(table: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = table.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of that name holds a stream; it is moved out, and what is left is marked as released.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr().cast()) };
    RecordBatchStreamReader::try_new(stream).map_err(python_error)
}
