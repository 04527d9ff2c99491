//! The delay link: two TUN devices, and what is asked of the way between them.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use latpcap_link::{delay, rests};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// What one direction of a link has done.
#[pyclass(frozen, get_all, module = "latpcap._core")]
pub struct Counts {
    received: u64,
    sent: u64,
    bytes: u64,
    lost: u64,
    queue_full: u64,
    refused: u64,
    mean_late_ms: f64,
    latest_ms: f64,
    most_in_flight: u64,
}

impl From<delay::Counts> for Counts {
    fn from(counts: delay::Counts) -> Self {
        Self {
            received: counts.received,
            sent: counts.sent,
            bytes: counts.bytes,
            lost: counts.lost,
            queue_full: counts.queue_full,
            refused: counts.refused,
            mean_late_ms: counts.mean_late().as_secs_f64() * 1e3,
            latest_ms: counts.latest.as_secs_f64() * 1e3,
            most_in_flight: counts.most_in_flight,
        }
    }
}

/// Measure how much later this host answers after a rest: rests, and what a round trip takes longer, in ms.
#[pyfunction]
pub fn measure_rests(py: Python<'_>) -> PyResult<(Vec<f64>, Vec<f64>)> {
    let curve = py.detach(rests::rest_curve)?;
    Ok(curve.iter().map(|point| (point.rest_ms, point.extra_ms)).unzip())
}

/// A link between two TUN devices, each in a network namespace; it runs until `stop`.
#[pyclass(frozen, module = "latpcap._core")]
pub struct Link(Mutex<Option<delay::Link>>);

#[pymethods]
impl Link {
    #[new]
    #[pyo3(signature = (first, second, *, keep_awake = false))]
    fn new(py: Python<'_>, first: (PathBuf, String), second: (PathBuf, String), keep_awake: bool) -> PyResult<Self> {
        let link = py.detach(|| {
            let first = delay::Tun::open_in(&first.0, &first.1)?;
            let second = delay::Tun::open_in(&second.0, &second.1)?;
            let mut link = delay::Link::start(first, second, delay::Settings::default())?;
            if keep_awake {
                link.keep_awake()?;
            }
            Ok(link)
        });
        link.map(|link| Self(Mutex::new(Some(link))))
            .map_err(|error: delay::LinkError| PyOSError::new_err(error.to_string()))
    }

    #[pyo3(signature = (
        *, rtt_ms = 0.0, jitter_ms = 0.0, loss = 0.0, bits_per_second = 0, queue_bytes = None, seed = 0,
        spin_ms = 0.25
    ))]
    #[allow(clippy::too_many_arguments)]
    fn set(
        &self,
        rtt_ms: f64,
        jitter_ms: f64,
        loss: f64,
        bits_per_second: u64,
        queue_bytes: Option<u64>,
        seed: u64,
        spin_ms: f64,
    ) -> PyResult<()> {
        let settings = delay::Settings {
            spin: duration("spin", spin_ms)?,
            ..conditions(rtt_ms, jitter_ms, loss, bits_per_second, queue_bytes, seed)?
        };
        self.running(|link| link.set(settings))
    }

    fn counts(&self) -> PyResult<(Counts, Counts)> {
        self.running(|link| link.counts()).map(|[there, back]| (there.into(), back.into()))
    }

    fn reset_counts(&self) -> PyResult<()> {
        self.running(|link| link.reset_counts())
    }

    #[getter]
    fn failure(&self) -> PyResult<Option<String>> {
        self.running(|link| link.failure())
    }

    fn stop(&self, py: Python<'_>) {
        let link = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        py.detach(|| drop(link));
    }
}

impl Link {
    fn running<T>(&self, ask: impl FnOnce(&delay::Link) -> T) -> PyResult<T> {
        let link = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        link.as_ref().map(ask).ok_or_else(|| PyValueError::new_err("the link was stopped"))
    }
}

/// What is asked of a link, in Python's words.
pub fn conditions(
    rtt_ms: f64,
    jitter_ms: f64,
    loss: f64,
    bits_per_second: u64,
    queue_bytes: Option<u64>,
    seed: u64,
) -> PyResult<delay::Settings> {
    if !(0.0..=1.0).contains(&loss) {
        return Err(PyValueError::new_err(format!("the share of packets lost lies between 0 and 1, not at {loss}")));
    }
    Ok(delay::Settings {
        rtt: duration("RTT", rtt_ms)?,
        jitter: duration("jitter", jitter_ms)?,
        loss,
        bits_per_second: NonZeroU64::new(bits_per_second),
        queue_bytes,
        seed,
        ..Default::default()
    })
}

pub(crate) fn duration(what: &str, ms: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(ms / 1e3).map_err(|_| PyValueError::new_err(format!("{ms} ms is no {what} of a link")))
}
