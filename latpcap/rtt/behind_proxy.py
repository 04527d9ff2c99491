"""Networks behind a proxy: a round trip of the application takes them, too."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from latpcap.rtt.baselines import Baselines
from latpcap.tables.columnar.columns import Codes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class BehindProxy(Struct, frozen=True, eq=False):
    """The connection through a proxy that each phase belongs to."""

    connection: Ints
    outer: Ints
    """The phase that it has on its way to the proxy."""
    server: Codes
    """Behind the proxy."""
    trips: Floats
    """How many round trips of the proxy one of the application takes."""
    is_far: NDArray[np.bool_]
    """A network of its own leads there: not where proxy and server are on one machine."""
    baseline: Floats
    """The RTT behind the proxy in ns, with the ends of its range; 0 on one machine."""
    low: Floats
    high: Floats
    round_trips: Floats
    """The round trips of the application."""

    @property
    def any_far(self) -> bool:
        """Some are farther away than the machine of the proxy."""
        return bool(self.is_far.any())


def further(phases: Baselines, beyond: BehindProxy) -> Baselines:
    """The phases, and those that take both networks: their RTT is the sum."""
    both = phases.picked(beyond.outer)
    baseline = both.baseline + beyond.trips * beyond.baseline
    both = replace(
        both,
        baseline=baseline,
        low=both.low + beyond.trips * beyond.low,
        high=both.high + beyond.trips * beyond.high,
        near_share=np.divide(both.near, baseline, out=np.zeros(len(baseline)), where=baseline > 0),
    )
    return Baselines.joined((phases, both))
