"""TEMPORARY, until the core estimates RTTs itself: an estimate as the core's `Rtts`."""

from __future__ import annotations

from typing import Any

import numpy as np

from latpcap import _core
from latpcap.rtt.baselines import Baselines
from latpcap.rtt.estimate import Estimate
from latpcap.tables.recording import Recording


def _columns(of: Baselines) -> Any:
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


def as_core(recording: Recording, rtt: Estimate) -> Any:
    """Return the core's `Rtts`."""
    changes = rtt.phases.changes
    return _core.Rtts.of(
        recording.core,
        (rtt.paths.client, rtt.paths.server),
        rtt.paths.of_connection.astype(np.int64),
        tuple(each.astype(np.int64) for each in (changes.path, changes.time, changes.shown)),
        tuple(map(_columns, (rtt.of_paths, rtt.of_connections, rtt.of_periods, rtt.of_phases))),
        rtt.of_exchanges.astype(np.int64),
    )
