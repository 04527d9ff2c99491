//! How far the reading is, and how it is stopped from outside.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use latpcap_core::capture::{Recording, Stop};

/// How far the reading is; shared with the thread that reads.
#[pyclass(frozen)]
#[derive(Default)]
pub struct Progress {
    consumed: Mutex<Arc<AtomicU64>>,
    total: Mutex<Option<u64>>,
    pub(super) stop: Stop,
    pub(super) cancel: Arc<AtomicBool>,
}

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Progress {
        Progress::default()
    }

    /// Bytes of the files (as they lie on disk) that have been read.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.consumed.lock().unwrap_or_else(PoisonError::into_inner).load(Ordering::Relaxed)
    }

    /// The size of all files; None where one is a pipe.
    #[getter]
    fn total_bytes(&self) -> Option<u64> {
        *self.total.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Read no further than what is there: that is the result, with a note. A pipe that is ending is read to its end.
    fn stop(&self) {
        self.stop.ask();
    }

    /// Stop at once: nobody wants the result.
    fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
        self.stop.at_once();
    }
}

impl Progress {
    pub(super) fn watch(&self, packets: &Recording) {
        *self.consumed.lock().unwrap_or_else(PoisonError::into_inner) = packets.consumed();
        *self.total.lock().unwrap_or_else(PoisonError::into_inner) = packets.total_bytes();
    }
}
