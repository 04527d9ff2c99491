"""Stalls between Nagle's algorithm and delayed acknowledgments.

Nagle (RFC 896) keeps a small segment until all before it is acknowledged; the receiver holds its ACK back (RFC 1122
4.2.3.2: up to 500 ms; 40 ms on Linux, 200 ms on Windows and others) in the hope of sending it along with an answer. A
program that writes twice before it reads (write-write-read) waits for that timer.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.tables.columnar.columns import Floats, Ints, constant
from latpcap.tables.recording import MISSING, Exchanges

__all__ = ["AckStalls", "HeldBack", "ack_stalls"]


class AckStalls(Struct, frozen=True):
    """How long (ns) each exchange was held up for an ACK timer; 0 where it was not."""

    before: Floats
    """Behind a request that has no answer: the wait lies in the client time before this exchange."""
    inside: Floats
    """Between the packets of its request or of its response."""

    @property
    def total(self) -> Floats:
        """Both."""
        return self.before + self.inside

    @property
    def count(self) -> int:
        """As many exchanges as there are, where one was held up; else 0."""
        return len(self.before) if self.before.any() or self.inside.any() else 0


class HeldBack(Struct, frozen=True):
    """How long (ns) the packets of each exchange waited in all: for the timer and for the acknowledgment's way."""

    before: Ints
    inside: Ints


def ack_stalls(exchanges: Exchanges) -> AckStalls:
    """Say where the stalls lie that the core saw: new data right after an ACK that came late and alone."""
    stalled = exchanges.stalled
    if not stalled.any():
        return AckStalls(constant(0.0, len(exchanges)), constant(0.0, len(exchanges)))
    clean = exchanges.complete & (exchanges.retransmissions == 0) & ~exchanges.is_setup
    stalled = np.where(clean, stalled, 0).astype(float)
    asked, answered = exchanges.request_end - exchanges.request, exchanges.response_end - exchanges.response
    inside = (asked >= stalled) | ((exchanges.response != MISSING) & (answered >= stalled))
    return AckStalls(np.where(inside, 0.0, stalled), np.where(inside, stalled, 0.0))
