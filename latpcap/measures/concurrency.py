"""Which connections follow each other, and which run side by side.

The replay (core/src/replay/lanes.rs) decides this from the same exchanges for who waits for whom elsewhere; here it
says how much an instant counts, and which connections one could have served.
"""

from __future__ import annotations

from bisect import bisect_right, insort

import numpy as np

from latpcap.tables.columns import Bools, Floats, Ints
from latpcap.tables.quantiles import Grouped

__all__ = ["lanes", "side_by_side"]


OVERLAP = 0.05
"""An exchange runs beside others when it shares more than this of its time."""


def side_by_side(connection: Ints, length: Ints, shared: Floats, count: int) -> Bools:
    """Which of `count` connections work beside others: most of their exchanges do.

    `shared` is what each exchange's `length` is worth where connections share the instants in which they are busy.
    The connections of a pool that is used one query after the other never overlap.
    """
    overlaps = (shared < length * (1 - OVERLAP)).astype(np.int64)
    beside: Bools = Grouped.of(connection, overlaps, count).quantile(0.5) == 1
    return beside


def lanes(start: Floats, end: Floats) -> Ints:
    """Return the lane of each connection, numbered from 0.

    A connection continues the lane whose last connection ended most recently before it began (docs/model.md C.5, the
    last-completion rule); where none is free it opens a lane. A connection for every query makes one lane, eight
    workers make eight.

    >>> lanes(np.array([0.0, 1.0, 5.0, 6.0]), np.array([4.0, 3.0, 7.0, 8.0])).tolist()
    [0, 1, 0, 1]
    """
    lane = np.zeros(len(start), np.int64)
    free: list[tuple[float, int]] = []
    opened = 0
    for connection in np.argsort(start, kind="stable"):
        at = bisect_right(free, (float(start[connection]), len(start)))
        if at:
            _, number = free.pop(at - 1)
        else:
            number, opened = opened, opened + 1
        lane[connection] = number
        insort(free, (max(float(end[connection]), float(start[connection])), number))
    return lane
