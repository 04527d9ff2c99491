"""Which packet a health note is about: the first one, so that a person can look."""

from __future__ import annotations

import numpy as np

from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools, Floats
from latpcap.tables.recording import Recording


def of_connections(recording: Recording, which: Bools) -> int | None:
    """The first packet of the first of these database connections."""
    frames = recording.connection_column("first_frame").ints(0)[which]
    return int(frames[frames > 0].min()) if np.any(frames > 0) else None


def of_exchanges(recording: Recording, rows: Bools) -> int | None:
    """The request of the first of these exchanges, else its response."""
    for name in ("request_frame", "response_frame"):
        frames = columns.column(recording.exchange_columns(name), name).ints(0)[rows]
        if (known := frames[frames > 0]).size:
            return int(known.min())
    return None


def of_largest(recording: Recording, amounts: Floats) -> int | None:
    """The request of the exchange that has most of something, else its response."""
    if not np.any(amounts > 0):
        return None
    return of_exchanges(recording, np.arange(len(amounts)) == int(np.argmax(amounts)))
