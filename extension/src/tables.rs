//! The tables of a recording, as Python sees them: Arrow, of the exchanges the columns that are asked for.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::hashing::Hashing;
use latpcap_core::capture::HostCurve;
use latpcap_core::ledger::Limits;
use latpcap_core::recording::{self as core, SampleBatches, SampleColumns, Tables};

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
pub struct SampleTable(pub(super) Arc<SampleColumns>);

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

impl SampleTable {
    pub(super) fn of(samples: SampleColumns) -> SampleTable {
        SampleTable(Arc::new(samples))
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
    hashing: Hashing,
}

#[pymethods]
impl Recording {
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
        Some((rests_ms, extra_ms, addresses.iter().map(ToString::to_string).collect()))
    }

    /// Length and SHA-256 of each source.
    fn contents(&self, py: Python<'_>) -> PyResult<Vec<Option<(u64, String)>>> {
        let mut stopped = Ok(());
        let contents = py.detach(|| {
            self.hashing.contents(|| {
                stopped = Python::attach(|py| py.check_signals());
                stopped.is_ok()
            })
        });
        stopped.map(|()| contents.into_iter().map(|each| each.map(|each| (each.bytes, each.sha256))).collect())
    }
}

impl Recording {
    pub(super) fn new(read: Tables, limits: &Limits, hashing: Hashing) -> Result<Recording, ArrowError> {
        Ok(Recording { core: core::Recording::new(read, limits)?, hashing })
    }
}

/// What was kept on disk and cannot be read back is the system's fault, all else is that of who asks.
pub(super) fn python_error(error: ArrowError) -> PyErr {
    match error {
        ArrowError::IoError(_, error) => PyErr::from(error),
        error => PyValueError::new_err(error.to_string()),
    }
}
