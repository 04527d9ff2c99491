"""By how much the way of a side's data became longer, as the clock of their sender shows (TCP timestamps, RFC 7323).

How far the sender's clock and the capture's are apart is not known, nor how much faster one of them runs; but neither
jumps. So the time of the capture less that of the sender, over some time before and after a moment, is a line with a
step where the way changed. A slower server sends later, by its own clock as well: no step.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from latpcap.rtt.old.measurements import MIN_FOR_DENSITY
from latpcap.tables.columnar.columns import Floats, Ints
from latpcap.tables.columnar.passes import ordered
from latpcap.tables.samples import Readings

MAX_CONNECTIONS = 100
"""A sample of 100 connections shows a step of the clock as well as all of them."""
RATES = (1_000, 1_000_000, 250, 300, 100)
"""Ticks a second of the clocks in use; coarser ones show nothing."""
MAX_RATE_ERROR = 0.02
"""A clock's rate is off by at most this share."""
MIN_STANDARD_ERRORS = 4.0
"""A step counts if it is at least this many of its standard errors."""


class Clocks:
    """The readings by path: sorted once, whatever the number of paths."""

    def __init__(self, readings: Readings, path: Ints, count: int) -> None:
        """Take them all; `path` is the path of each connection."""
        self._readings, self._path, self._count = readings, path, count

    @cached_property
    def _sorted(self) -> tuple[Ints, Ints]:
        readings = self._readings
        path = self._path[readings.connection]
        order = ordered(path, readings.by_server, readings.connection, readings.time)
        return order, np.searchsorted(path[order], np.arange(self._count + 1))

    def of(self, path: int) -> Readings:
        """The readings of one path, by side, connection and time."""
        order, starts = self._sorted
        return self._readings.picked(order[starts[path] : starts[path + 1]])


def moved_ns(clocks: Readings, begin: int, moment: int, end: int) -> Iterator[float]:
    """For the client's data and for the server's: the change of their way at `moment`, where a path's clocks show it.

    What counts are connections that are seen well on both sides of the moment, between `begin` and `end`.
    """
    for by_server in (False, True):
        rows = np.flatnonzero((clocks.by_server == by_server) & (clocks.time >= begin) & (clocks.time < end))
        first = np.flatnonzero(np.diff(clocks.connection[rows], prepend=-1))
        parts = [part for part in np.split(rows, first[1:]) if len(part) >= 2 * MIN_FOR_DENSITY]
        steps = [_step(clocks.time[part], clocks.ticks[part], moment) for part in parts[:MAX_CONNECTIONS]]
        known = [step for step in steps if step is not None]
        if known:
            yield float(np.median(known))


def _step(time: Ints, ticks: Ints, moment: int) -> float | None:
    """The step of one connection, in ns; `None` where it is not sure."""
    late = time >= moment
    if min(late.sum(), (~late).sum()) < MIN_FOR_DENSITY:
        return None
    passed = np.concatenate(([0], np.cumsum(np.diff(ticks).astype(np.int32, casting="unsafe").astype(np.int64))))
    tick_ns = _tick_ns(passed, time)
    if tick_ns is None:
        return None
    way = (time - time[0] - passed * tick_ns).astype(float)
    offset = (time - moment).astype(float)
    columns = np.stack((np.ones(len(way)), offset / max(np.abs(offset).max(), 1.0), late), axis=1)
    keep = np.ones(len(way), bool)
    for _ in range(3):  # late packets are no news of the path
        solution, *_ = np.linalg.lstsq(columns[keep], way[keep], rcond=None)
        rest = way - columns @ solution
        spread = 1.5 * float(np.median(np.abs(rest[keep]))) + tick_ns / 4
        keep = np.abs(rest) <= 3 * spread
        if min((late & keep).sum(), (~late & keep).sum()) < MIN_FOR_DENSITY // 2:
            return None
    error = _error(columns[keep], spread)
    return float(solution[2]) if abs(solution[2]) > MIN_STANDARD_ERRORS * error else None


def _tick_ns(passed: Ints, time: Ints) -> float | None:
    """How long a tick of the sender's clock is; `None` for a rate that is none of the known."""
    rate = float(passed[-1]) * 1e9 / max(float(time[-1] - time[0]), 1.0)
    nearest = min(RATES, key=lambda known: abs(np.log(max(rate, 1e-9) / known)))
    return 1e9 / nearest if abs(rate / nearest - 1) <= MAX_RATE_ERROR else None


def _error(columns: Floats, spread: float) -> float:
    """The standard error of the step."""
    inverse = np.linalg.pinv(columns.T @ columns)
    return float(spread * np.sqrt(max(inverse[2, 2], 0.0)))
