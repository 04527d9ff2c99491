"""The drivers, object mappers and pools that latpcap recognises, and the settings by which each mends a pattern.

The table is `core/drivers/`; the core recognises the client of each connection by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec
from msgspec import Struct

from latpcap._core import driver_table


class Setting(Struct, frozen=True):
    """How one client mends a pattern."""

    pattern: str
    """A finding's code; behind a `/` the kind of it."""
    advice: str
    since: str | None
    """The client's version from which it holds; `None` for all."""
    source: str
    """The page of its manual that says so."""
    tried: str | None
    """Round trips before and after, where it was run."""
    option: bool
    """It is set where the connection is opened, so it helps below a framework as well."""


class Client(Struct, frozen=True):
    """A driver, or a framework above drivers."""

    name: str
    language: str
    protocol: str | None
    """The only protocol that it speaks; `None` for several."""
    known_by: tuple[Mapping[str, str], ...]
    """Each is one way to recognise it: all of its signs."""
    source: str
    settings: tuple[Setting, ...]


class DriverTable(Struct, frozen=True):
    """All that are known, as the core reads them."""

    drivers: tuple[Client, ...]
    frameworks: tuple[Client, ...]


@cache
def table() -> DriverTable:
    """Return the whole table."""
    return msgspec.json.decode(driver_table(), type=DriverTable)


def is_known(name: str) -> bool:
    """Return whether a driver or framework of that name is in the table: others call themselves so."""
    return name in _names()


@cache
def _names() -> frozenset[str]:
    return frozenset(client.name for client in (*table().drivers, *table().frameworks))


def setting(protocol: str, name: str, pattern: str) -> Setting | None:
    """Return how the driver or framework of that name mends a pattern; `None` where the table has nothing.

    >>> setting("mysql", "nobody's driver", "n+1")
    """
    return _settings().get((protocol, name, pattern)) or _settings().get((None, name, pattern))


@cache
def _settings() -> Mapping[tuple[str | None, str, str], Setting]:
    every = (*table().drivers, *table().frameworks)
    return {(client.protocol, client.name, each.pattern): each for client in every for each in client.settings}
