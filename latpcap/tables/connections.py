"""The database connections of a recording, as numpy columns."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.tables.columnar.columns import Bools, Codes, Ints

MISSING = np.iinfo(np.int64).min
"""A time or span that the capture does not show."""
CUT = "under_way_until"
"""A column of connections in a window: `Connections.under_way`."""
TIMES = {
    "start": "start",
    "end": "end",
    "syn": "syn_time",
    "syn_ack": "syn_ack_time",
    "ack": "ack_time",
    "client_fin": "client_fin_time",
    "server_fin": "server_fin_time",
}
"""Times of `Connections` (ns since the recording began) → the columns they come from."""
NUMBERS = {
    f"{side}_{name}": f"{side}_{name}{unit}"
    for side in ("client", "server")
    for unit, names in {"_ns": ("handshake", "answer"), "": ("mss",), "_bytes": ("window", "window_limit")}.items()
    for name in names
}
"""Other numbers of `Connections` → their columns; `MISSING` where unknown."""


class Connections(Struct, frozen=True):
    """The database connections, one entry each."""

    stream: Ints
    client: Codes
    host: Codes
    """The client's host; its ports differ from connection to connection."""
    server: Codes
    protocol: Codes
    start: Ints
    end: Ints
    syn: Ints
    syn_ack: Ints
    ack: Ints
    client_fin: Ints
    """When each side first said that it sends no more."""
    server_fin: Ints
    handshake_retransmitted: Bools
    server_handshake: Ints
    """SYN → SYN/ACK, `MISSING` where it cannot be timed."""
    client_handshake: Ints
    """SYN/ACK → ACK, likewise."""
    server_answer: Ints
    """The fastest data of the server that acknowledge the client's, after these; `MISSING` where there is none."""
    client_answer: Ints
    """The fastest data of the client that acknowledge the server's, after these; `MISSING` where there is none."""
    client_mss: Ints
    """The largest segment that the client takes, in bytes; `MISSING` where its SYN was not captured."""
    server_mss: Ints
    client_window: Ints
    """The largest receive window that the client advertised, in bytes, scaled; `MISSING` where the SYNs with the
    scale were not captured."""
    server_window: Ints
    client_window_limit: Ints
    """How far that can grow, by its scale; `MISSING` likewise."""
    server_window_limit: Ints
    server_first: Bools
    under_way: Ints
    """Until when an exchange went on that had begun before the selected window; else `MISSING`."""

    def __len__(self) -> int:
        return len(self.stream)
