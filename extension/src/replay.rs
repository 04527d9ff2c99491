//! A job replayed on another network, from numpy columns.

use std::borrow::Cow;
use std::collections::HashMap;

use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use latpcap_core::replay::{self, Changes, Job, Network, Scope, Waiting};

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

impl replay::Source for NumpyColumns<'_> {
    type Error = PyErr;

    columns!(u32s: U32 of u32);
    columns!(i64s: I64 of i64);
    columns!(f64s: F64 of f64);
    columns!(bools: Bool of bool);
}

/// A network to replay on, but for its RTT; see `latpcap_core::replay::Network`.
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
pub struct Replay(replay::Replay);

#[pymethods]
impl Replay {
    /// Take the columns of a job. `waiting` is evidence, independent, chained, clocked or unclocked.
    #[new]
    fn new(py: Python<'_>, columns: &Bound<'_, PyAny>, network: NetworkFields, waiting: &str) -> PyResult<Replay> {
        let waiting = way(waiting)?;
        let columns = NumpyColumns::of(columns, Job::COLUMNS)?;
        let job = job(&columns)?;
        Ok(Replay(py.detach(|| replay::Replay::new(&job, waiting, &network.network()))))
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

    /// The job with fixes made: see `latpcap_core::replay::Changes`.
    fn changed(&self, py: Python<'_>, changes: &Bound<'_, PyAny>) -> PyResult<Replay> {
        let columns = NumpyColumns::of(changes, Changes::COLUMNS)?;
        let changes = Changes::read(&columns)?;
        py.detach(|| self.0.changed(&changes)).map(Replay).map_err(PyValueError::new_err)
    }

    /// The job where only a part of it is different: see `latpcap_core::replay::Scope`.
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
