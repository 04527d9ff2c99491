"""How fine the capture's clock was: the step that all its times have in common."""

from __future__ import annotations

import numpy as np

from latpcap.tables.recording import MISSING, Recording

__all__ = ["clock_step"]

ENOUGH = 10_000
"""So many times show the step."""
FEW = 16
"""Fewer may be multiples of it by chance."""
UNMOVED = 0.05
"""So many waits took no time at all: the clock is coarse, and its steps may be uneven."""
LONGEST_NS = 100_000_000
"""No clock is coarser; what lies farther apart says nothing of the clock."""


def clock_step(recording: Recording) -> int:
    """The step in ns: 1 or 100 for fine clocks, 1,000 for µs files, 1,000,000 for a clock that ticks every ms."""
    connections, exchanges = recording.connections, recording.exchanges
    moments = (connections.syn, connections.syn_ack, connections.ack, exchanges.request, exchanges.response)
    times = np.concatenate([column[:ENOUGH][column[:ENOUGH] != MISSING] for column in moments])
    distinct = np.unique(times)
    if len(distinct) < FEW:
        return 1
    steps = np.diff(distinct)
    waited = exchanges.waited[:ENOUGH]
    waited = waited[waited >= 0]
    unmoved = len(waited) > 0 and np.mean(waited == 0) > UNMOVED
    step = int(steps.min() if unmoved else np.gcd.reduce(steps))
    return step if step <= LONGEST_NS else 1
