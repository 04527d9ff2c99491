"""How many responses there are from which the network's share of the time could be told."""

from __future__ import annotations

import numpy as np

from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording

FEWEST_RESPONSES = 2
"""One response bounds the RTT and is divided by that bound: it would be the network as a whole."""


def responses(recording: Recording) -> int:
    """How many answers were captured whole: an exchange of several round trips has as many."""
    exchanges = recording.exchanges
    whole = exchanges.complete & exchanges.wait.where("none".__ne__) & (exchanges.response != MISSING)
    return int(np.maximum(exchanges.round_trips, 1).sum(where=whole))
