"""The costliest routes of the application."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from latpcap.measures.routes import RouteResult
from latpcap.report.console import heading
from latpcap.report.grid import Grid, Heading
from latpcap.report.text import TOP, number, printable, top

__all__ = ["routes"]


def routes(routes: tuple[RouteResult, ...]) -> Iterator[RenderableType]:
    """What each route cost, where statements name one."""
    if not routes:
        return
    yield heading(top("Routes", len(routes)))
    yield Grid(
        (
            *map(Heading, ("network s", "service s", "runs", "round trips", "distinct")),
            Heading("route", "left", least=30),
        ),
        [
            (
                number(each.network_s),
                number(each.service_s),
                f"{each.executions:,}",
                f"{each.round_trips:,}",
                f"{each.distinct_statements:,}",
                printable(each.route),
            )
            for each in routes[:TOP]
        ],
    )
