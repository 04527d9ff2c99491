"""Shared time: an instant in which several connections are busy counts for each of them in equal parts.

With k(t) connections busy at t, the shared time is F(t) = ∫ dt / k(t) over the instants with k > 0. A stretch from a
to b of one connection is then worth F(b) − F(a), and all stretches together are worth exactly the time in which any
connection was busy. Eight workers side by side count once; a pool used one connection after the other adds up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from latpcap import _core
from latpcap.tables.columns import Ints
from latpcap.tables.passes import ordered

__all__ = ["SharedTime"]


class SharedTime:
    """The shared time of busy stretches, in ns."""

    def __init__(self, begin: Ints, end: Ints, until: int | None = None) -> None:
        """Take the busy stretches of all connections; those of one connection do not overlap.

        What is beyond `until` is worth nothing.
        """
        self._until = until
        if until is not None:
            begin, end = np.minimum(begin, until), np.minimum(end, until)
        if np.any(begin[1:] < begin[:-1]):
            order = ordered(begin)
            begin, end = begin[order], end[order]
        self.alone = not np.any(begin[1:] < end[:-1])
        """Nothing ever runs beside anything else."""
        if self.alone:
            self._gaps: Ints = begin[1:] - end[:-1]
        else:
            end = np.sort(end)
            self._integral = _core.SharedTime(begin, end)
            self._gaps = self._integral.gaps
        self._first, self._last = (int(begin[0]), int(end[-1])) if len(begin) else (0, 0)

    def worth(self, begin: Ints, length: Ints) -> NDArray[Any]:
        """What stretches of `length` from `begin` on (within the busy stretches) are worth, in ns."""
        if self.alone:
            if self._until is None:
                return length
            inside: Ints = np.minimum(begin + length, self._until) - np.minimum(begin, self._until)
            return inside
        return self._integral.worth(np.ascontiguousarray(begin), np.ascontiguousarray(length))

    def idle(self, begin: int, end: int) -> Ints:
        """The lengths of the stretches from `begin` to `end` in which no connection is busy, in ns."""
        edges = [self._first - begin, end - self._last] if self._last > self._first else [end - begin]
        return np.concatenate((self._gaps[self._gaps > 0], [edge for edge in edges if edge > 0])).astype(np.int64)
