"""Which driver a connection uses, so that a finding can name its setting.

The settings stand with each pattern. Sources: the drivers' own manuals (PostgreSQL JDBC, MySQL Connector/J, MariaDB
Connector/J, psycopg, asyncpg, Oracle JDBC, python-oracledb, SQL*Plus, Jaybird, the Firebird API).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from latpcap.findings.evidence import Evidence

__all__ = ["Advice", "DriverTraits", "driver_of"]


class DriverTraits(NamedTuple):
    """What a connection shows of its driver."""

    protocol: str
    application: str
    server_version: str
    first_text: str
    """The first statement."""


def _unrecognised(_: DriverTraits) -> bool:
    return False


DRIVERS: dict[str, dict[str, Callable[[DriverTraits], bool]]] = {
    "postgresql": {
        "PostgreSQL JDBC": lambda session: "JDBC" in session.application,
        "psycopg": _unrecognised,
        "asyncpg": _unrecognised,
        "psql": lambda session: session.application == "psql",
        "pgbench": lambda session: session.application == "pgbench",
        "postgres.js": lambda session: session.application == "postgres.js",
    },
    "mysql": {
        "MySQL Connector/J": lambda session: "@@session.auto_increment_increment" in session.first_text,
        "MariaDB Connector/J": lambda session: "auto_increment_increment=?" in session.first_text.replace(" ", ""),
        "Python": lambda session: (
            "python" in session.application.lower() or re.match(r"set names \w+$", session.first_text) is not None
        ),
    },
    "oracle": {
        "python-oracledb": lambda session: "python" in session.application.lower(),
        "SQL*Plus": lambda session: "sqlplus" in session.application.lower(),
        "Oracle JDBC": lambda session: "jdbc" in session.application.lower(),
    },
    "firebird": {
        "Jaybird": lambda session: "Firebird" in session.server_version,
        "isql": lambda session: "isql" in session.application,
        "libfbclient": lambda session: bool(session.application),
    },
}
"""The drivers of each protocol, and how each is recognised; the first that fits is taken."""

SHOWN_DRIVERS = 2


def driver_of(session: DriverTraits) -> str | None:
    """The driver behind a connection, where something it sent identifies it.

    >>> driver_of(DriverTraits("oracle", "/usr/bin/python3", "19.0", ""))
    'python-oracledb'
    """
    return next((driver for driver, fits in DRIVERS.get(session.protocol, {}).items() if fits(session)), None)


class Advice(Struct, frozen=True):
    """How a pattern is fixed, and the settings by which drivers do it."""

    general: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """By driver; the first of a protocol are named where the driver is not known."""

    def sentence(self, evidence: Evidence, connections: NDArray[np.int64]) -> str:
        """The fix in one sentence, with the driver's own setting where the driver is known, else the usual drivers'."""
        if len(connections) == 0:
            return f"{self.general}."
        session = _session(evidence, int(connections[0]))
        driver, usual = driver_of(session), DRIVERS.get(session.protocol, {})
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
    return DriverTraits(recording.connections.protocol.name(connection), application, version, first_text)
