"""A rehearsal: what a job was predicted to take at other RTTs, and what it took when it was run at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from arro3.core import DataType
from msgspec import Struct

from latpcap.display import Displayed
from latpcap.errors import NotTheSameJob, UsageError
from latpcap.projection.assumptions import Conditions
from latpcap.projection.project import Point
from latpcap.result.analysis import Analysis
from latpcap.result.connections import PathResult
from latpcap.result.pairs.prediction_error import reasons
from latpcap.result.pairs.validation import Validation, ValidationPart, judge
from latpcap.result.settings import Settings
from latpcap.result.signoff import PROGRAM
from latpcap.result.tables import rows_table
from latpcap.tables.columnar.table import Table
from latpcap.units import counted, format_given_ms, format_s, listed, percent

COLUMNS = {
    "recording": DataType.utf8(),
    "rtt_ms": DataType.float64(),
    "runtime_s": DataType.float64(),
    "fastest_s": DataType.float64(),
    "slowest_s": DataType.float64(),
    "predicted_s": DataType.float64(),
    "error": DataType.float64(),
    "round_trips": DataType.int64(),
}


class CongestionControls(Struct, frozen=True):
    """The congestion control of both ends of the link, as their system names it."""

    client: str
    server: str


class RecordedRun(Struct, frozen=True):
    """One run of the job, and what was found in its recording."""

    recording: str
    """The name of its file."""
    found: Analysis
    target_rtt_ms: float | None = None
    """The RTT that was asked for; `None` for a run as things are today."""
    link_ms: float | None = None
    """The link's part of it."""


Project = Callable[[str, Sequence[float], bool], Analysis]
"""The analysis of the recording of that name, projected onto these RTTs, with or without what it knows of its hosts."""


class Run(Struct, frozen=True):
    """One run of the job."""

    recording: str
    """The name of its file."""
    runtime_s: float
    round_trips: int
    handshake_ms: float | None
    """The RTT of the TCP handshakes; null where none was recorded."""
    in_stream_ms: float | None
    """The RTT of the data: the median."""
    baseline_ms: float | None
    """The RTT by latpcap's estimate."""


class RehearsedRtt(Struct, frozen=True):
    """One RTT: what was predicted for it, and what the job took."""

    target_rtt_ms: float
    link_ms: float | None
    """The link's part of it; the rest is the way to the server as it is today."""
    runs: tuple[Run, ...]
    """In the order in which they were run."""
    told: Run
    """The one whose runtime is the median: this one is compared."""
    fastest_s: float
    slowest_s: float
    validation: Validation | None
    """Predicted against measured; null where that says nothing."""
    no_verdict: str | None
    """Why it says nothing: the runs were not the same job."""
    typical_host_s: float | None
    """The prediction that does not know how late this host answers after a rest."""
    largest_error: ValidationPart | None
    """The part of the budget that was predicted worst."""
    reasons: tuple[str, ...]
    """Why it took longer or shorter than predicted, as far as the recordings tell."""


class Rehearsal(Displayed, Struct, frozen=True):
    """A job that was run at other RTTs, beside what its run of today predicted for them."""

    schema = "latpcap.rehearsal/1"

    way: str
    """How the database was made farther away: `link` (every packet is delayed) or `relay` (what is sent is)."""
    servers: tuple[str, ...]
    """Servers farther away."""
    conditions: Conditions
    """Other differences on the way."""
    seed: int | None
    """The seed of the random numbers of losses and jitter in the first run; each further run has the next number:
    `--seed` repeats them; null where nothing was random."""
    ends: CongestionControls | None
    """The congestion control of both ends; null where the way has none of its own."""
    today: tuple[Run, ...]
    median_today: Run
    """The one whose runtime is the median: from it all is predicted."""
    rtts: tuple[RehearsedRtt, ...]
    text: str
    settings: Settings
    program: str
    """`latpcap` and its version."""

    def table(self) -> Table:
        """One row an RTT: `rtt_ms`, `runtime_s` as measured (the median), `predicted_s`, `error`, `round_trips`."""
        return rehearsed_rows(self.rtts)


def rehearsed_rows(rtts: Sequence[RehearsedRtt]) -> Table:
    """Return the measurements at each RTT, and predictions where the runs were the same job."""
    rows = [
        {
            "recording": each.told.recording,
            "rtt_ms": each.target_rtt_ms,
            "runtime_s": each.told.runtime_s,
            "fastest_s": each.fastest_s,
            "slowest_s": each.slowest_s,
            "predicted_s": each.validation and each.validation.predicted_s,
            "error": each.validation and each.validation.error,
            "round_trips": each.told.round_trips,
        }
        for each in rtts
    ]
    return rows_table(rows, COLUMNS, "rtts")


def rehearsal(
    today: Sequence[RecordedRun],
    there: Sequence[RecordedRun],
    project: Project,
    *,
    way: str,
    servers: Sequence[str],
    conditions: Conditions | None = None,
    seed: int | None = None,
    ends: CongestionControls | None = None,
) -> Rehearsal:
    """Set what the median run of `today` predicts beside the runs of `there`, each RTT's median run for it."""
    base, differs = _median(today), conditions or Conditions()
    groups = [
        [each for each in there if each.target_rtt_ms == asked]
        for asked in dict.fromkeys(run.target_rtt_ms for run in there)
    ]
    rtts_ms = [_rtt_ms(_median(group), differs) for group in groups]
    observed, unmeasured = (project(base.recording, rtts_ms, knows_hosts) for knows_hosts in (True, False))
    assumed = [point.runtime_s for point in unmeasured.projection.points]
    rtts = tuple(
        _rehearsed(group, observed, point, typical_host_s)
        for group, point, typical_host_s in zip(groups, observed.projection.points, assumed, strict=True)
    )
    return Rehearsal(
        way=way,
        servers=tuple(servers),
        conditions=differs,
        seed=seed,
        ends=ends,
        today=tuple(map(_told, today)),
        median_today=_told(base),
        rtts=rtts,
        text=" ".join(_sentences(rtts)),
        settings=observed.settings,
        program=PROGRAM,
    )


def _median(runs: Sequence[RecordedRun]) -> RecordedRun:
    """The run of which as many were slower as faster; of an even number the faster one in the middle."""
    return sorted(runs, key=lambda run: run.found.summary.runtime_s)[(len(runs) - 1) // 2]


def _rtt_ms(run: RecordedRun, conditions: Conditions) -> float:
    """The RTT to predict for: as measured; where it strays as asked for, since few measurements miss its mean."""
    rtt_ms = run.target_rtt_ms if conditions.jitter_ms else run.found.summary.baseline_rtt_ms
    if rtt_ms is None:
        raise UsageError(
            f"at {format_given_ms(run.target_rtt_ms or 0)} no RTT could be measured: the command sent too little"
        )
    return rtt_ms


def headline_path(found: Analysis) -> PathResult:
    """The path that tells the RTT: the one with most connections."""
    return max(found.paths, key=lambda path: path.connections)


def _told(run: RecordedRun) -> Run:
    """Sum up one run."""
    rtt, summary = headline_path(run.found).rtt, run.found.summary
    return Run(
        recording=run.recording,
        runtime_s=summary.runtime_s,
        round_trips=summary.round_trips,
        handshake_ms=rtt.handshake_ms,
        in_stream_ms=rtt.in_stream_median_ms,
        baseline_ms=summary.baseline_rtt_ms,
    )


def _rehearsed(
    group: Sequence[RecordedRun], observed: Analysis, point: Point, typical_host_s: float | None
) -> RehearsedRtt:
    told = _median(group)
    validation, no_verdict = None, None
    try:
        validation = judge(observed, point, told.found)
    except NotTheSameJob as problem:
        no_verdict = str(problem)
    runs = tuple(map(_told, group))
    return RehearsedRtt(
        target_rtt_ms=told.target_rtt_ms or 0.0,
        link_ms=told.link_ms,
        runs=runs,
        told=_told(told),
        fastest_s=min(run.runtime_s for run in runs),
        slowest_s=max(run.runtime_s for run in runs),
        validation=validation,
        no_verdict=no_verdict,
        typical_host_s=typical_host_s,
        largest_error=None if validation is None else max(validation.terms, key=_off_s),
        reasons=() if validation is None else tuple(reasons(observed, told.found, validation)),
    )


def _off_s(term: ValidationPart) -> float:
    return abs(term.predicted_s - term.measured_s)


def _judged(found: Validation) -> str:
    """Return the predicted and the measured runtime, and how far they are apart."""
    off = found.measured_s / found.predicted_s - 1 if found.predicted_s > 0 else 0.0
    apart = f"{percent(abs(off))} {'longer' if off > 0 else 'shorter'}" if off else "no difference"
    where = "inside" if found.inside else "outside"
    return (
        f"predicted {format_s(found.predicted_s)}, measured {format_s(found.measured_s)} ({apart}, {where} the range)"
    )


def _sentences(rtts: Sequence[RehearsedRtt]) -> Iterator[str]:
    judged = {each.target_rtt_ms: each.validation for each in rtts if each.validation is not None}
    if len(judged) > 1:
        inside = sum(each.inside for each in judged.values())
        yield f"{inside} of {counted(len(judged), 'runtime')} inside their range."
    if judged:
        target_rtt_ms, worst = max(judged.items(), key=lambda each: abs(each[1].error))
        yield f"{'Largest error at' if len(judged) > 1 else 'At'} {format_given_ms(target_rtt_ms)}: {_judged(worst)}."
    silent = [format_given_ms(each.target_rtt_ms) for each in rtts if each.validation is None]
    if silent:
        yield f"No verdict at {listed(silent)}: the runs did not do the same job."
