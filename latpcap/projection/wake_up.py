"""What an asked RTT means to the packets of a job: how it was measured, and what hosts take to wake up for a packet.

A ping, a handshake and the data of a job do not take the same time on one path (docs/model.md C.6).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.units import RttIs

Floats = NDArray[np.float64]


class Meaning(Struct, frozen=True):
    """What an RTT that somebody measured in one way says of that of the data; measured, docs/model.md C.6."""

    longer_ms: float
    """A packet that comes alone finds both hosts asleep, and is so much longer than the ACKs of a busy connection."""
    below: float
    """How far the mean RTT of the data may lie below it, as a part of it …"""
    above: float
    """… and how far above."""
    holds_wake_up: bool = False
    """What hosts take to wake up for the data is part of it."""


MEANINGS: dict[RttIs, Meaning] = {
    "ping": Meaning(0.12, 0.02, 0.03),
    "handshake": Meaning(0.06, 0.02, 0.18),  # a firewall answered in 12.9 ms, where data took 14.7 and more
    "in-stream": Meaning(0.0, 0.03, 0.03, holds_wake_up=True),
}

MOST_OF_RTT = 0.2
"""No more of a short RTT is the hosts'."""

WAKE_MS = 0.12
"""How a turn's own time grows with how long its hosts waited: `WAKE_MS · ln(1 + (idle ÷ AWAKE_MS)²)`."""
AWAKE_MS = 5.0
"""Hosts that wait for less go on at once, or nearly so."""


class WakeUp(Struct, frozen=True):
    """How many times the usual wake-up delay a turn gains where hosts wait longer, and loses where they wait less."""

    gained: float = 0.0
    lost: float = 0.0
    of_own: float = 0.0
    """No more is lost than this part of the turn's own time."""
    alone: bool = False
    """Hosts on which several work at once wait as long as those of one: else there is the next packet of another."""

    def change_ms(self, baseline_ms: float, rtt_ms: Floats, own_ms: float, at_once: float, rtt_is: RttIs) -> Floats:
        """How much longer a turn's own time is at each RTT; `own_ms` is what it takes at the baseline."""
        share = 1.0 if self.alone else at_once
        grown = _delay_ms((rtt_ms + own_ms) / share) - _delay_ms(np.float64((baseline_ms + own_ms) / share))
        gained = 0.0 if MEANINGS[rtt_is].holds_wake_up else self.gained
        change: Floats = np.maximum(np.where(grown > 0, gained, self.lost) * grown, -self.of_own * own_ms)
        return change


def _delay_ms(idle_ms: Floats | np.float64) -> Floats:
    delay: Floats = WAKE_MS * np.log1p((idle_ms / AWAKE_MS) ** 2)
    return delay


def mean_rtt_ms(asked_ms: Floats, rtt_is: RttIs, end: int, baseline_ms: Floats | float) -> Floats:
    """The mean RTT of the data where `asked_ms` was measured, or the low (-1) or high (1) `end` of its range.

    At the baseline it is the baseline, whatever was measured there; away from it what hosts add comes into its own.
    """
    meaning = MEANINGS[rtt_is]
    away = np.abs(asked_ms - baseline_ms)
    longer = np.minimum(meaning.longer_ms, MOST_OF_RTT * asked_ms)
    if end > 0:
        longer = np.where(asked_ms < baseline_ms, 0.0, longer)  # hosts that others keep busy are not asleep
    mean: Floats = asked_ms - longer * away / np.maximum(away + longer, 1e-9)
    return mean * (1 + meaning.above if end > 0 else 1 - meaning.below if end < 0 else 1.0)
