"""How much longer client and server take behind a rest: others have used their caches meanwhile, processors slept.

A curve says how much longer a round trip takes that does little (`link/src/rests.rs`), by rest. It was measured on the
host that recorded, or is assumed. How much longer a request takes follows from it, and from what client and server take
themselves; what the capture shows of that beats both (docs/model.md C.6).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.measures.rests import ReadCurve, halves
from latpcap.rtt import Estimate
from latpcap.tables.recording import Recording

Floats = NDArray[np.float64]
Rests = tuple[ReadCurve | None, ReadCurve | None]
"""How much later clients and servers go on behind a rest, as far as a capture shows it."""

MIN_CURVE_RATIO = 0.8
"""A request takes longer by at least this multiple of the curve, half of it in the client and half in the server."""
CURVE_RATIO_PER_MS = 1.5
"""Client and server each take longer by this multiple of the curve for every millisecond of their own time."""
TYPICAL_OWN_MS = 0.25
"""Client and server each take about this long for a small request."""
MAX_COOLED_MS = 0.5
"""Work beyond this has its caches warm again."""
MIN_MEASURED_SHARE, MAX_MEASURED_SHARE = 0.4, 1.8
"""Jobs differ in how much of the caches they use: a request takes between these parts of a measured curve."""
MAX_DEVICE_MS = 0.1
"""A request may take so much longer than the measurement because it passes a network device."""
MAX_RESTS = 33
"""Rests of which the mean is that of all."""
MIN_REST_MS = 0.1
"""Rests far shorter than this do not count."""


class RestCurve(Struct, frozen=True):
    """How much longer something takes behind a rest, at ascending rests; without a rest it takes no longer."""

    rests_ms: tuple[float, ...]
    extra_ms: tuple[float, ...]

    def at(self, rest_ms: Floats | float) -> Floats:
        """Return the extra time behind each rest, on straight lines over its logarithm.

        >>> RestCurve((1.0, 5.0), (0.0, 0.4)).at(np.array([0.0, 1.0, 5.0, 50.0])).tolist()
        [0.0, 0.0, 0.4, 0.4]
        """
        known = np.log1p(np.array((0.0, *self.rests_ms)) / MIN_REST_MS)
        asked = np.log1p(np.maximum(rest_ms, 0.0) / MIN_REST_MS)
        extra: Floats = np.interp(asked, known, (0.0, *self.extra_ms))
        return extra

    def times(self, factor: float) -> RestCurve:
        """Return the curve of a host that is so many times as slow to go on."""
        return RestCurve(self.rests_ms, tuple(factor * each for each in self.extra_ms))


class Host(Struct, frozen=True):
    """How the host of the client or the server goes on behind a rest."""

    least: RestCurve
    likely: RestCurve
    most: RestCurve
    per_curve: float = MIN_CURVE_RATIO / 2
    """Its part of a request takes so many times the curve longer."""
    per_own_ms: float = CURVE_RATIO_PER_MS
    """It takes so many times the curve longer for every millisecond that it takes itself."""

    def width_ms(self) -> float:
        """Return how far apart the least and the most of a typical request are behind a long rest."""
        cools = self.per_curve + self.per_own_ms * TYPICAL_OWN_MS
        return cools * (self.most.extra_ms[-1] - self.least.extra_ms[-1])

    def longer_ms(self, end: int, rests_ms: Floats, rests_there_ms: Floats, own_ms: float) -> Floats:
        """Return how much longer than `own_ms` a request takes behind other rests than those of the capture.

        `rests_there_ms` has a row for each place and a column for each of `rests_ms`. The least (-1), the likely (0) or
        the greatest change (1) at each place; shorter rests have negative ones.
        """
        curves = (self.likely,) if end == 0 else (self.least, self.likely, self.most)
        return extreme(end, [self._longer_ms(curve, rests_ms, rests_there_ms, own_ms) for curve in curves])

    def _longer_ms(self, curve: RestCurve, rests_ms: Floats, rests_there_ms: Floats, own_ms: float) -> Floats:
        here, there = float(curve.at(rests_ms).mean()), curve.at(rests_there_ms).mean(axis=1)
        warm_ms = max((own_ms - self.per_curve * here) / (1 + self.per_own_ms * here), 0.0)
        cools = self.per_curve + self.per_own_ms * min(warm_ms, MAX_COOLED_MS)
        longer: Floats = np.maximum(cools * (there - here), -own_ms)
        return longer


def extreme(end: int, values: Sequence[Floats]) -> Floats:
    """Return the least of each place for -1, the greatest for 1, and those of the last for 0.

    >>> [extreme(end, [np.array([1.0, 5.0]), np.array([2.0, 4.0])]).tolist() for end in (-1, 0, 1)]
    [[1.0, 4.0], [2.0, 4.0], [2.0, 5.0]]
    """
    if end == 0:
        return values[-1]
    least_or_most: Floats = (np.minimum if end < 0 else np.maximum).reduce(values)
    return least_or_most


RESTS_MS = (0.5, 1.0, 2.0, 5.0, 15.0, 50.0)
ASSUMED = Host(
    RestCurve(RESTS_MS, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
    RestCurve(RESTS_MS, (0.0, 0.03, 0.06, 0.16, 0.27, 0.35)),
    RestCurve(RESTS_MS, (0.13, 0.2, 0.33, 0.6, 0.85, 0.95)),
)
"""A host that nobody has measured: anything between one that is kept awake and the slowest that was seen."""


MAX_FIRST_REST_MS = 0.5
"""A capture whose shortest rests are longer does not show what a host takes without one."""
MIN_LAST_REST_MS = 5.0
"""One whose longest rests are shorter says too little of longer ones."""
MAX_READ_ERROR_MS = 0.1
"""Points of a curve with a larger standard error do not count."""
READ_STANDARD_ERRORS = 2.0
"""Curves from a capture may be off by this many standard errors."""
MIN_READ_SPREAD = 0.3
"""A curve that a capture shows may be off by at least this part of it."""


def known_host(measured: RestCurve | None, read: ReadCurve | None) -> Host:
    """Return what is known of a host: as it was measured, or as the capture shows it, where that is surer."""
    host = ASSUMED if measured is None else measured_host(measured)
    shown = None if read is None else read_host(read)
    return host if shown is None else min(host, shown, key=Host.width_ms)


def measured_host(curve: RestCurve) -> Host:
    """Return the host that was measured to have this curve."""
    most_ms = tuple(MAX_MEASURED_SHARE * each + MAX_DEVICE_MS for each in curve.extra_ms)
    return Host(curve.times(MIN_MEASURED_SHARE), curve, RestCurve(curve.rests_ms, most_ms))


def read_host(read: ReadCurve) -> Host | None:
    """Return the host whose own times a capture shows; longer rests than it has cost as much more as is assumed."""
    points = zip(read.rests_ms, read.extra_ms, read.error_ms, strict=True)
    rests_ms, extra_ms, error_ms = zip(*(each for each in points if each[2] <= MAX_READ_ERROR_MS), strict=True)
    longest_ms = rests_ms[-1]
    if rests_ms[0] > MAX_FIRST_REST_MS or longest_ms < MIN_LAST_REST_MS:
        return None
    shown_ms = np.maximum.accumulate(np.maximum(extra_ms, 0.0)).tolist()
    farther_ms = [rest_ms for rest_ms in RESTS_MS if rest_ms > longest_ms]
    rests_ms = (*rests_ms, *farther_ms)
    likely, most = (
        (ends.at(np.array(farther_ms)) - ends.at(longest_ms)).tolist() for ends in (ASSUMED.likely, ASSUMED.most)
    )
    off_ms = READ_STANDARD_ERRORS * max(error_ms)
    spread = min(max(off_ms / shown_ms[-1], MIN_READ_SPREAD), 1.0) if shown_ms[-1] > 0 else 1.0
    known = RestCurve(rests_ms, (*shown_ms, *(shown_ms[-1] + MIN_CURVE_RATIO * each for each in likely)))
    highest_ms = [(1 + spread) * each + off_ms for each in shown_ms]
    highest = RestCurve(rests_ms, (*highest_ms, *(highest_ms[-1] + MIN_CURVE_RATIO * each for each in most)))
    return Host(known.times(1 - spread), known, highest, per_curve=1.0, per_own_ms=0.0)


def rests_beside_rtt_ms(recording: Recording, rtt: Estimate) -> tuple[Floats, Floats]:
    """Return how long a client rests beside the RTT, while the server works, and a server meanwhile: some of each.

    What the network took between them and the place of the capture is none of it.
    """
    exchanges = recording.exchanges
    far_ns, near_ns = halves(rtt)
    waits = (exchanges.round_trips > 0) & (exchanges.waited >= 0)
    follows = (exchanges.round_trips > 0) & (exchanges.client >= 0)
    service_ms = np.maximum(exchanges.waited - far_ns, 0)[waits] / 1e6
    client_ms = np.maximum(exchanges.client - near_ns, 0)[follows] / 1e6
    return evenly(service_ms), evenly(client_ms)


def evenly(values: Floats) -> Floats:
    """Return at most `MAX_RESTS` of the values, one of each part of their order; 0 where there are none.

    >>> evenly(np.arange(330.0))[[0, 16, 32]].tolist()
    [5.0, 165.0, 325.0]
    """
    if not len(values):
        return np.zeros(1)
    ranks = (np.arange(MAX_RESTS) + 0.5) * len(values) / MAX_RESTS
    return np.sort(values)[ranks.astype(np.int64)]


def hosts(recording: Recording, read: Rests) -> tuple[Host, Host]:
    """Return how the client's and the server's host go on behind a rest, as far as it is known."""
    curve, known = recording.host_curve, recording.curve_hosts
    measured = None if curve is None else RestCurve(curve.rests_ms, curve.extra_ms)
    client, server = (
        known_host(measured if is_known else None, shown) for is_known, shown in zip(known, read, strict=True)
    )
    return client, server
