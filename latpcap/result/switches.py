"""What a page with a slider and switches shows: the job with any of the fixes made, at any RTT, all from the replay.

Up to `MAX_SWITCHES` fixes are replayed in every combination; where there are more, or where that would take too long,
one fix at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from latpcap.findings.finding import Effect
from latpcap.findings.savings import FixSet, Saving, Savings
from latpcap.measures.budget import Budget
from latpcap.measures.statements import StatementGroups
from latpcap.projection.assumptions import Conditions
from latpcap.projection.basis import AS_IT_IS, Basis, Variant
from latpcap.projection.curve import Curve, curves
from latpcap.projection.there import Taken, There, budgets_there, taken
from latpcap.tables.values import Column, Fractions, Numbers, Rows

__all__ = ["FixedJob", "StatementPart", "Switch", "Switches", "switches"]

Floats = NDArray[np.float64]

MAX_SWITCHES = 6
"""Fixes that are replayed in every combination: 64 of them."""
MAX_REPLAYED = 5e8
"""Turns that may be replayed for that: some 20 s of a processor's time."""
POINTS = 40
"""Of a curve, about."""
REPLAYS_A_POINT = 9
"""Central, three ways of waiting at each end of the range, and two for the parts."""


class StatementPart(Struct, frozen=True):
    """What a fix takes out of one statement, by its place among the statements."""

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
    network_s: tuple[float, ...]
    """What all round trips take there."""
    taken_network_s: float
    """What those that are left took in the capture."""


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
    found = curves(base, [each.variant for each in sets], low_ms, high_ms, asked_ms, conditions)
    removal = Removal(savings, statements)
    return Switches(
        switches=tuple(_switch(fix, one, listed, removal) for fix, one in zip(fixes, made, strict=True)),
        combined=combined,
        jobs=tuple(
            _job(base, conditions, places, each, curve, removal)
            for places, each, curve in zip(chosen, sets, found, strict=True)
        ),
    )


def _saves(saving: Saving) -> bool:
    return bool(saving.finding.fix_name) and (saving.round_trips > 0 or bool((saving.saved_s > 0).any()))


def _affordable(base: Basis, fixes: int) -> bool:
    assert base.job is not None
    turns = base.job.exchanges + base.job.connections
    return fixes <= MAX_SWITCHES and 2**fixes * POINTS * REPLAYS_A_POINT * turns <= MAX_REPLAYED


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
    base: Basis, conditions: Conditions, places: tuple[int, ...], made: FixSet, curve: Curve, removal: Removal
) -> FixedJob:
    left = taken(base) if not places else removal.left(base, made)
    there = list(_there(base, conditions, made.variant, left, curve))
    return FixedJob(
        fixes=places,
        curve=curve,
        statements=base.statements - made.variant.statements,
        seconds_per_ms=base.figures(made.variant).seconds_per_ms,
        parts={name: tuple(getattr(at.budget, name) for at in there) for name in Budget.__struct_fields__},
        network_s=tuple(at.network_s for at in there),
        taken_network_s=left.network_s,
    )


def _there(base: Basis, conditions: Conditions, variant: Variant, left: Taken, curve: Curve) -> Iterator[There]:
    """The budget at each RTT of the curve; where only some servers move, each is a condition of its own."""
    if not conditions.others_stay:
        yield from budgets_there(base, curve.rtt_ms, curve.runtime_s, conditions, variant, left)
        return
    for rtt, runtime in zip(curve.rtt_ms, curve.runtime_s, strict=True):
        yield from budgets_there(base, [rtt], [runtime], conditions.at(rtt), variant, left)


class _Gone(Struct):
    """What fixes take out of the parts of the budget, in seconds."""

    network_s: float = 0.0
    setup_network_s: float = 0.0
    service_s: float = 0.0
    setup_s: float = 0.0
    """But for its network."""
    client_s: float = 0.0


class Removal:
    """What fixes take out of statements and of the parts of the budget, as their effects say it."""

    def __init__(self, savings: Savings, statements: StatementGroups) -> None:
        """Look up what each exchange waited."""
        self.costs = savings.costs
        self.timeline = savings.evidence.timeline
        self.is_setup = savings.evidence.exchanges.is_setup
        self.statements = statements

    def of_statements(self, made: FixSet) -> Rows[StatementPart]:
        """One part for each statement that loses something, in their order."""
        count = len(self.statements)
        trips, network, service = np.zeros((3, count))
        for effect in made.effects:
            rows, share = self._rows(effect)
            places, waits = self.statements.of_exchange[rows], self.costs.round_trips[rows]
            trips += np.bincount(places, share * waits, count)
            network += np.bincount(places, share * self.timeline.network_ns[rows], count) / 1e9
            service += np.bincount(places, share * effect.takes.service * self.timeline.service_ns[rows], count) / 1e9
        losing: NDArray[np.int64] = np.flatnonzero((trips > 0) | (service > 0))
        columns: dict[str, Column[Any]] = {"statement": Numbers(losing)}
        for name, lost in (("round_trips", trips), ("network_s", network), ("service_s", service)):
            columns[name] = Fractions(lost[losing])
        return Rows(columns, StatementPart)

    def left(self, base: Basis, made: FixSet) -> Taken:
        """What the job takes with fixes made, where it was captured."""
        was, gone, stalls = taken(base), self._gone(made), base.stalls(made.variant)
        own_s = base.figures(AS_IT_IS).own_s - base.figures(made.variant).own_s
        timers_s = max(self.timeline.stalls.timers_s - stalls.timers_s, 0.0)
        gone.client_s = own_s - gone.service_s - gone.setup_s - timers_s
        budget, setup_network_s = was.budget, max(was.setup_network_s - gone.setup_network_s, 0.0)
        return Taken(
            budget=replace(
                budget,
                network_s=max(budget.network_s - gone.network_s, 0.0),
                service_s=max(budget.service_s - gone.service_s, 0.0),
                client_s=max(budget.client_s - max(gone.client_s, 0.0), 0.0),
                setup_s=max(budget.setup_s - was.setup_network_s - gone.setup_s, 0.0) + setup_network_s,
                stall_s=max(budget.stall_s - was.stall_network_s - timers_s, 0.0) + stalls.network_s,
            ),
            setup_network_s=setup_network_s,
            stall_network_s=stalls.network_s,
        )

    def _gone(self, made: FixSet) -> _Gone:
        gone = _Gone()
        for effect in made.effects:
            rows, share = self._rows(effect)
            setup = self.is_setup[rows]
            waited = share * self.timeline.network_ns[rows] / 1e9
            served = share * effect.takes.service * self.costs.service_s(rows)
            handshakes = self.costs.handshake_trips[effect.closed].sum() * self.costs.baseline_ms / 1000
            gone.network_s += float(waited[~setup].sum())
            gone.setup_network_s += float(waited[setup].sum() + handshakes)
            gone.service_s += float(served[~setup].sum())
            gone.setup_s += float(served[setup].sum())
        return gone

    def _rows(self, effect: Effect) -> tuple[NDArray[np.int64], Floats]:
        """The exchanges that an effect touches, and which part of each goes."""
        share = effect.saved / np.maximum(self.costs.round_trips[effect.rows], 1)
        return np.concatenate((effect.rows, effect.along)), np.concatenate((share, np.ones(len(effect.along))))
