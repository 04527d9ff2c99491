"""RTT, loss, round trips and response times over time, in a result and as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable
from msgspec import Struct

from latpcap.display import Brief, Plotted, finite
from latpcap.measures.minutes import Minutes
from latpcap.tables.columnar.columns import Floats, nullable
from latpcap.tables.columnar.table import Table

LONG_ENOUGH_S = 10.0
"""What is shorter is seen at a glance without."""
FEWEST_ROWS = 5
"""Intervals in which something happened."""

_COUNT, _TIME = DataType.uint64(), DataType.timestamp("ns", tz="UTC")
COUNTS = ("round_trips", "exchanges", "errors", "retransmissions", "connections", "rtt_samples")
DURATIONS = ("baseline", "rtt_min", "rtt_median", "fastest", "response_p50", "response_p95")


class MinuteResult(Brief, Struct, frozen=True):
    """One interval; durations in ms, `None` where there was nothing to measure."""

    start: str
    baseline_ms: float | None
    rtt_min_ms: float | None
    rtt_median_ms: float | None
    fastest_ms: float | None
    response_p50_ms: float | None
    response_p95_ms: float | None
    round_trips: int
    exchanges: int
    errors: int
    retransmissions: int
    connections: int
    rtt_samples: int


class MinutesResult(Plotted, Struct, frozen=True):
    """The intervals of a recording, those without traffic as well."""

    every_s: float
    rows: tuple[MinuteResult, ...]


def minutes_result(found: Minutes, runtime_s: float) -> MinutesResult | None:
    """The intervals; `None` of a recording that is too short to tell of the time."""
    if runtime_s < LONG_ENOUGH_S or np.count_nonzero(found.exchanges) < FEWEST_ROWS:
        return None
    return all_of(found)


def all_of(found: Minutes) -> MinutesResult:
    """The intervals, however few."""
    starts = np.datetime_as_string(found.start.view("datetime64[ns]"), unit="ns")

    def row(number: int, start: str) -> MinuteResult:
        durations: dict[str, Any] = {f"{name}_ms": finite(getattr(found, name)[number] / 1e6) for name in DURATIONS}
        counts = {name: int(getattr(found, name)[number]) for name in COUNTS}
        return MinuteResult(start=f"{start}Z", **durations, **counts)

    return MinutesResult(found.every_s, tuple(row(number, str(start)) for number, start in enumerate(starts)))


def minute_table(found: Minutes) -> Table:
    """One row an interval."""

    def ms(values: Floats) -> Array:
        return nullable(values / 1e6)

    columns: dict[str, Any] = {
        "start": Array.from_numpy(found.start).cast(_TIME),
        **{f"{name}_ms": ms(getattr(found, name)) for name in DURATIONS},
        **{name: Array.from_numpy(getattr(found, name)).cast(_COUNT) for name in COUNTS},
    }
    return Table(ArrowTable.from_pydict(columns), "minutes")
