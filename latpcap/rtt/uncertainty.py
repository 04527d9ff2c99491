"""How sure a chosen RTT is: its low and high end, from the measurements' spread and what hosts and clocks add.

The figures below are errors seen over the lab's captures, docs/model.md C.2 tells how.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latpcap.grouped import Grouped
from latpcap.rtt.choice import Chosen
from latpcap.rtt.location import MANY
from latpcap.rtt.result import Method

__all__ = ["limits"]

Floats = NDArray[np.float64]

HOST_NS = 100_000
"""What the far host's turnaround adds to the least measurement."""
HANDSHAKE_NS = 200_000
"""The same for a handshake that stands alone: accepting a connection is more work than acknowledging data."""
DATA_SLOWER = 0.10
"""Data may take so much longer than a handshake that stands alone."""
DRIFT = 0.02
"""The mean RTT lies so much above the typical one, on links as steady as the lab's."""


def limits(chosen: Chosen, step_ns: int) -> tuple[Floats, Floats]:
    """The low and the high end of each group's RTT."""
    value, pool = chosen.value, chosen.pool
    alone, bound = chosen.method == Method.HANDSHAKE, chosen.method == Method.FLOOR
    spread = _standard_error(pool)
    tick = step_ns / np.sqrt(np.maximum(chosen.samples, 1))
    down = np.fmax(np.where(alone & (pool.counts < MANY), HANDSHAKE_NS, HOST_NS), spread) + tick
    up = np.fmax(np.fmax(DRIFT * value, spread), pool.quantile(0.5) - value) + HOST_NS / 4 + tick
    up = np.where(alone, np.fmax(up, DATA_SLOWER * value), up)
    low, high = np.maximum(value - down, value / 2), value + up
    refuted = bound & (pool.counts > 0)
    low = np.select([refuted, bound], [np.minimum(chosen.floor, value) * 0.8, 0.0], low)
    capped = np.fmin(high, np.fmax(chosen.faster, value))
    return low, np.where(bound, value + tick, np.where(np.isnan(chosen.faster), high, capped))


def _standard_error(pool: Grouped) -> Floats:
    """Of the middle of each group, from the distance between its quarters; NaN for a single measurement."""
    quarters = pool.quantile(0.75) - pool.quantile(0.25)
    error: Floats = np.where(pool.counts > 1, 2 * quarters / np.sqrt(np.maximum(pool.counts, 1)), np.nan)
    return error
