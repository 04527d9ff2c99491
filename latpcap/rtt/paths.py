"""Which connections share a path: those between one client host and one server endpoint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latpcap.tables.recording import Connections

__all__ = ["Paths", "host", "paths"]


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
