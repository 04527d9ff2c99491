"""What an asked RTT means to the packets of a job: how it was measured, and what hosts take to wake up for a packet.

A ping, a handshake and the data of a job do not take the same time on one path (docs/model.md C.6).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.units import RttIs

__all__ = ["STRAYS", "WakeUp", "mean_rtt_ms"]

Floats = NDArray[np.float64]


class Strays(Struct, frozen=True):
    """How far the mean RTT of the data may lie from the asked one, as parts of that."""

    below: float
    above: float


STRAYS: dict[RttIs, Strays] = {
    "ping": Strays(0.04, 0.04),
    "in-stream": Strays(0.04, 0.04),
    "handshake": Strays(0.04, 0.18),  # firewalls answer a SYN sooner: 12.9 ms, where data took 14.7 and more
}


class WakeUp(Struct, frozen=True):
    """The wake-up delay that a turn loses where hosts wait less for the next packet; measured, docs/model.md C.6."""

    ms_per_tenth: float = 0.0
    """For every tenth of the RTT."""
    of_difference: float = 0.0
    """At most this part of the RTTs' difference …"""
    of_own: float = 0.0
    """… and of the turn's own time."""

    def lost_ms(self, baseline_ms: float, rtt_ms: Floats, own_ms: float) -> Floats:
        """What a turn takes less of its own time at each RTT below the baseline; `own_ms` is what it takes there."""
        if baseline_ms <= 0:
            return np.zeros(len(rtt_ms))
        there = np.clip(rtt_ms, baseline_ms / 1000, baseline_ms)
        tenths, nearer = np.log10(baseline_ms / there), baseline_ms - there
        sooner: Floats = np.minimum(self.ms_per_tenth * tenths, self.of_difference * nearer)
        return np.minimum(sooner, self.of_own * own_ms)


def mean_rtt_ms(asked_ms: Floats, rtt_is: RttIs, end: int) -> Floats:
    """The mean RTT of the data where `asked_ms` was measured, or the low (-1) or high (1) `end` of its range."""
    strays = STRAYS[rtt_is]
    return asked_ms * (1 + strays.above if end > 0 else 1 - strays.below if end < 0 else 1.0)
