"""How many responses there are from which the network's share of the time could be told."""

from __future__ import annotations

import numpy as np

from latpcap.tables.recording import MISSING, Recording

__all__ = ["FEWEST_RESPONSES", "responses"]

FEWEST_RESPONSES = 2
"""One response bounds the RTT and is divided by that bound: it would be the network as a whole."""


def responses(recording: Recording) -> int:
    """How many exchanges have a response that was captured whole."""
    exchanges = recording.exchanges
    whole = exchanges.complete & exchanges.wait.where("none".__ne__) & (exchanges.response != MISSING)
    return int(np.count_nonzero(whole))
