"""The connections with most round trips."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from latpcap.report.console import heading
from latpcap.report.grid import Grid, Heading
from latpcap.report.text import TOP, ms, printable, top
from latpcap.result.connections import ConnectionResult

__all__ = ["connections"]


def connections(connections: tuple[ConnectionResult, ...]) -> Iterator[RenderableType]:
    """Who talked to whom, at which RTT."""
    yield heading(top("Connections", len(connections)))
    yield Grid(
        (
            *map(Heading, ("stream", "round trips", "RTT ms")),
            Heading("from", "left", optional=True),
            Heading("client → server", "left", least=40),
        ),
        [_connection_row(each) for each in sorted(connections, key=lambda each: -each.round_trips)[:TOP]],
    )


def _connection_row(connection: ConnectionResult) -> tuple[str, ...]:
    state = "" if connection.state == "complete" else f", {connection.state}"
    return (
        f"{connection.stream}",
        f"{connection.round_trips:,}",
        ms(connection.rtt.baseline_ms),
        f"{connection.rtt.method}, {connection.rtt.position}",
        printable(f"{connection.client} → {connection.server} {connection.protocol}{state}"),
    )
