//! The recording relay: it forwards and writes in threads of its own, which Python's lock does not touch.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use latpcap_link::{delay, relay};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::link::duration;

type Address = (String, u16);

/// A relay that runs until `stop`, or until this object is gone.
#[pyclass(frozen, module = "latpcap._core")]
pub struct Relay {
    addresses: Vec<Address>,
    running: Mutex<Option<relay::Relay>>,
}

/// What a relay did.
#[pyclass(frozen, get_all, module = "latpcap._core")]
pub struct Relayed {
    connections: u64,
    to_clients: u64,
    to_servers: u64,
    packets: u64,
    dropped: u64,
    ended: Option<String>,
    problems: HashMap<String, u64>,
}

#[pymethods]
impl Relay {
    #[new]
    #[pyo3(signature = (
        routes, path = None, *, snap_length = 0, rtt_ms = None, jitter_ms = 0.0, bits_per_second = 0, seed = 0
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        routes: Vec<(Address, Address)>,
        path: Option<PathBuf>,
        snap_length: u32,
        rtt_ms: Option<f64>,
        jitter_ms: f64,
        bits_per_second: u64,
        seed: u64,
    ) -> PyResult<Self> {
        let delay = match rtt_ms {
            Some(rtt_ms) => Some(delay::Settings {
                rtt: duration("RTT", rtt_ms)?,
                jitter: duration("jitter", jitter_ms)?,
                bits_per_second: NonZeroU64::new(bits_per_second),
                seed,
                ..delay::Settings::default()
            }),
            None => None,
        };
        let routes = routes.into_iter().map(|(listen, server)| relay::Route { listen, server }).collect();
        let options = relay::Options { routes, path, snap_length, delay };
        let running = py.detach(|| relay::Relay::start(&options));
        let running = running.map_err(raised)?;
        let addresses = running.addresses().iter().map(|address| (address.ip().to_string(), address.port())).collect();
        Ok(Self { addresses, running: Mutex::new(Some(running)) })
    }

    #[getter]
    fn addresses(&self) -> Vec<Address> {
        self.addresses.clone()
    }

    fn flush(&self, py: Python<'_>) {
        py.detach(|| {
            if let Some(running) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
                running.flush();
            }
        });
    }

    #[pyo3(signature = (*, at_once = false))]
    fn stop(&self, py: Python<'_>, at_once: bool) -> PyResult<Relayed> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let running = running.ok_or_else(|| PyValueError::new_err("the relay was stopped before"))?;
        let did = py.detach(|| running.stop(at_once));
        let [to_clients, to_servers] = did.bytes;
        let relay::Recorded { packets, dropped, ended } = did.recorded;
        let problems = did.problems.into_iter().collect();
        Ok(Relayed { connections: did.connections, to_clients, to_servers, packets, dropped, ended, problems })
    }
}

/// A file that cannot be written is told with its name, which Python's `OSError` has a place for.
fn raised(error: relay::RelayError) -> PyErr {
    match error {
        relay::RelayError::CannotWrite { path, reason } => {
            PyOSError::new_err((reason.raw_os_error(), reason.to_string(), path))
        }
        other => PyOSError::new_err(other.to_string()),
    }
}
