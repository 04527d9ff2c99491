//! The tables of a recording, as Python sees them: Arrow, of the exchanges the columns that are asked for.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ArrowError;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use super::errors::python_error;
use super::hashing::Hashing;
use super::legs::Legs;
use super::rtts::Rtts;
use super::saved::{self, SavedPart, Stopped};
use latpcap_core::capture::HostCurve;
use latpcap_core::disk::Room;
use latpcap_core::ledger::{DEFAULT_MEMORY, Limits};
use latpcap_core::recording::{self as core, Edge, ExchangeColumns, SampleBatches, SampleColumns, Tables, Window};
use latpcap_core::rtt::estimate;

/// Numbers of connections or the like; one that is none is the largest.
pub(super) fn numbers(column: &PyReadonlyArray1<'_, i64>) -> Vec<u32> {
    column.as_array().iter().map(|&number| u32::try_from(number).unwrap_or(u32::MAX)).collect()
}

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
pub struct SampleTable(pub(super) SampleColumns);

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
        stream(py, RecordBatchIterator::new(SampleBatches::of(self.0.clone()), schema))
    }
}

fn stream<'py>(py: Python<'py>, reader: impl RecordBatchReader + Send + 'static) -> PyResult<Bound<'py, PyCapsule>> {
    const NAME: &CStr = c"arrow_array_stream";
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), NAME)
}

/// A time, and the frame that was asked for.
type PyEdge = (i64, Option<i64>);

/// Everything that was read, table by table.
#[pyclass(frozen)]
pub struct Recording {
    pub(super) core: core::Recording,
    contents: Arc<Sources>,
}

/// Length and SHA-256 of the sources.
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
        chosen: Option<PyReadonlyArray1<'_, i64>>,
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
        let core = saved::small_tables(tables, memory, chosen.as_ref().map(numbers).as_deref()).and_then(|small| {
            let (parts, room) = (parts.into_iter().map(Into::into).collect(), (&limits, disk.as_ref()));
            let (exchanges, samples) = (saved::exchanges(exchanges)?, saved::samples(rtt_samples)?);
            core::Recording::of(small, parts, host_curve, room, exchanges, samples)
        });
        Ok(Recording { core: core.map_err(Stopped::raised)?, contents: Arc::new(Sources::Saved(contents)) })
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

    /// All connections that were read, whatever is selected.
    fn all_connections(&self) -> ArrowTable {
        ArrowTable(self.core.all_connections.clone())
    }

    #[getter]
    fn exchange_count(&self) -> usize {
        self.core.exchanges.len()
    }

    /// The recording with some of its connections in it.
    fn select(&self, py: Python<'_>, streams: PyReadonlyArray1<'_, i64>) -> PyResult<Recording> {
        let streams = numbers(&streams);
        let core = py.detach(|| self.core.select(&streams)).map_err(python_error)?;
        Ok(self.showing(core))
    }

    /// The recording from one edge to another, each a time (ns since 1970) and the frame that was asked for; the first
    /// of its connections passes at the begin of `period_ns`, the last at its end. `None` where no exchange begins then.
    fn within(&self, py: Python<'_>, first: PyEdge, last: PyEdge, period_ns: [i64; 2]) -> PyResult<Option<Recording>> {
        let [from, to] = [first, last].map(|(ns, frame)| Edge { ns, frame });
        let core = py.detach(|| self.core.within(&Window { from, to, period_ns })).map_err(python_error)?;
        Ok(core.map(|core| self.showing(core)))
    }

    /// When it begins and ends, in ns since 1970, where it is a window.
    #[getter]
    fn period(&self) -> Option<(i64, i64)> {
        self.core.period_ns.map(|[begin, end]| (begin, end))
    }

    /// When it began, in ns since 1970: its window, or the first packet of a database connection.
    #[getter]
    fn start_ns(&self) -> PyResult<i64> {
        self.core.start_ns().map_err(python_error)
    }

    /// From then to the last data of one, or to the end of its window.
    #[getter]
    fn runtime_ns(&self) -> PyResult<i64> {
        self.core.runtime_ns().map_err(python_error)
    }

    /// The window with another begin and end.
    fn during(&self, begin_ns: i64, end_ns: i64) -> Recording {
        self.showing(core::Recording { period_ns: Some([begin_ns, end_ns]), ..self.core.clone() })
    }

    /// From the first packet to the last data of the database connections, in ns since 1970.
    fn reach(&self) -> PyResult<Option<[i64; 2]>> {
        self.core.reach_ns().map_err(python_error)
    }

    /// Whether no time of its connections is left out; `whole`: the recording that it is a window of.
    #[pyo3(signature = (whole=None))]
    fn holds_all_time(&self, whole: Option<&Recording>) -> PyResult<bool> {
        self.core.holds_all_time(whole.map(|whole| &whole.core)).map_err(python_error)
    }

    /// When what begins or ends at `frame` or behind it first passed, in ns since 1970.
    fn passed(&self, py: Python<'_>, frame: i64) -> PyResult<Option<i64>> {
        py.detach(|| self.core.passed_ns(frame)).map_err(python_error)
    }

    /// When each exchange begins, in ns since 1970.
    fn begins<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let begins = py.detach(|| self.core.begins_ns()).map_err(python_error)?;
        Ok(PyArray1::from_vec(py, begins))
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
        SampleTable(self.core.samples.clone())
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
        let hosts = self.core.curve_hosts.clone();
        Some((rests_ms, extra_ms, hosts.unwrap_or(addresses)))
    }

    /// Other names stand in the tables than those that were read.
    #[getter]
    fn is_renamed(&self) -> bool {
        self.core.is_renamed
    }

    /// The rows of the connections that are database traffic.
    fn database_rows<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_vec(py, self.core.database_rows())
    }

    /// The distinct texts of a column, in the order of its rows; of the exchanges those of their errors.
    fn texts(&self, table: &str, column: &str) -> PyResult<Vec<String>> {
        self.core.texts(table, column).map_err(python_error)
    }

    /// The names in these columns of the connections, each once behind its column, in the order in which they are met.
    fn names_met(&self, columns: Vec<String>) -> Vec<(String, String)> {
        self.core.names_met(&columns)
    }

    /// The texts of statements, and those of errors, in the order of the exchanges that have them.
    fn texts_met(&self, py: Python<'_>) -> PyResult<(Vec<String>, Vec<String>)> {
        py.detach(|| self.core.texts_met()).map_err(python_error)
    }

    /// The recording with other words: for each table and column a list in the order of `texts`; `hosts` are what the
    /// hosts of its curve are called.
    #[pyo3(signature = (words, hosts=None))]
    fn renamed(
        &self,
        words: BTreeMap<String, BTreeMap<String, Vec<String>>>,
        hosts: Option<Vec<String>>,
    ) -> PyResult<Recording> {
        let columns = words.into_iter().flat_map(|(table, columns)| {
            columns.into_iter().map(move |(column, words)| core::Words { table: table.clone(), column, words })
        });
        let core = self.core.renamed(columns.collect(), hosts).map_err(python_error)?;
        Ok(self.showing(core))
    }

    /// Groups of connections, in the order of their numbers; `group_of` has that of each stream, less than 0 for none.
    /// As many are together as have no more than `most` exchanges, or one alone: all of them, and each.
    fn groups(
        &self,
        py: Python<'_>,
        group_of: PyReadonlyArray1<'_, i64>,
        most: usize,
    ) -> PyResult<Vec<(Recording, Vec<Recording>)>> {
        let group_of: Vec<_> = group_of.as_slice()?.iter().map(|&group| usize::try_from(group).ok()).collect();
        let groups = py.detach(|| self.core.groups(&group_of, most)).map_err(python_error)?;
        let of = |core| self.showing(core);
        Ok(groups.into_iter().map(|some| (of(some.together), some.each.into_iter().map(of).collect())).collect())
    }

    /// The RTTs of its paths and connections, where `given_ms` does not overrule them; connections of several `groups`
    /// share no path.
    #[pyo3(signature = (given_ms=None, groups=None))]
    fn rtts(&self, py: Python<'_>, given_ms: Option<f64>, groups: Option<PyReadonlyArray1<'_, i64>>) -> PyResult<Rtts> {
        let groups = groups.as_ref().map(numbers);
        Ok(Rtts { core: py.detach(|| estimate::Rtts::of(&self.core, given_ms, groups.as_deref()))? })
    }

    /// Both sides of its proxies, where some are certain; `whole` is the recording that it is a window of.
    #[pyo3(signature = (whole=None))]
    fn legs(&self, py: Python<'_>, whole: Option<&Recording>) -> PyResult<Option<Legs>> {
        Ok(py.detach(|| Legs::of(&self.core, whole.map(|whole| &whole.core)))?)
    }

    /// Length and SHA-256 of each source.
    fn contents(&self, py: Python<'_>) -> PyResult<Vec<Option<(u64, String)>>> {
        let hashing = match &*self.contents {
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
        Ok(Recording { core: core::Recording::new(read, limits)?, contents: Arc::new(Sources::Read(hashing)) })
    }

    /// Another recording of the same sources.
    fn showing(&self, core: core::Recording) -> Recording {
        Recording { core, contents: Arc::clone(&self.contents) }
    }
}
