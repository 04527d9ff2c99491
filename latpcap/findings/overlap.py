"""Findings that overlap share out the round trips, so that none is counted twice.

An exchange's round trips belong first to the findings that are *about* it (it is among their shown exchanges; a prepare
and a close are the prepares' own affair), the one that saves more time before the one that saves less; what no finding
is about but goes with a finding (the prepares of an N+1) is given after that, in the same order. Suggestions take what
is left. A finding that keeps nearly nothing is dropped. What a candidate saves is, here, what its round trips take at
one RTT, whatever is asked for: who counts a round trip must not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Effect, Pattern

Claimed = tuple[Pattern, Candidate]

REFERENCE_RTT_NS = 15e6
"""Candidates are compared at this RTT."""
MIN_BESIDE_SHARE = 0.5
"""A pattern that is true of the same runs is reported beside another from this share of what that one saves."""
MIN_OWN_SHARE = 0.2
"""A finding that alone keeps less than this share of what it saves repeats the others."""


def weighted_round_trips(evidence: Evidence, effect: Effect) -> float:
    """The effective round trips that the effect removes: the runtime falls by these × the RTT."""
    trips = float((evidence.timeline.weight[effect.rows] * effect.saved).sum())
    return trips + float(evidence.handshake_trips[effect.closed].sum())


def saved_ns(evidence: Evidence, effect: Effect) -> float:
    """Time of its round trips and of held back packets; client and server are left to the replay."""
    stalled_ns = effect.stall_ns @ evidence.timeline.weight[effect.rows] if effect.stall_ns.any() else 0.0
    return weighted_round_trips(evidence, effect) * REFERENCE_RTT_NS + float(stalled_ns)


def share_out(evidence: Evidence, found: Sequence[Claimed]) -> list[Claimed]:
    """The candidates with what each saves beside those before it, sorted by cost."""
    left = evidence.exchanges.round_trips.astype(float)
    open_connections = np.ones(len(evidence.recording.connections), bool)
    alone = [saved_ns(evidence, candidate.effect) for _, candidate in found]
    order = sorted(range(len(found)), key=lambda number: (found[number][0].suggestion, -alone[number]))
    own = {number: _take(evidence, found[number][1], left, open_connections, about=True) for number in order}
    for number in order:
        own[number] = _add(own[number], _take(evidence, found[number][1], left, open_connections, about=False))
    kept = []
    for number in order:
        pattern, candidate = found[number]
        value = saved_ns(evidence, own[number])
        least = MIN_OWN_SHARE * alone[number]
        if alone[number] == 0 or value > least or alone[number] >= MIN_BESIDE_SHARE * _beside(found, alone, number):
            kept.append((value, (pattern, replace(candidate, effect=own[number]))))
    return [claimed for _, claimed in sorted(kept, key=lambda item: (item[1][0].suggestion, -item[0]))]


def _beside(found: Sequence[Claimed], alone: Sequence[float], number: int) -> float:
    """The saving of the pattern that may be true of the same runs as this one."""
    pattern, candidate = found[number]
    same = (
        saved
        for (other, theirs), saved in zip(found, alone, strict=True)
        if other.code == pattern.beside and theirs.asked == candidate.asked
    )
    return max(same, default=float("inf"))


def _take(
    evidence: Evidence, candidate: Candidate, left: NDArray[np.float64], opened: NDArray[np.bool_], *, about: bool
) -> Effect:
    """Take away the candidate's effect that is still left on exchanges it is about (or not), and return it."""
    effect = candidate.effect
    shown = np.zeros(len(left), bool)
    shown[candidate.shown] = True
    is_about = shown[effect.rows]
    if not effect.takes.prepares:
        is_about &= ~(evidence.is_prepare | evidence.is_close)[effect.rows]
    mine = is_about == about
    rows, all_of_it, stall_ns = (_where(values, mine) for values in (effect.rows, effect.saved, effect.stall_ns))
    had = left[rows]
    saved = all_of_it if (all_of_it <= had).all() else np.minimum(all_of_it, had)
    left[rows] = had - saved
    keep = (saved > 0) | (stall_ns > 0)
    closed = effect.closed[opened[effect.closed]] if about else effect.closed[:0]
    opened[closed] = False
    return replace(
        effect,
        rows=_where(rows, keep),
        saved=_where(saved, keep),
        stall_ns=_where(stall_ns, keep),
        closed=closed,
        dependents=effect.dependents if about else effect.dependents[:0],
    )


def _where(values: NDArray[Any], keep: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the values to keep; all of them are not copied."""
    return values if keep.all() else values[keep]


def _add(one: Effect, other: Effect) -> Effect:
    if len(other.rows) == 0 and bool((np.diff(one.rows) >= 0).all()):
        return one
    rows = np.concatenate((one.rows, other.rows))
    order = np.argsort(rows, kind="stable")

    def both(name: str) -> NDArray[Any]:
        joined: NDArray[Any] = np.concatenate((getattr(one, name), getattr(other, name)))
        return joined[order]

    return replace(
        one,
        rows=rows[order],
        saved=both("saved"),
        stall_ns=both("stall_ns"),
    )
