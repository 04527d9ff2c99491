"""docs/drivers.md, made of the table of drivers: `python tests/reference.py` writes it anew."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from conftest import ROOT

from latpcap.protocols import protocol_called
from latpcap.protocols.drivers import Client, Setting, table

PAGE = ROOT / "docs" / "drivers.md"
HEAD = """# Drivers, object mappers and pools

latpcap recognises a connection's `driver` and `framework` (`latpcap table connections`, JSON, page, Wireshark,
`rank --by driver`, `--application NAME`) from its packets: the name that the driver sends at the login (`said`), or
what only this client sends: login parameters in their order, names of prepared statements, statements of its own (`*`
is any text, `**` an asterisk). If several clients fit, none is named. Findings name the settings of the recognised
clients only; `latpcap explain CODE` lists all of a pattern.

This page is generated from `core/drivers/`. Each setting links to its source; *n → m* are the round trips of a program
without and with it.
"""
SIGNS = {
    "says": "says",
    "application": "application",
    "startup": "login",
    "statement_name": "statement name",
    "statement": "sends",
}


def page() -> str:
    """The page: clients by language, each with its signs and settings."""
    every = sorted((*table().drivers, *table().frameworks), key=lambda client: client.language.lower())
    parts = [HEAD]
    for language, clients in groupby(every, key=lambda client: client.language):
        parts.append(f"\n## {language}\n")
        parts.extend(_client(client) for client in clients)
    return "".join(parts)


def _client(client: Client) -> str:
    speaks = f" ({protocol_called(client.protocol).title})" if client.protocol else ""
    known = "; or ".join(" and ".join(_sign(*sign) for sign in row.items()) for row in client.known_by)
    return "".join((f"\n**{client.name}**{speaks}: {known}.\n", *_settings(client.settings)))


def _sign(kind: str, text: str) -> str:
    return f"{SIGNS[kind]} `{text}`"


def _settings(settings: tuple[Setting, ...]) -> Iterator[str]:
    if settings:
        yield "\n"
    for each in settings:
        since = f", from {each.since} on" if each.since else ""
        tried = f", {each.tried}" if each.tried else ""
        yield f"- `{each.pattern}`: {each.advice} ([source]({each.source}){since}{tried})\n"
