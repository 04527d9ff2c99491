"""Who talks to whom, in a few words: the database products and the clients of a capture."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from latpcap.protocols import protocol_called
from latpcap.tables.recording import Recording
from latpcap.units import counted

MAX_NAMES = 2
"""Further products or clients are counted, not named."""
MARIADB = re.compile(r"(\d[\d.]*)-MariaDB")
"""MariaDB's version, which may stand behind one that old replicas expect."""
VERSION = re.compile(r"\d+(?:\.\d+)*")


class Parties(Struct, frozen=True):
    """Who is at both ends of the database connections of a capture."""

    servers: str
    """Products with their versions."""
    clients: str
    """Frameworks and drivers; empty where none shows itself."""


def parties(recording: Recording) -> Parties:
    """Return who talks to whom in a recording."""
    servers = (product(*each) for each in recording.combinations("protocol", "server_version"))
    clients = (_client(*each) for each in recording.combinations("framework", "driver"))
    return Parties(_names(servers, "database product"), _names(clients, "kind of client", "kinds of clients"))


def _names(names: Iterable[str], *things: str) -> str:
    """Return the names, or how many there are."""
    distinct = list(dict.fromkeys(filter(None, names)))
    return ", ".join(distinct) if len(distinct) <= MAX_NAMES else counted(len(distinct), *things)


def product(protocol: str | None, version: str | None) -> str:
    """Return a product with its version.

    >>> product("mysql", "5.5.5-10.11.6-MariaDB-0+deb12u1"), product("postgresql", "15.9 (Debian 15.9-0)")
    ('MariaDB 10.11.6', 'PostgreSQL 15.9')
    >>> product("mysql", "8.0.39"), product("oracle", None)
    ('MySQL 8.0.39', 'Oracle')
    """
    name, said = protocol_called(protocol or "").title or protocol or "", version or ""
    if found := MARIADB.search(said):
        return f"MariaDB {found[1]}"
    found = None if said.startswith("protocol") else VERSION.search(said)
    return f"{name} {found[0]}" if found else name


def _client(framework: str | None, driver: str | None) -> str:
    return f"{framework} ({driver})" if framework and driver else framework or driver or ""
