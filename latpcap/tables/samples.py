"""What a recording has beside its exchanges, as numpy columns: RTT samples, and what senders' clocks read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latpcap.tables.columnar.columns import Bools, Entries, Ints


class Samples(Entries, frozen=True):
    """In-stream RTT samples: data → its acknowledgment, at the capture point."""

    connection: NDArray[np.int32]
    by_server: Bools
    time: Ints
    """When the acknowledgment passed."""
    rtt: Ints
    segments: Ints
    in_flight: Ints
    """Segments under way when the acknowledged one was sent, itself included."""


class Readings(Entries, frozen=True):
    """What senders' clocks read when their data passed (TCP timestamps)."""

    connection: Ints
    by_server: Bools
    time: Ints
    ticks: Ints
    """Of the sender's clock, modulo 2³²."""
