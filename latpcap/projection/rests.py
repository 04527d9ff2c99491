"""How much longer client and server take behind a rest: others have used their caches meanwhile, processors slept.

A curve says how much longer a round trip takes that does little (`link/src/rests.rs`), by rest. It was measured on the
host that recorded, or is assumed. How much longer a request takes follows from it, and from what client and server take
themselves; what the capture shows of that beats both (docs/model.md C.6).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.measures.rests import ReadCurve

Floats = NDArray[np.float64]

EXTRA_PER_CURVE = 0.8
"""A request takes at least so many times the curve longer: half of it the client, half of it the server."""
EXTRA_PER_OWN_MS = 1.5
"""Each takes so many times the curve longer for every millisecond that it takes itself."""
MAX_COOLED_MS = 0.5
"""Work beyond this has its caches warm again."""
MIN_MEASURED_SHARE, MAX_MEASURED_SHARE = 0.4, 1.8
"""Jobs differ in how much of the caches they use: between these parts of what follows from a measured curve."""
SHORT_REST_MS = 0.1
"""Far shorter rests are none."""


class RestCurve(Struct, frozen=True):
    """How much longer something takes behind a rest, at ascending rests; without a rest it takes no longer."""

    rests_ms: tuple[float, ...]
    extra_ms: tuple[float, ...]

    def at(self, rest_ms: Floats | float) -> Floats:
        """Return the extra time behind each rest, on straight lines over its logarithm.

        >>> RestCurve((1.0, 5.0), (0.0, 0.4)).at(np.array([0.0, 1.0, 5.0, 50.0])).tolist()
        [0.0, 0.0, 0.4, 0.4]
        """
        known = np.log1p(np.array((0.0, *self.rests_ms)) / SHORT_REST_MS)
        asked = np.log1p(np.maximum(rest_ms, 0.0) / SHORT_REST_MS)
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
    per_curve: float = EXTRA_PER_CURVE / 2
    """Its part of a request takes so many times the curve longer, …"""
    per_own_ms: float = EXTRA_PER_OWN_MS
    """… and so many times for every millisecond that it takes itself."""

    def width_ms(self, rest_ms: float) -> float:
        """Return how far apart the least and the most are behind such a rest, of a request that is hardly any work."""
        return self.per_curve * float(self.most.at(rest_ms) - self.least.at(rest_ms))

    def longer_ms(self, rest_ms: float, rests_there_ms: Floats, own_ms: float) -> tuple[Floats, Floats, Floats]:
        """Return how much longer than `own_ms` it takes behind other rests than those of the capture.

        The least, the likely and the greatest change of each request; a shorter rest has negative ones.
        """
        least, likely, most = (
            self._longer_ms(curve, rest_ms, rests_there_ms, own_ms) for curve in (self.least, self.likely, self.most)
        )
        return np.minimum(least, most), likely, np.maximum(least, most)

    def _longer_ms(self, curve: RestCurve, rest_ms: float, rests_there_ms: Floats, own_ms: float) -> Floats:
        here = float(curve.at(rest_ms))
        warm_ms = max((own_ms - self.per_curve * here) / (1 + self.per_own_ms * here), 0.0)
        cools = self.per_curve + self.per_own_ms * min(warm_ms, MAX_COOLED_MS)
        longer: Floats = np.maximum(cools * (curve.at(rests_there_ms) - here), -own_ms)
        return longer


RESTS_MS = (0.5, 1.0, 2.0, 5.0, 15.0, 50.0)
ASSUMED = Host(
    RestCurve(RESTS_MS, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
    RestCurve(RESTS_MS, (0.0, 0.0, 0.04, 0.15, 0.25, 0.35)),
    RestCurve(RESTS_MS, (0.1, 0.15, 0.3, 0.6, 0.8, 0.9)),
)
"""A host that nobody has measured: anything between one that is kept awake and the slowest that was seen."""


MIN_READ_REST_MS = 5.0
"""Shorter rests say too little of longer ones."""
READ_ERRORS = 2.0
"""Standard errors that what a capture shows may be off by."""


def known_host(measured: RestCurve | None, read: ReadCurve | None) -> Host:
    """Return what is known of a host: as it was measured, or as the capture shows it, where that is surer."""
    host = ASSUMED if measured is None else measured_host(measured)
    if read is None or read.rests_ms[-1] < MIN_READ_REST_MS:
        return host
    shown = shown_host(read)
    return min(host, shown, key=lambda each: each.width_ms(read.rests_ms[-1]))


def measured_host(curve: RestCurve) -> Host:
    """Return the host that was measured to have this curve."""
    return Host(curve.times(MIN_MEASURED_SHARE), curve, curve.times(MAX_MEASURED_SHARE))


def shown_host(read: ReadCurve) -> Host:
    """Return the host whose own times a capture shows; longer rests than it has cost as much more as is assumed."""
    error_ms = READ_ERRORS * np.array(read.error_ms)

    def curve(off_ms: Floats, assumed: RestCurve) -> RestCurve:
        extra_ms = np.maximum.accumulate(np.maximum(np.array(read.extra_ms) + off_ms, 0.0))
        longest_ms = read.rests_ms[-1]
        farther = [rest_ms for rest_ms in RESTS_MS if rest_ms > longest_ms]
        grown = assumed.at(np.array(farther)) / assumed.at(longest_ms)
        return RestCurve((*read.rests_ms, *farther), (*extra_ms.tolist(), *(extra_ms[-1] * grown).tolist()))

    likely, most = ASSUMED.likely, ASSUMED.most
    return Host(curve(-error_ms, likely), curve(0 * error_ms, likely), curve(error_ms, most), 1.0, 0.0)
