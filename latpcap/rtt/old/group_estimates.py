"""The RTTs of many groups of connections, estimated at once: each as if the others were not there.

A path belongs to one group: where connections of several groups go between the same hosts, each group has its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from msgspec.structs import replace

from latpcap.rtt.old.estimate import OldEstimate, estimate_paths
from latpcap.rtt.old.measurements import Measurements
from latpcap.rtt.old.paths import OldPaths
from latpcap.rtt.old.phases import OldPathChanges
from latpcap.tables.part.groups import Group, GroupBatch


def estimate_groups(groups: GroupBatch, given_ms: float | None = None) -> Iterator[tuple[Group, OldEstimate]]:
    """Yield each group with what is known of its RTTs; `given_ms` overrules what was measured."""
    known = estimate_paths(groups.recording, given_ms, groups.of_connection)
    path = known.paths.of_connection
    for group in groups:
        first_path = int(path[group.connections.start])
        paths = slice(first_path, int(path[group.connections].max()) + 1)
        yield group, _part(known, group, paths, later=group.recording.start_ns - groups.recording.start_ns)


def _part(known: OldEstimate, group: Group, paths: slice, later: int) -> OldEstimate:
    """The part of `known` about a group's connections and their paths; the group began so many ns later than all."""
    connections = group.connections
    changes, phases = known.phases.changes, known.phases
    first_change, last_change = np.searchsorted(changes.path, (paths.start, paths.stop)).tolist()
    shown = slice(first_change, last_change)
    periods = slice(int(changes.first[paths.start]), int(changes.first[paths.stop]))
    own = slice(int(phases.opening[connections.start]), int(phases.closing[connections.stop - 1]) + 1)
    of_phases = replace(
        phases,
        changes=OldPathChanges(
            changes.path[shown] - paths.start,
            changes.time[shown] - later,
            changes.shown[shown],
            paths.stop - paths.start,
        ),
        path=phases.path[connections] - paths.start,
        opening=phases.opening[connections] - own.start,
        closing=phases.closing[connections] - own.start,
        period=phases.period[own] - periods.start,
    )
    return OldEstimate(
        paths=OldPaths(
            known.paths.of_connection[connections] - paths.start, known.paths.client[paths], known.paths.server[paths]
        ),
        of_paths=known.of_paths.picked(paths),
        of_connections=known.of_connections.picked(connections),
        phases=of_phases,
        of_phases=known.of_phases.picked(own),
        of_periods=known.of_periods.picked(periods),
        of_exchanges=known.of_exchanges[group.exchanges] - own.start,
        direct=partial(_direct, known, own, later),
    )


def _direct(
    known: OldEstimate, phases: slice, later: int, of_far: bool, of_near: bool
) -> Iterator[tuple[bool, Measurements]]:
    """Handshakes and clean ACKs of these phases; all are looked through."""
    for near, values in known.direct(of_far, of_near):
        inside = (values.connection >= phases.start) & (values.connection < phases.stop)
        own = values.where(inside)
        yield near, Measurements(own.connection - phases.start, own.ns, own.time - later)
