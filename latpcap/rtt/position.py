"""Where the capture was taken, from the two halves of the path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latpcap.rtt.choice import Chosen
from latpcap.rtt.paths import Paths, host
from latpcap.rtt.result import AT_CLIENT, AT_SERVER, AT_UNKNOWN, BETWEEN, LOOPBACK, Method

__all__ = ["position"]

ONE_SIDED = 3.0
"""One half so many times the other: the capture was taken at that end."""
HOST_NS = 50_000
"""A half below this is a host's own turnaround, not a network."""


def position(found: Paths, far: Chosen, near: Chosen) -> NDArray[np.int64]:
    """The position of each path. A half that was not measured is at most its bound."""
    one_host = np.array([client == host(server) for client, server in zip(found.client, found.server, strict=True)])
    a, b = _measured(far), _measured(near)
    a_most, b_most = np.fmin(a, far.floor), np.fmin(b, near.floor)
    rules = [
        (one_host.astype(bool), LOOPBACK),
        ((a >= ONE_SIDED * b_most) | ((b_most < HOST_NS) & (np.isnan(a) | (a >= HOST_NS))), AT_CLIENT),
        ((b >= ONE_SIDED * a_most) | ((a_most < HOST_NS) & (np.isnan(b) | (b >= HOST_NS))), AT_SERVER),
        (a + b < 2 * HOST_NS, AT_CLIENT),
        (~np.isnan(a + b), BETWEEN),
    ]
    return np.select([rule for rule, _ in rules], [place for _, place in rules], AT_UNKNOWN)


def _measured(half: Chosen) -> NDArray[np.float64]:
    """The RTT of a half where more than an upper bound is known."""
    return np.where((half.method == Method.FLOOR) & (half.pool.counts == 0), np.nan, half.value)
