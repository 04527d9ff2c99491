"""The job with any of the fixes made, at any RTT, all from the replay, for a page with a slider and switches.

Up to `MAX_SWITCHES` fixes are replayed in every combination; where there are more, or where that would take too long,
one fix at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.findings.finding import Effect
from latpcap.findings.savings import FixSet, Saving, Savings
from latpcap.measures.budget import Budget
from latpcap.measures.statements import StatementGroups
from latpcap.projection.assumptions import Conditions
from latpcap.projection.basis import Basis, Variant
from latpcap.projection.budget_elsewhere import budget_with, budgets_there
from latpcap.projection.curve import INITIAL_POINTS, MAX_ERROR, Curve, bends, curves
from latpcap.tables.columnar.values import Fractions, Numbers, Rows, TableColumn

Floats = NDArray[np.float64]

MAX_SWITCHES = 6
"""Fixes that are replayed in every combination: 64 of them."""
MAX_REPLAYED = 5e8
"""Turns that may be replayed for that: some 20 s of a processor's time."""
POINTS_PER_CURVE = 40
"""About this many points are drawn of a curve."""
REPLAYS_PER_POINT = 9
"""Central, three ways of waiting at each end of the range, and two for the parts."""


class StatementPart(Struct, frozen=True):
    """The part of a statement that a fix removes, by its place among all."""

    statement: int
    round_trips: float
    network_s: float
    service_s: float


class Switch(Struct, frozen=True):
    """One fix, with all its findings."""

    fix: str
    title: str
    findings: tuple[int, ...]
    """Places of its findings."""
    round_trips: int
    needs: tuple[str, ...]
    suggestion: bool
    statements: Sequence[StatementPart]
    """In the order of the statements."""


class FixedJob(Struct, frozen=True):
    """The job with some fixes made."""

    fixes: tuple[int, ...]
    """Places of the switches that are on."""
    curve: Curve
    statements: int
    """Executions that are still needed."""
    seconds_per_ms: float
    parts: dict[str, tuple[float, ...]]
    """The budget at each RTT of the curve: the parts sum to its runtime."""
    taken_network_s: float
    """The captured network time of those that are left."""


class Switches(Struct, frozen=True):
    """All that can be chosen; without a baseline RTT, nothing."""

    switches: tuple[Switch, ...]
    combined: bool
    """Every combination is there; otherwise one fix at a time."""
    jobs: tuple[FixedJob, ...]
    """The job as it is comes first."""


def switches(
    savings: Savings,
    listed: Sequence[Saving],
    statements: StatementGroups,
    low_ms: float,
    high_ms: float,
    asked_ms: Sequence[float],
    conditions: Conditions,
) -> Switches:
    """Replay what can be chosen between two RTTs; `asked_ms` are among the points of every curve."""
    base = savings.base
    if base.job is None:
        return Switches((), combined=True, jobs=())
    fixes = list(dict.fromkeys(each.finding.fix_name for each in listed if _saves(each)))
    made = [savings.fix_set([fix]) for fix in fixes]
    combined = _affordable(base, len(fixes))
    chosen = list(_combinations(len(fixes), combined))
    sets = [savings.fix_set([fixes[place] for place in places]) for places in chosen]
    with base.keeping():
        found = curves(base, [each.variant for each in sets], low_ms, high_ms, asked_ms, conditions)
    removal = Removal(savings, statements)
    return Switches(
        switches=tuple(_switch(fix, one, listed, removal) for fix, one in zip(fixes, made, strict=True)),
        combined=combined,
        jobs=tuple(
            _job(base, conditions, places, each, curve, asked_ms)
            for places, each, curve in zip(chosen, sets, found, strict=True)
        ),
    )


def _saves(saving: Saving) -> bool:
    return bool(saving.finding.fix_name) and (saving.round_trips > 0 or bool((saving.saved_s > 0).any()))


def _affordable(base: Basis, fixes: int) -> bool:
    assert base.job is not None
    turns = base.job.exchanges + base.job.connections
    return fixes <= MAX_SWITCHES and 2**fixes * POINTS_PER_CURVE * REPLAYS_PER_POINT * turns <= MAX_REPLAYED


def _combinations(count: int, combined: bool) -> Iterator[tuple[int, ...]]:
    for size in range(count + 1 if combined else min(count, 1) + 1):
        yield from combinations(range(count), size)


def _switch(fix: str, made: FixSet, listed: Sequence[Saving], removal: Removal) -> Switch:
    mine = [place for place, each in enumerate(listed) if each.finding.fix_name == fix]
    first = listed[mine[0]].finding
    return Switch(
        fix=fix,
        title=first.title if len(mine) == 1 else f"{first.title}, and {len(mine) - 1} more",
        findings=tuple(mine),
        round_trips=made.round_trips_saved,
        needs=made.needs([fix]),
        suggestion=first.suggestion,
        statements=removal.of_statements(made),
    )


def _job(
    base: Basis,
    conditions: Conditions,
    places: tuple[int, ...],
    made: FixSet,
    curve: Curve,
    asked_ms: Sequence[float],
) -> FixedJob:
    parts = _divided(base, conditions, made.variant, curve, asked_ms)
    return FixedJob(
        fixes=places,
        curve=curve,
        statements=base.statements - made.variant.statements,
        seconds_per_ms=base.figures(made.variant).seconds_per_ms,
        parts=dict(zip(Budget.__struct_fields__, map(tuple, parts), strict=True)),
        taken_network_s=budget_with(base, made.variant).network_s,
    )


def _divided(
    base: Basis, conditions: Conditions, variant: Variant, curve: Curve, asked_ms: Sequence[float]
) -> list[list[float]]:
    """The parts at each RTT of the curve.

    They are divided at the RTTs that were asked for and where they bend; between, straight lines sum to the runtime.
    """
    rtt, runtime = np.array(curve.rtt_ms), np.array(curve.runtime_s)
    spread = np.searchsorted(rtt, np.geomspace(rtt[0], rtt[-1], INITIAL_POINTS)[1:-1])
    new = np.unique((0, len(rtt) - 1, *spread, *np.flatnonzero(np.isin(rtt, asked_ms))))
    known: dict[int, tuple[float, ...]] = {}
    while len(new):
        there = _there(base, conditions, variant, rtt[new], runtime[new])
        known.update((place, tuple(at.parts().values())) for place, at in zip(new, there, strict=True))
        places = np.array(sorted(known))
        columns = np.array([known[place] for place in places]).T
        middle = (places[:-1] + places[1:]) // 2
        between = middle[bends(rtt[places], columns, runtime[places] / 2) & (middle > places[:-1])]
        off = np.abs(np.interp(rtt, rtt[places], runtime[places]) - runtime) > MAX_ERROR / 4 * runtime
        new = np.union1d(between, np.flatnonzero(off))
    found = np.array([np.interp(rtt, rtt[places], column) for column in columns])
    between = np.setdiff1d(np.arange(len(rtt)), places)
    total = found[:, between].sum(axis=0)
    found[:, between] *= np.divide(runtime[between], total, out=np.ones_like(total), where=total > 0)
    divided: list[list[float]] = found.tolist()
    return divided


def _there(
    base: Basis, conditions: Conditions, variant: Variant, rtt_ms: Floats, runtime_s: Floats
) -> Iterator[Budget]:
    """The budget at each RTT; where only some servers move, each is a condition of its own."""
    if not conditions.others_stay:
        yield from budgets_there(base, rtt_ms.tolist(), runtime_s.tolist(), conditions, variant)
        return
    for rtt, runtime in zip(rtt_ms.tolist(), runtime_s.tolist(), strict=True):
        yield from budgets_there(base, [rtt], [runtime], conditions.at(rtt), variant)


class Removal:
    """The parts of statements that fixes remove, by their effects."""

    def __init__(self, savings: Savings, statements: StatementGroups) -> None:
        """Look up what each exchange waited."""
        self.round_trips = savings.evidence.exchanges.round_trips
        self.timeline = savings.evidence.timeline
        self.statements = statements

    def of_statements(self, made: FixSet) -> Rows[StatementPart]:
        """One part for each statement that loses something, in their order."""
        count = len(self.statements)
        trips, network, service = np.zeros((3, count))
        for effect in made.effects:
            rows, share = self._rows(effect)
            places, waits = self.statements.of_exchange[rows], self.round_trips[rows]
            trips += np.bincount(places, share * waits, count)
            network += np.bincount(places, share * self.timeline.network_ns[rows], count) / 1e9
            service += np.bincount(places, share * effect.takes.service * self.timeline.service_ns[rows], count) / 1e9
        losing: NDArray[np.int64] = np.flatnonzero((trips > 0) | (service > 0))
        columns: dict[str, TableColumn[Any]] = {"statement": Numbers(losing)}
        for name, lost in (("round_trips", trips), ("network_s", network), ("service_s", service)):
            columns[name] = Fractions(lost[losing])
        return Rows(columns, StatementPart)

    def _rows(self, effect: Effect) -> tuple[NDArray[np.int64], Floats]:
        """The exchanges that an effect touches, and which part of each goes."""
        share = effect.saved / np.maximum(self.round_trips[effect.rows], 1)
        return np.concatenate((effect.rows, effect.dependents)), np.concatenate(
            (share, np.ones(len(effect.dependents)))
        )
