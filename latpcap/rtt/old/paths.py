"""Which connections share a path (one client host, one server endpoint), and where on it the capture was taken."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.rtt.baselines import AT_CLIENT, AT_SERVER, AT_UNKNOWN, BETWEEN, LOOPBACK, Method
from latpcap.rtt.old.choice import CLEAR_NS, HANDSHAKE_NS, HOST_NS, Chosen
from latpcap.tables.columnar.columns import first_that_holds
from latpcap.tables.columnar.passes import first_alike, numbered, occurring
from latpcap.tables.connections import Connections
from latpcap.tables.part.endpoints import host_of

MIN_HALF_RATIO = 3.0
"""A capture was taken at one end if the other half of the path is at least this many times as long."""
MAX_TURNAROUND_NS = 50_000
"""A half of the path below this is a host's own turnaround, if the other half is only bounded."""


class OldPaths(Struct, frozen=True):
    """The paths in the order of their first connection."""

    of_connection: NDArray[np.int64]
    client: list[str]
    """Host, without the port: every connection has its own."""
    server: list[str]

    def __len__(self) -> int:
        return len(self.client)


def paths(connections: Connections, groups: NDArray[np.int64] | None = None) -> OldPaths:
    """The paths of `connections`; those of different `groups` share none."""
    host, server = connections.host, connections.server
    first = first_alike(numbered(host.codes, server.codes, *(() if groups is None else (groups,))))
    shown = occurring(first)
    clients, servers = ([codes.name(row) for row in shown] for codes in (host, server))
    return OldPaths(np.searchsorted(shown, first), clients, servers)


def position(found: OldPaths, far: Chosen, near: Chosen, step_ns: int) -> NDArray[np.int64]:
    """The position of each path: in between where both halves are surely network, else where one excludes the other.

    A half that was not measured is at most its bound; one whose responses are many and alike is as long as those.
    """
    one_host = np.array([client == host_of(server) for client, server in zip(found.client, found.server, strict=True)])
    a, b = _measured(far), _measured(near)
    steady_a, steady_b = (np.where(half.steady, half.least, each) for half, each in ((far, a), (near, b)))
    rules = [
        (one_host.astype(bool), LOOPBACK),
        (np.minimum(steady_a, steady_b) >= CLEAR_NS + step_ns, BETWEEN),
        (np.minimum(_twice(far), _twice(near)) >= HANDSHAKE_NS + step_ns, BETWEEN),
        ((a >= MIN_HALF_RATIO * near.most) | (np.isnan(a) & _turns_around(near, far)), AT_CLIENT),
        ((b >= MIN_HALF_RATIO * far.most) | (np.isnan(b) & _turns_around(far, near)), AT_SERVER),
        (steady_a >= np.maximum(MIN_HALF_RATIO * near.most, CLEAR_NS), AT_CLIENT),
        (steady_b >= np.maximum(MIN_HALF_RATIO * far.most, CLEAR_NS), AT_SERVER),
        (np.minimum(a, b) >= HOST_NS, BETWEEN),
    ]
    return first_that_holds([rule for rule, _ in rules], [place for _, place in rules], AT_UNKNOWN)


def _turns_around(half: Chosen, other: Chosen) -> NDArray[np.bool_]:
    """A half is so short that a host does it alone, and the other, no more than bounded, may be far longer."""
    alone: NDArray[np.bool_] = (half.most < MAX_TURNAROUND_NS) & (other.most >= MIN_HALF_RATIO * half.most)
    return alone


def _twice(half: Chosen) -> NDArray[np.float64]:
    """The RTT of a half where handshake and acknowledgments agree: no host takes as long for both."""
    return np.where(half.method == Method.BOTH, half.value, np.nan)


def _measured(half: Chosen) -> NDArray[np.float64]:
    """The RTT of a half where more than an upper bound is known."""
    return np.where(half.is_bound_only, np.nan, half.least)
