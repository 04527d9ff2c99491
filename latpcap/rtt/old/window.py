"""The RTTs that a window takes from its recording: they are estimated from the whole, which knows more of each path.

Handshakes may have been before the window, and that the RTT changed shows only beside what it was at another time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from latpcap.rtt.old.estimate import OldEstimate, busiest, estimate_paths
from latpcap.rtt.old.measurements import Measurements
from latpcap.rtt.old.paths import OldPaths, paths
from latpcap.rtt.old.phases import OldPathChanges, OldPhases
from latpcap.tables.columnar.columns import Ints
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording


def estimate_recording(recording: Recording, given_ms: float | None = None) -> OldEstimate:
    """The RTTs of a recording; of a window, those of the whole."""
    if recording.whole is None:
        return estimate_paths(recording, given_ms)
    return _within(estimate_paths(recording.whole, given_ms), recording.whole, recording)


def _within(known: OldEstimate, whole: Recording, window: Recording) -> OldEstimate:
    """The part of what is `known` of a `whole` recording that is true of its `window`."""
    found, later = paths(window.connections), window.start_ns - whole.start_ns
    connection = np.searchsorted(whole.connections.stream, window.connections.stream)
    path = _of_whole(found, known.paths.of_connection[connection])
    changes = _changes(known.phases.changes, path, later, round(window.runtime_s * 1e9))
    phases = OldPhases.of(window.connections, found.of_connection, changes)
    begin = np.maximum(changes.begin_of_period, 0)
    period = known.phases.changes.period(path[changes.path_of_period], begin + later)
    of_connection = phases.connection
    start = np.maximum(window.connections.start[of_connection], begin[phases.period])
    phase = known.phases.at(connection[of_connection], start + later)
    of_periods, of_phases = known.of_periods.picked(period), known.of_phases.picked(phase)
    of_exchanges = phases.at(window.exchanges.connection, window.exchanges.begin)
    trips = np.bincount(of_exchanges, window.exchanges.round_trips, len(phases))
    period_trips = np.bincount(phases.period, trips, len(period))
    return OldEstimate(
        paths=found,
        of_paths=of_periods.picked(busiest(period_trips, changes.first[:-1])),
        of_connections=of_phases.picked(busiest(trips, phases.opening)),
        phases=phases,
        of_phases=of_phases,
        of_periods=of_periods,
        of_exchanges=of_exchanges,
        direct=partial(_measured, known, phases, connection, window, later),
    )


def _measured(
    known: OldEstimate,
    phases: OldPhases,
    connection: Ints,
    window: Recording,
    later: int,
    of_far: bool,
    of_near: bool,
) -> Iterator[tuple[bool, Measurements]]:
    """The connections of the window, each with its phase there; `connection` is each one's number in the whole."""
    number = np.full(len(known.phases.opening), MISSING)
    number[connection] = np.arange(len(connection))
    number = number[known.phases.connection]
    for near, values in known.direct(of_far, of_near):
        own, time = number[values.connection], values.time - later
        inside = (own != MISSING) & (time >= 0) & (time <= round(window.runtime_s * 1e9))
        yield near, Measurements(phases.at(own[inside], time[inside]), values.ns[inside], time[inside])


def _of_whole(found: OldPaths, path: Ints) -> Ints:
    """The number that each path has in the whole recording; `path` is that of each connection."""
    numbers = np.zeros(len(found), np.int64)
    numbers[found.of_connection] = path
    return numbers


def _changes(known: OldPathChanges, path: Ints, later: int, runtime_ns: int) -> OldPathChanges:
    """The changes in the window; `path` is each of its paths' number in the whole recording."""
    number = np.full(known.count, MISSING)
    number[path] = np.arange(len(path))
    time = known.time - later
    inside = (number[known.path] != MISSING) & (time > 0) & (time < runtime_ns)
    order = np.lexsort((time[inside], number[known.path[inside]]))
    return OldPathChanges(number[known.path[inside]][order], time[inside][order], known.shown[inside][order], len(path))
