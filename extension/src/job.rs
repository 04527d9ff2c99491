//! What was captured: where its time went, and the job of it replayed on another network. From numpy columns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use latpcap_core::job::attribute::Parts;
use latpcap_core::job::captured::{self, Account, Captured};
use latpcap_core::job::shared_time;
use latpcap_core::job::{self, Changes, Job, Network, Scope, Waiting};

/// The numpy columns of an object, by the names of its attributes; they are not copied.
struct NumpyColumns<'py>(HashMap<&'static str, Column<'py>>);

enum Column<'py> {
    U32(PyReadonlyArray1<'py, u32>),
    I64(PyReadonlyArray1<'py, i64>),
    F64(PyReadonlyArray1<'py, f64>),
    Bool(PyReadonlyArray1<'py, bool>),
}

impl<'py> Column<'py> {
    /// Of whichever type it is: no error is made of those that it is not, which takes longer than all else.
    fn of(column: &Bound<'py, PyAny>) -> PyResult<Column<'py>> {
        if let Ok(cells) = column.cast::<PyArray1<u32>>() {
            return Ok(Column::U32(cells.try_readonly()?));
        }
        if let Ok(cells) = column.cast::<PyArray1<i64>>() {
            return Ok(Column::I64(cells.try_readonly()?));
        }
        if let Ok(cells) = column.cast::<PyArray1<f64>>() {
            return Ok(Column::F64(cells.try_readonly()?));
        }
        Ok(Column::Bool(column.cast::<PyArray1<bool>>()?.try_readonly()?))
    }
}

impl<'py> NumpyColumns<'py> {
    fn of(columns: &Bound<'py, PyAny>, names: &[&'static str]) -> PyResult<NumpyColumns<'py>> {
        let column = |&name: &&'static str| Ok((name, Column::of(&columns.getattr(name)?)?));
        names.iter().map(column).collect::<PyResult<_>>().map(NumpyColumns)
    }
}

macro_rules! columns {
    ($read:ident: $column:ident of $cell:ty) => {
        fn $read(&self, name: &'static str) -> PyResult<Cow<'_, [$cell]>> {
            match self.0.get(name) {
                Some(Column::$column(cells)) => {
                    Ok(cells.as_slice().map_or_else(|_| cells.as_array().to_vec().into(), Cow::Borrowed))
                }
                _ => Err(PyTypeError::new_err(format!("the column `{name}` has another type"))),
            }
        }
    };
}

impl job::Source for NumpyColumns<'_> {
    type Error = PyErr;

    columns!(u32s: U32 of u32);
    columns!(i64s: I64 of i64);
    columns!(f64s: F64 of f64);
    columns!(bools: Bool of bool);
}

/// What an instant counts for each of the stretches that share it: see `latpcap_core::job::shared_time`.
#[pyclass(frozen)]
pub struct SharedTime(shared_time::SharedTime);

#[pymethods]
impl SharedTime {
    #[new]
    #[pyo3(signature = (begins, ends, until=None))]
    fn new(
        py: Python<'_>,
        begins: PyReadonlyArray1<'_, i64>,
        ends: PyReadonlyArray1<'_, i64>,
        until: Option<i64>,
    ) -> SharedTime {
        let stretches = begins.as_array().iter().copied().zip(ends.as_array().iter().copied()).collect();
        SharedTime(py.detach(|| shared_time::SharedTime::of(stretches, until)))
    }

    #[getter]
    fn alone(&self) -> bool {
        self.0.alone()
    }

    fn worth<'py>(
        &self,
        py: Python<'py>,
        begins: PyReadonlyArray1<'_, i64>,
        lengths: PyReadonlyArray1<'_, i64>,
    ) -> Bound<'py, PyArray1<f64>> {
        let mut near = 0;
        let stretches = begins.as_array().into_iter().zip(lengths.as_array());
        let worth: Vec<f64> = stretches.map(|(&begin, &length)| self.0.worth(begin, length, &mut near)).collect();
        worth.into_pyarray(py)
    }
}

/// Which of `count` connections work beside others; `shared` is what each exchange's `length` is worth.
#[pyfunction]
pub fn side_by_side<'py>(
    py: Python<'py>,
    connection: PyReadonlyArray1<'_, i64>,
    length: PyReadonlyArray1<'_, i64>,
    shared: PyReadonlyArray1<'_, f64>,
    count: usize,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let (connection, length, shared) = (connection.as_array(), length.as_array(), shared.as_array());
    if connection.iter().any(|&number| usize::try_from(number).is_ok_and(|number| number >= count) || number < 0) {
        return Err(PyValueError::new_err("a connection is beyond their number"));
    }
    let exchanges = connection.iter().zip(length).zip(shared);
    let exchanges = exchanges.map(|((&connection, &length), &shared)| (connection as usize, length, shared));
    Ok(shared_time::side_by_side(exchanges, count).into_pyarray(py))
}

/// Exchanges, cut into what each of them waited for: see `latpcap_core::job::captured`.
#[pyclass(frozen)]
pub struct Stretches(Mutex<Option<captured::Stretches>>);

#[pymethods]
impl Stretches {
    /// Cut what was captured.
    #[new]
    fn new(py: Python<'_>, columns: &Bound<'_, PyAny>, runtime_ns: i64) -> PyResult<Stretches> {
        let columns = NumpyColumns::of(columns, Captured::COLUMNS)?;
        let captured = Captured::read(&columns)?;
        captured.check().map_err(PyValueError::new_err)?;
        Ok(Stretches(Mutex::new(Some(py.detach(|| captured::cut(&captured, runtime_ns))))))
    }

    /// What the server took, and the answer, of each exchange.
    fn of_answers<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyArray1<i64>>; 2]> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stretches = held.as_ref().ok_or_else(divided)?;
        Ok([&stretches.service, &stretches.response].map(|column| PyArray1::from_slice(py, column)))
    }

    /// Take out of both what is loss.
    fn lose(&self, service: PyReadonlyArray1<'_, i64>, response: PyReadonlyArray1<'_, i64>) -> PyResult<()> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stretches = held.as_mut().ok_or_else(divided)?;
        let [service, response] = [service, response].map(|column| column.as_array().to_vec());
        stretches.lose(&service, &response).map_err(PyValueError::new_err)
    }

    /// Give each instant to its part: the parts in ns, and columns, which are empty where there is nothing of the kind. They
    /// are taken: this can be asked once.
    fn account<'py>(
        &self,
        py: Python<'py>,
        runtime_ns: i64,
        think_ns: f64,
        window: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let stretches = self.0.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(divided)?;
        let account = py.detach(|| captured::account(stretches, runtime_ns, think_ns, window));
        told(py, account)
    }
}

fn divided() -> PyErr {
    PyValueError::new_err("this time was divided already")
}

fn told(py: Python<'_>, account: Account) -> PyResult<Bound<'_, PyDict>> {
    fn column<'py, T: Element>(told: &Bound<'py, PyDict>, name: &str, cells: Vec<T>) -> PyResult<()> {
        told.set_item(name, cells.into_pyarray(told.py()))
    }
    let told = PyDict::new(py);
    told.set_item("parts", parts(py, &account.parts)?)?;
    column(&told, "network", account.network)?;
    column(&told, "service", account.service)?;
    column(&told, "loss", account.loss)?;
    let ([before, within], [own_before, own_within]) = (account.held, account.own_held);
    column(&told, "held_before", before)?;
    column(&told, "held_within", within)?;
    column(&told, "own_held_before", own_before)?;
    column(&told, "own_held_within", own_within)?;
    column(&told, "own_waited", account.own_waited)?;
    column(&told, "own_service", account.own_service)?;
    column(&told, "own_loss", account.own_loss)?;
    column(&told, "unseen", account.unseen)?;
    column(&told, "weight", account.weight)?;
    for (name, waits) in [("shakes", account.shakes), ("byes", account.byes)] {
        let around = PyDict::new(py);
        column(&around, "connection", waits.connection)?;
        column(&around, "length", waits.length)?;
        column(&around, "trips", waits.trips)?;
        column(&around, "weight", waits.weight)?;
        column(&around, "network", waits.network)?;
        told.set_item(name, around)?;
    }
    Ok(told)
}

/// The parts in ns, by their names.
fn parts<'py>(py: Python<'py>, parts: &Parts) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    for (name, part) in parts.named() {
        told.set_item(name, part.ns())?;
    }
    Ok(told)
}

/// A network to replay on, but for its RTT; see `latpcap_core::job::Network`.
#[derive(FromPyObject)]
pub struct NetworkFields {
    added_ns: f64,
    bandwidth: f64,
    loss: f64,
    growth: f64,
    window_bytes: f64,
    taken: f64,
    hidden: f64,
    timeout_ns: f64,
    restarts: bool,
    skips: bool,
    baseline: i8,
}

impl NetworkFields {
    fn network(&self) -> Network {
        Network {
            added_ns: self.added_ns,
            bandwidth: self.bandwidth,
            loss: self.loss,
            growth: self.growth,
            window_bytes: self.window_bytes,
            taken: self.taken,
            hidden: self.hidden,
            timeout_ns: self.timeout_ns,
            restarts: self.restarts,
            skips: self.skips,
            baseline: self.baseline,
        }
    }
}

/// A job that can be replayed at any RTT.
#[pyclass(frozen)]
pub struct Replay(job::Replay);

#[pymethods]
impl Replay {
    /// Take the columns of a job. `waiting` is evidence, independent, chained, clocked or unclocked.
    #[new]
    fn new(py: Python<'_>, columns: &Bound<'_, PyAny>, network: NetworkFields, waiting: &str) -> PyResult<Replay> {
        let waiting = way(waiting)?;
        let columns = NumpyColumns::of(columns, Job::COLUMNS)?;
        let job = job(&columns)?;
        Ok(Replay(py.detach(|| job::Replay::new(&job, waiting, &network.network()))))
    }

    /// The same job, of which these are the columns, where its turns wait for each other in another way; `None` where
    /// that leads to the same.
    fn waiting(
        &self,
        py: Python<'_>,
        columns: &Bound<'_, PyAny>,
        network: NetworkFields,
        waiting: &str,
    ) -> PyResult<Option<Replay>> {
        let waiting = way(waiting)?;
        let columns = NumpyColumns::of(columns, Job::COLUMNS)?;
        let job = job(&columns)?;
        let replay = py.detach(|| self.0.waiting(&job, waiting, &network.network()));
        replay.map(|found| found.map(Replay)).map_err(PyValueError::new_err)
    }

    /// Some of its turns begin by a clock.
    #[getter]
    fn ticks(&self) -> bool {
        self.0.ticks()
    }

    /// Some of its turns may begin by a clock, though nothing tells.
    #[getter]
    fn may_tick(&self) -> bool {
        self.0.may_tick()
    }

    /// The same where the senders of the capture are taken to have been like `network`'s.
    fn learned(&self, py: Python<'_>, network: NetworkFields) -> Replay {
        py.detach(|| Replay(self.0.learned(&network.network())))
    }

    /// The job with fixes made: see `latpcap_core::job::Changes`.
    fn changed(&self, py: Python<'_>, changes: &Bound<'_, PyAny>) -> PyResult<Replay> {
        let columns = NumpyColumns::of(changes, Changes::COLUMNS)?;
        let changes = Changes::read(&columns)?;
        py.detach(|| self.0.changed(&changes)).map(Replay).map_err(PyValueError::new_err)
    }

    /// The job where only a part of it is different: see `latpcap_core::job::Scope`.
    fn scoped(
        &self,
        py: Python<'_>,
        rtts_ns: PyReadonlyArray1<'_, f64>,
        asked: PyReadonlyArray1<'_, f64>,
        client: f64,
        service: f64,
        think_ns: f64,
    ) -> PyResult<Replay> {
        let [rtts_ns, asked] = [rtts_ns, asked].map(|column| column.as_array().to_vec());
        let scope = Scope { rtts_ns, asked, client, service, think_ns };
        py.detach(|| self.0.scoped(scope)).map(Replay).map_err(PyValueError::new_err)
    }

    /// The exchanges that waited for a lock, and of each the one that gave it back.
    fn locks<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>) {
        let (waiters, holders) = self.0.locks();
        (waiters.into_pyarray(py), holders.into_pyarray(py))
    }

    /// When the job is over at each RTT, in ns since the recording began; `None` stands for the RTTs as they were.
    fn run(&self, py: Python<'_>, rtts_ns: Vec<Option<f64>>, network: NetworkFields) -> Vec<f64> {
        let rtts_ns: Vec<f64> = rtts_ns.into_iter().map(|rtt| rtt.unwrap_or(f64::NAN)).collect();
        py.detach(|| self.0.run(&rtts_ns, &network.network()))
    }

    /// The parts in ns of what the job takes at each RTT: see `run`.
    fn parts<'py>(
        &self,
        py: Python<'py>,
        rtts_ns: Vec<Option<f64>>,
        network: NetworkFields,
        think_ns: f64,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let rtts_ns: Vec<f64> = rtts_ns.into_iter().map(|rtt| rtt.unwrap_or(f64::NAN)).collect();
        let found = py.detach(|| self.0.parts(&rtts_ns, &network.network(), think_ns));
        found.iter().map(|each| parts(py, each)).collect()
    }
}

fn job<'a>(columns: &'a NumpyColumns<'_>) -> PyResult<Job<'a>> {
    let job = Job::read(columns)?;
    job.check().map_err(PyValueError::new_err)?;
    Ok(job)
}

fn way(waiting: &str) -> PyResult<Waiting> {
    match waiting {
        "evidence" => Ok(Waiting::Evidence),
        "independent" => Ok(Waiting::Independent),
        "chained" => Ok(Waiting::Chained),
        "clocked" => Ok(Waiting::Clocked),
        "unclocked" => Ok(Waiting::Unclocked),
        _ => Err(PyValueError::new_err("waiting is evidence, independent, chained, clocked or unclocked")),
    }
}
