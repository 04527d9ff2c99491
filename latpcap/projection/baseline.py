"""The one baseline of a job: the RTT that a projection starts from, where its connections have several."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from latpcap.rtt import Estimate
from latpcap.rtt.baselines import Reason
from latpcap.tables.columnar.columns import known
from latpcap.tables.recording import Recording

Floats = NDArray[np.float64]

UNSURE = (Reason.SPLIT, Reason.SPLIT_SYN, Reason.SPLIT_CHANGE, Reason.FLOOR, Reason.STEADY, Reason.SLOW_DIRECT)
"""Responses that a server may have delayed say, or deny, what the RTT is."""
MIN_UNSURE_NS = 1e6
"""A range of less, from one end to the other, is that of hosts and clocks."""
MAX_OTHER_SHARE = 0.05
"""A job has one RTT where no more of the round trips have one that differs by more than this part of it."""
MIN_OTHER_NS = 1e5
"""RTTs that differ by less are the same: hosts differ by as much."""


def usual_ns(recording: Recording, rtt: Estimate, round_trips: Floats) -> float:
    """The median over connections, each counted as often as it waited; NaN where none is known."""
    if rtt.beyond is not None and rtt.beyond.any_far:  # that network is the one that is asked for
        far = rtt.beyond.is_far
        return _weighted_median(rtt.beyond.baseline[far], rtt.beyond.round_trips[far])
    return _weighted_median(_of_connections(recording, rtt, round_trips), round_trips)


def longest_ns(rtt: Estimate, round_trips: Floats) -> float | None:
    """The longest that the RTT of the job may have been; `None` where it was measured, and most waited for the same."""
    of = rtt.of_connections
    if rtt.beyond is not None:
        return None
    unsure = np.isin(of.reason, UNSURE) & (of.high - of.low >= MIN_UNSURE_NS)
    if 2 * float(round_trips[unsure].sum()) > float(round_trips.sum()):
        return _weighted_median(of.high[unsure], round_trips[unsure])
    away = np.abs(of.baseline - _weighted_median(of.baseline, round_trips))
    other = away > np.maximum(MAX_OTHER_SHARE * of.baseline, MIN_OTHER_NS)
    if float(round_trips[other].sum()) <= MAX_OTHER_SHARE * float(round_trips.sum()):
        return None
    return float(of.baseline[(round_trips > 0) & ~np.isnan(of.baseline)].max())


def _of_connections(recording: Recording, rtt: Estimate, round_trips: Floats) -> Floats:
    """The baseline of each connection; where its path changed, the mean over all that waited, as the verdict has it."""
    if not rtt.has_changed:
        return rtt.of_connections.baseline
    path, phases = rtt.paths.of_connection, rtt.phases
    exchanges, opening = recording.exchanges, phases.opening
    of_set_up = round_trips - np.bincount(exchanges.connection, exchanges.round_trips, len(round_trips))
    trips = np.bincount(rtt.of_exchanges, exchanges.round_trips, len(phases))
    trips += np.bincount(opening, of_set_up, len(phases))
    trips[np.isnan(rtt.of_phases.baseline)] = 0
    own, count = path[phases.connection], len(rtt.paths)
    waited = np.bincount(own, trips * known(rtt.of_phases.baseline), count)
    mean = waited / np.maximum(np.bincount(own, trips, count), 1)
    changed = np.isin(path, phases.changes.path)
    return np.where(changed, mean[path], rtt.of_connections.baseline)


def _weighted_median(values: Floats, weights: Floats) -> float:
    """The median of `values` that are known, each counted `weights` times; NaN when none is."""
    known = ~np.isnan(values)
    order = np.argsort(values[known])
    values, weights = values[known][order], weights[known][order]
    if len(values) == 0:
        return math.nan
    reached = np.cumsum(weights)
    return float(values[min(int(np.searchsorted(reached, reached[-1] / 2)), len(values) - 1)])
