//! The network of a job that is rehearsed: three ends of it, each for a process of its own.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use latpcap_link::network;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::link::{Counts, conditions};

/// Make the namespaces and keep them until nobody is at the other end of `socket`, which is taken over.
#[pyfunction]
pub fn keep_namespaces(
    py: Python<'_>,
    socket: RawFd,
    servers: Vec<String>,
    congestion_control: String,
) -> PyResult<()> {
    let servers = servers.iter().map(|server| address(server)).collect::<PyResult<Vec<SocketAddr>>>()?;
    let socket = taken_over(socket);
    Ok(py.detach(|| network::keep(&socket, &servers, &congestion_control))?)
}

/// Bring this process into the namespaces at these paths; `may_capture` leaves it the right to capture there.
#[pyfunction]
#[pyo3(signature = (network, user = None, *, may_capture = false))]
pub fn enter_namespaces(network: PathBuf, user: Option<PathBuf>, may_capture: bool) -> PyResult<()> {
    Ok(network::enter(&network, user.as_deref(), may_capture)?)
}

/// What moves the job's packets, from its namespaces to this machine's own network; it runs until `end`.
#[pyclass(frozen, module = "latpcap._core")]
pub struct JobNetwork(Mutex<network::Network>);

#[pymethods]
impl JobNetwork {
    #[new]
    fn new(py: Python<'_>, keeper: RawFd) -> PyResult<Self> {
        let keeper = taken_over(keeper);
        let network = py.detach(|| network::Network::start(keeper))?;
        Ok(Self(Mutex::new(network)))
    }

    #[pyo3(signature = (
        *, rtt_ms = 0.0, jitter_ms = 0.0, loss = 0.0, bits_per_second = 0, queue_bytes = None, seed = 0
    ))]
    fn set(
        &self,
        rtt_ms: f64,
        jitter_ms: f64,
        loss: f64,
        bits_per_second: u64,
        queue_bytes: Option<u64>,
        seed: u64,
    ) -> PyResult<()> {
        self.network().set(conditions(rtt_ms, jitter_ms, loss, bits_per_second, queue_bytes, seed)?);
        Ok(())
    }

    fn counts(&self) -> (Counts, Counts) {
        let [there, back] = self.network().counts();
        (there.into(), back.into())
    }

    #[getter]
    fn failure(&self) -> Option<String> {
        self.network().failure()
    }

    #[getter]
    fn namespaces(&self) -> (RawFd, Option<RawFd>) {
        let network = self.network();
        let (job, user) = network.namespaces();
        (job.as_raw_fd(), user.map(AsRawFd::as_raw_fd))
    }

    fn end(&self, py: Python<'_>) -> usize {
        py.detach(|| self.network().end())
    }
}

impl JobNetwork {
    fn network(&self) -> MutexGuard<'_, network::Network> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn address(text: &str) -> PyResult<SocketAddr> {
    text.parse().map_err(|_| PyValueError::new_err(format!("{text}: no address and port")))
}

#[allow(unsafe_code)]
fn taken_over(file: RawFd) -> OwnedFd {
    // SAFETY: Python gives it away by `detach`.
    unsafe { OwnedFd::from_raw_fd(file) }
}
