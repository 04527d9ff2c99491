//! The RTTs of a recording, as Python sees them: columns.

use std::collections::HashMap;

use numpy::{Element, IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use latpcap_core::rtt::baseline::Baseline;
use latpcap_core::rtt::choice;
use latpcap_core::rtt::direct::{IntervalRtts, Intervals};
use latpcap_core::rtt::estimate::{self, Beyond};
use latpcap_core::rtt::phases::{Change, Phases};

use super::tables::Recording;

type NewInts<'py> = Bound<'py, PyArray1<i64>>;
type NewFloats<'py> = Bound<'py, PyArray1<f64>>;

/// The RTTs of a recording.
#[pyclass(frozen)]
pub struct Rtts {
    pub core: estimate::Rtts,
}

#[pymethods]
impl Rtts {
    /// The baselines of `paths`, `connections`, `phases` or `periods`: the columns of `latpcap/rtt/baselines.py`.
    fn baselines<'py>(&self, py: Python<'py>, of: &str) -> PyResult<Bound<'py, PyTuple>> {
        let all = match of {
            "paths" => &self.core.of_paths,
            "connections" => &self.core.of_connections,
            "phases" => &self.core.of_phases,
            "periods" => &self.core.of_periods,
            _ => return Err(PyValueError::new_err(format!("`{of}` have no baselines"))),
        };
        let floats = |of: fn(&Baseline) -> f64| column(py, all.iter().map(of)).into_any();
        let ints = |of: fn(&Baseline) -> i64| column(py, all.iter().map(of)).into_any();
        PyTuple::new(
            py,
            [
                floats(|each| each.ns),
                floats(|each| each.low_ns),
                floats(|each| each.high_ns),
                floats(|each| each.near_share),
                ints(|each| each.method as i64),
                ints(|each| each.reason as i64),
                ints(|each| each.position as i64),
                floats(|each| each.handshake_ns),
                floats(|each| each.in_stream_ns[0]),
                floats(|each| each.in_stream_ns[1]),
                floats(|each| each.in_stream_ns[2]),
                floats(|each| each.floor_ns),
                ints(|each| each.samples as i64),
            ],
        )
    }

    /// The path of each connection, and the client's host and the server of each path.
    fn paths<'py>(&self, py: Python<'py>) -> (NewInts<'py>, Vec<String>, Vec<String>) {
        let estimate::Paths { clients, servers } = self.core.paths.clone();
        (places(py, &self.core.phases.path), clients, servers)
    }

    /// The first and the last phase of each connection; the period and the connection of each phase.
    fn phases<'py>(&self, py: Python<'py>) -> [NewInts<'py>; 4] {
        let Phases { opening, closing, period, connection, .. } = &self.core.phases;
        [opening, closing, period, connection].map(|each| places(py, each))
    }

    /// The path of each change, its time (ns since the recording began) and what shows it; the first period of each path
    /// with the number of all; when each period begins, `unseen` for the first of a path.
    fn changes<'py>(&self, py: Python<'py>, unseen: i64) -> [NewInts<'py>; 5] {
        let changes = &self.core.phases.changes;
        let of = |of: fn(&Change) -> i64| column(py, changes.all().iter().map(of));
        let first = (0..changes.paths() as u32).map(|path| changes.of_path(path).start);
        [
            of(|change| i64::from(change.path)),
            of(|change| change.time_ns),
            of(|change| change.shown_by as i64),
            column(py, first.chain([changes.periods()]).map(|period| period as i64)),
            column(py, changes.begins_ns().map(|begin| begin.unwrap_or(unseen))),
        ]
    }

    /// The phase of each exchange.
    fn of_exchanges<'py>(&self, py: Python<'py>) -> NewInts<'py> {
        places(py, &self.core.of_exchanges)
    }

    /// Networks behind a proxy, those of the last phases: the columns of `latpcap/rtt/estimate.py`.
    fn beyond<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let Some(estimate::BehindProxy { all }) = &self.core.beyond else { return Ok(None) };
        let floats = |of: fn(&Beyond) -> f64| column(py, all.iter().map(of)).into_any();
        let ints = |of: fn(&Beyond) -> i64| column(py, all.iter().map(of)).into_any();
        let mut numbers = HashMap::<&str, i64>::new();
        let mut names = Vec::new();
        let mut number = |server| {
            *numbers.entry(server).or_insert_with(|| {
                names.push(server);
                names.len() as i64 - 1
            })
        };
        let server = all.iter().map(|each| number(each.server.as_str())).collect::<Vec<_>>().into_pyarray(py);
        let columns = [
            ints(|each| i64::from(each.connection)),
            ints(|each| i64::from(each.outer)),
            server.into_any(),
            PyList::new(py, names)?.into_any(),
            floats(|each| each.trips),
            column(py, all.iter().map(|each| each.is_far)).into_any(),
            floats(|each| each.ns),
            floats(|each| each.low_ns),
            floats(|each| each.high_ns),
            floats(|each| each.round_trips as f64),
        ];
        PyTuple::new(py, columns).map(Some)
    }

    /// The RTTs of a `recording`, which these are of, that were measured directly in each of `count` intervals of
    /// `width_ns`, the first of which begins at `first_ns` (since 1970): how many there are, the least and the middle one.
    fn intervals<'py>(
        &self,
        py: Python<'py>,
        recording: &Recording,
        first_ns: i64,
        width_ns: i64,
        count: usize,
    ) -> PyResult<(NewInts<'py>, NewFloats<'py>, NewFloats<'py>)> {
        let intervals = Intervals { first_ns, width_ns, count };
        let measured = py.detach(|| self.core.of_intervals(&recording.core, &intervals))?;
        let floats = |of: fn(&IntervalRtts) -> f64| column(py, measured.iter().map(of));
        let counts = column(py, measured.iter().map(|each| each.count as i64));
        Ok((counts, floats(|each| each.least_ns), floats(|each| each.median_ns)))
    }

    /// The RTTs of a `window` of the `whole` recording that these are of.
    fn within(&self, py: Python<'_>, whole: &Recording, window: &Recording) -> PyResult<Rtts> {
        Ok(Rtts { core: py.detach(|| self.core.within(&whole.core, &window.core))? })
    }

    /// The RTTs of the connections from one place to another, which `recording` has alone.
    fn part(&self, py: Python<'_>, begin: usize, end: usize, recording: &Recording) -> PyResult<Rtts> {
        Ok(Rtts { core: py.detach(|| self.core.part(begin..end, &recording.core))? })
    }
}

/// The RTT of a path that no capture shows, from what was measured on it: ns, its range, the method and the reason.
#[pyfunction]
pub fn rtt_of_measurements(
    handshakes_ns: Vec<i64>,
    acks_ns: Vec<i64>,
    bounds_ns: Vec<i64>,
    tick_ns: i64,
) -> (f64, f64, f64, u8, u8) {
    let chosen = choice::of_measurements(&handshakes_ns, &acks_ns, &bounds_ns, tick_ns);
    let [low_ns, high_ns] = chosen.range(tick_ns);
    (chosen.value, low_ns, high_ns, chosen.method as u8, chosen.reason as u8)
}

fn column<'py, T: Element>(py: Python<'py>, cells: impl Iterator<Item = T>) -> Bound<'py, PyArray1<T>> {
    cells.collect::<Vec<_>>().into_pyarray(py)
}

fn places<'py>(py: Python<'py>, numbers: &[u32]) -> NewInts<'py> {
    column(py, numbers.iter().map(|&number| i64::from(number)))
}
