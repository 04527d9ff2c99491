"""The runtime at another RTT, as the job is or with fixes made, and how sure that is.

The replay computes anew what the network takes; think time, client time and service stay as observed, and so the
projection at the baseline is the observation. The range comes from assumptions with names, for each kind of work;
docs/model.md C.4 and C.6 say how they were calibrated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from latpcap.display import Plottable
from latpcap.measures.budget import Budget
from latpcap.projection.assumptions import (
    CENTRAL,
    Assumption,
    Conditions,
    assumptions,
    ends,
)
from latpcap.projection.basis import AS_IT_IS, MAX_SAME_RATIO, OBSERVED, Basis, Variant, is_same_rtt, ratio
from latpcap.projection.budget_elsewhere import HostSaving, budgets_there, host_saving
from latpcap.projection.capacity import Limit
from latpcap.projection.classes import Coverage, Work, coverage, coverage_text
from latpcap.tables.columnar.table import Table, Tabular
from latpcap.units import counted, format_given_ms, format_ms, format_s, significant

Floats = NDArray[np.float64]

DEFAULT_LADDER_MS = (0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 50.0, 100.0)

TYPICAL_RTT_MS = 15.0
"""The RTT that sentences speak of where none was asked for: two sites of one country."""
CLEARLY_FARTHER_RATIO = 1.35
"""An RTT is clearly farther if it is at least this multiple of the capture's."""

MAX_RELIABLE_SPREAD = 0.25
"""A range that reaches farther to either side, as a share of the runtime, is not reliable."""

MAX_RTT_MS = 60_000.0
"""The search for a latency budget ends here."""


class BudgetsOnDemand:
    """The time budget at one of several RTTs: all are divided when somebody asks for the first."""

    def __init__(self, divide: Callable[[], list[Budget]], place: int) -> None:
        """`divide` returns those of all, and knows them from then on."""
        self._divide, self._place = divide, place

    @property
    def budget(self) -> Budget:
        """There."""
        return self._divide()[self._place]

    def __reduce__(self) -> tuple[Any, ...]:
        return _that_are, (self._divide(), self._place)

    def __eq__(self, other: object) -> bool:
        """Both have equal parts."""
        return isinstance(other, BudgetsOnDemand) and self.budget == other.budget

    def __hash__(self) -> int:
        return hash(self.budget)

    def __repr__(self) -> str:
        return "…"


def _that_are(budgets: list[Budget], place: int) -> BudgetsOnDemand:
    return BudgetsOnDemand(lambda: budgets, place)


class Point(Struct, frozen=True):
    """The runtime at one RTT; optimistic_s ≤ runtime_s ≤ pessimistic_s, `None` where the baseline is unknown."""

    json_fields: ClassVar = (
        *("rtt_ms", "runtime_s", "optimistic_s", "pessimistic_s", "throughput_per_s", "factor"),
        *("method", "work", "coverage", "budget"),
    )

    rtt_ms: float
    runtime_s: float | None
    optimistic_s: float | None
    pessimistic_s: float | None
    throughput_per_s: float | None
    """Statements per second of runtime."""
    factor: float | None = None
    """Runtime there ÷ runtime of the capture."""
    method: str = OBSERVED
    """How it came about: `observed` (the capture itself, or its RTT), `replayed`, or `limited by` what bounds it."""
    work: Work | None = None
    """The kind of work that the job is."""
    coverage: Coverage | None = None
    """How often projections of such work in this direction held; `None` where that was not measured."""
    budgets: BudgetsOnDemand | None = None

    @property
    def of_capture(self) -> str:
        """The sentence where it is that of the capture; else empty."""
        return f"{format_given_ms(self.rtt_ms)} is the RTT of the capture" if self.method == OBSERVED else ""

    @property
    def budget(self) -> Budget | None:
        """The time budget there: the parts sum to `runtime_s`."""
        return None if self.budgets is None else self.budgets.budget


_FLOAT, _TEXT = DataType.float64(), DataType.string()
POINT = dict.fromkeys(("rtt_ms", "runtime_s", "optimistic_s", "pessimistic_s", "throughput_per_s", "factor"), _FLOAT)
POINT |= dict.fromkeys(("method", "work"), _TEXT)
"""The columns of a projection as a table."""


class LatencyBudget(Struct, frozen=True):
    """The largest RTT that still meets a target runtime."""

    target_s: float
    rtt_ms: float | None
    """`None` where no RTT meets it, or every RTT does."""
    text: str


class FetchSaving(Struct, frozen=True):
    """A statement that fetches few rows at a time: the small-fetch finding in short."""

    statement: str
    fetches: int
    rows: int
    rows_per_fetch: int
    """The median."""
    round_trips_saved: int
    rows_per_fetch_after: int
    saved_s: Mapping[str, float]
    """By the asked RTT in ms."""

    def text(self, rtt_ms: float) -> str:
        """Savings of the larger fetch at one of the asked RTTs.

        >>> FetchSaving("select a from t", 20, 200, 10, 19, 1000, {"5": 0.1}).text(5)
        '20 fetches return 200 rows, usually 10 each; 1,000 rows per fetch would save 19 round trips: 0.100 s at 5 ms.'
        """
        return (
            f"{counted(self.fetches, 'fetch', 'fetches')} return {counted(self.rows, 'row')}, "
            f"usually {self.rows_per_fetch:,} each; {self.rows_per_fetch_after:,} rows per fetch "
            f"would save {counted(self.round_trips_saved, 'round trip')}: "
            f"{format_s(self.saved_s[f'{rtt_ms:g}'])} at {format_given_ms(rtt_ms)}."
        )


class Projection(Plottable, Tabular, Struct, frozen=True):
    """The runtimes at the asked RTTs, in the asked order; as a table (`to_pandas()`, …) with a row for each."""

    baseline_rtt_ms: float | None
    points: tuple[Point, ...]
    seconds_per_ms: float | None
    """Cost of the next millisecond of RTT where the job was captured."""
    within: LatencyBudget | None = None
    fetches: tuple[FetchSaving, ...] = ()
    """Statements that fetch few rows at a time, and what larger fetches would save."""
    assumptions: tuple[Assumption, ...] = ()
    conditions: Conditions = field(default_factory=Conditions)
    headline_rtt_ms: float | None = None
    """The one of `points` that sentences speak of: the verdict, the findings, what all fixes save."""
    headline_seconds_per_ms: float | None = None
    """Cost of the next millisecond of RTT at `headline_rtt_ms`; `None` with fixes."""
    now: Point | None = None
    """The capture itself, at its baseline RTT."""
    range_text: str = ""
    """Meaning of the range, and how often it held."""
    guess_text: str = ""
    """Advice where a point at a shorter RTT is mostly guesswork; else empty."""
    budget_now: Budget | None = None
    """The time budget now, and at `headline_rtt_ms`: the parts sum to the runtime that is projected."""
    headline_budget: Budget | None = None
    hosts: HostSaving | None = None
    """Effect of other hosts at `headline_rtt_ms`, where they were asked for."""
    capacity_per_s: float | None = None
    """Answers that the hosts can give in a second, where another number of connections was asked for and the capture
    shows that limit."""
    limit: Limit | None = None
    """The limit of the connections, where another number of them was asked for."""

    def table(self) -> Table:
        """One row a point: `rtt_ms`, `runtime_s` and its range, throughput, `factor` (÷ today's), method, work."""
        return Table(ArrowTable.from_pydict({name: self._column(name, kind) for name, kind in POINT.items()}), "points")

    def _column(self, name: str, kind: DataType) -> Array:
        return Array([getattr(point, name) for point in self.points], kind)


def project(
    base: Basis,
    rtt_ms: Sequence[float] | None = None,
    within_s: float | None = None,
    conditions: Conditions | None = None,
) -> Projection:
    """Project `base` onto each RTT of `rtt_ms` (default: a ladder), and find the RTT that meets `within_s`."""
    return projections(base, [AS_IT_IS], rtt_ms, within_s, conditions)[0]


def with_budgets(base: Basis, projection: Projection) -> Projection:
    """Add the time budgets to `projection`."""
    known = [(point, point.runtime_s) for point in projection.points if point.runtime_s is not None]
    if not known:
        return projection
    at, runtimes_s = [point.rtt_ms for point, _ in known], [runtime_s for _, runtime_s in known]
    conditions, told = projection.conditions, projection.headline_rtt_ms
    of_told = {}
    if told is not None:
        [of_told[told]] = budgets_there(base, [told], [runtimes_s[at.index(told)]], conditions)

    @cache
    def divide() -> list[Budget]:
        others = {rtt: runtime_s for rtt, runtime_s in zip(at, runtimes_s, strict=True) if rtt not in of_told}
        rest = budgets_there(base, [*others], [*others.values()], conditions) if others else ()
        found = dict(zip(others, rest, strict=True)) | of_told
        return [found[rtt] for rtt in at]

    points = tuple(replace(point, budgets=BudgetsOnDemand(divide, place)) for place, (point, _) in enumerate(known))
    projection = replace(projection, points=points)
    if told is None:
        return projection
    hosts = _hosts(base, told, runtimes_s[at.index(told)], of_told[told].network_s, conditions)
    return replace(projection, budget_now=base.timeline.budget, headline_budget=of_told[told], hosts=hosts)


def _hosts(base: Basis, rtt_ms: float, runtime_s: float, network_s: float, conditions: Conditions) -> HostSaving | None:
    """Effect of other hosts, where they were asked for."""
    if (conditions.client_time, conditions.service_time) == (None, None):
        return None
    same = replace(conditions, client_time=None, service_time=None)
    [[[as_is_s]]] = base.runtimes_of([(AS_IT_IS, [rtt_ms])], [CENTRAL], same)
    return host_saving(conditions, rtt_ms, float(as_is_s), runtime_s, network_s)


def central_s(base: Basis, rtt_ms: float) -> float | None:
    """The runtime at one RTT alone, without its range; `None` where no baseline is known."""
    if base.job is None:
        return None
    [[runtimes]] = base.runtimes_of([(AS_IT_IS, [rtt_ms])], [CENTRAL])
    return float(runtimes[0])


def projections(
    base: Basis,
    variants: Sequence[Variant],
    rtt_ms: Sequence[float] | None = None,
    within_s: float | None = None,
    conditions: Conditions | None = None,
) -> list[Projection]:
    """Project several variants of the job, each with its own range."""
    asked = [float(rtt) for rtt in (DEFAULT_LADDER_MS if rtt_ms is None else rtt_ms)]
    conditions = conditions or base.as_usual
    if base.job is None:
        unknown = tuple(Point(rtt, None, None, None, None) for rtt in asked)
        within = None if within_s is None else _unknown_budget(within_s)
        why = assumptions(None)
        return [Projection(None, unknown, None, within, assumptions=why, conditions=conditions) for _ in variants]
    told = headline_rtt_ms(asked, base.baseline_ms)
    limit = base.limit(conditions, base.baseline_ms if told is None else told)
    chosen = [told] if tuple(asked) == DEFAULT_LADDER_MS else asked
    there_s = None if told is None else _next_ms_s(base, asked, told, conditions)
    found = ranges(base, [(variant, asked) for variant in variants], conditions)
    made = []
    for variant, runtimes in zip(variants, found, strict=True):
        points = _points(asked, runtimes, base, variant, base.different(conditions))
        made.append(
            Projection(
                baseline_rtt_ms=base.baseline_ms,
                points=points,
                seconds_per_ms=base.next_ms_s(variant, conditions),
                headline_seconds_per_ms=None if variant.changes else there_s,
                within=None if within_s is None else _latency_budget(base, variant, within_s, conditions),
                conditions=conditions,
                headline_rtt_ms=told,
                now=_now(base),
                assumptions=assumptions(base.work, base.clocks, relayed=base.relayed),
                range_text=_range_text(base, told),
                guess_text=guess_text([point for point in points if point.rtt_ms in chosen], base.baseline_ms),
                capacity_per_s=limit.per_s if limit is not None and limit.kind == "hosts" else None,
                limit=_between(limit, points, told, base.unrecorded_s),
            )
        )
    return made


def _range_text(base: Basis, told: float | None) -> str:
    """Return how often the range held at RTTs on that side of the captured one; nothing at the captured one itself."""
    if told is None or is_same_rtt(told, base.baseline_ms):
        return ""
    return coverage_text(base.work, "longer" if told > base.baseline_ms else "shorter")


def _next_ms_s(base: Basis, asked: Sequence[float], told: float, conditions: Conditions) -> float:
    """Return what the next millisecond adds at the RTT that sentences speak of; what is `asked` is replayed with it.

    Beside the RTT of the capture it is what the next millisecond adds there: the difference between a replay and the
    observed runtime is no slope.
    """
    if base.is_observed(conditions, told) or base.is_observed(conditions, told + 1):
        return base.next_ms_s(AS_IT_IS, conditions)
    [[runtimes]] = base.runtimes_of([(AS_IT_IS, [*asked, base.baseline_ms, told + 1])], [CENTRAL], conditions)
    farther_s = runtimes[-1]
    if conditions.moved:
        [[[farther_s]]] = base.runtimes_of([(AS_IT_IS, [told + 1])], [CENTRAL], conditions.farther(1.0))
    return float(farther_s - runtimes[asked.index(told)])


def ranges(
    base: Basis, asked: Sequence[tuple[Variant, Sequence[float]]], conditions: Conditions | None = None
) -> list[tuple[Floats, Floats, Floats]]:
    """The runtimes of each variant at its RTTs: central, optimistic, pessimistic."""
    [central] = base.runtimes_of(asked, [CENTRAL], conditions)
    low, high = list(central), list(central)
    for way in base.runtimes_of(asked, ends(base.work, relayed=base.relayed), conditions):
        low = [np.fmin(least, runtimes) for least, runtimes in zip(low, way, strict=True)]
        high = [np.fmax(most, runtimes) for most, runtimes in zip(high, way, strict=True)]
    conditions = base.different(conditions)
    found = zip(asked, zip(central, low, high, strict=True), strict=True)
    return [
        runtimes if variant.changes else _observed_here(base, np.asarray(rtt_ms, float), runtimes, conditions)
        for (variant, rtt_ms), runtimes in found
    ]


def _observed_here(
    base: Basis, rtt_ms: Floats, runtimes: tuple[Floats, Floats, Floats], conditions: Conditions
) -> tuple[Floats, Floats, Floats]:
    """Bound the range of the job as it is by what was observed.

    Nobody is faster where the RTT is longer. Where nothing but the RTT is different, and that of the capture was
    measured, nobody is slower where it is shorter, and what is assumed of another RTT counts the less, the nearer that
    is to the capture's own.
    """
    central, low, high = runtimes
    if conditions.only_slows:
        surely_longer = rtt_ms >= base.longest_ms
        low = np.where(surely_longer, np.clip(max(base.runtime_s, base.here_s), low, central), low)
    if conditions.is_rtt_alone and base.is_measured:
        longer = rtt_ms >= base.baseline_ms
        away = np.clip(
            (ratio(rtt_ms, base.baseline_ms) - MAX_SAME_RATIO) / (CLEARLY_FARTHER_RATIO - MAX_SAME_RATIO), 0, 1
        )
        low = np.where(longer, low, central - away * (central - low))
        high = np.where(longer, central + away * (high - central), np.clip(base.here_s, central, high))
    return central, low, high


def saved_range(
    base: Basis, variant: Variant, rtt_ms: Sequence[float], conditions: Conditions | None = None
) -> tuple[Floats, Floats]:
    """The least and the most that a variant saves of the job as it is at each RTT, in seconds, over all cases.

    A client that may keep to a clock is taken to have none: with one, the job takes as long without the fix, too.
    """
    if variant.ends is None:
        return np.zeros(len(rtt_ms)), np.zeros(len(rtt_ms))
    [[as_is, likely]] = base.runtimes_of([(AS_IT_IS, rtt_ms), (variant, rtt_ms)], [CENTRAL], conditions)
    low = high = as_is - likely
    hosts_s, different = [], base.different(conditions)
    observed = np.array([base.is_observed(different, rtt) for rtt in rtt_ms])
    for end, case in zip(variant.ends, ends(base.work, relayed=base.relayed), strict=True):
        [[fixed]] = base.runtimes_of([(end, rtt_ms)], [CENTRAL], conditions)
        hosts_s.append(likely - fixed)  # what the hosts' time is there beyond what is likely
        for there, made in base.runtimes_of([(AS_IT_IS, rtt_ms), (end, rtt_ms)], [case.without_clocks()], conditions):
            saved = np.where(observed, as_is, there) - made - hosts_s[-1]
            low, high = np.fmin(low, saved), np.fmax(high, saved)
    most_s, least_s = hosts_s
    low, high = low + np.minimum(least_s, 0), high + np.maximum(most_s, 0)
    return np.clip(low, 0.0, as_is), np.clip(high, 0.0, as_is)


def guess_text(points: Sequence[Point], baseline_rtt_ms: float) -> str:
    """A warning where a projection downwards says little, of the lowest RTT; empty where none does.

    >>> guess_text([Point(0.5, 1.0, 0.6, 1.4, None), Point(2.0, 2.0, 1.9, 2.1, None)], 15.0)
    'At 0.5 ms, less than the captured RTT, the projection is a rough estimate (0.600 s to 1.40 s).'
    >>> guess_text([Point(2.0, 2.0, 1.9, 2.1, None)], 15.0)
    ''
    """
    guesses = [point for point in points if point.rtt_ms < baseline_rtt_ms and _is_guess(point)]
    if not guesses:
        return ""
    least = min(guesses, key=lambda point: point.rtt_ms)
    runtimes = f"{format_s(least.optimistic_s or 0)} to {format_s(least.pessimistic_s or 0)}"
    rtt = format_given_ms(least.rtt_ms)
    return f"At {rtt}, less than the captured RTT, the projection is a rough estimate ({runtimes})."


def _is_guess(point: Point) -> bool:
    """The own time of client and server and the jitter of a slow capture are more than what is left of the network."""
    if point.runtime_s is None or point.optimistic_s is None or point.pessimistic_s is None:
        return False
    return point.pessimistic_s - point.optimistic_s > 2 * MAX_RELIABLE_SPREAD * point.runtime_s


def headline_rtt_ms(rtt_ms: Sequence[float], baseline_ms: float) -> float | None:
    """The RTT that sentences speak of: the largest asked for.

    On the default ladder it is a typical distance, or the next one that is clearly farther than the capture's; where
    the ladder ends before that, the typical one, which is nearer. `CLEARLY_FARTHER_RATIO` lies between round RTTs, so
    that what is measured of one (14.97 or 15.01 ms) does not decide.

    >>> headline_rtt_ms([1, 80, 3], 0.5)
    80
    >>> [headline_rtt_ms(DEFAULT_LADDER_MS, baseline) for baseline in (0.5, 108)]
    [15.0, 15.0]
    >>> [headline_rtt_ms(DEFAULT_LADDER_MS, baseline) for baseline in (9.9, 10.1, 14.97, 15.01, 30, 50)]
    [15.0, 15.0, 30.0, 30.0, 50.0, 100.0]
    """
    if tuple(rtt_ms) != DEFAULT_LADDER_MS:
        return max(rtt_ms, default=None)
    least = max(TYPICAL_RTT_MS, CLEARLY_FARTHER_RATIO * baseline_ms)
    return next((rtt for rtt in rtt_ms if rtt >= least), TYPICAL_RTT_MS)


def _points(
    asked: Sequence[float],
    runtimes: tuple[Floats, Floats, Floats],
    base: Basis,
    variant: Variant,
    conditions: Conditions,
) -> tuple[Point, ...]:
    measured = variant.changes is None and conditions.is_rtt_alone
    there = zip(asked, *(map(float, each) for each in runtimes), strict=True)
    return tuple(
        replace(
            _point(base, base.statements - variant.statements, *figures),
            method=base.method(conditions, figures[0], figures[1]),
            coverage=None if not measured or base.is_observed(conditions, figures[0]) else _coverage(base, figures[0]),
        )
        for figures in there
    )


def _between(limit: Limit | None, points: Sequence[Point], told: float | None, unrecorded_s: float) -> Limit | None:
    """Add the range of the throughput where no limit is known."""
    point = next((point for point in points if point.rtt_ms == told), None)
    if limit is None or limit.kind != "none" or point is None:
        return limit
    low, high = (per_s(point, end_s, unrecorded_s) for end_s in (point.pessimistic_s, point.optimistic_s))
    if low is None or high is None:
        return limit
    rates = f"between {significant(low)} and {significant(high)} statements a second"
    at = format_given_ms(point.rtt_ms)
    return replace(limit, text=f"{limit.text} At {at} that is {rates}; a capture with more connections narrows it.")


def per_s(point: Point, runtime_s: float | None, unrecorded_s: float) -> float | None:
    """The throughput where the work of a point takes `runtime_s`."""
    if point.throughput_per_s is None or point.runtime_s is None or runtime_s is None or runtime_s <= unrecorded_s:
        return None
    return point.throughput_per_s * (point.runtime_s - unrecorded_s) / (runtime_s - unrecorded_s)


def _coverage(base: Basis, rtt_ms: float) -> Coverage | None:
    """At the baseline nothing is projected."""
    if rtt_ms == base.baseline_ms:
        return None
    return coverage(base.work, "longer" if rtt_ms > base.baseline_ms else "shorter")


def _now(base: Basis) -> Point:
    return _point(base, base.statements, base.baseline_ms, base.runtime_s, base.runtime_s, base.runtime_s)


def _point(base: Basis, statements: int, rtt_ms: float, runtime_s: float, least_s: float, most_s: float) -> Point:
    recorded_s = runtime_s - base.unrecorded_s
    throughput = statements / recorded_s if recorded_s > 0 else None
    factor = runtime_s / base.runtime_s if base.runtime_s > 0 else None
    return Point(rtt_ms, runtime_s, least_s, most_s, throughput, factor, work=base.work)


def _unknown_budget(target_s: float) -> LatencyBudget:
    text = f"The RTT that meets {format_given_ms(1000 * target_s)} is unknown, because the baseline RTT is unknown."
    return LatencyBudget(target_s, None, text)


def _latency_budget(base: Basis, variant: Variant, target_s: float, conditions: Conditions) -> LatencyBudget:
    """Solve the central projection for the RTT."""
    target = format_given_ms(1000 * target_s)
    conditions = replace(conditions, moved=conditions.following) if conditions.others_stay else conditions

    def runtime_s(rtt_ms: float) -> float:
        [[runtimes]] = base.runtimes_of([(variant, [rtt_ms])], [CENTRAL], conditions)
        return float(runtimes[0])

    if runtime_s(0.0) > target_s:
        text = f"{target} cannot be met: without any network the job still takes {format_s(runtime_s(0.0))}."
        return LatencyBudget(target_s, None, text)
    if runtime_s(MAX_RTT_MS) <= target_s:
        return LatencyBudget(target_s, None, f"{target} is met at any RTT: the job does not wait for the network.")
    rtt_ms = _last_below(runtime_s, target_s, 0.0, MAX_RTT_MS)
    return LatencyBudget(target_s, rtt_ms, f"{target} is met up to an RTT of {format_ms(rtt_ms)}.")


def _last_below(value: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Find where a function that rises between `low` and `high` meets `target` (regula falsi, Illinois)."""
    below, above, side = value(low) - target, value(high) - target, 0
    while high - low > 1e-6 * high:
        middle = high - above * (high - low) / (above - below)
        here = value(middle) - target
        if abs(here) <= 1e-9 * target:
            return middle
        if here < 0:
            low, below, above, side = middle, here, above / 2 if side < 0 else above, -1
        else:
            high, above, below, side = middle, here, below / 2 if side > 0 else below, 1
    return low
