//! A recording's job, and where its time went.

use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use latpcap_core::job::UNSEEN;
use latpcap_core::job::attribute::Parts;
use latpcap_core::job::captured::{self, Account};
use latpcap_core::job::reading::Recorded;
use latpcap_core::job::recorded::{self, Connections, Phases};
use latpcap_core::job::table::Table;
use latpcap_core::job::timed::Timed;

use super::errors::python_error;
use super::tables::{Recording, numbers};

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
    stream: Ints<'py>,
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
            stream: numbers(&of.stream),
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

/// A recording's job: all that is columns of its time comes from here.
#[pyclass]
pub struct Job {
    pub recorded: Recorded,
}

#[pymethods]
impl Job {
    /// `phase` is that of each exchange. Where memory is `scarce`, exchanges are read anew each time.
    #[new]
    fn new(
        py: Python<'_>,
        recording: &Recording,
        phase: Ints<'_>,
        phases: PhaseColumns<'_>,
        connections: ConnectionColumns<'_>,
        start_ns: i64,
        scarce: bool,
    ) -> PyResult<Job> {
        let core = &recording.core;
        let ends = core.ending_statements().map_err(python_error)?;
        let mut recorded = Recorded::of(Table::of(core.exchanges.clone(), ends));
        (recorded.table.phases, recorded.table.connections) = (phases.into(), connections.into());
        (recorded.table.start_ns, recorded.table.scarce) = (start_ns, scarce);
        let phase = phase.as_slice()?;
        match py.detach(|| recorded.read(phase))? {
            true => Ok(Job { recorded }),
            false => Err(unfit()),
        }
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
        self.recorded.table.connections.closed_ns = cells(&closed_ns);
        self.recorded.table.connections.window_bytes = [cells(&client_window_bytes), cells(&server_window_bytes)];
        match self.recorded.table.connections.fit(&self.recorded.table.phases) {
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
pub type Read<'a, 'b> = recorded::Job<'a, &'b Recorded>;

impl Job {
    /// A number of each.
    fn of_connections(&self, column: &Ints<'_>) -> PyResult<Vec<u32>> {
        Some(numbers(column)).filter(|of| of.len() == self.recorded.table.connections.count()).ok_or_else(unfit)
    }

    /// Read it, where RTTs that are not known are so long.
    pub fn read<'b, T: Send, E: Into<PyErr> + Send>(
        &'b self,
        py: Python<'_>,
        otherwise_ns: f64,
        read: impl FnOnce(&Read<'_, 'b>) -> Result<T, E> + Send,
    ) -> PyResult<T> {
        py.detach(|| self.recorded.job(otherwise_ns, read)).map_err(Into::into)
    }
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
