"""Client groups: all connections of one client host to one server host, which a projection needs together.

A reading takes part k of n of them (`part=(k, n)`), and each of them is a `Recording` of its own.
"""

from __future__ import annotations

from typing import Any

from latpcap.tables.columnar.table import Table
from latpcap.tables.part.endpoints import host_of
from latpcap.tables.reading import sources
from latpcap.tables.reading.remote import opened
from latpcap.tables.recording import Recording
from latpcap.units import DEFAULT_MEMORY_BYTES

BETWEEN = " → "
"""The client and the server of a group's name."""


def client_groups(source: Any, memory: int = DEFAULT_MEMORY_BYTES, progress: Any = None) -> Table:
    """Return which hosts talk to each other in the captures, those with most bytes first, from the headers alone.

    `hash` modulo n is the part of n that holds a group.
    """
    from latpcap import _core

    resolved = sources.resolve(source)
    found = _core.client_groups(
        opened(resolved, progress), names=sources.names(resolved), memory=memory, progress=progress
    )
    return Table(found, "client groups")


def client_groups_of(recording: Recording) -> list[str]:
    """The group of each database connection, by its name."""
    ends = (recording.said(side).renamed(host_of).texts() for side in ("client", "server"))
    return [f"{client}{BETWEEN}{server}" for client, server in zip(*ends, strict=True)]


def hosts_of(name: str) -> tuple[str, str]:
    """The client and the server of a group.

    >>> hosts_of("10.0.0.1 → fd00::5")
    ('10.0.0.1', 'fd00::5')
    """
    client, _, server = name.partition(BETWEEN)
    return client, server
