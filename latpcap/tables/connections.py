"""The database connections of a recording, as numpy columns."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.tables.columnar.columns import Bools, Codes, Ints

MISSING = np.iinfo(np.int64).min
"""A time or span that the capture does not show."""
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
    server_first: Bools

    def __len__(self) -> int:
        return len(self.stream)
