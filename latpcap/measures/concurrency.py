"""Connections in a row: which follow each other, and which run side by side.

A connection continues the lane whose last connection ended most recently before it began (docs/model.md C.5, the
last-completion rule); where none is free it opens a lane. A connection for every query makes one lane, eight workers
make eight.
"""

from __future__ import annotations

from bisect import bisect_right, insort

import numpy as np
from numpy.typing import NDArray

__all__ = ["lanes"]


def lanes(start: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the lane of each connection, numbered from 0.

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
