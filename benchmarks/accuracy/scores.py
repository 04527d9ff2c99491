"""What is said of a projection and of many: its error, its range's width, and the score that weighs the width against the misses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

Row = dict[str, Any]
Constants = TypeVar("Constants")

ALPHA = 0.05
"""Of the interval score: what lies outside the range costs 2/α as much as width."""
UP, DOWN, ZERO = "up", "down", "from 0 ms"
BY_3, BY_15 = 5, 20
"""Up to this ratio of the RTTs a projection downwards goes by about 3, and by about 15."""


def way(row: Row) -> str:
    if row["from_ms"] == 0:
        return ZERO
    return UP if row["to_ms"] > row["from_ms"] else DOWN


def how_far(row: Row) -> str:
    """The way, and downwards by how much: the network's share of the runtime is that much smaller than in the capture."""
    if way(row) != DOWN:
        return way(row)
    ratio = row["from_ms"] / row["to_ms"]
    return "down by 3" if ratio <= BY_3 else "down by 15" if ratio <= BY_15 else "down further"


def width_pct(low: float, high: float, measured: float) -> float:
    return 100 * (high - low) / measured


def score_pct(low: float, high: float, measured: float, alpha: float = ALPHA) -> float:
    """The interval score (Gneiting and Raftery 2007), as a share of what was measured: width + 2/α · how far outside."""
    missed = max(low - measured, measured - high, 0.0)
    return width_pct(low, high, measured) + 100 * 2 / alpha * missed / measured


def figures(rows: Iterable[Row]) -> dict[str, float]:
    """Of many projections, in percent."""
    rows = list(rows)
    errors = np.array([row["error_pct"] for row in rows])
    return {
        "median error": float(np.median(np.abs(errors))),
        "p90": float(np.quantile(np.abs(errors), 0.9)),
        "worst": float(np.abs(errors).max()),
        "mean, signed": float(errors.mean()),
        "inside": 100 * float(np.mean([row["inside"] for row in rows])),
        "half-width": float(np.median([row["width_pct"] for row in rows])) / 2,
        "score": float(np.mean([row["score_pct"] for row in rows])),
    }


def there_and_back(rows: Iterable[Row]) -> list[tuple[Row, float]]:
    """Each pair of RTTs that was projected both ways: what the way up adds less what the way down takes off, in percent of the longer run.

    Zero where the two captures of one job tell the same of what the network costs it.
    """
    known = {(row["workload"], row["from_ms"], row["to_ms"]): row for row in rows}
    found = []
    for (workload, start, end), up in known.items():
        down = known.get((workload, end, start))
        if start < end and down:
            added = up["predicted_s"] - down["measured_s"]
            taken = up["measured_s"] - down["predicted_s"]
            found.append((up, 100 * (added - taken) / up["measured_s"]))
    return found


def left_out(
    rows: Iterable[Row], fit: Callable[[list[Row]], Constants], tested: Callable[[Constants, list[Row]], list[Row]]
) -> list[Row]:
    """Constants fitted on all workloads but one, and `tested` on that one: the rows of the test side, of every workload in its turn."""
    rows = list(rows)
    outside: list[Row] = []
    for workload in dict.fromkeys(row["workload"] for row in rows):
        constants = fit([row for row in rows if row["workload"] != workload])
        outside += tested(constants, [row for row in rows if row["workload"] == workload])
    return outside
