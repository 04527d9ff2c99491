//! Both sides of a recording's proxies, as Python sees them.

use numpy::PyArray1;
use pyo3::prelude::*;

use latpcap_core::legs::{self, application};

use super::rtts::Rtts;
use super::tables::Recording;

/// Which exchanges of an application go on to a server behind a proxy.
#[pyclass(frozen)]
pub struct Legs(pub(super) legs::Legs);

#[pymethods]
impl Legs {
    /// The round trips on both sides, those behind the proxies, and those of the proxies' own statements.
    #[getter]
    fn round_trips(&self) -> (u64, u64, u64) {
        (self.0.round_trips, self.0.inner_round_trips, self.0.own_round_trips)
    }

    /// The most frequent statements that no application has sent, by number.
    #[getter]
    fn own_statements(&self) -> Vec<u32> {
        self.0.own_statements.clone()
    }

    /// The proxies, and the servers behind them.
    #[getter]
    fn names(&self) -> (Vec<String>, Vec<String>) {
        (self.0.proxies.clone(), self.0.servers.clone())
    }

    /// Whether each connection is one of a proxy with a server.
    fn is_inner<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_slice(py, &self.0.is_inner)
    }

    /// TMP
    fn inner(&self) -> Vec<i64> {
        self.0.inner.iter().map(|inner| inner.map_or(-1, i64::from)).collect()
    }

    /// The RTTs `of_ours`, the application's connections alone, of `recording` with these `rtts`: where a proxy passes
    /// round trips on, over both networks.
    fn application(&self, py: Python<'_>, recording: &Recording, rtts: &Rtts, of_ours: &Rtts) -> PyResult<Rtts> {
        let core = py.detach(|| application(&recording.core, &rtts.core, &self.0, of_ours.core.clone()))?;
        Ok(Rtts { core })
    }
}
