"""RTT, loss, round trips and response times over the time of a recording: one row a minute, or another interval.

An exchange belongs to the interval in which it begins, an RTT sample to that in which it was taken. Intervals begin at
round times of the clock; one in which nothing happened is there as well.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.errors import UsageError
from latpcap.measures.segments import segments_over_time
from latpcap.measures.statements import response_ns
from latpcap.rtt import Estimate
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Floats, Ints
from latpcap.tables.columnar.quantiles import GroupedValues
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording

MINUTE_S = 60.0
MAX_READABLE_ROWS = 40
"""Intervals that are still read at a glance."""
MAX_INTERVALS = 100_000
STEPS_S = (*(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5), *(1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0))
LONG_S = tuple(60.0 * factor for factor in (2, 5, 10, 15, 30, 60, 120, 360, 720, 1440))
"""Widths of intervals: up to a minute, and beyond."""


class Intervals(Struct, frozen=True):
    """One value an interval; times in ns, NaN where there is none."""

    every_s: float
    start: Ints
    """Since 1970."""
    baseline: Floats
    """That its round trips count with, on average."""
    rtt_min: Floats
    """The RTTs of handshakes and clean ACKs."""
    rtt_median: Floats
    rtt_samples: Ints
    fastest: Floats
    """The fastest wait of one round trip, as the client saw it: the RTT is no longer."""
    response_p50: Floats
    """First packet of the request → last one of the response."""
    response_p95: Floats
    round_trips: Ints
    exchanges: Ints
    errors: Ints
    """Exchanges that the server answered with an error."""
    segments: Floats
    """Packets with data that passed, those that were sent again included."""
    retransmissions: Floats
    """Segments that were sent again."""
    lost: Floats
    """Segments among these that had not arrived: at least. Others were sent again for nothing."""
    connections: Ints
    """On which an exchange began."""

    def __len__(self) -> int:
        return len(self.start)


def usual_interval_s(runtime_s: float, *, beyond: bool = False) -> float:
    """The width of intervals where none is asked for: a round one, of which at most 40 cover the time.

    No more than a minute, unless longer ones are welcome (`beyond`) or it lasts for months.

    >>> usual_interval_s(5), usual_interval_s(90), usual_interval_s(28_800), usual_interval_s(28_800, beyond=True)
    (0.2, 5.0, 60.0, 900.0)
    """
    if not beyond and runtime_s <= MAX_INTERVALS * MINUTE_S / 2:
        return next((width for width in STEPS_S if runtime_s <= MAX_READABLE_ROWS * width), MINUTE_S)
    widths = STEPS_S + LONG_S
    days = math.ceil(runtime_s / MAX_READABLE_ROWS / widths[-1])
    return next((width for width in widths if runtime_s <= MAX_READABLE_ROWS * width), days * widths[-1])


def intervals(recording: Recording, rtt: Estimate, every_s: float | None = None, *, beyond: bool = False) -> Intervals:
    """Measure each interval of `every_s` seconds; `None`: a width that suits the recording."""
    every_s = usual_interval_s(recording.runtime_s, beyond=beyond) if every_s is None else every_s
    width = max(round(every_s * 1e9), 1)
    first = recording.start_ns // width * width
    count = int((recording.start_ns + round(recording.runtime_s * 1e9) - first) // width) + 1
    if count > MAX_INTERVALS:
        raise UsageError(f"{count:,} intervals are too many (at most {MAX_INTERVALS:,}): choose longer ones")
    offset = recording.start_ns - first

    def at(times: Ints) -> Ints:
        return np.clip((times + offset) // width, 0, count - 1)

    sent = segments_over_time(recording, lambda times: at(times - recording.start_ns), count, width)

    rtt_samples, rtt_min, rtt_median = recording.rtts_by_interval(rtt.core, first, width, count)
    exchanges = recording.exchanges
    begin = exchanges.begin
    captured = begin != MISSING
    seen = slice(None) if captured.all() else np.flatnonzero(captured)  # mostly all, and then nothing is copied
    row = np.empty(len(begin), np.int64)
    for rows in passes.pieces(len(begin)):
        row[rows] = at(begin[rows])
    row, connection, trips = row[seen], exchanges.connection[seen], exchanges.round_trips[seen]

    def total(values: Ints | Bools) -> Ints:
        sums, _ = passes.sums(row, values[seen], count)
        return sums

    response = response_ns(exchanges)[seen]
    _, response_p50, response_p95 = _told(GroupedValues.of(row, response, count, response >= 0), 0.5, 0.95)
    del response
    waited = _waits(recording, rtt)[seen]
    _, fastest = _told(GroupedValues.of(row, waited, count, (waited >= 0) & (trips == 1)), 0.0)
    del waited
    new = np.flatnonzero((np.diff(row, prepend=-1) != 0) | (np.diff(connection, prepend=-1) != 0))
    order, starts = passes.grouped(row[new], connection[new])
    baseline = rtt.each_baseline[seen]
    known = (trips > 0) & ~np.isnan(baseline)
    baseline *= trips
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(row[known], baseline[known], count) / np.bincount(row[known], trips[known], count)
    return Intervals(
        every_s=every_s,
        start=first + width * np.arange(count),
        baseline=mean,
        rtt_min=rtt_min,
        rtt_median=rtt_median,
        rtt_samples=rtt_samples,
        fastest=fastest,
        response_p50=response_p50,
        response_p95=response_p95,
        round_trips=total(exchanges.round_trips),
        exchanges=np.bincount(row, minlength=count),
        errors=total(exchanges.failed),
        segments=_known(None if sent is None else sent.sent, count),
        retransmissions=_known(None if sent is None else sent.again, count),
        lost=_known(None if sent is None else sent.lost, count),
        connections=np.bincount(row[new][order[starts[:-1]]], minlength=count),
    )


def _known(counts: Ints | None, count: int) -> Floats:
    """NaN where they were not counted."""
    return np.full(count, np.nan) if counts is None else counts.astype(float)


def _told(values: GroupedValues, *fractions: float) -> list[NDArray[Any]]:
    """How many there are in each interval, and these quantiles of them."""
    return [values.counts, *map(values.quantile, fractions)]


def _waits(recording: Recording, rtt: Estimate) -> Ints:
    """The time that the client waited for each exchange; `MISSING` where the capture was not taken at the client."""
    exchanges = recording.exchanges
    waited = exchanges.waited
    known = exchanges.complete & (waited >= 0) & (exchanges.retransmissions == 0)
    return np.where(known & (rtt.of_phases.near_share == 0)[rtt.of_exchanges], waited, MISSING)
