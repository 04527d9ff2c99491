"""Columns in numpy that a recording has beside its exchanges: RTT samples, and readings of senders' clocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latpcap.tables.columnar.columns import Bools, Entries, Ints


class Samples(Entries, frozen=True):
    """In-stream RTT samples of one half of the path: data → its acknowledgment, at the capture point."""

    connection: NDArray[np.int32]
    rtt: Ints
    time: Ints
    """When the acknowledgment passed."""
    alone: Bools
    """One segment was acknowledged."""
    quiet: Bools
    """Few segments were under way when the acknowledged one was sent."""


class Readings(Entries, frozen=True):
    """Readings of senders' clocks when their data passed (TCP timestamps)."""

    connection: Ints
    by_server: Bools
    time: Ints
    ticks: Ints
    """Ticks of the sender's clock, modulo 2³²."""
