//! Key logs in: files, standard input, or bytes.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use latpcap_core::key_log_files::{KeyLogError, read_key_log};
use latpcap_core::layers::tls;
use latpcap_core::ledger::{DEFAULT_MEMORY, Limits};

/// Secrets of TLS sessions; Python sees how many there are, never one of them.
#[pyclass(frozen)]
pub struct KeyLog(pub(super) Arc<tls::KeyLog>);

#[derive(FromPyObject)]
enum Given {
    Bytes(Vec<u8>),
    /// `-` is standard input.
    Path(PathBuf),
}

#[pymethods]
impl KeyLog {
    /// Reads the key logs, each with the name that messages call it by.
    #[new]
    #[pyo3(signature = (sources, *, memory=DEFAULT_MEMORY))]
    fn new(py: Python<'_>, sources: Vec<(String, Given)>, memory: usize) -> PyResult<KeyLog> {
        let mut log = tls::KeyLog::within(Limits::of(memory).keys);
        py.detach(|| sources.into_iter().try_for_each(|(name, given)| add(&name, given, &mut log)))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(KeyLog(Arc::new(log)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("<key log of {} TLS sessions>", self.0.len())
    }
}

fn add(name: &str, given: Given, log: &mut tls::KeyLog) -> Result<(), KeyLogError> {
    match given {
        Given::Bytes(bytes) => read_key_log(name, zeroize::Zeroizing::new(bytes).as_slice(), log),
        Given::Path(path) if path.as_os_str() == "-" => read_key_log(name, io::stdin(), log),
        Given::Path(path) => match File::open(path) {
            Ok(file) => read_key_log(name, file, log),
            Err(reason) => Err(KeyLogError::CannotRead { name: name.to_owned(), reason }),
        },
    }
}
