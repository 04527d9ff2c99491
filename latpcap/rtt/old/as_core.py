"""TEMPORARY, until the core estimates RTTs itself: an estimate as the core's `Rtts`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from latpcap import _core
from latpcap.rtt.baselines import Baselines, Method
from latpcap.rtt.old.choice import choose, limits
from latpcap.rtt.old.estimate import OldEstimate
from latpcap.rtt.old.group_estimates import estimate_groups
from latpcap.rtt.old.measurements import Measurements, PathHalf
from latpcap.rtt.old.window import estimate_recording
from latpcap.tables.columnar.columns import Floats, Ints
from latpcap.tables.columnar.quantiles import GroupedValues
from latpcap.tables.part.groups import Group, GroupBatch
from latpcap.tables.recording import Recording


def columns(of: Baselines) -> Any:
    """The arrays that the core takes."""

    def floats(*names: str) -> Any:
        return tuple(np.ascontiguousarray(getattr(of, name), float) for name in names)

    def ints(*names: str) -> Any:
        return tuple(np.ascontiguousarray(getattr(of, name), np.int64) for name in names)

    return (
        floats("baseline", "low", "high", "near_share"),
        ints("method", "reason", "position"),
        floats("handshake", "in_stream_min", "in_stream_median", "in_stream_mean", "floor"),
        ints("samples")[0],
    )


def rtts(recording: Recording, given_ms: float | None = None) -> _core.Rtts:
    """`recording.rtts(given_ms)`."""
    return as_core(recording, estimate_recording(recording, given_ms))


def group_rtts(groups: GroupBatch, given_ms: float | None = None) -> Iterator[tuple[Group, _core.Rtts]]:
    """`groups.rtts(given_ms)`."""
    for group, found in estimate_groups(groups, given_ms):
        yield group, as_core(group.recording, found)


def as_core(recording: Recording, rtt: OldEstimate) -> _core.Rtts:
    """Return the core's `Rtts`."""
    changes = rtt.phases.changes
    return _core.Rtts.of(
        recording.core,
        (rtt.paths.client, rtt.paths.server),
        rtt.paths.of_connection.astype(np.int64),
        tuple(each.astype(np.int64) for each in (changes.path, changes.time, changes.shown)),
        tuple(map(columns, (rtt.of_paths, rtt.of_connections, rtt.of_periods, rtt.of_phases))),
        rtt.of_exchanges.astype(np.int64),
    )


def rtts_by_interval(
    recording: Recording, known: Any, first_ns: int, width_ns: int, count: int
) -> tuple[Ints, Floats, Floats]:
    """`recording.rtts_by_interval(known.core, first_ns, width_ns, count)`."""
    is_given = bool((known.of_paths.method == Method.GIVEN).any())
    found = estimate_recording(recording, 1.0 if is_given else None)
    near_share, baseline = known.of_phases.near_share, known.of_phases.baseline
    shares = 1 - near_share, near_share
    others = [np.rint(np.nan_to_num((1 - share) * baseline)).astype(np.int64) for share in shares]
    row, ns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for is_near, values in found.direct(*(bool((share > 0).any()) for share in shares)):
        used = values.where((shares[is_near] > 0)[values.connection])
        row.append(np.clip((used.time + recording.start_ns - first_ns) // width_ns, 0, count - 1))
        ns.append(used.ns + others[is_near][used.connection])
    grouped = GroupedValues.of(np.concatenate(row), np.concatenate(ns), count)
    return grouped.counts, grouped.quantile(0.0), grouped.quantile(0.5)


def rtt_of_half(
    handshakes_ns: list[int], acks_ns: list[int], bounds_ns: list[int], step_ns: int
) -> tuple[float, float, float, int, int]:
    """`_core.rtt_of_half`."""

    def of(ns: list[int]) -> Measurements:
        return Measurements(np.zeros(len(ns), np.int64), np.array(ns, np.int64), np.zeros(len(ns), np.int64))

    half = PathHalf(
        of(handshakes_ns),
        of(acks_ns),
        of(bounds_ns),
        np.full(len(bounds_ns), -1),
        of(sorted(bounds_ns)[:1]),
        of([]),
        np.ones(len(acks_ns), bool),
    )
    chosen = choose(half, np.zeros(1, np.int64), 1, step_ns, np.full(1, not len(handshakes_ns)))
    ns, low, high = (float(each[0]) for each in (chosen.value, *limits(chosen, step_ns)))
    return ns, low, high, int(chosen.method[0]), int(chosen.reason[0])
