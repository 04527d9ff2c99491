//! A recording's job: its tables enter once, and where its time went comes out.

use std::ops::Range;

use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use latpcap_core::job::UNSEEN;
use latpcap_core::job::attribute::Parts;
use latpcap_core::job::captured::{self, Account};
use latpcap_core::job::columns::{Column, Source};
use latpcap_core::job::reading::{Reading, Recorded};
use latpcap_core::job::recorded::{self, Connections, Phases};
use latpcap_core::job::timed::Timed;

use super::columns;

/// Of so few exchanges all columns are asked for at once.
const FEW_ROWS: usize = 1 << 12;

pub type Ints<'py> = PyReadonlyArray1<'py, i64>;
pub type Floats<'py> = PyReadonlyArray1<'py, f64>;
type Bools<'py> = PyReadonlyArray1<'py, bool>;

/// The phases of connections: see `latpcap_core::job::recorded::Phases`.
#[derive(FromPyObject)]
pub struct PhaseColumns<'py> {
    baseline_ns: Floats<'py>,
    low_ns: Floats<'py>,
    high_ns: Floats<'py>,
    near_share: Floats<'py>,
}

/// The connections: see `latpcap_core::job::recorded::Connections`.
#[derive(FromPyObject)]
pub struct ConnectionColumns<'py> {
    opening: Ints<'py>,
    closing: Ints<'py>,
    client: Ints<'py>,
    server: Ints<'py>,
    start_ns: Ints<'py>,
    syn_ns: Ints<'py>,
    syn_ack_ns: Ints<'py>,
    ack_ns: Ints<'py>,
    under_way_ns: Ints<'py>,
    server_first: Bools<'py>,
    unseen_trips: Ints<'py>,
    unseen_until_ns: Ints<'py>,
    segment_bytes: Floats<'py>,
    lost_nothing: Bools<'py>,
}

pub fn cells<T: Element + Clone>(column: &PyReadonlyArray1<'_, T>) -> Vec<T> {
    column.as_array().to_vec()
}

fn numbers(column: &Ints<'_>) -> Vec<u32> {
    column.as_array().iter().map(|&number| u32::try_from(number).unwrap_or(u32::MAX)).collect()
}

impl From<PhaseColumns<'_>> for Phases {
    fn from(of: PhaseColumns<'_>) -> Phases {
        Phases {
            baseline_ns: cells(&of.baseline_ns),
            low_ns: cells(&of.low_ns),
            high_ns: cells(&of.high_ns),
            near_share: cells(&of.near_share),
            made_up: Vec::new(),
        }
    }
}

impl From<ConnectionColumns<'_>> for Connections {
    fn from(of: ConnectionColumns<'_>) -> Connections {
        let count = of.opening.as_array().len();
        let open = || vec![f64::INFINITY; count];
        Connections {
            opening: numbers(&of.opening),
            closing: numbers(&of.closing),
            client: numbers(&of.client),
            server: numbers(&of.server),
            start_ns: cells(&of.start_ns),
            syn_ns: cells(&of.syn_ns),
            syn_ack_ns: cells(&of.syn_ack_ns),
            ack_ns: cells(&of.ack_ns),
            under_way_ns: cells(&of.under_way_ns),
            server_first: cells(&of.server_first),
            unseen_trips: numbers(&of.unseen_trips),
            unseen_until_ns: cells(&of.unseen_until_ns),
            segment_bytes: cells(&of.segment_bytes),
            lost_nothing: cells(&of.lost_nothing),
            closed_ns: vec![UNSEEN; count],
            window_bytes: [open(), open()],
            is_aside: vec![false; count],
        }
    }
}

/// The exchanges as Python has them: what gives their columns as Arrow tables, and the connection and phase of each.
pub struct Table {
    exchanges: Py<PyAny>,
    places: Vec<[u32; 2]>,
}

impl Source for Table {
    type Error = PyErr;

    fn count(&self) -> usize {
        self.places.len()
    }

    fn place(&self, row: usize) -> [u32; 2] {
        self.places[row]
    }

    fn columns(&self, names: &[&'static str], rows: &Range<usize>) -> PyResult<Vec<Column>> {
        let at_once = if rows.len() <= FEW_ROWS { names.len() } else { 1 };
        let within = (*rows != (0..self.count())).then_some((rows.start, rows.end));
        Python::attach(|py| {
            let mut found = Vec::with_capacity(names.len());
            for names in names.chunks(at_once.max(1)) {
                let table = match within {
                    None => self.exchanges.call1(py, (names.to_vec(),))?,
                    Some(rows) => self.exchanges.call1(py, (names.to_vec(), rows))?,
                };
                found.extend(columns::of(table.bind(py), names.len(), rows.len())?);
            }
            Ok(found)
        })
    }
}

/// A recording's job: its tables enter once, and all that is columns of its time comes from here.
#[pyclass]
pub struct Job {
    pub recorded: Recorded,
    table: Table,
}

#[pymethods]
impl Job {
    /// `exchanges(names, rows)` gives their columns, `connection` and `phase` are those of each; `ends` says which
    /// statements end a transaction. Exchanges that are not to be held are read anew each time.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "a recording's tables")]
    fn new(
        py: Python<'_>,
        exchanges: Py<PyAny>,
        connection: Ints<'_>,
        phase: Ints<'_>,
        phases: PhaseColumns<'_>,
        connections: ConnectionColumns<'_>,
        ends: Bools<'_>,
        start_ns: i64,
        scarce: bool,
    ) -> PyResult<Job> {
        let (phases, connections): (Phases, Connections) = (phases.into(), connections.into());
        let ends = cells(&ends);
        let mut recorded = Recorded { phases, connections, ends, start_ns, scarce, ..Recorded::default() };
        let places = numbers(&connection).into_iter().zip(numbers(&phase)).map(<[u32; 2]>::from).collect();
        let table = Table { exchanges, places };
        check(&recorded, &table.places, phase.as_array().len())?;
        py.detach(|| {
            recorded.read(&table)?;
            let seen = recorded.facts.waits.iter().zip(&recorded.connections.syn_ns);
            recorded.connections.is_aside = seen.map(|(&waits, &syn)| !waits && syn == UNSEEN).collect();
            Ok(Job { recorded, table })
        })
    }

    /// Of each connection, when its client closed the session as the last thing on it, without an answer.
    fn session_closed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_slice(py, &self.recorded.facts.session_closed)
    }

    /// Of each connection, its largest request and its largest response, in bytes.
    fn largest<'py>(&self, py: Python<'py>) -> [Bound<'py, PyArray1<i64>>; 2] {
        self.recorded.facts.largest.each_ref().map(|largest| PyArray1::from_slice(py, largest))
    }

    /// Bytes of all requests and of all responses, and how long clients waited for acknowledgments in all (ns).
    #[getter]
    fn moved(&self) -> (u64, u64, i64) {
        let [requests, responses] = self.recorded.facts.bytes;
        (requests, responses, self.recorded.facts.request_silent)
    }

    /// How many large messages show that their senders pace, of so many.
    #[getter]
    fn paced(&self) -> (usize, usize) {
        (self.recorded.facts.pacing.messages, self.recorded.facts.pacing.of)
    }

    /// What was decided of its connections: which of their FINs were waited for, and what their sides take at once.
    fn decide(
        &mut self,
        closed_ns: Ints<'_>,
        client_window_bytes: Floats<'_>,
        server_window_bytes: Floats<'_>,
    ) -> PyResult<()> {
        self.recorded.connections.closed_ns = cells(&closed_ns);
        self.recorded.connections.window_bytes = [cells(&client_window_bytes), cells(&server_window_bytes)];
        match self.recorded.connections.fit(&self.recorded.phases) {
            true => Ok(()),
            false => Err(unfit()),
        }
    }

    /// Give each instant to its part: the parts in ns, and columns, which are empty where there is nothing of the kind.
    /// `path` is that of each connection, `worker` its worker where only what one does shares instants.
    #[pyo3(signature = (path, runtime_ns, think_ns, *, window=false, worker=None))]
    fn timeline<'py>(
        &self,
        py: Python<'py>,
        path: Ints<'_>,
        runtime_ns: i64,
        think_ns: f64,
        window: bool,
        worker: Option<Ints<'_>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let path = self.of_connections(&path)?;
        let worker = worker.map(|worker| self.of_connections(&worker)).transpose()?;
        let account =
            self.read(py, 0.0, |job| captured::account(job, &path, runtime_ns, think_ns, window, worker.as_deref()))?;
        columns(py, account)
    }

    /// Which connections work beside others of their `worker`.
    fn overlapping_workers<'py>(
        &self,
        py: Python<'py>,
        runtime_ns: i64,
        worker: Ints<'_>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let worker = self.of_connections(&worker)?;
        Ok(self.read(py, 0.0, |job| captured::overlapping_workers(job, runtime_ns, &worker))?.into_pyarray(py))
    }
}

/// A job as the core reads it.
pub type Read<'a> = recorded::Job<'a, Reading<'a, Table>>;

impl Job {
    /// A number of each.
    fn of_connections(&self, column: &Ints<'_>) -> PyResult<Vec<u32>> {
        Some(numbers(column)).filter(|of| of.len() == self.recorded.connections.count()).ok_or_else(unfit)
    }

    /// Read it, where RTTs that are not known are so long.
    pub fn read<T: Send>(
        &self,
        py: Python<'_>,
        otherwise_ns: f64,
        read: impl FnOnce(&Read<'_>) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| self.reading(otherwise_ns, read))
    }

    /// The same by whoever does not hold Python.
    pub fn reading<T>(&self, otherwise_ns: f64, read: impl FnOnce(&Read<'_>) -> PyResult<T>) -> PyResult<T> {
        let (of, connections) = (&self.recorded, &self.recorded.connections);
        let (phases, exchanges) = (of.phases.known(otherwise_ns), Reading { source: &self.table, of });
        read(&recorded::Job { phases: &phases, connections, exchanges })
    }
}

/// The columns fit together.
fn check(of: &Recorded, places: &[[u32; 2]], rows: usize) -> PyResult<()> {
    let [connections, phases] = [of.connections.count(), of.phases.count()];
    let below = |&[connection, phase]: &[u32; 2]| (connection as usize) < connections && (phase as usize) < phases;
    let fit = of.connections.fit(&of.phases)
        && places.len() == rows
        && places.is_sorted_by_key(|place| place[0])
        && places.iter().all(below)
        && rows < u32::MAX as usize;
    if fit { Ok(()) } else { Err(unfit()) }
}

pub fn unfit() -> PyErr {
    PyValueError::new_err("the columns of a job do not fit together")
}

fn column<T: Element>(columns: &Bound<'_, PyDict>, name: &str, cells: Vec<T>) -> PyResult<()> {
    columns.set_item(name, cells.into_pyarray(columns.py()))
}

fn columns(py: Python<'_>, account: Account) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    columns.set_item("parts", parts(py, &account.parts)?)?;
    columns.set_item("stalls", (account.stalls, account.stalls_network.ns()))?;
    let Timed { round_trips, handshakes, greetings, hang_ups, ns, baselines_ns } = account.timed;
    let counts = (round_trips, handshakes, greetings, hang_ups);
    columns.set_item("waits", (counts, ns.map(|sum| sum.ns()), baselines_ns))?;
    let [own_before, own_within] = account.own_stalled;
    let shared = [
        ("network", account.network),
        ("service", account.service),
        ("loss", account.loss),
        ("weight", account.weight),
    ];
    let own = [
        ("own_service", account.own_service),
        ("own_loss", account.own_loss),
        ("own_stalled_before", own_before),
        ("own_stalled_within", own_within),
    ];
    shared.into_iter().try_for_each(|(name, cells)| column(&columns, name, cells))?;
    own.into_iter().try_for_each(|(name, cells)| column(&columns, name, cells))?;
    column(&columns, "beside", account.beside)?;
    let (rows, timers): (Vec<u32>, Vec<[f64; 2]>) = account.stalled.into_iter().unzip();
    column(&columns, "stalled", rows)?;
    column(&columns, "stalled_before", timers.iter().map(|timers| timers[0]).collect())?;
    column(&columns, "stalled_within", timers.iter().map(|timers| timers[1]).collect())?;
    column(&columns, "probably_lost", account.probably_lost)?;
    for (name, waits) in [("handshakes", account.handshakes), ("closes", account.closes)] {
        let around = PyDict::new(py);
        column(&around, "connection", waits.connection)?;
        column(&around, "trips", waits.trips)?;
        column(&around, "weight", waits.weight)?;
        column(&around, "network", waits.network)?;
        columns.set_item(name, around)?;
    }
    Ok(columns)
}

/// The parts in ns, by their names.
pub fn parts<'py>(py: Python<'py>, parts: &Parts) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for (name, part) in parts.named() {
        columns.set_item(name, part.ns())?;
    }
    Ok(columns)
}
