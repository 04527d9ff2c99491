//! The RTTs of a recording, as Python sees them: columns.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use latpcap_core::rtt::baseline::{Baseline, Method, Position, Reason};
use latpcap_core::rtt::estimate;
use latpcap_core::rtt::phases::{Change, ChangeEvidence, Changes, Phases};

use super::errors::python_error;
use super::job::cells;
use super::tables::{Recording, numbers};

type Floats<'py> = PyReadonlyArray1<'py, f64>;
type Ints<'py> = PyReadonlyArray1<'py, i64>;

/// The columns of `latpcap/rtt/baselines.py`.
type Columns<'py> = (
    (Floats<'py>, Floats<'py>, Floats<'py>, Floats<'py>),
    (Ints<'py>, Ints<'py>, Ints<'py>),
    (Floats<'py>, Floats<'py>, Floats<'py>, Floats<'py>, Floats<'py>),
    Ints<'py>,
);

/// The RTTs of a recording.
#[pyclass(frozen)]
pub struct Rtts {
    pub core: estimate::Rtts,
}

#[pymethods]
impl Rtts {
    /// TEMPORARY, until the core estimates itself: what Python estimated.
    #[staticmethod]
    fn of(
        recording: &Recording,
        names: (Vec<String>, Vec<String>),
        path: Ints<'_>,
        changes: (Ints<'_>, Ints<'_>, Ints<'_>),
        baselines: (Columns<'_>, Columns<'_>, Columns<'_>, Columns<'_>),
        of_exchanges: Ints<'_>,
    ) -> PyResult<Rtts> {
        let connections = recording.core.database_connections().map_err(python_error)?;
        let (paths, times, shown) = (cells(&changes.0), cells(&changes.1), cells(&changes.2));
        let of =
            [ChangeEvidence::Measured, ChangeEvidence::Answers, ChangeEvidence::Clocks, ChangeEvidence::Statements];
        let changes = paths.iter().zip(times).zip(shown).map(|((&path, time_ns), shown)| Change {
            path: path as u32,
            time_ns,
            shown_by: of[shown as usize],
        });
        let changes = Changes::of(changes.collect(), names.0.len());
        Ok(Rtts {
            core: estimate::Rtts {
                start_ns: connections.start_ns,
                runtime_ns: connections.runtime_ns,
                paths: estimate::Paths { clients: names.0, servers: names.1 },
                phases: Phases::of(&connections, numbers(&path), changes),
                of_paths: rows(baselines.0),
                of_connections: rows(baselines.1),
                of_periods: rows(baselines.2),
                of_phases: rows(baselines.3),
                of_exchanges: numbers(&of_exchanges),
                clean: Vec::new(),
                beyond: None,
            },
        })
    }

    /// The phase of each exchange.
    fn of_exchanges<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.core.of_exchanges.iter().map(|&phase| i64::from(phase)).collect::<Vec<_>>().into_pyarray(py)
    }
}

fn rows(columns: Columns<'_>) -> Vec<Baseline> {
    let ((ns, low, high, near_share), (method, reason, position), (handshake, least, middle, mean, floor), samples) =
        columns;
    let [ns, low, high, near_share, handshake, least, middle, mean, floor] =
        [ns, low, high, near_share, handshake, least, middle, mean, floor].map(|column| cells(&column));
    let [method, reason, position, samples] = [method, reason, position, samples].map(|column| cells(&column));
    (0..ns.len())
        .map(|row| Baseline {
            ns: ns[row],
            low_ns: low[row],
            high_ns: high[row],
            near_share: near_share[row],
            method: Method::ALL[method[row] as usize],
            reason: Reason::ALL[reason[row] as usize],
            position: Position::ALL[position[row] as usize],
            handshake_ns: handshake[row],
            in_stream_ns: [least[row], middle[row], mean[row]],
            floor_ns: floor[row],
            samples: samples[row] as u64,
        })
        .collect()
}
