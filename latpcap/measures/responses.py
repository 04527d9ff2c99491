"""How many responses there are from which the network's share of the time could be told."""

from __future__ import annotations

import numpy as np

from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording

MIN_RESPONSES = 2
"""A single response would bound the RTT and be divided by that bound, so all of it would be network."""


def responses(recording: Recording) -> int:
    """How many answers were captured whole: an exchange of several round trips has as many."""
    exchanges = recording.exchanges
    whole = exchanges.complete & exchanges.wait.where("none".__ne__) & (exchanges.response != MISSING)
    return int(np.maximum(exchanges.round_trips, 1).sum(where=whole))
