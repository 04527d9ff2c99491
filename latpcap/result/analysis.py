"""The one plain result between the measures and every report: `Analysis`, whose `to_dict()` is the JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from latpcap.display import Displayed, plain
from latpcap.findings import Evidence, FindingResult, FixesTogether, Savings, finding_results, fixes_together
from latpcap.findings.estimate import costs_of
from latpcap.findings.what_if import Fix, WhatIf, what_if
from latpcap.measures.budget import Budget, Timeline, timeline
from latpcap.measures.health import HealthNote, core_notes, measured_notes
from latpcap.measures.purposes import PurposeResult, purpose_results
from latpcap.measures.responses import FEWEST_RESPONSES, responses
from latpcap.measures.routes import RouteResult, route_results
from latpcap.measures.statements import StatementGroups, group
from latpcap.measures.tcp import TcpResult, tcp_results
from latpcap.projection.assumptions import Conditions
from latpcap.projection.basis import basis
from latpcap.projection.project import DEFAULT_LADDER_MS, FetchSaving, Projection, project
from latpcap.result.verdict import Doubt, verdict
from latpcap.rtt import Baselines, Estimate, estimate_paths
from latpcap.rtt.baselines import Reason
from latpcap.tables import columns
from latpcap.tables.recording import Recording
from latpcap.tables.times import iso

__all__ = [
    "Analysis",
    "CaptureFile",
    "ConnectionResult",
    "Measures",
    "PathResult",
    "RttResult",
    "StatementResult",
    "Summary",
    "TcpResult",
    "plain",
]

SMALL_FETCH = "small-fetch"

LARGE_STEP = 0.1
"""Where the clock was set by more than this part of the runtime, the runtime is not known."""

CONNECTION_TEXTS = (
    *("client", "server", "protocol", "server_version", "user", "database", "application"),
    *("encryption", "compression", "state"),
)


@dataclass(frozen=True, slots=True)
class CaptureFile:
    """One file of the recording."""

    path: str
    format: str
    packets: int
    bytes: int
    first_time: str | None
    last_time: str | None


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of the whole recording."""

    runtime_s: float
    connections: int
    exchanges: int
    round_trips: int
    effective_round_trips: float
    """The same with parallel work counted once and TCP handshakes counted too: the runtime grows by these."""
    baseline_rtt_ms: float | None
    network_share: float | None
    """The part of the runtime that waiting for the network took, 0 to 1; `None` where it cannot be told: no RTT is
    known, there was but one response, or the capture's clock was set."""
    seconds_per_ms: float | None
    verdict: str
    """Three lines in plain words."""


@dataclass(frozen=True, slots=True)
class RttResult:
    """The baseline RTT of one connection in ms, its range, and where it comes from."""

    baseline_ms: float | None
    low_ms: float | None
    high_ms: float | None
    method: str
    reason: str
    handshake_ms: float | None
    in_stream_min_ms: float | None
    in_stream_median_ms: float | None
    in_stream_mean_ms: float | None
    response_floor_ms: float | None
    samples: int
    position: str


@dataclass(frozen=True, slots=True)
class PathResult:
    """One client host and one server endpoint: how far apart they are, from all their connections together."""

    client: str
    server: str
    connections: int
    rtt: RttResult


@dataclass(frozen=True, slots=True)
class ConnectionResult:
    """One database connection."""

    stream: int
    client: str
    server: str
    protocol: str
    server_version: str | None
    user: str | None
    database: str | None
    application: str | None
    encryption: str | None
    compression: str | None
    state: str
    replication: bool
    start: str
    end: str
    exchanges: int
    round_trips: int
    request_bytes: int
    response_bytes: int
    retransmissions: int
    lost_bytes: int
    cancels: int | None
    """The stream whose statement this connection came to cancel."""
    rtt: RttResult
    tcp: TcpResult


@dataclass(frozen=True, slots=True)
class StatementResult:
    """One statement, or one command that serves none; response and delta times are those of its executions."""

    fingerprint: str | None
    text: str
    protocol: str
    executions: int
    exchanges: int
    round_trips: int
    rows: int | None
    affected_rows: int | None
    request_bytes: int
    response_bytes: int
    network_s: float
    service_s: float
    response_ms: dict[str, float | None]
    delta_ms: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Analysis(Displayed):
    """What a recording says, and what it would cost at another RTT."""

    schema = "latpcap.analysis/1"

    captures: tuple[CaptureFile, ...]
    health: tuple[HealthNote, ...]
    summary: Summary
    budget: Budget
    purposes: tuple[PurposeResult, ...]
    paths: tuple[PathResult, ...]
    connections: tuple[ConnectionResult, ...]
    statements: tuple[StatementResult, ...]
    routes: tuple[RouteResult, ...]
    """Empty where no statement names one."""
    findings: tuple[FindingResult, ...]
    fixes_together: FixesTogether | None
    """Null where fewer than two fixes would save anything."""
    projection: Projection


class Measures:
    """The measures of one recording, each from those before it."""

    def __init__(self, recording: Recording, *, think_s: float = 1.0, rtt_baseline_ms: float | None = None) -> None:
        """Measure `recording`."""
        self.recording = recording
        self.rtt: Estimate = estimate_paths(recording, rtt_baseline_ms)
        self.baselines: Baselines = self.rtt.of_connections
        self.timeline: Timeline = timeline(recording, self.baselines, think_s)
        self.statements: StatementGroups = group(recording, self.timeline)
        self.purposes = tuple(purpose_results(recording.exchanges))
        self.basis = basis(recording, self.baselines, self.timeline)
        self.evidence = Evidence(recording, self.baselines, self.timeline, think_s)
        self.savings = Savings(self.evidence, costs_of(self.evidence, self.basis), self.basis)

    def what_if(self, fixes: Sequence[Fix], rtt_ms: Sequence[float] | None = None) -> WhatIf | None:
        """The runtimes at each RTT of `rtt_ms` with each of `fixes`, and with all."""
        return what_if(self.savings, DEFAULT_LADDER_MS if rtt_ms is None else rtt_ms, fixes)

    def findings(self, rtt_ms: Sequence[float]) -> tuple[FindingResult, ...]:
        """The findings, ranked by what they save at the largest of `rtt_ms`."""
        return tuple(result for result, _ in finding_results(self.savings, rtt_ms))

    def project(
        self,
        rtt_ms: Sequence[float] | None = None,
        within_s: float | None = None,
        conditions: Conditions | None = None,
    ) -> Projection:
        """Project the runtime onto each RTT of `rtt_ms`."""
        projection = project(self.basis, rtt_ms, within_s, conditions)
        if not any(finding.code == SMALL_FETCH for finding in self.savings.findings()):
            return projection
        findings = self.findings([point.rtt_ms for point in projection.points])
        return replace(projection, fetches=tuple(fetch_savings(findings)))

    def analyze(self, rtt_ms: Sequence[float] | None = None, within_s: float | None = None) -> Analysis:
        """Build the result."""
        recording, projection = self.recording, project(self.basis, rtt_ms, within_s)
        findings = self.findings([point.rtt_ms for point in projection.points])
        projection = replace(projection, fetches=tuple(fetch_savings(findings)))
        health = (*core_notes(recording), *measured_notes(recording, self.baselines, self.timeline))
        return Analysis(
            captures=tuple(_captures(recording)),
            health=health,
            summary=self._summary(projection, health, asked=rtt_ms is not None),
            budget=self._budget(),
            purposes=self.purposes,
            paths=tuple(path_results(self.rtt)),
            connections=tuple(connection_results(recording, self.baselines)),
            statements=tuple(statement_results(self.statements)),
            routes=tuple(route_results(recording, self.timeline)),
            findings=findings,
            fixes_together=fixes_together(self.savings, [point.rtt_ms for point in projection.points]),
            projection=projection,
        )

    def _summary(self, projection: Projection, health: Sequence[HealthNote], *, asked: bool) -> Summary:
        exchanges, runtime_s = self.recording.exchanges, self.timeline.runtime_s
        doubt = self._doubt()
        known = projection.baseline_rtt_ms is not None and doubt is None
        round_trips = int(exchanges.round_trips.sum())
        network_share = min(self.basis.network_s / runtime_s, 1.0) if known and runtime_s > 0 else None
        return Summary(
            runtime_s=runtime_s,
            connections=len(self.recording.database_rows),
            exchanges=len(exchanges),
            round_trips=round_trips,
            effective_round_trips=self.basis.effective_round_trips,
            baseline_rtt_ms=projection.baseline_rtt_ms,
            network_share=network_share,
            seconds_per_ms=projection.seconds_per_ms,
            verdict=verdict(
                self.basis, self.timeline.budget, round_trips, self.purposes, projection, health, doubt, asked=asked
            ),
        )

    def _budget(self) -> Budget:
        """The parts of the runtime; one response is not divided."""
        budget = self.timeline.budget
        if self._doubt() not in (Doubt.FEW_RESPONSES, Doubt.NO_RESPONSE):
            return budget
        unknown_s = budget.unknown_s + budget.network_s + budget.service_s
        return replace(budget, network_s=0.0, service_s=0.0, unknown_s=unknown_s)

    def _doubt(self) -> Doubt | None:
        """Why the network's share cannot be told, though an RTT is known."""
        if self.recording.clock_stepped_s > LARGE_STEP * self.timeline.runtime_s:
            return Doubt.CLOCK
        seen = responses(self.recording)
        if seen >= FEWEST_RESPONSES or (self.baselines.reason == Reason.GIVEN).all():
            return None
        return Doubt.FEW_RESPONSES if seen else Doubt.NO_RESPONSE


def connection_results(recording: Recording, baselines: Baselines) -> Iterator[ConnectionResult]:
    """The database connections, in the order of their streams."""
    table, rows = recording.all_connections_table, recording.database_rows
    texts = {name: columns.texts(table, name) for name in CONNECTION_TEXTS}
    names = ("stream", "exchanges", "round_trips", "request_bytes", "response_bytes", "retransmissions", "lost_bytes")
    numbers = {name: columns.column(table, name).values for name in names}
    replication = columns.column(table, "replication").values
    cancels = columns.column(table, "cancels").ints(-1)
    start, end = (iso(columns.column(table, name)) for name in ("start", "end"))
    for index, (row, tcp) in enumerate(zip(map(int, rows), tcp_results(recording), strict=True)):
        yield ConnectionResult(
            **{name: values[row] for name, values in texts.items()},  # type: ignore[arg-type]
            **{name: int(values[row]) for name, values in numbers.items()},  # type: ignore[arg-type]
            replication=bool(replication[row]),
            cancels=int(cancels[row]) if cancels[row] >= 0 else None,
            start=start[row] or "",
            end=end[row] or "",
            rtt=_rtt(baselines, index),
            tcp=tcp,
        )


def path_results(found: Estimate) -> Iterator[PathResult]:
    """The paths, those with most connections first."""
    counts = np.bincount(found.paths.of_connection, minlength=len(found.paths))
    for path in np.argsort(-counts, kind="stable"):
        yield PathResult(
            found.paths.client[path], found.paths.server[path], int(counts[path]), _rtt(found.of_paths, int(path))
        )


def _rtt(baselines: Baselines, index: int) -> RttResult:
    def ms(values: NDArray[np.float64]) -> float | None:
        return _finite(values[index] / 1e6)

    return RttResult(
        baseline_ms=ms(baselines.baseline),
        low_ms=ms(baselines.low),
        high_ms=ms(baselines.high),
        method=baselines.method_name(index),
        reason=baselines.reason_text(index),
        handshake_ms=ms(baselines.handshake),
        in_stream_min_ms=ms(baselines.in_stream_min),
        in_stream_median_ms=ms(baselines.in_stream_median),
        in_stream_mean_ms=ms(baselines.in_stream_mean),
        response_floor_ms=ms(baselines.floor),
        samples=int(baselines.samples[index]),
        position=baselines.position_name(index),
    )


def fetch_savings(findings: Iterable[FindingResult]) -> Iterator[FetchSaving]:
    """The findings about small fetches, in short."""
    for finding in findings:
        if finding.code == SMALL_FETCH and finding.saved_s:
            yield FetchSaving(
                statement=finding.statement or "(unknown statement)",
                fetches=finding.facts["fetches"],
                rows=finding.facts["rows"],
                round_trips_saved=finding.round_trips_saved,
                rows_per_fetch_after=finding.facts["rows_per_fetch_after"],
                saved_s=finding.saved_s,
            )


def statement_results(groups: StatementGroups) -> Iterator[StatementResult]:
    """The statements, the costliest first."""
    for row in range(len(groups)):
        yield StatementResult(
            fingerprint=groups.fingerprint[row],
            text=groups.text[row],
            protocol=groups.protocol[row],
            executions=int(groups.executions[row]),
            exchanges=int(groups.exchanges[row]),
            round_trips=int(groups.round_trips[row]),
            rows=groups.rows[row],
            affected_rows=groups.affected_rows[row],
            request_bytes=int(groups.request_bytes[row]),
            response_bytes=int(groups.response_bytes[row]),
            network_s=float(groups.network_s[row]),
            service_s=float(groups.service_s[row]),
            response_ms={name: _finite(values[row]) for name, values in groups.response_ms.items()},
            delta_ms={name: _finite(values[row]) for name, values in groups.delta_ms.items()},
        )


def _captures(recording: Recording) -> Iterator[CaptureFile]:
    table = recording.captures_table
    paths, formats = (columns.texts(table, name) for name in ("path", "format"))
    packets, sizes = (columns.column(table, name).values for name in ("packets", "bytes"))
    first, last = (iso(columns.column(table, name)) for name in ("first_time", "last_time"))
    for row, path in enumerate(paths):
        yield CaptureFile(path or "", formats[row] or "", int(packets[row]), int(sizes[row]), first[row], last[row])


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
