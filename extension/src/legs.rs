//! Both sides of a recording's proxies, as Python sees them.

use std::io;

use numpy::PyArray1;
use pyo3::prelude::*;

use latpcap_core::legs::{self, application};
use latpcap_core::recording as core;

use super::rtts::Rtts;

/// Which exchanges of an application in a recording go on to a server behind a proxy.
#[pyclass(frozen)]
pub struct Legs {
    recording: core::Recording,
    core: legs::Legs,
}

#[pymethods]
impl Legs {
    /// The round trips on both sides, those behind the proxies, and those of the proxies' own statements.
    #[getter]
    fn round_trips(&self) -> (u64, u64, u64) {
        (self.core.round_trips, self.core.inner_round_trips, self.core.own_round_trips)
    }

    /// The most frequent statements that no application has sent, by number.
    #[getter]
    fn own_statements(&self) -> Vec<u32> {
        self.core.own_statements.clone()
    }

    /// The proxies, and the servers behind them.
    #[getter]
    fn names(&self) -> (Vec<String>, Vec<String>) {
        (self.core.proxies.clone(), self.core.servers.clone())
    }

    /// Whether each connection is one of a proxy with a server.
    fn is_inner<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_slice(py, &self.core.is_inner)
    }

    /// The RTTs `of_ours`, the application's connections alone, where all of the recording have these `rtts`: where a
    /// proxy passes round trips on, over both networks.
    fn application(&self, py: Python<'_>, rtts: &Rtts, of_ours: &Rtts) -> PyResult<Rtts> {
        let core = py.detach(|| application(&self.recording, &rtts.core, &self.core, of_ours.core.clone()))?;
        Ok(Rtts { core })
    }
}

impl Legs {
    /// The legs of a recording, where some are certain; `whole` is the recording that it is a window of.
    pub(super) fn of(recording: &core::Recording, whole: Option<&core::Recording>) -> io::Result<Option<Legs>> {
        Ok(legs::join(recording, whole)?.map(|core| Legs { recording: recording.clone(), core }))
    }
}
