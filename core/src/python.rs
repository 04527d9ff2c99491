//! The Python module `latpcap._core`: the only file that knows Python.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ArrowError;
use numpy::PyReadonlyArray1;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::capture::{self, AnnotateError, Comments, Recording as Packets, Source, Stop};
use crate::conversation::Forced;
use crate::ledger::{DEFAULT_MEMORY, LEAST_MEMORY, Limits};
use crate::pipeline::{self, Options};
use crate::protocols::{REGISTRY, opaque};
use crate::replay::{self, Changes, Job, Network, Waiting};
use crate::table::Tables;

create_exception!(_core, CaptureError, PyException, "A capture cannot be read: one line says which, where and why.");

/// How far the reading is; shared with the thread that reads.
#[pyclass(frozen)]
#[derive(Default)]
struct Progress {
    consumed: Mutex<Arc<AtomicU64>>,
    total: Mutex<Option<u64>>,
    stop: Stop,
    cancel: Arc<AtomicBool>,
}

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Progress {
        Progress::default()
    }

    /// Bytes of the files (as they lie on disk) that have been read.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.consumed.lock().unwrap_or_else(PoisonError::into_inner).load(Ordering::Relaxed)
    }

    /// The size of all files; None where one is a pipe.
    #[getter]
    fn total_bytes(&self) -> Option<u64> {
        *self.total.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Read no further than what is there: that is the result, with a note. A pipe that is ending is read to its end.
    fn stop(&self) {
        self.stop.ask();
    }

    /// Stop at once: nobody wants the result.
    fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
        self.stop.at_once();
    }
}

impl Progress {
    fn watch(&self, packets: &Packets) {
        *self.consumed.lock().unwrap_or_else(PoisonError::into_inner) = packets.consumed();
        *self.total.lock().unwrap_or_else(PoisonError::into_inner) = packets.total_bytes();
    }
}

/// A table that speaks the Arrow PyCapsule interface.
#[pyclass(frozen)]
struct ArrowTable(RecordBatch);

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
struct Recording {
    captures: RecordBatch,
    notes: RecordBatch,
    connections: RecordBatch,
    exchanges: RecordBatch,
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

    fn exchanges(&self) -> ArrowTable {
        ArrowTable(self.exchanges.clone())
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
    fn new(tables: Tables) -> Result<Recording, ArrowError> {
        Ok(Recording {
            captures: tables.captures()?,
            notes: tables.notes()?,
            connections: tables.connections()?,
            statements: tables.statements()?,
            tags: tables.tags()?,
            rtt_samples: tables.rtt_samples()?,
            clock_readings: tables.clock_readings()?,
            exchanges: tables.exchanges.into_batch()?,
        })
    }
}

/// Read captures as one recording. Sources are paths (`-` for standard input), bytes, or objects with `read(n)`.
#[pyfunction]
#[pyo3(signature = (sources, *, show_literals=false, decode_as=BTreeMap::new(), memory=DEFAULT_MEMORY, progress=None))]
fn read(
    py: Python<'_>,
    sources: Vec<Bound<'_, PyAny>>,
    show_literals: bool,
    decode_as: BTreeMap<u16, String>,
    memory: usize,
    progress: Option<Bound<'_, Progress>>,
) -> PyResult<Recording> {
    if memory < LEAST_MEMORY {
        return Err(PyValueError::new_err(format!("{memory} bytes of memory are too few: give at least 64 MB")));
    }
    let cancel = progress.as_ref().map_or_else(Arc::default, |progress| progress.get().cancel.clone());
    let interruption = Interruption { error: Arc::default(), cancel: Arc::clone(&cancel) };
    let sources = sources.iter().map(|object| source(object, &interruption)).collect::<PyResult<Vec<_>>>()?;
    let decode_as = decode_as.into_iter().map(|(port, name)| Ok((port, forced(&name)?))).collect::<PyResult<_>>()?;
    let options = Options { show_literals, decode_as, cancel, limits: Limits::of(memory) };
    let stop = progress.as_ref().map_or_else(Stop::default, |progress| progress.get().stop.clone());
    let packets = py.detach(|| Packets::open_until(sources, stop));
    interruption.raise()?;
    let packets = packets.map_err(|error| CaptureError::new_err(error.to_string()))?;
    if let Some(progress) = &progress {
        progress.get().watch(&packets);
    }
    let recording = py.detach(|| {
        let mut tables = pipeline::read(packets, &options);
        tables.refusal.take().map_or_else(|| Ok(Recording::new(tables)), Err)
    });
    interruption.raise()?;
    let recording = recording.map_err(PyValueError::new_err)?;
    recording.map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Write captures again as the pcapng file `output`, with comments on their frames; returns how many got theirs.
#[pyfunction]
#[pyo3(signature = (sources, comments, output, *, progress=None))]
fn annotate(
    py: Python<'_>,
    sources: Vec<std::path::PathBuf>,
    comments: Comments,
    output: std::path::PathBuf,
    progress: Option<Bound<'_, Progress>>,
) -> PyResult<u64> {
    let cancel = progress.as_ref().map_or_else(Arc::default, |progress| progress.get().cancel.clone());
    let sources = sources.into_iter().map(Source::path).collect();
    py.detach(|| {
        let mut file = BufWriter::new(File::create(output)?);
        let count = capture::annotate(sources, &comments, &mut file, &cancel)?;
        file.flush()?;
        Ok(count)
    })
    .map_err(|error: AnnotateError| match error {
        AnnotateError::Write(error) => PyErr::from(error),
        error => CaptureError::new_err(error.to_string()),
    })
}

/// The names that `decode_as` takes.
#[pyfunction]
fn protocols() -> Vec<&'static str> {
    REGISTRY.iter().map(|protocol| protocol.name).chain(opaque::NAMES).collect()
}

fn source(object: &Bound<'_, PyAny>, interruption: &Interruption) -> PyResult<Source> {
    if let Ok(path) = object.extract::<std::path::PathBuf>() {
        return Ok(Source::path(path));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Source::bytes("bytes", bytes.as_bytes()));
    }
    if object.hasattr("read")? {
        let name = object.getattr("name").and_then(|name| name.extract()).unwrap_or_else(|_| "file object".to_owned());
        let interruption = interruption.clone();
        return Ok(Source::reader(
            name,
            FileObject { object: object.clone().unbind(), rest: Vec::new(), interruption },
        ));
    }
    Err(PyTypeError::new_err("a capture is a path, bytes, or an object with read()"))
}

fn forced(name: &str) -> PyResult<Forced> {
    let protocol = REGISTRY.iter().copied().find(|protocol| protocol.name == name).map(Forced::Protocol);
    let opaque = || opaque::NAMES.into_iter().find(|opaque| *opaque == name).map(Forced::Opaque);
    protocol.or_else(opaque).ok_or_else(|| {
        PyValueError::new_err(format!("no protocol is called {name}: {} are known", protocols().join(", ")))
    })
}

/// What ends a program, raised while one of its file objects was read: Ctrl-C, `sys.exit()`. It is no fault of the file.
#[derive(Clone)]
struct Interruption {
    error: Arc<Mutex<Option<PyErr>>>,
    cancel: Arc<AtomicBool>,
}

impl Interruption {
    /// Keeps it, and lets the reading end soon.
    fn keep(&self, py: Python<'_>, error: &PyErr) {
        if !error.is_instance_of::<PyException>(py) {
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone_ref(py));
            self.cancel.store(true, Ordering::Relaxed);
        }
    }

    fn raise(&self) -> PyResult<()> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

/// A Python file object as a reader.
struct FileObject {
    object: Py<PyAny>,
    /// What it gave beyond what was asked for.
    rest: Vec<u8>,
    interruption: Interruption,
}

impl Read for FileObject {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = Python::attach(|py| {
                let bytes = self.object.call_method1(py, "read", (buffer.len(),)).map_err(|error| {
                    self.interruption.keep(py, &error);
                    io::Error::other(error.to_string())
                })?;
                bytes.extract::<Vec<u8>>(py).map_err(|_| io::Error::other("read() did not return bytes"))
            })?;
        }
        let length = self.rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest[..length]);
        self.rest.drain(..length);
        Ok(length)
    }
}

/// An object whose attributes are numpy columns; each is copied once.
struct NumpyColumns<'a, 'py>(&'a Bound<'py, PyAny>);

impl NumpyColumns<'_, '_> {
    fn copied<T: numpy::Element + Clone>(&self, name: &str) -> PyResult<Vec<T>> {
        let column: PyReadonlyArray1<'_, T> = self.0.getattr(name)?.extract()?;
        Ok(column.as_array().to_vec())
    }
}

impl replay::Source for NumpyColumns<'_, '_> {
    type Error = PyErr;

    fn u32s(&self, name: &str) -> PyResult<Vec<u32>> {
        self.copied(name)
    }

    fn i64s(&self, name: &str) -> PyResult<Vec<i64>> {
        self.copied(name)
    }

    fn f64s(&self, name: &str) -> PyResult<Vec<f64>> {
        self.copied(name)
    }

    fn bools(&self, name: &str) -> PyResult<Vec<bool>> {
        self.copied(name)
    }
}

/// A network to replay on; see `crate::replay::Network`.
#[derive(FromPyObject)]
struct NetworkFields {
    added_ns: f64,
    bandwidth: f64,
    loss: f64,
    growth: f64,
    window_bytes: f64,
    timeout_ns: f64,
    restarts: bool,
    baseline: i8,
}

impl NetworkFields {
    fn network(&self, rtt_ns: f64) -> Network {
        Network {
            rtt_ns,
            added_ns: self.added_ns,
            bandwidth: self.bandwidth,
            loss: self.loss,
            growth: self.growth,
            window_bytes: self.window_bytes,
            timeout_ns: self.timeout_ns,
            restarts: self.restarts,
            baseline: self.baseline,
        }
    }
}

/// A job that can be replayed at any RTT.
#[pyclass(frozen)]
struct Replay(replay::Replay);

#[pymethods]
impl Replay {
    /// Take the columns of a job. `waiting` is evidence, independent or chained.
    #[new]
    fn new(py: Python<'_>, columns: &Bound<'_, PyAny>, network: NetworkFields, waiting: &str) -> PyResult<Replay> {
        let waiting = match waiting {
            "evidence" => Waiting::Evidence,
            "independent" => Waiting::Independent,
            "chained" => Waiting::Chained,
            _ => return Err(PyValueError::new_err("waiting is evidence, independent or chained")),
        };
        let job = Job::read(&NumpyColumns(columns))?;
        job.check().map_err(PyValueError::new_err)?;
        Ok(Replay(py.detach(|| replay::Replay::new(job, waiting, &network.network(0.0)))))
    }

    /// The job with fixes made: see `crate::replay::Changes`.
    fn changed(&self, py: Python<'_>, changes: &Bound<'_, PyAny>) -> PyResult<Replay> {
        let changes = Changes::read(&NumpyColumns(changes))?;
        py.detach(|| self.0.changed(changes)).map(Replay).map_err(PyValueError::new_err)
    }

    /// When the job is over at each RTT, in ns since the recording began; `None` stands for the RTTs as they were.
    fn run(&self, py: Python<'_>, rtts_ns: Vec<Option<f64>>, network: NetworkFields) -> Vec<f64> {
        let networks: Vec<Network> = rtts_ns.into_iter().map(|rtt| network.network(rtt.unwrap_or(f64::NAN))).collect();
        py.detach(|| self.0.run_all(&networks))
    }
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::{ArrowTable, CaptureError, Progress, Recording, Replay, annotate, protocols, read};
}
