"""Which connections share a path (one client host, one server endpoint), and where on it the capture was taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latpcap.rtt.baselines import AT_CLIENT, AT_SERVER, AT_UNKNOWN, BETWEEN, LOOPBACK, Method
from latpcap.rtt.choice import Chosen
from latpcap.tables.recording import Connections

__all__ = ["Paths", "host", "paths", "position"]

ONE_SIDED = 3.0
"""One half this many times the other: the capture was taken at that end."""
TURNAROUND_NS = 50_000
"""A half below this is a host's own turnaround, not a network."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths in the order of their first connection."""

    of_connection: NDArray[np.int64]
    client: list[str]
    """Host, without the port: every connection has its own."""
    server: list[str]

    def __len__(self) -> int:
        return len(self.client)


def paths(connections: Connections) -> Paths:
    """The paths of `connections`."""
    numbers: dict[tuple[str, str], int] = {}
    pairs = [(host(client), server) for client, server in zip(connections.client, connections.server, strict=True)]
    of_connection = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], np.int64)
    return Paths(of_connection, [client for client, _ in numbers], [server for _, server in numbers])


def host(endpoint: str) -> str:
    """The address of an endpoint, without its port.

    >>> host("10.0.0.1:3306"), host("[::1]:3306")
    ('10.0.0.1', '::1')
    """
    return endpoint.rsplit(":", 1)[0].removeprefix("[").removesuffix("]")


def position(found: Paths, far: Chosen, near: Chosen) -> NDArray[np.int64]:
    """The position of each path. A half that was not measured is at most its bound."""
    one_host = np.array([client == host(server) for client, server in zip(found.client, found.server, strict=True)])
    a, b = _measured(far), _measured(near)
    a_most, b_most = np.fmin(a, far.floor), np.fmin(b, near.floor)
    rules = [
        (one_host.astype(bool), LOOPBACK),
        ((a >= ONE_SIDED * b_most) | ((b_most < TURNAROUND_NS) & (np.isnan(a) | (a >= TURNAROUND_NS))), AT_CLIENT),
        ((b >= ONE_SIDED * a_most) | ((a_most < TURNAROUND_NS) & (np.isnan(b) | (b >= TURNAROUND_NS))), AT_SERVER),
        (a + b < 2 * TURNAROUND_NS, AT_CLIENT),
        (~np.isnan(a + b), BETWEEN),
    ]
    return np.select([rule for rule, _ in rules], [place for _, place in rules], AT_UNKNOWN)


def _measured(half: Chosen) -> NDArray[np.float64]:
    """The RTT of a half where more than an upper bound is known."""
    return np.where((half.method == Method.FLOOR) & (half.pool.counts == 0), np.nan, half.value)
