//! How far the reading is, what it has found so far, and how it is stopped from outside.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use latpcap_core::capture::{Captures, Stop};
use latpcap_core::live::{Live, Sum};

/// How far the reading is; shared with the thread that reads.
#[pyclass(frozen)]
#[derive(Default)]
pub struct Progress {
    consumed: Mutex<Arc<AtomicU64>>,
    total: Mutex<Option<u64>>,
    pub(super) stop: Stop,
    pub(super) cancel: Arc<AtomicBool>,
    pub(super) live: Option<Arc<Live>>,
    /// What the files hold, to the byte, is found meanwhile: somebody will ask for it.
    pub(super) hashes: bool,
}

/// Sums of what was read so far: of all, or of one statement.
#[pyclass(frozen, get_all, module = "latpcap._core")]
pub struct LiveSum {
    /// Of a statement, its fingerprint.
    text: String,
    exchanges: u64,
    round_trips: u64,
    waited_ns: i64,
    errors: u64,
}

impl LiveSum {
    fn of(text: &str, sum: Sum) -> LiveSum {
        let Sum { exchanges, round_trips, waited_ns, errors } = sum;
        LiveSum { text: text.into(), exchanges, round_trips, waited_ns, errors }
    }
}

#[pymethods]
impl Progress {
    #[new]
    #[pyo3(signature = (*, live = false, hashes = false))]
    fn new(live: bool, hashes: bool) -> Progress {
        Progress { live: live.then(Arc::default), hashes, ..Progress::default() }
    }

    /// Packets and connections read so far, and when the last request was sent; 0 where nobody keeps sums.
    #[getter]
    fn read_so_far(&self) -> (u64, u64, i64) {
        self.live.as_ref().map_or((0, 0, 0), |live| {
            let sums = live.sums();
            (sums.packets, sums.connections, sums.last_ns)
        })
    }

    #[getter]
    fn total(&self) -> LiveSum {
        LiveSum::of("", self.live.as_ref().map_or_else(Sum::default, |live| live.sums().total))
    }

    /// The statements that waited longest so far; what had no room of its own is without a text.
    fn worst(&self, most: usize) -> Vec<LiveSum> {
        let Some(live) = &self.live else { return Vec::new() };
        live.sums().worst(most).into_iter().map(|(text, sum)| LiveSum::of(text, sum)).collect()
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

    /// Whether whoever waits for more of a file elsewhere is to leave it, which a note then says.
    fn leave(&self) -> bool {
        self.stop.leave()
    }

    /// Stop at once: nobody wants the result.
    fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
        self.stop.at_once();
    }
}

impl Progress {
    pub(super) fn watch(&self, packets: &Captures) {
        *self.consumed.lock().unwrap_or_else(PoisonError::into_inner) = packets.consumed();
        *self.total.lock().unwrap_or_else(PoisonError::into_inner) = packets.total_bytes();
    }
}
