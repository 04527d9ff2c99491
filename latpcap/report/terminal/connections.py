"""The connections with most round trips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from latpcap.report.console import heading
from latpcap.report.grid import Grid, Heading
from latpcap.report.text import TOP, ms, printable, top
from latpcap.result.connections import ConnectionResult, busiest

__all__ = ["connections"]


def connections(connections: Sequence[ConnectionResult]) -> Iterator[RenderableType]:
    """Who talked to whom, at which RTT (that of the handshake beside those of the session), and at which pace."""
    shown = [connections[place] for place in busiest(connections)[:TOP]]
    protocols = {each.protocol for each in shown}
    common = f" ({printable(*protocols)})" if len(protocols) == 1 else ""
    yield heading(top("Connections", len(connections)))
    yield Grid(
        (
            *map(Heading, ("stream", "trips", "RTT ms")),
            *(Heading(title, optional=True) for title in ("iRTT ms", "in-stream")),
            Heading("from", "left", optional=True),
            *(Heading(title, optional=True) for title in ("delta p50 ms", "p95 ms", "client p50 ms", "p95 ms")),
            Heading(f"client → server{common}", "left", least=36, folds=True),
        ),
        [_connection_row(each, names_protocol=not common) for each in shown],
    )


def _connection_row(connection: ConnectionResult, *, names_protocol: bool) -> tuple[str, ...]:
    state = "" if connection.state == "complete" else f", {connection.state}"
    chattiness = connection.chattiness
    protocol = f" {connection.protocol}" if names_protocol else ""
    hidden = (
        f", {connection.tls_version}" if connection.tls_version else ""
    ) + ", timing only" * connection.timing_only
    hidden += ", behind the proxy" * connection.behind_proxy
    return (
        f"{connection.stream}",
        f"{connection.round_trips:,}",
        ms(connection.rtt.baseline_ms),
        ms(connection.rtt.handshake_ms),
        ms(connection.rtt.in_stream_median_ms),
        f"{connection.rtt.method}, {connection.rtt.position}",
        *(ms(times[name]) for times in (chattiness.delta_ms, chattiness.client_ms) for name in ("p50", "p95")),
        printable(f"{connection.client} → {connection.server}{protocol}{hidden}{state}"),
    )
