//! The tables of a recording, as Python sees them: Arrow, of the exchanges the columns that are asked for.

use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use super::hashing::Hashing;
use super::saved::{self, SavedPart, Stopped};
use latpcap_core::capture::HostCurve;
use latpcap_core::disk::Room;
use latpcap_core::ledger::{DEFAULT_MEMORY, Limits};
use latpcap_core::recording::{self as core, ExchangeColumns, SampleBatches, SampleColumns, Tables};

/// A table that speaks the Arrow PyCapsule interface.
#[pyclass(frozen)]
pub struct ArrowTable(pub(super) RecordBatch);

#[pymethods]
impl ArrowTable {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = std::iter::once(Ok::<_, ArrowError>(self.0.clone()));
        stream(py, RecordBatchIterator::new(batches, self.0.schema()))
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }
}

/// The RTT samples: a table that is made while it is read, batch by batch.
#[pyclass(frozen)]
pub struct SampleTable(Arc<SampleColumns>);

#[pymethods]
impl SampleTable {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let schema = SampleBatches::schema().map_err(python_error)?;
        stream(py, RecordBatchIterator::new(SampleBatches::of(Arc::clone(&self.0)), schema))
    }
}

fn stream<'py>(py: Python<'py>, reader: impl RecordBatchReader + Send + 'static) -> PyResult<Bound<'py, PyCapsule>> {
    const NAME: &CStr = c"arrow_array_stream";
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), NAME)
}

/// Everything that was read, table by table.
#[pyclass(frozen)]
pub struct Recording {
    pub(super) core: core::Recording,
    contents: Sources,
}

/// What the sources hold.
enum Sources {
    Read(Hashing),
    /// As somebody found it before.
    Saved(Vec<Option<(u64, String)>>),
}

#[pymethods]
impl Recording {
    /// The recording of `tables`, each an iterable of pieces by its name, in the core's columns: of `statements`, `tags`
    /// and `notes` a piece a part. `exchanges`: batches, each with its part; `parts`: of each, the number of its scan and
    /// known words by column. Of the `chosen` connections alone rows are kept, if not all. `memory`, `disk`, `in_memory`:
    /// those of `read`. What cannot be of a capture is a `CaptureError`.
    #[staticmethod]
    #[pyo3(signature = (tables, exchanges, rtt_samples, *, parts=vec![], chosen=None, host_curve=None, contents=vec![], memory=DEFAULT_MEMORY, disk=None, in_memory=None))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn of(
        tables: &Bound<'_, PyDict>,
        exchanges: &Bound<'_, PyAny>,
        rtt_samples: &Bound<'_, PyAny>,
        parts: Vec<SavedPart>,
        chosen: Option<Vec<u32>>,
        host_curve: Option<(Vec<f64>, Vec<f64>, Vec<String>)>,
        contents: Vec<Option<(u64, String)>>,
        memory: usize,
        disk: Option<(PathBuf, u64)>,
        in_memory: Option<usize>,
    ) -> PyResult<Recording> {
        let mut limits = Limits::of(memory);
        limits.rows = in_memory.unwrap_or(limits.rows);
        let disk = disk.map(|(folder, bytes)| Room { folder, bytes });
        let host_curve = host_curve.map(|(rests_ms, extra_ms, addresses)| HostCurve { rests_ms, extra_ms, addresses });
        let core = saved::small_tables(tables, memory, chosen.as_deref()).and_then(|small| {
            let (parts, room) = (parts.into_iter().map(Into::into).collect(), (&limits, disk.as_ref()));
            let (exchanges, samples) = (saved::exchanges(exchanges)?, saved::samples(rtt_samples)?);
            core::Recording::of(small, parts, host_curve, room, exchanges, samples)
        });
        Ok(Recording { core: core.map_err(Stopped::raised)?, contents: Sources::Saved(contents) })
    }

    /// What the columns of the exchanges are called.
    #[staticmethod]
    fn exchange_names() -> Vec<&'static str> {
        ExchangeColumns::names().collect()
    }

    /// What is computed from so many exchanges does not fit in `memory` bytes.
    #[staticmethod]
    fn would_be_large(exchanges: usize, memory: usize) -> bool {
        ExchangeColumns::are_too_many(exchanges, memory)
    }

    /// What is computed from it does not fit in the memory that reading may take.
    #[getter]
    fn is_large(&self) -> bool {
        self.core.is_large
    }

    fn captures(&self) -> ArrowTable {
        ArrowTable(self.core.captures.clone())
    }

    fn notes(&self) -> ArrowTable {
        ArrowTable(self.core.notes.clone())
    }

    /// What of the notes adds up over the parts of a recording.
    fn cases(&self) -> ArrowTable {
        ArrowTable(self.core.cases.clone())
    }

    fn connections(&self) -> ArrowTable {
        ArrowTable(self.core.connections.clone())
    }

    /// One row an exchange: all columns, or those of these names with texts as numbers, of all `rows` or of those from a
    /// first one up to another. Made anew each time.
    #[pyo3(signature = (columns=None, rows=None))]
    fn exchanges(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        rows: Option<(usize, usize)>,
    ) -> PyResult<ArrowTable> {
        let table = py.detach(|| match columns {
            None => self.core.exchanges.batch(),
            Some(names) => self.core.exchanges.coded(&names, rows.map(|(begin, end)| begin..end)),
        });
        table.map(ArrowTable).map_err(python_error)
    }

    fn statements(&self) -> ArrowTable {
        ArrowTable(self.core.statements.clone())
    }

    fn tags(&self) -> ArrowTable {
        ArrowTable(self.core.tags.clone())
    }

    /// One row an RTT sample. Made anew each time.
    fn rtt_samples(&self) -> SampleTable {
        SampleTable(Arc::clone(&self.core.samples))
    }

    fn clock_readings(&self) -> ArrowTable {
        ArrowTable(self.core.clock_readings.clone())
    }

    fn segments(&self) -> ArrowTable {
        ArrowTable(self.core.segments.clone())
    }

    fn taps(&self) -> ArrowTable {
        ArrowTable(self.core.taps.clone())
    }

    /// How much later the host that recorded answers after a rest: rests and extra times in ms, and its addresses.
    fn host_curve(&self) -> Option<(Vec<f64>, Vec<f64>, Vec<String>)> {
        let HostCurve { rests_ms, extra_ms, addresses } = self.core.host_curve.clone()?;
        Some((rests_ms, extra_ms, addresses))
    }

    /// Length and SHA-256 of each source.
    fn contents(&self, py: Python<'_>) -> PyResult<Vec<Option<(u64, String)>>> {
        let hashing = match &self.contents {
            Sources::Read(hashing) => hashing,
            Sources::Saved(contents) => return Ok(contents.clone()),
        };
        let mut stopped = Ok(());
        let contents = py.detach(|| {
            hashing.contents(|| {
                stopped = Python::attach(|py| py.check_signals());
                stopped.is_ok()
            })
        });
        stopped.map(|()| contents.into_iter().map(|each| each.map(|each| (each.bytes, each.sha256))).collect())
    }
}

impl Recording {
    pub(super) fn new(read: Tables, limits: &Limits, hashing: Hashing) -> Result<Recording, ArrowError> {
        Ok(Recording { core: core::Recording::new(read, limits)?, contents: Sources::Read(hashing) })
    }
}

/// What was kept on disk and cannot be read back is the system's fault, all else is that of who asks.
pub(super) fn python_error(error: ArrowError) -> PyErr {
    match error {
        ArrowError::IoError(_, error) => PyErr::from(error),
        error => PyValueError::new_err(error.to_string()),
    }
}
