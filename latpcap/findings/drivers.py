"""The fix of a pattern in one sentence: in general, and as the clients that were seen do it.

How clients are recognised, and their settings: `core/drivers/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.findings.evidence import Evidence
from latpcap.protocols.drivers import Setting, setting

MAX_CLIENTS = 2
"""The clients whose settings a finding names."""
CLIENT_COLUMNS = ("protocol", "driver", "driver_version", "framework")
"""The columns of the connections that name a client."""


class SeenClient(NamedTuple):
    """The client of a connection, as far as it was recognised."""

    protocol: str
    driver: str | None
    version: str | None
    """The driver's."""
    framework: str | None


class Advice(Struct, frozen=True):
    """The fix of a pattern, for every client, and the key of its settings."""

    key: str
    """The pattern's code, or a kind of it, by which the table of drivers has the settings: `session-chatter/reset`."""
    general: str

    def sentence(self, evidence: Evidence, connections: NDArray[np.int64]) -> str:
        """Return the fix with the settings of the clients on `connections`, one of each row that shows the finding."""
        settings = settings_for(self.key, clients_of(evidence, connections))
        return " ".join((f"{self.general}.", *([f"{'; '.join(settings)}."] if settings else [])))


def clients_of(evidence: Evidence, connections: NDArray[np.int64]) -> list[SeenClient]:
    """Return the recognised clients of the rows' `connections`, those with most rows first."""
    rows = evidence.recording.combinations(*CLIENT_COLUMNS, connections=connections)
    found = (SeenClient(protocol or "", *others) for protocol, *others in rows)
    return [client for client in found if client.driver or client.framework]


def settings_for(key: str, clients: Iterable[SeenClient]) -> list[str]:
    """Return the settings against a pattern of the first `clients` that have any.

    Below a framework the program does not call the driver, so only options of the connection help there.
    """
    found: dict[str, None] = {}
    helped = 0
    for client in clients:
        settings = dict.fromkeys(_settings_of(client, key))
        helped += bool(settings.keys() - found.keys())
        if helped > MAX_CLIENTS:
            break
        found |= settings
    return list(found)


def _settings_of(client: SeenClient, key: str) -> Iterator[str]:
    if client.framework and (own := setting(client.protocol, client.framework, key)):
        yield _named(client.framework, own, None)
    if client.driver and (own := setting(client.protocol, client.driver, key)) and (own.option or not client.framework):
        yield _named(client.driver, own, client.version)


def _named(name: str, found: Setting, version: str | None) -> str:
    """Return a setting behind its client's name, with the version that it needs unless that is known to be there."""
    needs = found.since is not None and (version is None or _parts(version) < _parts(found.since))
    return f"{name}: {found.advice}{f' (from {found.since} on)' if needs else ''}"


def _parts(version: str) -> list[int]:
    """Return the numbers of a version.

    >>> _parts("3.10") > _parts("3.9.2"), _parts("mysqlnd 8.2.29")
    (True, [8, 2, 29])
    """
    found = re.search(r"\d+(?:\.\d+)*", version)
    return [int(part) for part in found[0].split(".")[:4]] if found else []
