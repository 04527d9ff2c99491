"""The one plain result between the measures and every report: `Analysis`, whose `to_dict()` is the JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from latpcap.display import Displayed, ShortRepr
from latpcap.findings import Evidence, FindingResult, FixesTogether, Savings, finding_results, fixes_together
from latpcap.findings.unjudged import Unjudged
from latpcap.findings.what_if import Fix, WhatIf, what_if
from latpcap.measures.budget import Budget, BudgetTimeline, timeline
from latpcap.measures.chattiness import ChattinessGroups, by_connection, overall
from latpcap.measures.connecting import Connecting, connecting
from latpcap.measures.health import HealthNote, by_severity, measured_notes, weighed_notes
from latpcap.measures.intervals import Intervals, intervals
from latpcap.measures.options import IDLE_S, TaskBy
from latpcap.measures.proxy_legs import LegRoundTrips, Legs, application, joined_legs
from latpcap.measures.purposes import PurposeResult, purpose_results
from latpcap.measures.push_waits import push_waits
from latpcap.measures.responses import MIN_RESPONSES, responses
from latpcap.measures.rests import ReadCurve, read_curves
from latpcap.measures.routes import RouteResult, route_results
from latpcap.measures.segments import Segments, segments
from latpcap.measures.statements import StatementGroups, group
from latpcap.measures.tasks import Tasks, count_tasks, tasks
from latpcap.measures.timing_only import TimingOnly, timing_only, tls_readings
from latpcap.measures.waits import Waits
from latpcap.projection.assumptions import Conditions
from latpcap.projection.basis import Basis, basis
from latpcap.projection.project import (
    DEFAULT_LADDER_MS,
    FetchSaving,
    Projection,
    headline_rtt_ms,
    project,
    with_budgets,
)
from latpcap.result.captures import CaptureFile, capture_files
from latpcap.result.chattiness import Chattiness, chattiness
from latpcap.result.connections import ConnectionResult, PathResult, connection_results, path_results
from latpcap.result.cover import Cover
from latpcap.result.errors import ErrorsResult, errors_result
from latpcap.result.errors_at_tcp import with_connections
from latpcap.result.intervals import IntervalsResult, intervals_result
from latpcap.result.parties import parties
from latpcap.result.settings import DEFAULT_THINK_S, KeysUsed, Settings
from latpcap.result.signoff import SignOff, sign_off
from latpcap.result.statements import StatementResult, statement_results
from latpcap.result.taps import TapsResult, taps_results
from latpcap.result.verdict import Facts, ShareUnknown, Step, VerdictLine, as_text, steps, verdict
from latpcap.rtt import Baselines, Estimate, estimate_recording
from latpcap.rtt.baselines import Reason
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.background import run_in_background
from latpcap.tables.columnar.values import Rows
from latpcap.tables.part.groups import arranged, some_groups
from latpcap.tables.part.selection import Selected
from latpcap.tables.recording import Recording
from latpcap.units import RttIs

if TYPE_CHECKING:
    from latpcap.projection.by_connections import ProjectionGrid

SMALL_FETCH = "small-fetch"

MAX_CLOCK_STEP_SHARE = 0.1
"""The runtime is unknown if the clock was set by more than this share of it."""


class Summary(ShortRepr, Struct, frozen=True):
    """The figures of the whole recording."""

    runtime_s: float
    connections: int
    exchanges: int
    round_trips: int
    effective_round_trips: float
    """Round trips and TCP handshakes, parallel work counted once: the runtime grows by these."""
    baseline_rtt_ms: float | None
    network_share: float | None
    """The part of the runtime that waiting for the network took, 0 to 1; `None` where it cannot be told: no RTT is
    known, there was but one response, or the capture's clock was set."""
    network_share_low: float | None
    network_share_high: float | None
    """The network's share at the ends of the baseline's range."""
    network_s: float | None
    """The seconds of that share: the budget's `network_s`."""
    seconds_per_ms: float | None


def growth(now: Budget, there: Budget | None) -> float:
    """Return by what factor the waiting for the network grows from one budget to another; NaN where that is unknown."""
    return there.network_s / now.network_s if there is not None and now.network_s > 0 else math.nan


class Analysis(Displayed, Struct, frozen=True):
    """The figures of a recording, and its cost at another RTT."""

    schema = "latpcap.analysis/1"

    sign_off: SignOff
    """Facts about the report itself."""
    captures: tuple[CaptureFile, ...]
    selection: Selected | None
    """The part that was selected; null for all."""
    settings: Settings
    health: tuple[HealthNote, ...]
    verdict: tuple[VerdictLine, ...]
    """The answer, line by line."""
    steps: tuple[Step, ...]
    """Advice that belongs to no finding: on packet loss, receivers, locks, proxies."""
    summary: Summary
    budget: Budget
    waits: Waits
    """The network's time in parts: round trips, TCP handshakes, greetings, and how long they waited."""
    purposes: tuple[PurposeResult, ...]
    connecting: Connecting | None
    """The cost of connecting; null where the beginning of no connection was captured."""
    timing_only: TimingOnly | None
    """Connections of which nothing that was said could be read; null where there is none."""
    chattiness: Chattiness
    paths: tuple[PathResult, ...]
    segments: Segments
    """Data that TCP lost and sent again on all paths together."""
    taps: tuple[TapsResult, ...]
    """A comparison of each two taps that saw the same packets; empty where one tap saw all."""
    connections: Sequence[ConnectionResult]
    """In the order of their streams. One becomes an object when it is asked for: there may be hundreds of thousands."""
    statements: Sequence[StatementResult]
    """Sorted by cost. One becomes an object when it is asked for: there may be a million."""
    routes: tuple[RouteResult, ...]
    """Empty where no statement names one."""
    errors: ErrorsResult
    intervals: IntervalsResult | None
    """Over time, in at most 60 intervals; null where the recording is too short to tell."""
    findings: tuple[FindingResult, ...]
    unjudged: Unjudged | None
    """Work captured in part, which may be needless though no finding says so; null without any."""
    fixes_together: FixesTogether | None
    """Null where fewer than two fixes would save anything."""
    projection: Projection

    @property
    def text(self) -> str:
        """The answer as text."""
        return as_text(self.verdict)


class Measures:
    """The measures of one recording, each from those before it."""

    def __init__(
        self,
        recording: Recording,
        *,
        think_s: float = DEFAULT_THINK_S,
        rtt_baseline_ms: float | None = None,
        decode_as: Mapping[int, str] | None = None,
        rtt_is: RttIs = "ping",
        rtt: Estimate | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Measure `recording`; `rtt_is` says how the RTTs were measured that it will be projected onto.

        `rtt` is what is known of its RTTs, and `settings` how it was asked for, where these are known already.
        """
        self.recording = recording
        ports = {f"{port}": protocol for port, protocol in (decode_as or {}).items()}
        self.settings = settings or Settings(think_s, rtt_baseline_ms, ports, _keys_used(recording))
        self._rtt_is: RttIs = rtt_is
        if rtt is not None:
            self.rtt = rtt
        self._tasks: dict[tuple[float, TaskBy], Tasks] = {}

    @cached_property
    def rtt(self) -> Estimate:
        """Estimate the RTTs."""
        return estimate_recording(self.recording, self.settings.rtt_baseline_ms)

    @property
    def baselines(self) -> Baselines:
        """The baseline RTT of each connection."""
        return self.rtt.of_connections

    @cached_property
    def timeline(self) -> BudgetTimeline:
        """Return the time's parts."""
        return timeline(self.recording, self.rtt, self.settings.think_s)

    @cached_property
    def basis(self) -> Basis:
        """Return what to project."""
        return basis(self.recording, self.rtt, self.timeline, self._rtt_is, self.rests)

    @cached_property
    def evidence(self) -> Evidence:
        """Return the findings' evidence."""
        return Evidence(self.recording, self.rtt, self.timeline, self.settings.think_s)

    @cached_property
    def rests(self) -> tuple[ReadCurve | None, ReadCurve | None]:
        """How much later idle clients and idle servers go on, as far as the capture shows it."""
        return read_curves(self.recording, self.rtt)

    @cached_property
    def savings(self) -> Savings:
        """Sum up what findings save."""
        return Savings(self.evidence, self.basis)

    def of_each(self, names: Sequence[str | None]) -> Iterator[tuple[str | None, Measures]]:
        """The measures of each group of the database connections, of which `names` has one each, in the same way."""
        asked = self.settings
        for part, of_part in some_groups(self.recording, names):
            if part.scratch is not None and len({*of_part}) == 1:  # its columns may lie on disk
                yield of_part[0], Measures(part, think_s=asked.think_s, rtt_is=self._rtt_is, settings=asked)
                continue
            for groups in arranged(part, of_part):
                for one, rtts in groups.rtts(asked.rtt_baseline_ms):
                    rtt = Estimate.of(rtts)
                    of_one = Measures(
                        one.recording, think_s=asked.think_s, rtt_is=self._rtt_is, rtt=rtt, settings=asked
                    )
                    yield one.name, of_one

    @cached_property
    def legs(self) -> Legs | None:
        """Both sides of a proxy, where the capture has them."""
        return joined_legs(self.recording)

    @cached_property
    def application(self) -> Measures:
        """These measures, or those of the application's side where a proxy's other side was captured as well."""
        return self if self.legs is None else _OfApplication(self, self.legs)

    @cached_property
    def statements(self) -> StatementGroups:
        """Return each statement's cost."""
        return group(self.recording, self.timeline)

    @cached_property
    def purposes(self) -> tuple[PurposeResult, ...]:
        """Count round trips by purpose."""
        return tuple(purpose_results(self.recording.exchanges))

    @cached_property
    def errors(self) -> ErrorsResult:
        """Return the server's errors, and the connections that failed at TCP."""
        return with_connections(errors_result(self.evidence), self.recording, self.settings.decode_as)

    @cached_property
    def timing_only(self) -> TimingOnly | None:
        """Return what could not be read."""
        return timing_only(self.recording)

    @cached_property
    def health(self) -> tuple[HealthNote, ...]:
        """List what makes the result less reliable, by severity."""
        legs = self.legs.counts if self.legs else None
        measured = measured_notes(self.recording, self.rtt, self.timeline, self.budget, legs)
        return by_severity((*weighed_notes(self.recording, self.timeline), *measured))

    @cached_property
    def chattiness(self) -> ChattinessGroups:
        """Return what each connection's round trips were made for."""
        return by_connection(self.recording, self.timeline.network_ns)

    def intervals(self, every_s: float | None = None) -> Intervals:
        """RTT, loss, round trips and response times of each interval."""
        return intervals(self.recording, self.rtt, every_s)

    def connections(self) -> Rows[ConnectionResult]:
        """The database connections."""
        is_inner = self.legs.is_inner if self.legs else None
        known = self.doubt is None
        return connection_results(self.recording, self.rtt, self.chattiness, is_inner, knows_network=known)

    @property
    def proxied(self) -> LegRoundTrips | None:
        """The proxy whose other side was left out of these measures."""
        return None

    def what_if(
        self, fixes: Sequence[Fix], rtt_ms: Sequence[float] | None = None, conditions: Conditions | None = None
    ) -> WhatIf | None:
        """The runtimes at each RTT of `rtt_ms` with each of `fixes`, and with all."""
        return what_if(self.application.savings, DEFAULT_LADDER_MS if rtt_ms is None else rtt_ms, fixes, conditions)

    def tasks(self, idle_s: float = IDLE_S, by: TaskBy = "idle") -> Tasks:
        """Return the application's tasks between idle gaps of `idle_s`, or by route."""
        if (idle_s, by) not in self._tasks:
            found = tasks(self.recording, self.rtt, self.timeline.job, idle_s, by)
            if len(found) == 1 and self.basis.job is not None:  # all of the recording: what is projected of that
                found = replace(found, effective_round_trips=np.array([self.basis.effective_round_trips]).round(9))
            self._tasks[idle_s, by] = found
        return self._tasks[idle_s, by]

    def findings(self, rtt_ms: Sequence[float]) -> tuple[FindingResult, ...]:
        """The findings, ranked by what they save at the RTT that sentences speak of."""
        savings = self.application.savings
        told = headline_rtt_ms(rtt_ms, savings.base.baseline_ms)
        return tuple(result for result, _ in finding_results(savings, rtt_ms, told))

    def project(
        self,
        rtt_ms: Sequence[float] | None = None,
        within_s: float | None = None,
        conditions: Conditions | None = None,
    ) -> Projection:
        """Project the runtime onto each RTT of `rtt_ms`."""
        if self.application is not self:
            return self.application.project(rtt_ms, within_s, conditions)
        projected = self._projected(rtt_ms, within_s, conditions)
        fetches_little = any(finding.code == SMALL_FETCH for finding in self.savings.findings())
        self.evidence.forget()
        projection = with_budgets(self.basis, projected())
        if not fetches_little:
            return projection
        findings = self.findings([point.rtt_ms for point in projection.points])
        return replace(projection, fetches=tuple(fetch_savings(findings)))

    def _projected(
        self, rtt_ms: Sequence[float] | None, within_s: float | None, conditions: Conditions | None
    ) -> Callable[[], Projection]:
        """Replayed while the measures and findings are made: it needs none of their columns."""
        work = partial(project, self.basis, rtt_ms, within_s, conditions)
        return run_in_background(work, is_threaded=self.recording.is_worth_threads)

    def network_growth(self, rtt_ms: Sequence[float]) -> dict[float, float]:
        """Return by what factor all waiting for the network grows at each RTT; NaN where that is unknown."""
        points = self.project(rtt_ms).points
        return {point.rtt_ms: growth(self.budget, point.budget) for point in points}

    def project_grid(
        self,
        connections: Sequence[int],
        rtt_ms: Sequence[float] | None = None,
        within_s: float | None = None,
        conditions: Conditions | None = None,
    ) -> ProjectionGrid:
        """Project for several numbers of connections."""
        from latpcap.projection.by_connections import by_connections

        return by_connections(self.application.basis, connections, rtt_ms, within_s, conditions)

    def analyze(
        self,
        rtt_ms: Sequence[float] | None = None,
        within_s: float | None = None,
        conditions: Conditions | None = None,
        cover: Cover | None = None,
    ) -> Analysis:
        """Build the result; what is divided comes last, when what all else was made of needs no room any more.

        `cover` is what a report is given to say of itself.
        """
        if self.application is not self:
            return self._with_connections_of_all(self.application.analyze(rtt_ms, within_s, conditions, cover))
        recording, rtt = self.recording, self.rtt
        projected = self._projected(rtt_ms, within_s, conditions)
        routes = tuple(route_results(recording, self.timeline))
        made_for = chattiness(
            overall(recording, self.chattiness),
            recording.runtime_s,
            self.network_share,
            routes,
            count_tasks(recording, rtt, self.timeline.job),
        )
        over_time = intervals_result(intervals(recording, rtt, beyond=True), recording.runtime_s)
        statements = statement_results(self.statements, recording.start_ns)
        connections, errors, health, purposes = self.connections(), self.errors, self.health, self.purposes
        opened = connecting(recording)
        recording.exchanges.forget()
        self.savings.findings()
        self.evidence.forget()
        projection = with_budgets(self.basis, projected())
        asked = [point.rtt_ms for point in projection.points]
        findings = self.findings(asked)
        projection = replace(projection, fetches=tuple(fetch_savings(findings)))
        captures = tuple(capture_files(recording))
        together = fixes_together(self.savings, asked)
        return Analysis(
            sign_off=sign_off(recording, captures, self.settings, projection, cover),
            captures=captures,
            selection=recording.selected,
            settings=self.settings,
            health=health,
            verdict=verdict(self._facts(projection, findings, together, made_for.round_trips)),
            steps=self._steps(findings),
            summary=self._summary(projection, made_for),
            budget=self.budget,
            waits=self.timeline.waits,
            purposes=purposes,
            connecting=opened,
            timing_only=self.timing_only,
            chattiness=made_for,
            paths=tuple(path_results(recording, rtt)),
            segments=segments(recording),
            taps=tuple(taps_results(recording)),
            connections=connections,
            statements=statements,
            routes=routes,
            errors=errors,
            intervals=over_time,
            findings=findings,
            unjudged=self.savings.unjudged,
            fixes_together=together,
            projection=projection,
        )

    def _with_connections_of_all(self, found: Analysis) -> Analysis:
        """Return `found` with the paths, segments, taps and connections on both sides of a proxy."""
        return replace(
            found,
            paths=tuple(path_results(self.recording, self.rtt)),
            segments=segments(self.recording),
            taps=tuple(taps_results(self.recording)),
            connections=self.connections(),
        )

    @property
    def network_share(self) -> float | None:
        """The part of the runtime that waited for the network; `None` where it cannot be told."""
        return self._share(self.timeline.waits.shared_s) if self._is_told else None

    @property
    def _is_told(self) -> bool:
        known = self.basis.job is not None and self.doubt is None
        return known and self.timeline.runtime_s > 0

    def _share(self, seconds: float) -> float:
        return min(seconds / self.timeline.runtime_s, 1.0)

    def _summary(self, projection: Projection, made_for: Chattiness) -> Summary:
        waits, told = self.timeline.waits, self._is_told
        low, high = (self._share(seconds) if told else None for seconds in waits.range_s)
        return Summary(
            runtime_s=self.timeline.runtime_s,
            connections=len(self.recording.database_rows),
            exchanges=len(self.recording.exchanges),
            round_trips=made_for.round_trips,
            effective_round_trips=self.basis.effective_round_trips,
            baseline_rtt_ms=projection.baseline_rtt_ms,
            network_s=waits.shared_s if told else None,
            network_share=made_for.network_share,
            network_share_low=low,
            network_share_high=high,
            seconds_per_ms=projection.seconds_per_ms,
        )

    def _facts(
        self, projection: Projection, findings: Sequence[FindingResult], together: FixesTogether | None, trips: int
    ) -> Facts:
        return Facts(
            base=self.basis,
            parties=parties(self.recording),
            connections=len(self.recording.database_rows),
            findings=findings,
            steps=self._steps(findings),
            fixes_together=together,
            budget=self.timeline.budget,
            waits=self.timeline.waits,
            round_trips=trips,
            purposes=self.purposes,
            projection=projection,
            health=self.health,
            errors=self.errors,
            doubt=self.doubt,
            timing_only=self.timing_only,
            proxied=self.proxied,
            locks=self.evidence.lock_waits,
            pushes=push_waits(self.recording, self.timeline),
            rests=self.rests,
            files=[path for path in columns.texts(self.recording.captures_table, "path") if path],
        )

    def _steps(self, findings: Sequence[FindingResult]) -> tuple[Step, ...]:
        return steps(findings, self.health, self.evidence.lock_waits, self.timeline.budget)

    @property
    def budget(self) -> Budget:
        """The parts of the runtime; one response is not divided."""
        budget = self.timeline.budget
        if self.doubt not in (ShareUnknown.FEW_RESPONSES, ShareUnknown.NO_RESPONSE):
            return budget
        own, setup_s = self.timeline.parts_s, self.timeline.parts_s["setup"]
        unknown_s = own["unknown"] + own["network"] + own["service"]
        return replace(budget, network_s=0.0, service_s=0.0, setup_s=setup_s, unknown_s=unknown_s)

    @cached_property
    def doubt(self) -> ShareUnknown | None:
        """Why the network's share cannot be told, though an RTT is known."""
        if self.recording.clock_stepped_s > MAX_CLOCK_STEP_SHARE * self.timeline.runtime_s:
            return ShareUnknown.CLOCK
        seen = responses(self.recording)
        if seen >= MIN_RESPONSES or (self.baselines.reason == Reason.GIVEN).all():
            return None
        return ShareUnknown.FEW_RESPONSES if seen else ShareUnknown.NO_RESPONSE


class _OfApplication(Measures):
    """The measures of what an application asks a proxy, of which the other side was captured, too."""

    def __init__(self, whole: Measures, legs: Legs) -> None:
        """Measure the application's connections of `whole`: where the proxy passes them on, over both networks."""
        asked, rtt_is = whole.settings, whole.basis.as_usual.rtt_is
        recording, rtt = application(whole.recording, whole.rtt, legs, asked.rtt_baseline_ms)
        super().__init__(recording, think_s=asked.think_s, rtt_is=rtt_is, rtt=rtt, settings=asked)
        self._whole, self._legs = whole, legs

    @property
    def application(self) -> Measures:
        """It is all of the application."""
        return self

    @property
    def proxied(self) -> LegRoundTrips | None:
        """The proxy."""
        return replace(self._legs.counts, is_far=self.rtt.beyond is not None and self.rtt.beyond.any_far)

    @property
    def legs(self) -> None:
        """The other side is no part of it."""

    @property
    def health(self) -> tuple[HealthNote, ...]:
        """That of the whole."""
        return self._whole.health


def _keys_used(recording: Recording) -> KeysUsed | None:
    """Return what keys did, if any were given."""
    readings = tls_readings(recording)
    if not set(readings) - {"no-keys"}:
        return None
    return KeysUsed(connections=sum(readings.values()), opened=readings.get("decrypted", 0))


def fetch_savings(findings: Iterable[FindingResult]) -> Iterator[FetchSaving]:
    """The findings about small fetches, in short."""
    for finding in findings:
        if finding.code == SMALL_FETCH and finding.saved_s:
            yield FetchSaving(
                statement=finding.statement or "(unknown statement)",
                fetches=finding.facts["fetches"],
                rows=finding.facts["rows"],
                rows_per_fetch=finding.facts["rows_per_fetch"],
                round_trips_saved=finding.round_trips_saved,
                rows_per_fetch_after=finding.facts["rows_per_fetch_after"],
                saved_s=finding.saved_s,
            )
