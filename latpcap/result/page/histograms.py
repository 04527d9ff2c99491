"""Histograms of times for a page: ten bins for each power of ten, so that a microsecond and an hour fit one picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from latpcap.measures.statements import response_ns
from latpcap.tables.recording import Exchanges

__all__ = ["BINS_PER_DECADE", "histogram", "histograms"]

BINS_PER_DECADE = 10
MIN_NS, MAX_NS = 1e3, 1e15
"""Times below a microsecond and above eleven days count in the outermost bins."""
QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "max": 1.0}


def histograms(exchanges: Exchanges) -> dict[str, dict[str, Any]]:
    """Inter-query deltas, and response times of exchanges that wait; those that open a connection are left out."""
    working = ~exchanges.is_setup
    response, waits = response_ns(exchanges), exchanges.round_trips > 0
    return {
        "delta": histogram(exchanges.delta[working & (exchanges.delta >= 0)]),
        "response": histogram(response[working & waits & (response >= 0)]),
    }


def histogram(times_ns: NDArray[np.int64]) -> dict[str, Any]:
    """Counts of the bins from the first to the last that holds anything; `first` is its lower edge in bins above 1 ms.

    >>> found = histogram(np.array([1_000_000, 1_100_000, 10_000_000]))
    >>> found["first"], found["counts"]
    (0, [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    """
    if len(times_ns) == 0:
        return {"first": 0, "counts": [], "total": 0, "quantiles_ms": {}}
    within = np.clip(times_ns.astype(float), MIN_NS, MAX_NS)
    bins = np.floor(np.log10(within / 1e6) * BINS_PER_DECADE + 1e-9).astype(np.int64)
    first = int(bins.min())
    ranks = {name: np.ceil(len(times_ns) * share).astype(int) - 1 for name, share in QUANTILES.items()}
    ordered = np.sort(times_ns)
    return {
        "first": first,
        "counts": np.bincount(bins - first).tolist(),
        "total": len(times_ns),
        "quantiles_ms": {name: float(ordered[max(rank, 0)]) / 1e6 for name, rank in ranks.items()},
    }
