"""Tasks in a result: a table with a row a task, and what is typical of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable
from msgspec import Struct

from latpcap.measures.tasks import Tasks
from latpcap.tables.columnar.columns import Bools, Floats, nullable
from latpcap.tables.columnar.quantiles import quantiles
from latpcap.tables.columnar.table import Table
from latpcap.tables.recording import Recording

_TEXT, _COUNT = DataType.string(), DataType.uint64()
_TIME = DataType.timestamp("ns", tz="UTC")


class Spread(Struct, frozen=True):
    """Order statistics over tasks, by nearest rank: values that a task really had."""

    p50: float
    p95: float
    max: float


class TaskSummary(Struct, frozen=True):
    """How many tasks there are, and what is typical of them."""

    tasks: int
    round_trips: Spread
    statements: Spread
    duration_s: Spread
    seconds_per_ms: Spread


def summary(tasks: Tasks) -> TaskSummary | None:
    """Sum up tasks; `None` where there is none."""
    if len(tasks) == 0:
        return None
    return TaskSummary(
        tasks=len(tasks),
        round_trips=_spread(tasks.round_trips.astype(float)),
        statements=_spread(tasks.statements.astype(float)),
        duration_s=_spread(tasks.duration_ns / 1e9),
        seconds_per_ms=_spread(tasks.effective_round_trips / 1000),
    )


def share_per_ms(tasks: Tasks) -> Floats:
    """The part of each task's duration that a further millisecond of RTT adds; NaN where it took no time."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Floats = tasks.effective_round_trips / 1000 / (tasks.duration_ns / 1e9)
    return np.where(tasks.duration_ns > 0, share, np.nan)


def task_table(tasks: Tasks, recording: Recording, grown: Mapping[float, float] | None = None) -> Table:
    """One row a task, in the order in which they began, numbered from 1.

    `grown` says by what factor waiting for the network grows at other RTTs: what each task takes there stands last.
    """
    network_s, duration_s = tasks.network_ns / 1e9, tasks.duration_ns / 1e9
    there = {rtt: duration_s + network_s * (factor - 1) for rtt, factor in (grown or {}).items()}
    counts = ("connections", "exchanges", "statements", "transactions", "round_trips")
    columns: dict[str, Any] = {
        "task": Array.from_numpy(np.arange(1, len(tasks) + 1)).cast(_COUNT),
        **{name: Array(getattr(tasks, name), _TEXT) for name in ("client", "application", "route")},
        "start": Array.from_numpy(tasks.start_ns + recording.start_ns).cast(_TIME),
        "duration_s": Array.from_numpy(duration_s),
        **{name: Array.from_numpy(getattr(tasks, name)).cast(_COUNT) for name in counts},
        "seconds_per_ms": Array.from_numpy(tasks.effective_round_trips / 1000),
        "share_per_ms": nullable(share_per_ms(tasks)),
        "network_s": nullable(network_s),
        "baseline_rtt_ms": nullable(tasks.baseline_ns / 1e6),
        "timing_only": Array.from_numpy(_timing_only(tasks, recording)).cast(DataType.bool()),
        **{f"duration_{rtt:g}ms_s": nullable(seconds) for rtt, seconds in there.items()},
    }
    return Table(ArrowTable.from_pydict(columns), "tasks")


def _timing_only(tasks: Tasks, recording: Recording) -> Bools:
    """Tasks in which something was said that could not be read."""
    hidden = recording.timing_only[recording.exchanges.connection] & (tasks.of_exchange >= 0)
    found = np.zeros(len(tasks), bool)
    found[tasks.of_exchange[hidden]] = True
    return found


def _spread(values: Floats) -> Spread:
    return Spread(*quantiles(values, (0.5, 0.95, 1.0)))
