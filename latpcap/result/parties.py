"""Who talks to whom, in a few words: the database products and the clients of a capture."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from latpcap.tables.columnar import passes
from latpcap.tables.recording import Recording
from latpcap.units import counted

MAX_NAMES = 2
"""Further products or clients are counted, not named."""
PRODUCTS = {
    "mysql": "MySQL",
    "postgresql": "PostgreSQL",
    "oracle": "Oracle",
    "firebird": "Firebird",
    "sqlserver": "SQL Server",
}
"""Database products by protocol; another protocol is called by its name."""
MARIADB = re.compile(r"(\d[\d.]*)-MariaDB")
"""MariaDB's version, which may stand behind one that old replicas expect."""
VERSION = re.compile(r"\d+(?:\.\d+)*")


class Parties(Struct, frozen=True):
    """The database connections of a capture, and who is at both ends."""

    connections: int
    servers: str
    """Products with their versions."""
    clients: str
    """Frameworks and drivers; empty where none shows itself."""


def parties(recording: Recording) -> Parties:
    """Return who talks to whom in a recording."""
    return Parties(
        connections=len(recording.database_rows),
        servers=_names(recording, ("protocol", "server_version"), product, "database product"),
        clients=_names(recording, ("framework", "driver"), _client, "kind of client", "kinds of clients"),
    )


def _names(recording: Recording, columns: tuple[str, str], name: Callable[..., str], *things: str) -> str:
    """Return the names of the most frequent combinations of two columns, or how many there are."""
    said = [recording.said(each) for each in columns]
    order, starts = passes.grouped(*(each.codes for each in said))
    firsts = order[starts[:-1]][np.argsort(-np.diff(starts), kind="stable")]
    found = zip(*(each.picked(firsts).texts() for each in said), strict=True)
    names = list(dict.fromkeys(filter(None, (name(*each) for each in found))))
    return ", ".join(names) if len(names) <= MAX_NAMES else counted(len(names), *things)


def product(protocol: str, version: str | None) -> str:
    """Return a product with its version.

    >>> product("mysql", "5.5.5-10.11.6-MariaDB-0+deb12u1"), product("postgresql", "15.9 (Debian 15.9-0)")
    ('MariaDB 10.11.6', 'PostgreSQL 15.9')
    >>> product("mysql", "8.0.39"), product("oracle", None)
    ('MySQL 8.0.39', 'Oracle')
    """
    name, said = PRODUCTS.get(protocol, protocol), version or ""
    if found := MARIADB.search(said):
        return f"MariaDB {found[1]}"
    found = None if said.startswith("protocol") else VERSION.search(said)
    return f"{name} {found[0]}" if found else name


def _client(framework: str | None, driver: str | None) -> str:
    return f"{framework} ({driver})" if framework and driver else framework or driver or ""
