"""How much longer client and server take behind a rest: others have used their caches meanwhile, processors slept.

A curve holds what a round trip between two processes of one host takes longer, each of which reads `RING_BYTES` in
random order (`link/src/rests.rs`): that is measured on a host, read from a capture, or assumed. Of it, and of what
client and server take themselves, follows how much longer a request takes (docs/model.md C.6).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXTRA_PER_CURVE = 0.7
"""A round trip takes so many times the curve longer, however little client and server do, half of it each, and …"""
EXTRA_PER_OWN_MS = 1.0
"""… for each millisecond that one of them takes itself."""
MAX_COOLED_MS = 1.0
"""Work beyond this has its caches warm again."""
ROUNDING_MS = 0.1
"""Rests that are far shorter are none."""


class RestCurve(Struct, frozen=True):
    """What the round trip of the measurement takes longer, at ascending rests; no rest costs nothing."""

    rests_ms: tuple[float, ...]
    extra_ms: tuple[float, ...]

    def at(self, rest_ms: Floats) -> Floats:
        """Return it for each rest, in straight lines over the logarithm.

        >>> RestCurve((1.0, 5.0), (0.0, 0.4)).at(np.array([0.0, 1.0, 5.0, 50.0])).tolist()
        [0.0, 0.0, 0.4, 0.4]
        """
        rests = np.log1p(np.array((0.0, *self.rests_ms)) / ROUNDING_MS)
        found: Floats = np.interp(np.log1p(np.maximum(rest_ms, 0) / ROUNDING_MS), rests, (0.0, *self.extra_ms))
        return found


class Host(Struct, frozen=True):
    """The curve of the client's or the server's host: least, likely, most."""

    curves: tuple[RestCurve, RestCurve, RestCurve]

    def change_ms(self, here_ms: float, there_ms: Floats, own_ms: float) -> tuple[Floats, Floats, Floats]:
        """How much longer it takes for a request behind rests of `there_ms` than behind `here_ms`: least, likely, most.

        `own_ms` is what it takes here.
        """
        changes = [_change_ms(curve, here_ms, there_ms, own_ms) for curve in self.curves]
        return np.minimum.reduce(changes), changes[1], np.maximum.reduce(changes)


def _change_ms(curve: RestCurve, here_ms: float, there_ms: Floats, own_ms: float) -> Floats:
    here, least = float(curve.at(np.array(here_ms))), EXTRA_PER_CURVE / 2
    warm_ms = max((own_ms - least * here) / (1 + EXTRA_PER_OWN_MS * here), 0.0)
    cools = least + EXTRA_PER_OWN_MS * min(warm_ms, MAX_COOLED_MS)
    change: Floats = np.maximum((curve.at(there_ms) - here) * cools, -own_ms)
    return change


RESTS_MS = (0.5, 1.0, 2.0, 5.0, 15.0, 50.0)
ASSUMED = Host(
    (
        RestCurve(RESTS_MS, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
        RestCurve(RESTS_MS, (0.0, 0.0, 0.05, 0.2, 0.35, 0.5)),
        RestCurve(RESTS_MS, (0.1, 0.15, 0.4, 0.8, 1.0, 1.1)),
    )
)
"""Of hosts that nobody has measured."""


def measured(curve: RestCurve) -> Host:
    """The host that has this curve; jobs differ in how much of the caches they use."""
    scaled = [RestCurve(curve.rests_ms, tuple(each * times for each in curve.extra_ms)) for times in (0.4, 1.0, 1.8)]
    return Host((scaled[0], scaled[1], scaled[2]))


