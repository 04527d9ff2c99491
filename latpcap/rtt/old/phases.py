"""When the RTT of paths changed, and the phases that cuts their connections into: one each, where nothing changed.

What is measured once for each connection is measured for each phase of it; what is put together for each path, for each
period of it.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Ints
from latpcap.tables.connections import MISSING, Connections


class OldPathChanges(Struct, frozen=True, dict=True):
    """When which path changed, in the order of path and time."""

    path: Ints
    time: Ints
    """From then on another RTT, in ns since the recording began."""
    shown: Ints
    """The evidence for each."""
    count: int
    """The first period of each path, changed or not."""

    @classmethod
    def none(cls, count: int) -> OldPathChanges:
        """No changes."""
        nothing = np.empty(0, np.int64)
        return cls(nothing, nothing, nothing, count)

    def __len__(self) -> int:
        return len(self.path)

    @cached_property
    def _times(self) -> Ints:
        return passes.occurring(self.time)

    @cached_property
    def first(self) -> Ints:
        """The first period of each path, and the number of all periods."""
        periods = 1 + np.bincount(self.path, minlength=self.count)
        return np.concatenate(([0], np.cumsum(periods))).astype(np.int64)

    def period(self, path: Ints, time: Ints) -> Ints:
        """The period of each path at a time; the first one before and where the time is `MISSING`."""
        width = len(self._times) + 1
        changed = self.path * width + np.searchsorted(self._times, self.time, side="right")
        asked = path * width + np.searchsorted(self._times, time, side="right")
        before = np.searchsorted(self.path, path)
        found: Ints = self.first[path] + np.searchsorted(changed, asked, side="right") - before
        return found

    @property
    def path_of_period(self) -> Ints:
        """The path of each period."""
        return np.repeat(np.arange(self.count), np.diff(self.first))

    @property
    def begin_of_period(self) -> Ints:
        """When each period begins; `MISSING` for the first of a path."""
        begin = np.full(int(self.first[-1]), MISSING)
        begin[np.arange(len(self)) + self.path + 1] = self.time
        return begin


class OldPhases(Struct, frozen=True):
    """The phases of connections, in the order of connection and time."""

    changes: OldPathChanges
    path: Ints
    """The path of each connection."""
    opening: Ints
    """The first phase of each connection."""
    closing: Ints
    """The last one."""
    period: Ints
    """The period of its path for each phase."""

    @classmethod
    def of(cls, connections: Connections, path: Ints, changes: OldPathChanges) -> OldPhases:
        """Cut `connections`, each on its path, where these changed."""
        begin, end = (changes.period(path, time) for time in (connections.start, connections.end))
        count = end - begin + 1
        opening = np.cumsum(count) - count
        period = np.repeat(begin - opening, count) + np.arange(int(count.sum()))
        return cls(changes, path, opening, opening + count - 1, period)

    def __len__(self) -> int:
        return len(self.period)

    @property
    def connection(self) -> Ints:
        """The connection of each phase."""
        return np.repeat(np.arange(len(self.opening)), self.closing - self.opening + 1)

    def covers(self, connection: Ints, time: Ints) -> Bools:
        """A phase of each connection was at that time: not where a selection leaves out what was measured then."""
        if not len(self.changes):
            return np.ones(len(connection), bool)
        inside: Bools = self.period[self.at(connection, time)] == self.changes.period(self.path[connection], time)
        return inside

    def at(self, connection: Ints, time: Ints) -> Ints:
        """The phase that each connection was in at a time."""
        if not len(self.changes):
            return connection
        opening = self.opening[connection]
        phase = opening + self.changes.period(self.path[connection], time) - self.period[opening]
        known: Ints = np.clip(phase, opening, self.closing[connection])
        return known
