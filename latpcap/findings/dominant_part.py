"""Findings about the recording as a whole: what dominates the time, where no round trip is to be saved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import NOTHING, Candidate, effect_of
from latpcap.units import percent

DOMINANT_SHARE = 0.5
"""A part dominates if it is at least this share of the time without think time; unknown time may be anything else."""
MIN_SHARE = 0.01
"""A part below this share of the runtime is no finding."""


def dominated_by(
    evidence: Evidence, part: str, costs: NDArray[Any], fix: str, less_s: float = 0.0, **facts: object
) -> Iterator[Candidate]:
    """A candidate if the budget's `part` dominates, without `less_s` seconds of it that may be something else.

    It shows the statement with the greatest sum of `costs`.
    """
    parts = evidence.timeline.budget.parts()
    total = sum(seconds for name, seconds in parts.items() if name != "think_s")
    if total <= 0 or parts[part] - less_s < DOMINANT_SHARE * total or parts[part] < MIN_SHARE * sum(parts.values()):
        return
    exchanges = evidence.exchanges
    sums = np.bincount(exchanges.fingerprint + 1, np.maximum(costs, 0.0))
    statement = int(np.argmax(sums)) - 1
    rows = np.flatnonzero((exchanges.fingerprint == statement) & evidence.waits)
    yield Candidate(
        shown=rows,
        effect=effect_of(evidence, NOTHING, np.empty(0, np.int64)),
        fingerprint=statement,
        facts={
            "seconds": parts[part],
            "share": parts[part] / total,
            "share_of_runtime": parts[part] / sum(parts.values()),
            "without": _without(parts, part, total),
            **facts,
        },
        fix=fix,
    )


def _without(parts: dict[str, float], part: str, total: float) -> str:
    """The share of the time that counts, where it is another."""
    of_runtime, of_total = percent(parts[part] / sum(parts.values())), percent(parts[part] / total)
    return "" if of_runtime == of_total else f" ({of_total} without think time)"
