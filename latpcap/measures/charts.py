"""A capture at a glance: the distribution of its inter-query deltas, and its exchanges over time.

Both hold few numbers however large the capture is, so that a chart of them is small.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.display import Plottable
from latpcap.tables.columnar.passes import running_maximum
from latpcap.tables.columnar.quantiles import quantiles
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording

BINS_PER_DECADE = 10
FIRST_DECADE, LAST_DECADE = -3, 9
"""From 1 µs to eleven days; what is beyond counts in the last bin."""

QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "max": 1.0}

MAX_LANES = 50
"""Connections drawn in the timeline."""
MAX_BLOCKS_PER_LANE = 400
"""Blocks drawn for a connection of a longer recording."""
MAX_EXCHANGES = 2_000
"""A connection with more exchanges is drawn in blocks."""


class Deltas(Plottable, Struct, frozen=True):
    """How far apart the requests of a connection begin: a histogram over a logarithmic scale."""

    edges_ms: tuple[float, ...]
    """One more than there are counts."""
    counts: tuple[int, ...]
    baseline_rtt_ms: float | None
    """The RTT, which is the least that one wait takes."""
    quantiles_ms: dict[str, float]
    """By name, those of `QUANTILES`; empty where nothing was counted."""


class Interval(Struct, frozen=True):
    """One exchange, or several of a connection that follow each other closely; in s since the first packet."""

    stream: int
    start_s: float
    end_s: float
    exchanges: int
    round_trips: int


class Timeline(Plottable, Struct, frozen=True):
    """When which connection was busy: the busiest connections, each as intervals."""

    intervals: tuple[Interval, ...]
    connections: int
    """All there are, also those that are not shown."""


def deltas(recording: Recording, baseline_rtt_ms: float | None) -> Deltas:
    """Count the deltas of `recording` in bins of a tenth of a decade, from the first that is used to the last."""
    known = recording.exchanges.delta
    return binned(known[known >= 0], baseline_rtt_ms)


def binned(times_ns: NDArray[np.int64], baseline_rtt_ms: float | None) -> Deltas:
    """Count any times in such bins.

    >>> binned(np.array([1_000_000, 1_100_000, 10_000_000]), None).counts
    (2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
    """
    spans = np.clip(times_ns / 1e6, 10.0**FIRST_DECADE, 10.0**LAST_DECADE)
    edges = 10.0 ** (np.arange(FIRST_DECADE * BINS_PER_DECADE, LAST_DECADE * BINS_PER_DECADE + 1) / BINS_PER_DECADE)
    counts, _ = np.histogram(spans, edges)
    used = np.flatnonzero(counts)
    if len(used) == 0:
        return Deltas((), (), baseline_rtt_ms, {})
    first, last = int(used[0]), int(used[-1]) + 1
    known = dict(zip(QUANTILES, quantiles(times_ns / 1e6, [*QUANTILES.values()]), strict=True))
    return Deltas(tuple(edges[first : last + 1].tolist()), tuple(counts[first:last].tolist()), baseline_rtt_ms, known)


def timeline(recording: Recording) -> Timeline:
    """The exchanges of the busiest connections: where they are many, cut only where a gap could be seen in a chart."""
    exchanges = recording.exchanges
    start, end = exchanges.begin, exchanges.end
    by_connection = np.bincount(exchanges.connection, exchanges.round_trips + 1.0, len(recording.connections))
    busiest = np.isin(exchanges.connection, np.argsort(-by_connection, kind="stable")[:MAX_LANES])
    chosen = np.flatnonzero(busiest & (start != MISSING))
    chosen = chosen[np.lexsort((start[chosen], exchanges.connection[chosen]))]
    if len(chosen) == 0:
        return Timeline((), len(recording.connections))
    connection, start, end = exchanges.connection[chosen], start[chosen], end[chosen]
    least_gap = recording.runtime_s * 1e9 / MAX_BLOCKS_PER_LANE
    new = np.diff(connection, prepend=-1) != 0
    new |= start - np.concatenate(([0], running_maximum(end, connection)[:-1])) > least_gap
    new |= len(chosen) <= MAX_EXCHANGES
    first = np.flatnonzero(new)
    ends = np.maximum.reduceat(end, first)
    trips = np.add.reduceat(exchanges.round_trips[chosen], first)
    counts = np.diff(first, append=len(chosen))
    streams = recording.connections.stream[connection[first]]
    rows = zip(streams, start[first] / 1e9, ends / 1e9, counts, trips, strict=True)
    intervals = (Interval(int(s), float(a), float(b), int(n), int(t)) for s, a, b, n, t in rows)
    return Timeline(tuple(intervals), len(recording.connections))
