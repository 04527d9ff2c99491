"""How sure a chosen RTT is: its low and high end, from the measurements' spread and what hosts and clocks add.

The figures below are errors seen over the lab's captures, docs/model.md C.2 tells how.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latpcap.rtt.choice import Chosen
from latpcap.rtt.location import MANY
from latpcap.rtt.result import Method

__all__ = ["limits"]

Floats = NDArray[np.float64]

HOST_NS = 100_000
"""What the far host's turnaround adds to the least measurement."""
HOSTS_MOST = 0.25
"""So much of an RTT is network at least, however short it is."""
HANDSHAKE_NS = 200_000
"""The same for a handshake that stands alone: accepting a connection is more work than acknowledging data."""
DATA_SLOWER = 0.10
"""Data may take so much longer than a handshake that stands alone."""
DRIFT = 0.02
"""The mean RTT lies so much above the typical one, on links as steady as the lab's."""
FLOOR_LOW = 0.8
"""Of the fastest responses, where handshake and acknowledgments were slower: the rest may be service."""


def limits(chosen: Chosen, step_ns: int) -> tuple[Floats, Floats]:
    """The low and the high end of each group's RTT."""
    value, pool = chosen.value, chosen.pool
    alone, bound = chosen.method == Method.HANDSHAKE, chosen.method == Method.FLOOR
    roots = np.sqrt(np.maximum(chosen.samples, 1))
    tick, below, above = step_ns / roots, _beyond(value - pool.quantile(0.1)), _beyond(pool.quantile(0.75) - value)
    down = np.fmax(np.where(alone & (pool.counts < MANY), HANDSHAKE_NS, HOST_NS), 2 * below / roots) + tick
    up = np.fmax(DRIFT * value, np.fmax(pool.quantile(0.5) - value, 2 * above / roots)) + HOST_NS / 4 + tick
    up = np.where(alone, np.fmax(up, DATA_SLOWER * value), up)
    low = np.minimum(np.maximum(value - down, value * HOSTS_MOST), value - chosen.deficit)
    refuted = bound & (pool.counts > 0)
    low = np.select([refuted, bound], [np.minimum(chosen.floor, value) * FLOOR_LOW, 0.0], low)
    most = np.where(np.isnan(chosen.faster), np.inf, np.fmax(chosen.faster, value) + tick)
    high = np.where(bound, value + tick, np.fmin(value + up, most))
    return low, high


def _beyond(distance: Floats) -> Floats:
    """How far the measurements reach to one side of the value."""
    return np.maximum(np.nan_to_num(distance), 0)
