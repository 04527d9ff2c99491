"""The RTT of the data where somebody asks for one that was measured by pings, handshakes or the data itself.

They do not take the same time on one path (docs/model.md C.6).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.units import RttIs

Floats = NDArray[np.float64]


class Meaning(Struct, frozen=True):
    """How the RTT of the data lies to one that somebody measured in one way; measured, docs/model.md C.6."""

    longer_ms: float
    """A packet that comes alone finds both hosts asleep, and is so much longer than the ACKs of a busy connection."""
    below: float
    """How far the mean RTT of the data may lie below it, as a part of it."""
    above: float
    """How far the mean RTT of the data may lie above it, as a part of it."""


MEANINGS: dict[RttIs, Meaning] = {
    "ping": Meaning(0.12, 0.02, 0.03),
    "handshake": Meaning(0.06, 0.02, 0.18),  # a firewall answered in 12.9 ms, where data took 14.7 and more
    "in-stream": Meaning(0.0, 0.03, 0.03),
}

MAX_HOST_SHARE = 0.2
"""No more of a short RTT is the hosts'."""


def mean_rtt_ms(asked_ms: Floats, rtt_is: RttIs, end: int, baseline_ms: Floats | float) -> Floats:
    """Return the mean RTT of the data where `asked_ms` was measured, or the low (-1) or high (1) `end` of its range.

    At the baseline it is the baseline, whatever was measured there; away from it what hosts add comes into its own.
    """
    meaning = MEANINGS[rtt_is]
    away = np.abs(asked_ms - baseline_ms)
    longer = np.minimum(meaning.longer_ms, MAX_HOST_SHARE * asked_ms)
    if end > 0:
        longer = np.where(asked_ms < baseline_ms, 0.0, longer)  # hosts that others keep busy are not asleep
    mean: Floats = asked_ms - longer * away / np.maximum(away + longer, 1e-9)
    return mean * (1 + meaning.above if end > 0 else 1 - meaning.below if end < 0 else 1.0)
