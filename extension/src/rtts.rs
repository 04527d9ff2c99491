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

    /// TEMPORARY, to compare with Python.
    #[staticmethod]
    #[pyo3(signature = (recording, given_ms=None, groups=None))]
    fn core_of(recording: &Recording, given_ms: Option<f64>, groups: Option<Vec<u32>>) -> PyResult<Rtts> {
        Ok(Rtts { core: estimate::Rtts::of(&recording.core, given_ms, groups.as_deref())? })
    }

    /// TEMPORARY, to compare with Python.
    fn core_within(&self, whole: &Recording, window: &Recording) -> PyResult<Rtts> {
        Ok(Rtts { core: self.core.within(&whole.core, &window.core)? })
    }

    /// TEMPORARY, to compare with Python.
    fn core_part(&self, begin: usize, end: usize, group: &Recording) -> PyResult<Rtts> {
        Ok(Rtts { core: self.core.part(begin..end, &group.core)? })
    }

    /// TEMPORARY, to compare with Python.
    fn core_through(&self, beyond: Vec<(u32, u32, f64, f64, f64, f64)>, of_exchanges: Vec<u32>) -> Rtts {
        let all = beyond.into_iter().map(|(connection, outer, trips, ns, low_ns, high_ns)| estimate::Beyond {
            connection,
            outer,
            server: String::new(),
            trips,
            is_far: true,
            ns,
            low_ns,
            high_ns,
            round_trips: 0,
        });
        Rtts { core: self.core.clone().through(estimate::BehindProxy { all: all.collect() }, of_exchanges) }
    }

    /// TEMPORARY, to compare with Python.
    #[allow(clippy::type_complexity)]
    fn core_columns(
        &self,
    ) -> (Vec<Vec<Vec<f64>>>, (Vec<String>, Vec<String>), Vec<Vec<u32>>, Vec<(u32, i64, u8)>, (i64, i64), usize) {
        let core = &self.core;
        let rows = |all: &[Baseline]| -> Vec<Vec<f64>> {
            all.iter()
                .map(|b| {
                    vec![
                        b.ns,
                        b.low_ns,
                        b.high_ns,
                        b.near_share,
                        b.method as u8 as f64,
                        b.reason as u8 as f64,
                        b.position as u8 as f64,
                        b.handshake_ns,
                        b.in_stream_ns[0],
                        b.in_stream_ns[1],
                        b.in_stream_ns[2],
                        b.floor_ns,
                        b.samples as f64,
                    ]
                })
                .collect()
        };
        let phases = &core.phases;
        (
            [&core.of_paths, &core.of_connections, &core.of_periods, &core.of_phases].map(|all| rows(all)).to_vec(),
            (core.paths.clients.clone(), core.paths.servers.clone()),
            [&phases.path, &phases.opening, &phases.closing, &phases.period, &phases.connection, &core.of_exchanges]
                .map(Clone::clone)
                .to_vec(),
            phases.changes.all().iter().map(|c| (c.path, c.time_ns, c.shown_by as u8)).collect(),
            (core.start_ns, core.runtime_ns),
            core.clean.len(),
        )
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
