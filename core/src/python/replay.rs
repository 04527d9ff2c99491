//! A job replayed on another network, from numpy columns.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::replay::{self, Changes, Job, Network, Waiting};

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

/// A network to replay on, but for its RTT; see `crate::replay::Network`.
#[derive(FromPyObject)]
pub struct NetworkFields {
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
    fn network(&self) -> Network {
        Network {
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
pub struct Replay(replay::Replay);

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
        Ok(Replay(py.detach(|| replay::Replay::new(job, waiting, &network.network()))))
    }

    /// The same where the senders of the capture are taken to have been like `network`'s.
    fn learned(&self, py: Python<'_>, network: NetworkFields) -> Replay {
        py.detach(|| Replay(self.0.learned(&network.network())))
    }

    /// The job with fixes made: see `crate::replay::Changes`.
    fn changed(&self, py: Python<'_>, changes: &Bound<'_, PyAny>) -> PyResult<Replay> {
        let changes = Changes::read(&NumpyColumns(changes))?;
        py.detach(|| self.0.changed(changes)).map(Replay).map_err(PyValueError::new_err)
    }

    /// When the job is over at each RTT, in ns since the recording began; `None` stands for the RTTs as they were.
    fn run(&self, py: Python<'_>, rtts_ns: Vec<Option<f64>>, network: NetworkFields) -> Vec<f64> {
        let rtts_ns: Vec<f64> = rtts_ns.into_iter().map(|rtt| rtt.unwrap_or(f64::NAN)).collect();
        py.detach(|| self.0.run(&rtts_ns, &network.network()))
    }
}
