//! The Python module `latpcap._core`: the only folder that knows Python.

mod errors;
mod hashing;
mod json;
mod keys;
mod legs;
mod link;
#[cfg(target_os = "linux")]
mod network;
mod passes;
mod progress;
mod registry;
mod read;
mod relay;
mod replay;
mod rtts;
mod job;
mod saved;
mod tables;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(_core, CaptureError, PyException, "A capture cannot be read: one line says which, where and why.");

#[pymodule]
mod _core {
    #[allow(non_upper_case_globals, reason = "Python's name")]
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::CaptureError;
    #[pymodule_export]
    use super::job::Job;
    #[pymodule_export]
    use super::json::json_rows;
    #[pymodule_export]
    use super::keys::KeyLog;
    #[pymodule_export]
    use super::legs::Legs;
    #[pymodule_export]
    use super::link::{Counts, Link, measure_rests};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::network::{JobNetwork, enter_namespaces, keep_namespaces};
    #[pymodule_export]
    use super::passes::{
        ascending, counted, distinct, first_alike, first_like, grouped, holding, lanes, last_known, numbered, ordered,
        quantile, running_maximum, serving, sums,
    };
    #[pymodule_export]
    use super::progress::{LiveSum, Progress};
    #[pymodule_export]
    use super::read::{annotate, client_groups, pcapng_host_curve, pcapng_of, pcapng_statistics, read, whole_part};
    #[pymodule_export]
    use super::registry::{driver_table, greeting_of, protocol_on, protocols};
    #[pymodule_export]
    use super::relay::{Relay, Relayed};
    #[pymodule_export]
    use super::replay::{Replay, run_each, ways_of_waiting};
    #[pymodule_export]
    use super::rtts::{Rtts, rtt_of_measurements};
    #[pymodule_export]
    use super::tables::{ArrowTable, Recording};
}
