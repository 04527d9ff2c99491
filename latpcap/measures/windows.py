"""Transfers that waited for acknowledgments, as their receiver takes little at once."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap import _core
from latpcap.rtt import Estimate
from latpcap.tables.columnar.columns import constant
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MIN_FILLED_SHARE = 0.5
"""A window limits a transfer that fills at least this share of it in every round trip, on average."""


class WindowLimited(Struct, frozen=True):
    """How long (ns) each exchange went on under a narrow window, by whose it was; 0 for most."""

    by_client: Floats
    by_server: Floats

    @property
    def total(self) -> Floats:
        """Both."""
        return self.by_client + self.by_server


def held_back(recording: Recording, rtt: Estimate, job: _core.Job) -> WindowLimited:
    """Find the transfers that a narrow window held back: about as much went in every round trip as it takes."""
    exchanges = recording.exchanges
    client_bytes, server_bytes = job.narrow_windows()
    if not (np.isfinite(client_bytes) | np.isfinite(server_bytes)).any():
        none = constant(0.0, len(exchanges))
        return WindowLimited(none, none)
    rtt_ns = np.nan_to_num(rtt.of_phases.baseline)[rtt.of_exchanges]
    answered = exchanges.response != MISSING
    down = np.where(answered, exchanges.response_end - exchanges.response, 0).astype(float)
    streams = exchanges.streamed_bytes > exchanges.request_wire_bytes / 2
    up = np.where(streams, down, exchanges.request_end - exchanges.request)

    def held(window: Floats, sizes: Ints, spread: Floats) -> Floats:
        taken = window[exchanges.connection]
        rounds = spread / np.maximum(rtt_ns, 1.0)
        fills = (
            (sizes > taken)
            & (rounds >= 1)
            & (sizes > MIN_FILLED_SHARE * rounds * np.where(np.isfinite(taken), taken, 0))
        )
        time: Floats = np.where(fills, spread, 0.0)
        return time

    by_client = held(client_bytes, exchanges.response_wire_bytes, down)
    return WindowLimited(by_client, held(server_bytes, exchanges.request_wire_bytes, up))
