"""Whether the capture shows the server at its limit: then more connections get nothing done sooner.

A server that has room finishes requests the faster the more it has to work on at once; at its limit it finishes as
many a second with eight as with four (operational analysis: Denning and Buzen 1978). Both rates are in a capture where
the number of requests in service varies enough; where it does not, nothing is known, and nothing is said.
"""

from __future__ import annotations

import math

import numpy as np

from latpcap.projection.job import Columns
from latpcap.tables.recording import MISSING

__all__ = ["capacity_per_s"]

APART = 1.5
"""Many requests at once are so many times as few ones, on average."""
MIN_ANSWERS = 30
"""Answers on either side."""
BUSY = 0.5
"""The server worked on many requests for this share of the time."""
GROWTH = 0.3
"""At its limit the rate grows by no more than this power of the number of requests; with room it is 1."""


def capacity_per_s(job: Columns) -> float | None:
    """Answers that the server can give in a second; `None` where the capture does not show its limit."""
    seen = (job.request_ns != MISSING) & (job.response_ns != MISSING) & (job.round_trips > 0) & ~job.setup
    if not seen.any():
        return None
    half = job.baseline_ns[job.phase[seen]] / 2
    begin, end = job.request_end_ns[seen] + half, job.response_ns[seen] - half
    times = np.concatenate((begin, np.maximum(end, begin)))
    steps = np.repeat((1, -1), len(begin))
    order = np.lexsort((-steps, times))
    times, steps = times[order], steps[order]
    level, spent = np.cumsum(steps)[:-1], np.diff(times)
    answered = steps[1:] < 0
    duration = np.bincount(level, spent)
    answers = np.bincount(level, answered, len(duration))
    levels = np.arange(len(duration))
    for most in range(len(duration) - 2, 0, -1):
        few, many = (levels > 0) & (levels <= most), levels > most
        if (
            min(answers[few].sum(), answers[many].sum()) < MIN_ANSWERS
            or min(duration[few].sum(), duration[many].sum()) <= 0
        ):
            continue
        apart = np.average(levels[many], weights=duration[many]) / np.average(levels[few], weights=duration[few])
        if apart >= APART and duration[many].sum() >= BUSY * duration.sum():
            low, high = (answers[side].sum() / duration[side].sum() for side in (few, many))
            return float(high * 1e9) if math.log(high / low) <= GROWTH * math.log(apart) else None
    return None
