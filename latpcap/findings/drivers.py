"""Which driver a connection uses, so that a finding can name its setting.

How drivers are recognised: `latpcap/protocols/`; their settings stand with each pattern.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from latpcap.findings.evidence import Evidence
from latpcap.protocols import DriverTraits, protocol_called

SHOWN_DRIVERS = 2


def driver_of(protocol: str, session: DriverTraits) -> str | None:
    """The driver behind a connection, where something it sent identifies it.

    >>> driver_of("oracle", DriverTraits("/usr/bin/python3", "19.0", ""))
    'python-oracledb'
    """
    return next((driver for driver, fits in protocol_called(protocol).drivers.items() if fits(session)), None)


class Advice(Struct, frozen=True):
    """How a pattern is fixed, and the settings by which drivers do it."""

    general: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """By driver; the first of a protocol are named where the driver is not known."""

    def sentence(self, evidence: Evidence, connections: NDArray[np.int64]) -> str:
        """The fix in one sentence, with the driver's own setting where the driver is known, else the usual drivers'."""
        if len(connections) == 0:
            return f"{self.general}."
        connection = int(connections[0])
        protocol = evidence.recording.connections.protocol.name(connection)
        driver, usual = driver_of(protocol, _session(evidence, connection)), protocol_called(protocol).drivers
        named = [name for name in self.settings if name in usual][:SHOWN_DRIVERS] if driver is None else [driver]
        settings = [f"{name}: {self.settings[name]}" for name in named if name in self.settings]
        return f"{'; '.join((self.general, *settings))}."


def _session(evidence: Evidence, connection: int) -> DriverTraits:
    recording = evidence.recording
    row = int(recording.database_rows[connection])
    table = recording.all_connections_table
    application, version = (table.column(name)[row].as_py() or "" for name in ("application", "server_version"))
    begin, end = np.searchsorted(evidence.exchanges.connection, (connection, connection + 1))
    statements = evidence.exchanges.fingerprint[begin:end]
    statements = statements[statements >= 0]
    first_text = evidence.text(int(statements[0])) if len(statements) else ""
    return DriverTraits(application, version, first_text)
