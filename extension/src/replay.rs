//! A job that is replayed on other networks.

use std::borrow::Cow;

use numpy::{Element, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use latpcap_core::job::contention::{Center, Locks};
use latpcap_core::job::exchange::Exchanges;
use latpcap_core::job::{self, Asked, Changes, Divided, Effect, Network, Scope, Waiting, shares};

use super::job::{Floats, Ints, Job, Read, cells, parts, unfit};

/// A network to replay on, but for its RTT; see `latpcap_core::job::Network`.
#[derive(FromPyObject)]
pub struct NetworkFields {
    bandwidth: f64,
    loss: f64,
    growth: f64,
    window_bytes: f64,
    receive_window_scale: f64,
    receiver_bytes: f64,
    compressed: f64,
    compressing_ns: f64,
    overlapped_work: f64,
    timeout_ns: f64,
    restarts: bool,
    skips_missed_ticks: bool,
    paces: bool,
    baseline: i8,
}

impl NetworkFields {
    fn network(&self) -> Network {
        Network {
            bandwidth: self.bandwidth,
            loss: self.loss,
            growth: self.growth,
            window_bytes: self.window_bytes,
            receive_window_scale: self.receive_window_scale,
            receiver_bytes: self.receiver_bytes,
            compressed: self.compressed,
            compressing_ns: self.compressing_ns,
            overlapped_work: self.overlapped_work,
            timeout_ns: self.timeout_ns,
            restarts: self.restarts,
            skips_missed_ticks: self.skips_missed_ticks,
            paces: self.paces,
            baseline: self.baseline,
        }
    }
}

/// A job that can be replayed at any RTT.
#[pyclass(frozen)]
pub struct Replay {
    replay: job::Replay,
    of: Py<Job>,
    /// The RTT of connections of which none is known.
    usual_ns: f64,
}

/// An RTT, `None` for those as they were, and how much longer it is.
type ToldRtt = (Option<f64>, f64);

fn asked(rtts_ns: &[ToldRtt]) -> Vec<Asked> {
    rtts_ns.iter().map(|&(rtt_ns, longer_ns)| [rtt_ns.unwrap_or(f64::NAN), longer_ns]).collect()
}

/// A place and locks, as `latpcap.projection.capacity` has them.
type ToldCenter = (usize, f64, f64, f64, f64, bool, f64);
type ToldLocks = (usize, f64, f64, f64, f64, f64, f64, bool);
type ToldMeetings = (f64, Option<ToldCenter>, Option<ToldCenter>, Option<ToldCenter>, Option<ToldLocks>);

#[pymethods]
impl Replay {
    #[new]
    fn new(of: Bound<'_, Job>, usual_ns: f64, network: NetworkFields, waiting: &str) -> PyResult<Replay> {
        let waiting = way(waiting)?;
        let read = |job: &Read| job::Replay::new(job, waiting, &network.network());
        let replay = of.borrow().read(of.py(), usual_ns, read)?;
        Ok(Replay { replay, of: of.unbind(), usual_ns })
    }

    /// Some of its steps begin by a clock.
    #[getter]
    fn ticks(&self) -> bool {
        self.replay.ticks()
    }

    /// How many steps begin by a timer of their program, and how long after each other, ns.
    #[getter]
    fn timer(&self) -> (usize, f64) {
        self.replay.timer()
    }

    /// Some of its lanes share a queue.
    #[getter]
    fn queues(&self) -> bool {
        self.replay.queues()
    }

    /// Some of its steps may begin by a clock, though nothing tells.
    #[getter]
    fn may_tick(&self) -> bool {
        self.replay.may_tick()
    }

    /// Some of its steps wait for locks.
    #[getter]
    fn waits_for_locks(&self) -> bool {
        self.replay.waits_for_locks()
    }

    /// How many segments all requests and responses have.
    #[getter]
    fn segments(&self) -> f64 {
        self.replay.all_segments()
    }

    /// The same job where its steps wait for each other in each of these ways; `None` where that leads to the same.
    fn otherwise(&self, py: Python<'_>, network: NetworkFields, ways: Vec<String>) -> PyResult<Vec<Option<Replay>>> {
        let ways = ways.iter().map(|name| way(name)).collect::<PyResult<Vec<_>>>()?;
        let read = |job: &Read| self.replay.waiting(job, &ways, &network.network());
        let found = self.of.borrow(py).read(py, self.usual_ns, read)?;
        Ok(found.into_iter().map(|replay| Some(self.with(py, replay?))).collect())
    }

    /// The job with fixes made: see `latpcap_core::job::Changes`.
    fn changed(&self, py: Python<'_>, changes: ChangeColumns<'_>) -> PyResult<Replay> {
        let changes = changes.changes();
        let replay = self.of.borrow(py).read(py, self.usual_ns, |job| changed(&self.replay, job, &changes))?;
        Ok(self.with(py, replay))
    }

    /// The job where only a part of it is different: see `latpcap_core::job::Scope`.
    fn scoped(
        &self,
        py: Python<'_>,
        rtts_ns: Floats<'_>,
        asked: Floats<'_>,
        client: f64,
        service: f64,
        think_ns: f64,
    ) -> PyResult<Replay> {
        let scope = Scope { rtts_ns: cells(&rtts_ns), asked: cells(&asked), client, service, think_ns };
        let scoped = py.detach(|| self.replay.scoped(scope)).map_err(PyValueError::new_err)?;
        Ok(self.with(py, scoped))
    }

    /// How long requests waited for their answers, who met whom at the hosts, at the server and at both, and at locks.
    fn meetings(&self, py: Python<'_>) -> PyResult<ToldMeetings> {
        let met = self.of.borrow(py).read(py, self.usual_ns, |job| self.replay.meetings(job))?;
        let center = |of: Center| (of.count, of.stay_s, of.each_s, of.least_s, of.most_s, of.shown, of.may_s);
        let locks =
            |of: Locks| (of.count, of.held_s, of.round_trips, of.others, of.waited_s, of.share, of.most, of.shown);
        let [hosts, server, both] = [met.hosts, met.server, met.both].map(|of| of.map(center));
        Ok((met.outstanding_s, hosts, server, both, met.locks.map(locks)))
    }

    /// When the job is over at each RTT and so much more, in ns; `None` stands for the RTTs as they were.
    fn run(&self, py: Python<'_>, rtts_ns: Vec<ToldRtt>, network: NetworkFields) -> Vec<f64> {
        py.detach(|| self.replay.run(&asked(&rtts_ns), &network.network()))
    }

    /// Read how large its messages are, which a bottleneck and compression ask for: see
    /// `latpcap_core::job::Replay::weigh`.
    fn weigh(&self, py: Python<'_>) -> PyResult<()> {
        self.of.borrow(py).read(py, self.usual_ns, |job| self.replay.weigh(job))
    }

    /// The parts in ns of what the job takes at each RTT, and what clients and servers took themselves, whoever else
    /// was busy: see `run`.
    fn parts<'py>(
        &self,
        py: Python<'py>,
        rtts_ns: Vec<Option<f64>>,
        network: NetworkFields,
        think_ns: f64,
    ) -> PyResult<Vec<[Bound<'py, PyDict>; 2]>> {
        let rtts_ns: Vec<f64> = rtts_ns.into_iter().map(|rtt| rtt.unwrap_or(f64::NAN)).collect();
        let scarce = self.of.borrow(py).recorded.table.scarce;
        let found = py.detach(|| self.replay.parts(&rtts_ns, &network.network(), think_ns, scarce));
        found.iter().map(|each| divided(py, each)).collect()
    }
}

impl Replay {
    fn with(&self, py: Python<'_>, replay: job::Replay) -> Replay {
        Replay { replay, of: self.of.clone_ref(py), usual_ns: self.usual_ns }
    }
}

fn divided<'py>(py: Python<'py>, found: &Divided) -> PyResult<[Bound<'py, PyDict>; 2]> {
    Ok([parts(py, &found.parts)?, found.own.named().into_py_dict(py)?])
}

/// A replay, other senders and fixes, if any are named; and where it is to be run.
type Wanted<'py> = (Py<Replay>, Option<NetworkFields>, Option<ChangeColumns<'py>>, Vec<(NetworkFields, Vec<ToldRtt>)>);

/// Each replay, where other senders are named as if those of the capture had been like these, with the fixes made; and
/// when it is over: on each network at each RTT and so much more, as `Replay.run` has them.
#[pyfunction]
pub fn run_each(py: Python<'_>, wanted: Vec<Wanted<'_>>) -> PyResult<Vec<(Replay, Vec<Vec<f64>>)>> {
    let steps = wanted.iter().map(|(of, ..)| of.get().replay.steps()).sum();
    let jobs: Vec<PyRef<'_, Job>> = wanted.iter().map(|(of, ..)| of.get().of.borrow(py)).collect();
    let pieces = wanted.iter().zip(&jobs).map(|((of, senders, changes, runs), job)| {
        let changes = changes.as_ref().map(ChangeColumns::changes);
        (of.get(), &**job, senders.as_ref(), changes, runs)
    });
    let pieces: Vec<_> = pieces.collect();
    let run =
        |(of, job, senders, changes, runs): &(&Replay, &Job, Option<&NetworkFields>, Option<Changes>, &Vec<_>)| {
            let runs: &Vec<(NetworkFields, Vec<ToldRtt>)> = runs;
            let replay = senders.map_or_else(|| of.replay.clone(), |senders| of.replay.calibrated(&senders.network()));
            let replay = match changes {
                None => replay,
                Some(changes) => job.recorded.job(of.usual_ns, |job| changed(&replay, job, changes))?,
            };
            let over = runs.iter().map(|(network, rtts)| replay.run(&asked(rtts), &network.network())).collect();
            Ok((replay, over))
        };
    let found = py.detach(|| shares::each(shares::processors(steps), &pieces, run));
    let found: Vec<(job::Replay, Vec<Vec<f64>>)> = found.into_iter().collect::<PyResult<_>>()?;
    let told = wanted.iter().zip(found);
    Ok(told.map(|((of, ..), (replay, over))| (of.get().with(py, replay), over)).collect())
}

/// It with fixes made, if they fit the job.
fn changed(replay: &job::Replay, job: &Read, changes: &Changes) -> PyResult<job::Replay> {
    match changes.fit(job.exchanges.count(), job.connections.count()) {
        true => Ok(replay.changed(job, changes)?),
        false => Err(unfit()),
    }
}

/// What fixes take out of a job: see `latpcap_core::job::Changes`.
#[derive(FromPyObject)]
pub struct ChangeColumns<'py> {
    effects: Vec<EffectColumns<'py>>,
    gone: Ints<'py>,
}

#[derive(FromPyObject)]
pub struct EffectColumns<'py> {
    rows: Ints<'py>,
    saved: Floats<'py>,
    stall_ns: Floats<'py>,
    dependents: Ints<'py>,
    closed: Ints<'py>,
    time: Time,
}

#[derive(FromPyObject)]
struct Time {
    call_ns: f64,
    work_ns: f64,
    service: f64,
}

impl EffectColumns<'_> {
    fn effect(&self) -> Effect<'_> {
        Effect {
            rows: slice(&self.rows),
            saved: slice(&self.saved),
            stall_ns: slice(&self.stall_ns),
            dependents: slice(&self.dependents),
            closed: slice(&self.closed),
            call_ns: self.time.call_ns,
            work_ns: self.time.work_ns,
            service: self.time.service,
        }
    }
}

impl ChangeColumns<'_> {
    fn changes(&self) -> Changes<'_> {
        let effects = self.effects.iter().map(EffectColumns::effect).collect();
        Changes { effects, gone: slice(&self.gone) }
    }
}

/// Without a copy, where it is in one piece.
fn slice<'a, T: Element + Clone>(column: &'a PyReadonlyArray1<'_, T>) -> Cow<'a, [T]> {
    column.as_slice().map_or_else(|_| Cow::Owned(cells(column)), Cow::Borrowed)
}

/// Who waits for whom, by its word.
fn way(waiting: &str) -> PyResult<Waiting> {
    Waiting::named(waiting).ok_or_else(|| PyValueError::new_err("nobody waits in that way"))
}

/// The words of all ways of waiting.
#[pyfunction]
pub fn ways_of_waiting() -> Vec<&'static str> {
    Waiting::ALL.iter().map(|way| way.as_str()).collect()
}
