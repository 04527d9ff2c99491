"""Receive windows: who takes so little at once that large transfers wait for acknowledgments."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.measures.tcp import MAX_UNSCALED_BYTES
from latpcap.rtt import Estimate
from latpcap.tables.columnar.columns import constant
from latpcap.tables.connections import MISSING, Connections
from latpcap.tables.recording import Recording

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_FIXED_WINDOW_BYTES = 4 * MAX_UNSCALED_BYTES
"""A system that lets its windows grow offers a larger scale than the one that makes this of a window field; a buffer
whose size was set has the scale that it needs (Linux)."""
MIN_WINDOWS = 4
"""A transfer of this many windows shows that the window did not grow, if its scale does not say so."""


MIN_FILLED_SHARE = 0.5
"""A window limits a transfer that fills at least this share of it in every round trip, on average."""


class NarrowWindows(Struct, frozen=True):
    """The largest window of the receivers that take little at once; infinite for all others. One value a connection."""

    client_bytes: Floats
    server_bytes: Floats


def narrow_windows(connections: Connections, request: Ints, response: Ints) -> NarrowWindows:
    """Find them by their scale, and by the largest transfers of each connection, during which they did not grow."""
    return NarrowWindows(
        _narrow(connections.client_window, connections.client_window_limit, response),
        _narrow(connections.server_window, connections.server_window_limit, request),
    )


class WindowLimited(Struct, frozen=True):
    """How long (ns) each exchange went on under a narrow window, by whose it was; 0 for most."""

    by_client: Floats
    by_server: Floats

    @property
    def total(self) -> Floats:
        """Both."""
        return self.by_client + self.by_server


def held_back(recording: Recording, rtt: Estimate, windows: NarrowWindows) -> WindowLimited:
    """Find the transfers that a narrow window held back: about as much went in every round trip as it takes."""
    exchanges = recording.exchanges
    if not (np.isfinite(windows.client_bytes) | np.isfinite(windows.server_bytes)).any():
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

    by_client = held(windows.client_bytes, exchanges.response_wire_bytes, down)
    return WindowLimited(by_client, held(windows.server_bytes, exchanges.request_wire_bytes, up))


def _narrow(window: Ints, limit: Ints, largest: Ints) -> Floats:
    is_set = (limit > 0) & (limit <= MAX_FIXED_WINDOW_BYTES) & (largest > window)
    never_grew = (window <= MAX_UNSCALED_BYTES) & (largest > MIN_WINDOWS * window)
    narrow: Floats = np.where((window > 0) & (is_set | never_grew), window, np.inf).astype(float)
    return narrow
