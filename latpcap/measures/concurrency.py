"""Which connections follow each other, and which run side by side.

The replay (core/src/replay/lanes.rs) decides this from the same exchanges for who waits for whom elsewhere; here it
says how much an instant counts. Which connections one could have served: `tables.passes.lanes`.
"""

from __future__ import annotations

import numpy as np

from latpcap.tables.columns import Bools, Floats, Ints
from latpcap.tables.quantiles import Grouped

__all__ = ["side_by_side"]


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
