"""Options that select a part of the captures: some connections, some time. Every command that reads has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from latpcap.cli.values import completes, protocols

__all__ = ["asked_for", "connection_options", "selection_options"]

connection_options = (
    click.option("--stream", multiple=True, metavar="NUMBERS", help="Only these connections (tcp.stream): 0,3-5."),
    click.option("--client", multiple=True, metavar="ADDRESS", help="Only from these: host, host:port, :port, net/24."),
    click.option("--server", multiple=True, metavar="ADDRESS", help="Only to these, for instance 10.0.0.5:3306."),
    click.option("--user", multiple=True, metavar="NAME", help="Only of this user; `app*` and `!batch` work, too."),
    click.option("--database", multiple=True, metavar="NAME", help="Only to this database."),
    click.option("--application", multiple=True, metavar="NAME", help="Only of this application, as it calls itself."),
    click.option(
        "--protocol",
        multiple=True,
        metavar="NAME",
        shell_complete=completes(protocols),
        help="Only this protocol: mysql, postgresql, …",
    ),
)
"""Each that can be given several times means any of these; different ones must all hold: docs/selecting.md."""

selection_options = (
    *connection_options,
    click.option(
        "--from", "start", metavar="TIME", help="Only what begins from here on: 14:05 (UTC), +90s, frame:1200."
    ),
    click.option("--to", "end", metavar="TIME", help="Only what begins before: likewise, or 2026-11-22T14:05:30Z."),
)

NAMES = ("stream", "client", "server", "user", "database", "application", "protocol", "start", "end")


def asked_for(reading: Mapping[str, Any]) -> dict[str, Any]:
    """What `Capture.select` takes of a command's options; refused before the captures take their time."""
    from latpcap.tables.selection import Selection

    asked = {name: reading.get(name) or None for name in NAMES}
    Selection.of(**asked)
    return asked
