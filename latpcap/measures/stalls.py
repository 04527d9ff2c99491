"""Stalls between Nagle's algorithm and delayed acknowledgments.

Nagle (RFC 896) keeps a small segment until all before it is acknowledged; the receiver holds its ACK back (RFC 1122
4.2.3.2: up to 500 ms; 40 ms on Linux, 200 ms on Windows and others) in the hope of sending it along with an answer. A
program that writes twice before it reads (write-write-read) waits for that timer. The core sees new data right after an
ACK that came late and alone (`core/src/stream/pace.rs`), and says where that lies (`core/src/job/reading.rs`).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from numpy.typing import NDArray

MIN_STALLS = 3
"""Fewer packets that were held back are a coincidence, and no reason to change a program."""


class Stalls(Struct, frozen=True):
    """How long (ns) each exchange was held up; 0 where it was not."""

    before: NDArray[Any]
    """Behind a request that has no answer: the wait lies in the client time before this exchange."""
    inside: NDArray[Any]
    """Between the packets of its request or of its response."""

    @property
    def total(self) -> NDArray[Any]:
        """Both."""
        total: NDArray[Any] = self.before + self.inside
        return total
