"""Stalls between Nagle's algorithm and delayed acknowledgments.

Nagle (RFC 896) keeps a small segment until all before it is acknowledged; the receiver holds its ACK back (RFC 1122
4.2.3.2: up to 500 ms; 40 ms on Linux, 200 ms on Windows and others) in the hope of sending it along with an answer. A
program that writes twice before it reads (write-write-read) waits for that timer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latpcap.recording import MISSING, Exchanges

__all__ = ["AckStalls", "ack_stalls"]


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

TIMERS_MS = ((38.0, 48.0), (190.0, 220.0))
"""The usual timers, with what scheduling adds; the RTT comes on top."""
SMALL_BYTES = 2 * 1460
"""A message in a full segment and a rest: longer ones may be held up by the window."""


@dataclass(frozen=True, slots=True)
class AckStalls:
    """How long (ns) each exchange was held up for an ACK timer; 0 where it was not."""

    before: Floats
    """Behind a request that has no answer: the wait lies in the client time before this exchange."""
    inside: Floats
    """Between the packets of its request or of its response."""

    @property
    def total(self) -> Floats:
        """Both."""
        return self.before + self.inside


def ack_stalls(exchanges: Exchanges, baseline_ns: Floats) -> AckStalls:
    """Find the stalls; `baseline_ns`: the RTT of each exchange's connection."""
    unanswered = (exchanges.response == MISSING) & (exchanges.round_trips == 0)
    same = np.diff(exchanges.connection, prepend=-1) == 0
    wrote_before = np.where(np.roll(unanswered, 1) & same, np.roll(exchanges.request_end, 1), MISSING)
    before = _held(wrote_before, exchanges.request, exchanges.request_bytes, baseline_ns)
    asked = _held(exchanges.request, exchanges.request_end, exchanges.request_bytes, baseline_ns)
    answered = _held(exchanges.response, exchanges.response_end, exchanges.response_bytes, baseline_ns)
    clean = exchanges.complete & (exchanges.retransmissions == 0) & ~exchanges.is_setup
    return AckStalls(np.where(clean, before, 0.0), np.where(clean, asked + answered, 0.0))


def _held(first: Ints, last: Ints, size: Ints, baseline_ns: Floats) -> Floats:
    """The time between two packets of which the second is small, where it is about that of a timer and an RTT."""
    known = (first != MISSING) & (last != MISSING)
    span_ms = (np.where(known, last - first, 0) - baseline_ns) / 1e6
    of_timer = np.zeros(len(span_ms), bool)
    for least, most in TIMERS_MS:
        of_timer |= (span_ms >= least) & (span_ms <= most)
    return np.where(of_timer & (size <= SMALL_BYTES), span_ms * 1e6, 0.0)
