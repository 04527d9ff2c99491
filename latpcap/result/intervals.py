"""RTT, loss, round trips and response times over time, in a result and as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable
from msgspec import Struct

from latpcap.display import Plottable, ShortRepr, finite
from latpcap.measures.intervals import Intervals
from latpcap.tables.columnar.columns import Floats, nullable
from latpcap.tables.columnar.table import Table

MIN_RUNTIME_S = 10.0
"""A shorter recording is seen at a glance without intervals."""
MIN_ROWS = 5
"""Intervals in which something happened."""

_COUNT, _TIME = DataType.uint64(), DataType.timestamp("ns", tz="UTC")
COUNTS = ("round_trips", "exchanges", "errors", "connections", "rtt_samples")
SEGMENTS = ("segments", "retransmissions", "lost", "lost_share", "spurious", "spurious_share")
"""Not known of intervals shorter than those in which the core counts segments."""
DURATIONS = ("baseline", "rtt_min", "rtt_median", "fastest", "response_p50", "response_p95")


class IntervalResult(ShortRepr, Struct, frozen=True):
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
    segments: int | None
    """Packets with data that passed, those that were sent again included; null where the intervals are too short."""
    retransmissions: int | None
    """Retransmitted segments; null as `segments`."""
    lost: int | None
    """Retransmissions of lost packets, as far as acknowledgments show: at least."""
    lost_share: float | None
    """The lost share of segments, 0 to 1; null without any, as `spurious_share`."""
    spurious: int | None
    """Packets that were sent again though they had arrived."""
    spurious_share: float | None
    connections: int
    rtt_samples: int


class IntervalsResult(Plottable, Struct, frozen=True):
    """The intervals of a recording, those without traffic as well."""

    every_s: float
    rows: tuple[IntervalResult, ...]


def intervals_result(found: Intervals, runtime_s: float) -> IntervalsResult | None:
    """The intervals; `None` of a recording that is too short to tell of the time."""
    if runtime_s < MIN_RUNTIME_S or np.count_nonzero(found.exchanges) < MIN_ROWS:
        return None
    return all_of(found)


def all_of(found: Intervals) -> IntervalsResult:
    """The intervals, however few."""
    segments = _segments(found)
    starts = np.datetime_as_string(found.start.view("datetime64[ns]"), unit="ns")

    def row(number: int, start: str) -> IntervalResult:
        durations: dict[str, Any] = {f"{name}_ms": finite(getattr(found, name)[number] / 1e6) for name in DURATIONS}
        counts: dict[str, Any] = {name: int(getattr(found, name)[number]) for name in COUNTS}
        sent = {name: finite(values[number]) for name, values in segments.items()}
        counts |= {
            name: value if name.endswith("_share") or value is None else int(value) for name, value in sent.items()
        }
        return IntervalResult(start=f"{start}Z", **durations, **counts)

    return IntervalsResult(found.every_s, tuple(row(number, str(start)) for number, start in enumerate(starts)))


def _segments(found: Intervals) -> dict[str, Floats]:
    """The counts of segments, each share behind its count; NaN where it is not known."""
    counts = {
        "segments": found.segments,
        "retransmissions": found.retransmissions,
        "lost": found.lost,
        "spurious": found.retransmissions - found.lost,
    }
    with np.errstate(invalid="ignore"):
        shares = {f"{name}_share": counts[name] / counts["segments"] for name in ("lost", "spurious")}
    return {name: (counts | shares)[name] for name in SEGMENTS}


def _cell(name: str, values: Floats) -> Array:
    """Counts as whole numbers."""
    column = nullable(values)
    return column if name.endswith("_share") else column.cast(_COUNT)


def interval_table(found: Intervals) -> Table:
    """One row an interval."""

    def ms(values: Floats) -> Array:
        return nullable(values / 1e6)

    columns: dict[str, Any] = {
        "start": Array.from_numpy(found.start).cast(_TIME),
        **{f"{name}_ms": ms(getattr(found, name)) for name in DURATIONS},
        **{name: Array.from_numpy(getattr(found, name)).cast(_COUNT) for name in COUNTS[:3]},
        **{name: _cell(name, values) for name, values in _segments(found).items()},
        **{name: Array.from_numpy(getattr(found, name)).cast(_COUNT) for name in COUNTS[3:]},
    }
    return Table(ArrowTable.from_pydict(columns), "intervals")
