"""The typical value of a few or many measurements that a busy host makes longer, and never shorter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latpcap.tables.quantiles import Grouped

__all__ = ["MANY", "typical"]

Floats = NDArray[np.float64]

MANY = 10
"""So many measurements show where they are dense; of fewer, the lower quarter has the least of the hosts' delays."""
COARSE = 0.1
"""Where the clock's step is a larger part of the value, only the mean tells: rounding evens out."""


def typical(values: Grouped, step_ns: int) -> Floats:
    """The typical value of each group: NaN for an empty one."""
    found = values.quantile(0.25)
    if (values.counts >= MANY).any():
        found = np.where(values.counts >= MANY, _densest_half(values), found)
    if (values.quantile(0) < step_ns / COARSE).any():  # else no mean is below either
        mean = _mean(values)
        found = np.where(mean < step_ns / COARSE, mean, found)
    return found


def _mean(values: Grouped) -> Floats:
    sums = np.concatenate(([0], np.cumsum(values.values)))
    total = (sums[values.starts[1:]] - sums[values.starts[:-1]]).astype(float)
    return np.where(values.counts > 0, total / np.maximum(values.counts, 1), np.nan)


def _densest_half(values: Grouped) -> Floats:
    """The mean of the shortest interval that holds half of each group.

    Even where jitter is symmetric, it lies in the middle; a long tail of late measurements does not move it.
    """
    counts, starts = values.counts, values.starts[:-1]
    result = np.full(len(counts), np.nan)
    if len(values.values) == 0:
        return result
    half = (counts + 1) // 2
    group = np.repeat(np.arange(len(counts)), counts)
    first = np.arange(len(values.values))
    last = first + half[group] - 1
    inside = last < values.starts[1:][group]
    width = np.where(inside, values.values[np.where(inside, last, 0)] - values.values, np.iinfo(np.int64).max)
    filled = np.flatnonzero(counts > 0)
    least = np.minimum.reduceat(width, starts[filled])
    candidates = np.where(width == np.repeat(least, counts[filled]), first, len(first))
    begin = np.minimum.reduceat(candidates, starts[filled])
    sums = np.concatenate(([0], np.cumsum(values.values)))
    result[filled] = (sums[begin + half[filled]] - sums[begin]) / half[filled]
    return result
