//! What was captured: where its time went, and the job of it replayed on another network.

use std::borrow::Cow;
use std::ops::Range;

use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use latpcap_core::job::attribute::Parts;
use latpcap_core::job::captured::{self, Account};
use latpcap_core::job::columns::{Column, Source};
use latpcap_core::job::exchange::Exchanges;
use latpcap_core::job::reading::{Reading, Recorded};
use latpcap_core::job::recorded::{self, Connections, Phases};
use latpcap_core::job::shared_time;
use latpcap_core::job::{self, Changes, Network, Scope, Waiting};

use super::columns;

/// Of so few exchanges all columns are asked for at once.
const FEW: usize = 1 << 12;

type Ints<'py> = PyReadonlyArray1<'py, i64>;
type Floats<'py> = PyReadonlyArray1<'py, f64>;
type Bools<'py> = PyReadonlyArray1<'py, bool>;

/// The phases of connections: see `latpcap_core::job::recorded::Phases`.
#[derive(FromPyObject)]
pub struct PhaseColumns<'py> {
    baseline_ns: Floats<'py>,
    low_ns: Floats<'py>,
    high_ns: Floats<'py>,
    near_share: Floats<'py>,
}

/// The connections: see `latpcap_core::job::recorded::Connections`.
#[derive(FromPyObject)]
pub struct ConnectionColumns<'py> {
    opening: Ints<'py>,
    closing: Ints<'py>,
    client: Ints<'py>,
    server: Ints<'py>,
    start_ns: Ints<'py>,
    syn_ns: Ints<'py>,
    syn_ack_ns: Ints<'py>,
    ack_ns: Ints<'py>,
    under_way_ns: Ints<'py>,
    server_first: Bools<'py>,
    segment_bytes: Floats<'py>,
    lost_nothing: Bools<'py>,
}

fn cells<T: Element + Clone>(column: &PyReadonlyArray1<'_, T>) -> Vec<T> {
    column.as_array().to_vec()
}

fn numbers(column: &Ints<'_>) -> Vec<u32> {
    column.as_array().iter().map(|&number| u32::try_from(number).unwrap_or(u32::MAX)).collect()
}

impl From<PhaseColumns<'_>> for Phases {
    fn from(of: PhaseColumns<'_>) -> Phases {
        Phases {
            baseline_ns: cells(&of.baseline_ns),
            low_ns: cells(&of.low_ns),
            high_ns: cells(&of.high_ns),
            near_share: cells(&of.near_share),
        }
    }
}

impl From<ConnectionColumns<'_>> for Connections {
    fn from(of: ConnectionColumns<'_>) -> Connections {
        let count = of.opening.as_array().len();
        let open = || vec![f64::INFINITY; count];
        Connections {
            opening: numbers(&of.opening),
            closing: numbers(&of.closing),
            client: numbers(&of.client),
            server: numbers(&of.server),
            start_ns: cells(&of.start_ns),
            syn_ns: cells(&of.syn_ns),
            syn_ack_ns: cells(&of.syn_ack_ns),
            ack_ns: cells(&of.ack_ns),
            under_way_ns: cells(&of.under_way_ns),
            server_first: cells(&of.server_first),
            segment_bytes: cells(&of.segment_bytes),
            lost_nothing: cells(&of.lost_nothing),
            closed_ns: vec![job::UNSEEN; count],
            window_bytes: [open(), open()],
            is_aside: vec![false; count],
        }
    }
}

/// The exchanges as Python has them: what gives their columns as Arrow tables, and the connection and phase of each.
struct Table<'a> {
    exchanges: &'a Py<PyAny>,
    connection: Cow<'a, [i64]>,
    phase: Cow<'a, [i64]>,
}

impl Source for Table<'_> {
    type Error = PyErr;

    fn count(&self) -> usize {
        self.connection.len()
    }

    fn place(&self, row: usize) -> [u32; 2] {
        [self.connection[row] as u32, self.phase[row] as u32]
    }

    fn columns(&self, names: &[&'static str], rows: &Range<usize>) -> PyResult<Vec<Column>> {
        let at_once = if rows.len() <= FEW { names.len() } else { 1 };
        let within = (*rows != (0..self.count())).then_some((rows.start, rows.end));
        Python::attach(|py| {
            let mut found = Vec::with_capacity(names.len());
            for names in names.chunks(at_once.max(1)) {
                let table = match within {
                    None => self.exchanges.call1(py, (names.to_vec(),))?,
                    Some(rows) => self.exchanges.call1(py, (names.to_vec(), rows))?,
                };
                found.extend(columns::of(table.bind(py), names.len(), rows.len())?);
            }
            Ok(found)
        })
    }
}

/// A recording's job: its tables enter once, and all that is told of its time comes from here.
#[pyclass]
pub struct Job {
    recorded: Recorded,
    exchanges: Py<PyAny>,
    connection: Py<PyArray1<i64>>,
    phase: Py<PyArray1<i64>>,
}

/// What borrows the columns of a job for as long as it is read.
macro_rules! reading {
    ($job:expr, $py:expr, $table:ident) => {
        let columns = [&$job.connection, &$job.phase].map(|column| column.bind($py).readonly());
        let [connection, phase] = columns.each_ref().map(slice);
        let $table = Table { exchanges: &$job.exchanges, connection, phase };
    };
}

#[pymethods]
impl Job {
    /// `exchanges(names, rows)` gives their columns, `connection` and `phase` are those of each; `ends` says which
    /// statements end a transaction.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "a recording's tables")]
    fn new(
        py: Python<'_>,
        exchanges: Py<PyAny>,
        connection: Bound<'_, PyArray1<i64>>,
        phase: Bound<'_, PyArray1<i64>>,
        phases: PhaseColumns<'_>,
        connections: ConnectionColumns<'_>,
        ends: Bools<'_>,
        start_ns: i64,
    ) -> PyResult<Job> {
        let (phases, connections): (Phases, Connections) = (phases.into(), connections.into());
        let recorded = Recorded { phases, connections, ends: cells(&ends), start_ns, ..Recorded::default() };
        let mut job = Job { recorded, exchanges, connection: connection.unbind(), phase: phase.unbind() };
        job.recorded.facts = {
            reading!(job, py, table);
            check(&job.recorded, &table)?;
            let of = &job.recorded;
            py.detach(|| Reading { source: &table, of }.facts())?
        };
        job.recorded.kept = {
            reading!(job, py, table);
            let of = &job.recorded;
            py.detach(|| Reading { source: &table, of }.kept())?
        };
        let seen = job.recorded.facts.waits.iter().zip(&job.recorded.connections.syn_ns);
        job.recorded.connections.is_aside = seen.map(|(&waits, &syn)| !waits && syn == job::UNSEEN).collect();
        Ok(job)
    }

    /// Of each connection, when its client said good-bye as the last thing on it, without an answer.
    fn said<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_slice(py, &self.recorded.facts.said)
    }

    /// Of each connection, its largest request and its largest response, in bytes.
    fn largest<'py>(&self, py: Python<'py>) -> [Bound<'py, PyArray1<i64>>; 2] {
        self.recorded.facts.largest.each_ref().map(|largest| PyArray1::from_slice(py, largest))
    }

    /// How many large messages show that their senders pace, of so many.
    #[getter]
    fn paced(&self) -> (usize, usize) {
        (self.recorded.facts.pacing.messages, self.recorded.facts.pacing.of)
    }

    /// What was decided of its connections: which of their FINs were waited for, and what their sides take at once.
    fn decide(
        &mut self,
        closed_ns: Ints<'_>,
        client_window_bytes: Floats<'_>,
        server_window_bytes: Floats<'_>,
    ) -> PyResult<()> {
        self.recorded.connections.closed_ns = cells(&closed_ns);
        self.recorded.connections.window_bytes = [cells(&client_window_bytes), cells(&server_window_bytes)];
        match self.recorded.connections.fit(&self.recorded.phases) {
            true => Ok(()),
            false => Err(unfit()),
        }
    }

    /// Give each instant to its part: the parts in ns, and columns, which are empty where there is nothing of the kind.
    /// `path` is that of each connection.
    fn timeline<'py>(
        &self,
        py: Python<'py>,
        path: Ints<'_>,
        runtime_ns: i64,
        think_ns: f64,
        window: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let path = numbers(&path);
        if path.len() != self.recorded.connections.count() {
            return Err(unfit());
        }
        reading!(self, py, table);
        let (of, phases) = (&self.recorded, self.recorded.phases.known(0.0));
        let account = py.detach(|| {
            let job = job_of(of, &phases, &table);
            captured::account(&job, &path, runtime_ns, think_ns, window)
        })?;
        as_dict(py, account)
    }

    /// The job to be replayed; connections of which no RTT is known have the `usual` one (ns). `waiting` is evidence,
    /// independent, chained, clocked or unclocked.
    fn replay(&self, py: Python<'_>, usual_ns: f64, network: NetworkFields, waiting: &str) -> PyResult<Replay> {
        let waiting = waiting_named(waiting)?;
        reading!(self, py, table);
        let (of, phases) = (&self.recorded, self.recorded.phases.known(usual_ns));
        py.detach(|| job::Replay::new(&job_of(of, &phases, &table), waiting, &network.network())).map(Replay)
    }

    /// The same job where its steps wait for each other in another way; `None` where that leads to the same.
    fn otherwise(
        &self,
        py: Python<'_>,
        replay: &Replay,
        usual_ns: f64,
        network: NetworkFields,
        waiting: &str,
    ) -> PyResult<Option<Replay>> {
        let waiting = waiting_named(waiting)?;
        reading!(self, py, table);
        let (of, phases) = (&self.recorded, self.recorded.phases.known(usual_ns));
        let found = py.detach(|| replay.0.waiting(&job_of(of, &phases, &table), waiting, &network.network()))?;
        Ok(found.map(Replay))
    }

    /// When each exchange asked and was answered as the client saw it, and what of it tells who met whom.
    fn seen<'py>(&self, py: Python<'py>, usual_ns: f64) -> PyResult<Bound<'py, PyDict>> {
        reading!(self, py, table);
        let (phases, rows) = (self.recorded.phases.known(usual_ns), table.count());
        let mut times = [(); 4].map(|()| Vec::with_capacity(rows));
        let (mut flags, mut round_trips) = ([(); 2].map(|()| Vec::with_capacity(rows)), Vec::with_capacity(rows));
        py.detach(|| {
            job_of(&self.recorded, &phases, &table).exchanges.each(&mut |exchange| {
                let seen = exchange.at_client(&phases);
                let own = [seen.request, seen.request_end, seen.response, seen.response_end];
                times.iter_mut().zip(own).for_each(|(column, time)| column.push(time));
                round_trips.push(seen.round_trips);
                flags.iter_mut().zip([seen.setup, seen.ends_transaction]).for_each(|(column, flag)| column.push(flag));
            })
        })?;
        let dict = PyDict::new(py);
        let names = ["request_ns", "request_end_ns", "response_ns", "response_end_ns"];
        names.into_iter().zip(times).try_for_each(|(name, times)| column(&dict, name, times))?;
        ["setup", "ends_transaction"]
            .into_iter()
            .zip(flags)
            .try_for_each(|(name, flags)| column(&dict, name, flags))?;
        column(&dict, "round_trips", round_trips)?;
        Ok(dict)
    }

    /// What the request and the response of each exchange fill.
    fn segments<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyArray1<f64>>; 2]> {
        reading!(self, py, table);
        let mut segments = [(); 2].map(|()| Vec::with_capacity(table.count()));
        py.detach(|| {
            Reading { source: &table, of: &self.recorded }.each(&mut |exchange| {
                for (column, own) in segments.iter_mut().zip(exchange.segments) {
                    column.push(own);
                }
            })
        })?;
        Ok(segments.map(|column| column.into_pyarray(py)))
    }
}

fn job_of<'a>(of: &'a Recorded, phases: &'a Phases, table: &'a Table<'a>) -> recorded::Job<'a, Reading<'a, Table<'a>>> {
    recorded::Job { phases, connections: &of.connections, exchanges: Reading { source: table, of } }
}

/// The columns fit together.
fn check(of: &Recorded, table: &Table) -> PyResult<()> {
    let below = |column: &[i64], count: usize| column.iter().all(|&number| (number as usize) < count && number >= 0);
    let fit = of.connections.fit(&of.phases)
        && table.connection.len() == table.phase.len()
        && table.connection.is_sorted()
        && below(&table.connection, of.connections.count())
        && below(&table.phase, of.phases.count())
        && table.count() < u32::MAX as usize;
    if fit { Ok(()) } else { Err(unfit()) }
}

fn unfit() -> PyErr {
    PyValueError::new_err("the columns of a job do not fit together")
}

/// What an instant counts for each of the intervals that share it: see `latpcap_core::job::shared_time`.
#[pyclass(frozen)]
pub struct SharedTime(shared_time::SharedTime);

#[pymethods]
impl SharedTime {
    #[new]
    #[pyo3(signature = (begins, ends, until=None))]
    fn new(
        py: Python<'_>,
        begins: PyReadonlyArray1<'_, i64>,
        ends: PyReadonlyArray1<'_, i64>,
        until: Option<i64>,
    ) -> SharedTime {
        let intervals = begins.as_array().iter().copied().zip(ends.as_array().iter().copied()).collect();
        SharedTime(py.detach(|| shared_time::SharedTime::of(intervals, until)))
    }

    #[getter]
    fn alone(&self) -> bool {
        self.0.alone()
    }

    fn worth<'py>(
        &self,
        py: Python<'py>,
        begins: PyReadonlyArray1<'_, i64>,
        lengths: PyReadonlyArray1<'_, i64>,
    ) -> Bound<'py, PyArray1<f64>> {
        let mut near = 0;
        let intervals = begins.as_array().into_iter().zip(lengths.as_array());
        let worth: Vec<f64> = intervals.map(|(&begin, &length)| self.0.worth(begin, length, &mut near)).collect();
        worth.into_pyarray(py)
    }
}

/// Which of `count` connections work beside others; `shared` is what each exchange's `length` is worth.
#[pyfunction]
pub fn side_by_side<'py>(
    py: Python<'py>,
    connection: PyReadonlyArray1<'_, i64>,
    length: PyReadonlyArray1<'_, i64>,
    shared: PyReadonlyArray1<'_, f64>,
    count: usize,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let (connection, length, shared) = (connection.as_array(), length.as_array(), shared.as_array());
    if connection.iter().any(|&number| usize::try_from(number).is_ok_and(|number| number >= count) || number < 0) {
        return Err(PyValueError::new_err("a connection is beyond their number"));
    }
    let exchanges = connection.iter().zip(length).zip(shared);
    let exchanges = exchanges.map(|((&connection, &length), &shared)| (connection as usize, length, shared));
    Ok(shared_time::side_by_side(exchanges, count).into_pyarray(py))
}

fn column<T: Element>(dict: &Bound<'_, PyDict>, name: &str, cells: Vec<T>) -> PyResult<()> {
    dict.set_item(name, cells.into_pyarray(dict.py()))
}

fn as_dict(py: Python<'_>, account: Account) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("parts", parts(py, &account.parts)?)?;
    column(&dict, "network", account.network)?;
    column(&dict, "service", account.service)?;
    column(&dict, "loss", account.loss)?;
    let ([before, within], [own_before, own_within]) = (account.held, account.own_held);
    column(&dict, "held_before", before)?;
    column(&dict, "held_within", within)?;
    column(&dict, "own_held_before", own_before)?;
    column(&dict, "own_held_within", own_within)?;
    column(&dict, "own_waited", account.own_waited)?;
    column(&dict, "own_service", account.own_service)?;
    column(&dict, "own_loss", account.own_loss)?;
    column(&dict, "unseen", account.unseen)?;
    let (rows, timers): (Vec<u32>, Vec<[f64; 2]>) = account.stalled.into_iter().unzip();
    column(&dict, "stalled", rows)?;
    column(&dict, "stalled_before", timers.iter().map(|timers| timers[0]).collect())?;
    column(&dict, "stalled_within", timers.iter().map(|timers| timers[1]).collect())?;
    column(&dict, "probably_lost", account.probably_lost)?;
    column(&dict, "weight", account.weight)?;
    for (name, waits) in [("shakes", account.shakes), ("byes", account.byes)] {
        let around = PyDict::new(py);
        column(&around, "connection", waits.connection)?;
        column(&around, "length", waits.length)?;
        column(&around, "trips", waits.trips)?;
        column(&around, "weight", waits.weight)?;
        column(&around, "network", waits.network)?;
        dict.set_item(name, around)?;
    }
    Ok(dict)
}

/// The parts in ns, by their names.
fn parts<'py>(py: Python<'py>, parts: &Parts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, part) in parts.named() {
        dict.set_item(name, part.ns())?;
    }
    Ok(dict)
}

/// A network to replay on, but for its RTT; see `latpcap_core::job::Network`.
#[derive(FromPyObject)]
pub struct NetworkFields {
    added_ns: f64,
    bandwidth: f64,
    loss: f64,
    growth: f64,
    window_bytes: f64,
    taken: f64,
    hidden: f64,
    timeout_ns: f64,
    restarts: bool,
    skips: bool,
    baseline: i8,
}

impl NetworkFields {
    fn network(&self) -> Network {
        Network {
            added_ns: self.added_ns,
            bandwidth: self.bandwidth,
            loss: self.loss,
            growth: self.growth,
            window_bytes: self.window_bytes,
            taken: self.taken,
            hidden: self.hidden,
            timeout_ns: self.timeout_ns,
            restarts: self.restarts,
            skips: self.skips,
            baseline: self.baseline,
        }
    }
}

/// A job that can be replayed at any RTT.
#[pyclass(frozen)]
pub struct Replay(job::Replay);

#[pymethods]
impl Replay {
    /// Some of its steps begin by a clock.
    #[getter]
    fn ticks(&self) -> bool {
        self.0.ticks()
    }

    /// Some of its steps may begin by a clock, though nothing tells.
    #[getter]
    fn may_tick(&self) -> bool {
        self.0.may_tick()
    }

    /// The same where the senders of the capture are taken to have been like `network`'s.
    fn calibrated(&self, py: Python<'_>, network: NetworkFields) -> Replay {
        py.detach(|| Replay(self.0.calibrated(&network.network())))
    }

    /// The job with fixes made: see `latpcap_core::job::Changes`.
    fn changed(&self, py: Python<'_>, changes: ChangeColumns<'_>) -> PyResult<Replay> {
        let changes = Changes {
            closed: cells(&changes.closed).into(),
            trips: slice(&changes.trips),
            gap: slice(&changes.gap),
            service: slice(&changes.service),
            stalled_before: slice(&changes.stalled_before),
            stalled_within: slice(&changes.stalled_within),
            request_segments: slice(&changes.request_segments),
            response_segments: slice(&changes.response_segments),
        };
        py.detach(|| self.0.changed(&changes)).map(Replay).map_err(PyValueError::new_err)
    }

    /// The job where only a part of it is different: see `latpcap_core::job::Scope`.
    fn scoped(
        &self,
        py: Python<'_>,
        rtts_ns: PyReadonlyArray1<'_, f64>,
        asked: PyReadonlyArray1<'_, f64>,
        client: f64,
        service: f64,
        think_ns: f64,
    ) -> PyResult<Replay> {
        let [rtts_ns, asked] = [rtts_ns, asked].map(|column| column.as_array().to_vec());
        let scope = Scope { rtts_ns, asked, client, service, think_ns };
        py.detach(|| self.0.scoped(scope)).map(Replay).map_err(PyValueError::new_err)
    }

    /// The exchanges that waited for a lock, and of each the one that gave it back.
    fn locks<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>) {
        let (waiters, holders) = self.0.locks();
        (waiters.into_pyarray(py), holders.into_pyarray(py))
    }

    /// When the job is over at each RTT, in ns since the recording began; `None` stands for the RTTs as they were.
    fn run(&self, py: Python<'_>, rtts_ns: Vec<Option<f64>>, network: NetworkFields) -> Vec<f64> {
        let rtts_ns: Vec<f64> = rtts_ns.into_iter().map(|rtt| rtt.unwrap_or(f64::NAN)).collect();
        py.detach(|| self.0.run(&rtts_ns, &network.network()))
    }

    /// The parts in ns of what the job takes at each RTT: see `run`.
    fn parts<'py>(
        &self,
        py: Python<'py>,
        rtts_ns: Vec<Option<f64>>,
        network: NetworkFields,
        think_ns: f64,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let rtts_ns: Vec<f64> = rtts_ns.into_iter().map(|rtt| rtt.unwrap_or(f64::NAN)).collect();
        let found = py.detach(|| self.0.parts(&rtts_ns, &network.network(), think_ns));
        found.iter().map(|each| parts(py, each)).collect()
    }
}

/// What fixes leave of a job: see `latpcap_core::job::Changes`.
#[derive(FromPyObject)]
pub struct ChangeColumns<'py> {
    closed: Bools<'py>,
    trips: Floats<'py>,
    gap: Floats<'py>,
    service: Floats<'py>,
    stalled_before: Bools<'py>,
    stalled_within: Bools<'py>,
    request_segments: Floats<'py>,
    response_segments: Floats<'py>,
}

/// Without a copy, where it is in one piece.
fn slice<'a, T: Element + Clone>(column: &'a PyReadonlyArray1<'_, T>) -> Cow<'a, [T]> {
    column.as_slice().map_or_else(|_| Cow::Owned(cells(column)), Cow::Borrowed)
}

fn waiting_named(waiting: &str) -> PyResult<Waiting> {
    match waiting {
        "evidence" => Ok(Waiting::Evidence),
        "independent" => Ok(Waiting::Independent),
        "chained" => Ok(Waiting::Chained),
        "clocked" => Ok(Waiting::Clocked),
        "unclocked" => Ok(Waiting::Unclocked),
        _ => Err(PyValueError::new_err("waiting is evidence, independent, chained, clocked or unclocked")),
    }
}
