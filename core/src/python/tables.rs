//! The tables of a recording, as Python sees them: Arrow, of the exchanges the columns that are asked for.

use std::ffi::CStr;

use arrow_array::RecordBatch;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::table::{ExchangeColumns, Tables};

/// A table that speaks the Arrow PyCapsule interface.
#[pyclass(frozen)]
pub struct ArrowTable(RecordBatch);

#[pymethods]
impl ArrowTable {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        const NAME: &CStr = c"arrow_array_stream";
        let _ = requested_schema;
        let batches = std::iter::once(Ok::<_, ArrowError>(self.0.clone()));
        let reader = arrow_array::RecordBatchIterator::new(batches, self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), NAME)
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }
}

/// Everything that was read, table by table.
#[pyclass(frozen)]
pub struct Recording {
    captures: RecordBatch,
    notes: RecordBatch,
    connections: RecordBatch,
    exchanges: ExchangeColumns,
    statements: RecordBatch,
    tags: RecordBatch,
    rtt_samples: RecordBatch,
    clock_readings: RecordBatch,
}

#[pymethods]
impl Recording {
    fn captures(&self) -> ArrowTable {
        ArrowTable(self.captures.clone())
    }

    fn notes(&self) -> ArrowTable {
        ArrowTable(self.notes.clone())
    }

    fn connections(&self) -> ArrowTable {
        ArrowTable(self.connections.clone())
    }

    /// One row an exchange: all columns, or those of these names with texts as numbers. Made anew each time.
    #[pyo3(signature = (columns=None))]
    fn exchanges(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<ArrowTable> {
        let table = py.detach(|| match columns {
            None => self.exchanges.batch(),
            Some(names) => self.exchanges.coded(&names),
        });
        table.map(ArrowTable).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn statements(&self) -> ArrowTable {
        ArrowTable(self.statements.clone())
    }

    fn tags(&self) -> ArrowTable {
        ArrowTable(self.tags.clone())
    }

    fn rtt_samples(&self) -> ArrowTable {
        ArrowTable(self.rtt_samples.clone())
    }

    fn clock_readings(&self) -> ArrowTable {
        ArrowTable(self.clock_readings.clone())
    }
}

impl Recording {
    pub(super) fn new(tables: Tables) -> Result<Recording, ArrowError> {
        Ok(Recording {
            captures: tables.captures()?,
            notes: tables.notes()?,
            connections: tables.connections()?,
            statements: tables.statements()?,
            tags: tables.tags()?,
            rtt_samples: tables.rtt_samples()?,
            clock_readings: tables.clock_readings()?,
            exchanges: tables.exchanges,
        })
    }
}
