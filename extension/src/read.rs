//! Captures in: paths, bytes, Python's file objects, or files elsewhere that Python reads.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyException, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use super::CaptureError;
use super::errors::python_error;
use super::hashing::Hashing;
use super::keys::KeyLog;
use super::progress::Progress;
use super::registry::protocols;
use super::tables::{ArrowTable, Recording};
use latpcap_core::capture::writing::{self, Dropped, Head, Interfaces};
use latpcap_core::capture::{self, AnnotateError, Captures, HostCurve, Keys, Remote, Source, Stop};
use latpcap_core::client_groups::{Group, Part, groups};
use latpcap_core::conversation::Forced;
use latpcap_core::disk::Room;
use latpcap_core::layers::tls;
use latpcap_core::ledger::{DEFAULT_MEMORY, LEAST_MEMORY, Limits};
use latpcap_core::pipeline::{self, Options};
use latpcap_core::protocols::{opaque, protocol_named};
use latpcap_core::recording;

/// Read captures as one recording. Sources are paths (`-` for standard input), bytes, objects with `read(n)`, or files
/// elsewhere: objects with a `place`, a `size` and a `reader()`, each of which reads it from its beginning. `disk`: a
/// folder, and what may be put there; `in_memory`: the bytes beyond which rows go there, where they need not. `names`:
/// what results call each source. `part`: part k (from 0) of n of the client groups alone, or several of these parts.
#[pyfunction]
#[pyo3(signature = (sources, *, names=None, show_literals=false, decode_as=BTreeMap::new(), memory=DEFAULT_MEMORY, disk=None, in_memory=None, threads=None, keylog=None, part=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "they are the keywords of Python's `read`")]
pub fn read(
    py: Python<'_>,
    sources: Vec<Bound<'_, PyAny>>,
    names: Option<Vec<String>>,
    show_literals: bool,
    decode_as: BTreeMap<u16, String>,
    memory: usize,
    disk: Option<(std::path::PathBuf, u64)>,
    in_memory: Option<usize>,
    threads: Option<NonZeroUsize>,
    keylog: Option<Bound<'_, KeyLog>>,
    part: Option<(Numbers, u32)>,
    progress: Option<Bound<'_, Progress>>,
) -> PyResult<Recording> {
    if memory < LEAST_MEMORY {
        return Err(PyValueError::new_err(format!("{memory} bytes of memory are too few: give at least 64 MB")));
    }
    let part = part.map(|(numbers, of)| numbers.part(of)).transpose()?;
    let decode_as = decode_as.into_iter().map(|(port, name)| Ok((port, forced(&name)?))).collect::<PyResult<_>>()?;
    let disk = disk.map(|(folder, bytes)| Room { folder, bytes });
    let mut limits = Limits::of(memory);
    limits.rows = in_memory.unwrap_or(limits.rows);
    let keys = keylog.map_or_else(|| Arc::new(tls::KeyLog::within(limits.keys)), |log| Arc::clone(&log.get().0));
    let (packets, interruption) = opened(py, &sources, names, progress.as_ref())?;
    let cancel = Arc::clone(&interruption.cancel);
    let hashing = match &progress {
        Some(progress) if progress.get().hashes => Hashing::ahead(packets.origins(), &cancel),
        _ => Hashing::when_asked(packets.origins()),
    };
    let live = progress.as_ref().and_then(|progress| progress.get().live.clone());
    let options = Options { show_literals, decode_as, part, cancel, limits, keys, disk, threads, live };
    let recording = py.detach(|| {
        let mut tables = pipeline::read(packets, &options)?;
        Ok(tables.refusal.take().map_or_else(|| Ok(Recording::new(tables, &options.limits, hashing)), Err))
    });
    interruption.raise()?;
    let recording = recording.map_err(|error: io::Error| PyErr::from(error))?.map_err(PyValueError::new_err)?;
    recording.map_err(python_error)
}

/// Which of so many parts.
#[derive(FromPyObject)]
pub enum Numbers {
    One(u32),
    Several(Vec<u32>),
}

impl Numbers {
    fn part(self, of: u32) -> PyResult<Part> {
        let numbers = match self {
            Numbers::One(number) => vec![number],
            Numbers::Several(numbers) => numbers,
        };
        Part::new(&numbers, of).ok_or_else(|| {
            let last = numbers.iter().max().unwrap_or(&0);
            PyValueError::new_err(format!("there is no part {last} of {of}"))
        })
    }
}

/// The recording of `sources`, before its first packet, and what interrupts the reading.
fn opened(
    py: Python<'_>,
    sources: &[Bound<'_, PyAny>],
    names: Option<Vec<String>>,
    progress: Option<&Bound<'_, Progress>>,
) -> PyResult<(Captures, Interruption)> {
    let cancel = progress.map_or_else(Arc::default, |progress| progress.get().cancel.clone());
    let interruption = Interruption { error: Arc::default(), cancel };
    let mut sources = sources.iter().map(|object| source(object, &interruption)).collect::<PyResult<Vec<_>>>()?;
    if let Some(names) = names {
        sources = sources.into_iter().zip(names).map(|(source, name)| source.called(name)).collect();
    }
    let stop = progress.map_or_else(Stop::default, |progress| progress.get().stop.clone());
    let packets = py.detach(|| Captures::open_until(sources, stop));
    interruption.raise()?;
    let packets = packets.map_err(|error| CaptureError::new_err(error.to_string()))?;
    if let Some(progress) = progress {
        progress.get().watch(&packets);
    }
    Ok((packets, interruption))
}

/// The client groups of captures, the largest first, from the packets' headers alone.
#[pyfunction]
#[pyo3(signature = (sources, *, names=None, memory=DEFAULT_MEMORY, progress=None))]
pub fn client_groups(
    py: Python<'_>,
    sources: Vec<Bound<'_, PyAny>>,
    names: Option<Vec<String>>,
    memory: usize,
    progress: Option<Bound<'_, Progress>>,
) -> PyResult<ArrowTable> {
    let (packets, interruption) = opened(py, &sources, names, progress.as_ref())?;
    let limits = Limits::of(memory);
    let most = limits.connections / size_of::<Group>() / 2;
    let groups = py.detach(|| groups(packets, most, limits.fragments, &interruption.cancel));
    interruption.raise()?;
    let groups = groups.ok_or_else(|| {
        PyValueError::new_err(format!("more than {most} pairs of hosts talk to each other: give more --memory"))
    })?;
    recording::groups(&groups).map(ArrowTable).map_err(python_error)
}

/// Comments from an iterator over batches of a frame and its texts, in the order of the frames.
struct Comments {
    /// Until it has ended, or raised.
    batches: Option<Py<PyAny>>,
    batch: std::vec::IntoIter<(u64, Vec<String>)>,
    next: Option<(u64, Vec<String>)>,
    error: Option<PyErr>,
}

impl Comments {
    fn of(&mut self, frame: u64) -> Vec<String> {
        while self.next.as_ref().is_none_or(|(next, _)| *next < frame) {
            self.next = self.batch.next();
            if self.next.is_none() && !self.refill() {
                return Vec::new();
            }
        }
        self.next.take_if(|(next, _)| *next == frame).map(|(_, texts)| texts).unwrap_or_default()
    }

    fn refill(&mut self) -> bool {
        let Some(batches) = &self.batches else { return false };
        let batch = Python::attach(|py| {
            let next = batches.bind(py).try_iter()?.next();
            next.transpose()?.map(|batch| batch.extract::<Vec<_>>()).transpose()
        });
        let (batch, error) = batch.map_or_else(|error| (None, Some(error)), |batch| (batch, None));
        self.error = error;
        match batch {
            Some(batch) => self.batch = batch.into_iter(),
            None => self.batches = None,
        }
        self.batches.is_some()
    }
}

/// Write captures again as the pcapng file `output`, with comments on their frames, which an iterator gives in batches
/// of a frame and its texts, in the order of the frames; returns how many got theirs, and how many blocks of decryption secrets there were: dropped unless `embed_keys`, which also adds those secrets of `keylog`
/// that are of sessions in `recording`, and says of how many.
#[pyfunction]
#[pyo3(signature = (sources, comments, output, *, embed_keys=false, keylog=None, recording=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "they are the keywords of Python's `annotate`")]
pub fn annotate(
    py: Python<'_>,
    sources: Vec<std::path::PathBuf>,
    comments: Bound<'_, PyAny>,
    output: std::path::PathBuf,
    embed_keys: bool,
    keylog: Option<Bound<'_, KeyLog>>,
    recording: Option<Bound<'_, Recording>>,
    progress: Option<Bound<'_, Progress>>,
) -> PyResult<(u64, u64, usize)> {
    let cancel = progress.as_ref().map_or_else(Arc::default, |progress| progress.get().cancel.clone());
    let sources = sources.into_iter().map(Source::path).collect();
    let (mut key_log, mut sessions) = (Zeroizing::default(), 0);
    if let (true, Some(log), Some(recording)) = (embed_keys, keylog, recording) {
        let randoms = &recording.get().core.client_randoms;
        sessions = randoms.iter().filter(|random| log.get().0.knows(random)).count();
        key_log = log.get().0.lines_of(randoms);
    }
    let mut comments =
        Comments { batches: Some(comments.unbind()), batch: Vec::new().into_iter(), next: None, error: None };
    let written = py.detach(|| {
        let keys = if embed_keys { Keys::Embed(&key_log) } else { Keys::Drop };
        let mut file = BufWriter::new(File::create(output)?);
        let written = capture::annotate(sources, &mut |frame| comments.of(frame), keys, &mut file, &cancel)?;
        file.flush()?;
        Ok((written.packets, written.secrets, sessions))
    });
    if let Some(error) = comments.error {
        return Err(error);
    }
    written.map_err(|error: AnnotateError| match error {
        AnnotateError::Write(error) => PyOSError::new_err((error.raw_os_error(), error.to_string())),
        error => CaptureError::new_err(error.to_string()),
    })
}

/// Captures as a pcapng file, each a link type, ns since 1970, its bytes and its length on the wire.
#[pyfunction]
pub fn pcapng_of<'py>(py: Python<'py>, packets: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let (mut out, mut interfaces) = (Vec::new(), Interfaces::default());
    writing::section(&mut out, "");
    for packet in packets.try_iter()? {
        let (link_type, time_ns, bytes, original_length): (u16, u64, Bound<'_, PyBytes>, u32) = packet?.extract()?;
        let interface = interfaces.number(&mut out, link_type);
        writing::packet(&mut out, &Head { interface, time_ns, original_length }, &[bytes.as_bytes()], []);
    }
    Ok(PyBytes::new(py, &out))
}

/// The end of a pcapng file: packets that the operating system has dropped, as known at that time.
#[pyfunction]
pub fn pcapng_statistics(time_ns: u64, dropped: u64) -> Vec<u8> {
    let mut out = Vec::new();
    writing::statistics(&mut out, time_ns, Dropped::BySystem(dropped));
    out
}

/// The end of a pcapng file: how much later the host with these addresses answers after a rest.
#[pyfunction]
pub fn pcapng_host_curve(rests_ms: Vec<f64>, extra_ms: Vec<f64>, addresses: Vec<IpAddr>) -> PyResult<Vec<u8>> {
    let curve = HostCurve::new(&rests_ms, &extra_ms, &addresses);
    let curve = curve.ok_or_else(|| PyValueError::new_err("these are no points of a host's curve, or no address"))?;
    let mut out = Vec::new();
    writing::host_curve(&mut out, &curve);
    Ok(out)
}

/// With the head of a file so far: that of what follows these bytes, and how many of them are whole packets.
#[pyfunction]
pub fn whole_part<'py>(py: Python<'py>, head: &[u8], data: &[u8]) -> (Bound<'py, PyBytes>, usize) {
    let (head, length) = capture::whole_part(head, data);
    (PyBytes::new(py, &head), length)
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
            FileObject { object: object.clone().unbind(), rest: Vec::new(), interruption, must_be_read: false },
        ));
    }
    if object.hasattr("reader")? {
        let (place, size) = (object.getattr("place")?.extract()?, object.getattr("size")?.extract()?);
        let (file, interruption) = (object.clone().unbind(), interruption.clone());
        return Ok(Source::remote(RemoteFile { file, place, size, interruption }));
    }
    Err(PyTypeError::new_err("a capture is a path, bytes, or an object with read()"))
}

fn forced(name: &str) -> PyResult<Forced> {
    let protocol = protocol_named(name).map(Forced::Protocol);
    let opaque = || opaque::NAMES.into_iter().find(|opaque| *opaque == name).map(Forced::Opaque);
    protocol.or_else(opaque).ok_or_else(|| {
        PyValueError::new_err(format!("no protocol is called {name}: {} are known", protocols().join(", ")))
    })
}

/// What ends the reading, raised by a file object: Ctrl-C and `sys.exit()`, which are no fault of the file, and whatever
/// keeps a file elsewhere from being read, which is no fault of the file either.
#[derive(Clone)]
struct Interruption {
    error: Arc<Mutex<Option<PyErr>>>,
    cancel: Arc<AtomicBool>,
}

impl Interruption {
    /// Keeps it, and lets the reading end soon.
    fn keep(&self, py: Python<'_>, error: &PyErr) {
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone_ref(py));
        self.cancel.store(true, Ordering::Relaxed);
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
    /// Whatever it raises ends the reading.
    must_be_read: bool,
}

impl Read for FileObject {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = Python::attach(|py| {
                let bytes = self.object.call_method1(py, "read", (buffer.len(),)).map_err(|error| {
                    if self.must_be_read || !error.is_instance_of::<PyException>(py) {
                        self.interruption.keep(py, &error);
                    }
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

/// A file elsewhere, which Python reads: see `latpcap/tables/reading/remote.py`.
struct RemoteFile {
    file: Py<PyAny>,
    place: String,
    size: u64,
    interruption: Interruption,
}

impl Remote for RemoteFile {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        let interruption = self.interruption.clone();
        if interruption.cancel.load(Ordering::Relaxed) {
            return Err(io::Error::other("reading was cancelled"));
        }
        let object = Python::attach(|py| {
            let reader = self.file.call_method0(py, "reader");
            reader
                .inspect_err(|error| interruption.keep(py, error))
                .map_err(|error| io::Error::other(error.to_string()))
        })?;
        Ok(Box::new(FileObject { object, rest: Vec::new(), interruption, must_be_read: true }))
    }
}
