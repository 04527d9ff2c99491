"""The runtime over the RTT as a few points: replayed where the curve bends, so that straight lines do between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.projection.assumptions import Conditions
from latpcap.projection.basis import Basis, Variant
from latpcap.projection.project import ranges

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
VariantRtts = tuple[Variant, Sequence[float]]

MAX_ERROR = 0.005
"""How far a straight line between two points may be off, as a part of the runtime."""
INITIAL_POINTS = 12
MIN_STEP_RATIO = 1.01
"""Neighbouring RTTs are no closer than this ratio."""
MAX_REFINEMENTS = 8
"""How often points are added where a curve bends."""
MIN_S = 1e-6
"""Differences below do not count."""


class Curve(Struct, frozen=True):
    """One variant of the job: columns over ascending RTTs."""

    rtt_ms: tuple[float, ...]
    runtime_s: tuple[float, ...]
    optimistic_s: tuple[float, ...]
    pessimistic_s: tuple[float, ...]


def curves(
    base: Basis,
    variants: Sequence[Variant],
    low_ms: float,
    high_ms: float,
    asked_ms: Sequence[float] = (),
    conditions: Conditions | None = None,
) -> list[Curve]:
    """The curve of each variant from `low_ms` to `high_ms`; the baseline RTT and `asked_ms` are among the points."""
    also = [rtt for rtt in (*asked_ms, base.baseline_ms) if low_ms < rtt < high_ms]
    first = np.array(sorted({low_ms, high_ms, *np.geomspace(low_ms, high_ms, INITIAL_POINTS)[1:-1].tolist(), *also}))
    places = [first] * len(variants)
    found = [np.array(each) for each in _replayed(base, _asked(variants, places), conditions)]
    for _ in range(MAX_REFINEMENTS):
        closer = [_between(at, columns) for at, columns in zip(places, found, strict=True)]
        bent = [place for place, rtts in enumerate(closer) if len(rtts)]
        if not bent:
            break
        further = _asked([variants[place] for place in bent], [closer[place] for place in bent])
        more = _replayed(base, further, conditions)
        for place, columns in zip(bent, more, strict=True):
            at = np.concatenate((places[place], closer[place]))
            order = np.argsort(at)
            places[place] = at[order]
            found[place] = np.concatenate((found[place], np.array(columns)), axis=1)[:, order]
    return [
        Curve(tuple(map(float, at)), *(tuple(map(float, column)) for column in columns))
        for at, columns in zip(places, found, strict=True)
    ]


def _replayed(base: Basis, asked: Sequence[VariantRtts], conditions: Conditions | None) -> Sequence[Sequence[Floats]]:
    """The runtimes; where only some servers move, each RTT is a condition of its own, as where one asks for it."""
    if conditions is None or not conditions.others_stay:
        return ranges(base, asked, conditions)
    found = []
    for variant, rtts in asked:
        each = [ranges(base, [(variant, [rtt])], conditions.at(rtt))[0] for rtt in rtts]
        found.append([np.concatenate(columns) for columns in zip(*each, strict=True)])
    return found


def _asked(variants: Sequence[Variant], places: Sequence[Floats]) -> list[VariantRtts]:
    return [(variant, at.tolist()) for variant, at in zip(variants, places, strict=True)]


def _between(rtt: Floats, columns: Floats) -> Floats:
    """An RTT between each two neighbours where a straight line could be wrong."""
    left = np.flatnonzero(bends(rtt, columns, columns))
    return np.sqrt(rtt[left] * rtt[left + 1])


def bends(rtt: Floats, columns: Floats, of: Floats) -> Bools:
    """Between which neighbours a straight line could be wrong by `MAX_ERROR` of `of`, as the slope changes there.

    Between two lines whose slopes differ by d, a chord of length h is wrong by d × h ÷ 4 at most.
    """
    slope = np.diff(columns) / np.diff(rtt)
    around = np.pad(slope, ((0, 0), (1, 1)), "edge")
    wrong = np.abs(around[:, 2:] - around[:, :-2]) * np.diff(rtt) / 4
    bent = (wrong > MAX_ERROR * np.maximum(of[..., :-1], MIN_S) / 2).any(axis=0)
    return bent & (rtt[1:] > rtt[:-1] * MIN_STEP_RATIO)
