//! A recording's job, and where its time went.

use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use latpcap_core::job::UNSEEN;
use latpcap_core::job::attribute::Parts;
use latpcap_core::job::captured::{self, Account};
use latpcap_core::job::of_recording::Source;
use latpcap_core::job::reading::Recorded;
use latpcap_core::job::recorded;
use latpcap_core::job::table::Table;
use latpcap_core::job::timed::Timed;

use super::errors::python_error;
use super::rtts::Rtts;
use super::tables::{Recording, numbers};

pub type Ints<'py> = PyReadonlyArray1<'py, i64>;
pub type Floats<'py> = PyReadonlyArray1<'py, f64>;
type Column<'py, T> = Bound<'py, PyArray1<T>>;

pub fn cells<T: Element + Clone>(column: &PyReadonlyArray1<'_, T>) -> Vec<T> {
    column.as_array().to_vec()
}

/// A recording's job: all that is columns of its time comes from here.
#[pyclass(frozen)]
pub struct Job {
    pub recorded: Recorded,
}

#[pymethods]
impl Job {
    /// The job of `recording`, whose RTTs are known; of a window with the `whole` recording that it is one of. Where
    /// memory is `scarce`, exchanges are read anew each time.
    #[new]
    #[pyo3(signature = (recording, rtts, *, whole=None, scarce=false))]
    fn new(
        py: Python<'_>,
        recording: &Recording,
        rtts: &Rtts,
        whole: Option<&Recording>,
        scarce: bool,
    ) -> PyResult<Job> {
        let (core, whole, rtts) = (&recording.core, whole.map(|whole| &whole.core), &rtts.core);
        let connections = core.database_connections().map_err(python_error)?;
        let source = Source {
            exchanges: core.exchanges.clone(),
            ends: core.ending_statements().map_err(python_error)?,
            connections: &connections,
            rtts,
            is_window: core.period_ns.is_some(),
            holds_all_time: core.holds_all_time(whole).map_err(python_error)?,
            is_scarce: scarce,
        };
        let recorded = py.detach(|| source.job())?;
        Ok(Job { recorded: recorded.ok_or_else(unfit)? })
    }

    /// When each connection was opened; when its TCP handshake was over, with the greeting of a server that speaks first;
    /// and whether that speaks first. Times that were not captured are the least number.
    fn beginnings<'py>(&self, py: Python<'py>) -> (Column<'py, i64>, Column<'py, i64>, Column<'py, bool>) {
        let of = &self.recorded.table.connections;
        let greeted = self.recorded.facts.logins.iter().zip(&of.server_first);
        let first_ns = greeted.map(|(login, &greets)| if greets { login.first_ns } else { UNSEEN });
        let seen = of.syn_ns.iter().zip(&of.syn_ack_ns).zip(&of.ack_ns).zip(first_ns);
        let shaken = seen.map(|(((&syn, &syn_ack), &ack), first)| syn.max(syn_ack).max(ack).max(first));
        let (syn, greets) = (PyArray1::from_slice(py, &of.syn_ns), PyArray1::from_slice(py, &of.server_first));
        (syn, PyArray1::from_iter(py, shaken), greets)
    }

    /// When the server's FIN passed for which each connection's client waited; the least number where it did not.
    fn awaited_fins<'py>(&self, py: Python<'py>) -> Column<'py, i64> {
        PyArray1::from_slice(py, &self.recorded.table.connections.closed_ns)
    }

    /// The largest window of each client, and of each server, that takes little at once; infinite for all others.
    fn narrow_windows<'py>(&self, py: Python<'py>) -> [Column<'py, f64>; 2] {
        self.recorded.narrow_windows_bytes.each_ref().map(|bytes| PyArray1::from_slice(py, bytes))
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

    /// Give each instant to its part: the parts in ns, and columns, which are empty where there is nothing of the kind.
    /// `worker` is that of each connection, where only what one does shares instants.
    #[pyo3(signature = (think_ns, worker=None))]
    fn timeline<'py>(&self, py: Python<'py>, think_ns: f64, worker: Option<Ints<'_>>) -> PyResult<Bound<'py, PyDict>> {
        let worker = worker.map(|worker| self.of_connections(&worker)).transpose()?;
        let Table { runtime_ns, is_window, .. } = self.recorded.table;
        let account =
            self.read(py, 0.0, |job| captured::account(job, runtime_ns, think_ns, is_window, worker.as_deref()))?;
        columns(py, account)
    }

    /// Which connections work beside others of their `worker`.
    fn overlapping_workers<'py>(&self, py: Python<'py>, worker: Ints<'_>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let worker = self.of_connections(&worker)?;
        let runtime_ns = self.recorded.table.runtime_ns;
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
