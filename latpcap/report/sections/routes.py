"""The routes of the application that cost most."""

from __future__ import annotations

from latpcap.measures.routes import RouteResult
from latpcap.report.section import Column, Section, SectionPart, SectionTable, Sentence
from latpcap.report.text import top
from latpcap.units import counted, percent

__all__ = ["routes"]

COLUMNS = (
    Column("network s", "s"),
    Column("service s", "s"),
    *(Column(title, "count") for title in ("runs", "round trips", "distinct")),
    Column("framework", optional=True, detail=True),
    Column("route", least=30, heads=True),
)


def routes(found: tuple[RouteResult, ...], round_trips: int, most: int) -> Section:
    """What each route cost, where statements name one; and how many of all `round_trips` they have."""
    trips = sum(each.round_trips for each in found)
    share = f" ({percent(trips / round_trips)})" if round_trips else ""
    named = f"{trips:,} of {counted(round_trips, 'round trip')}{share} are in statements with a route in their comment."
    rows = [
        (
            *(each.network_s, each.service_s, each.executions, each.round_trips, each.distinct_statements),
            *(each.framework, each.route),
        )
        for each in found[:most]
    ]
    table = SectionTable(COLUMNS, rows, "Routes", _rest(found[most:]))
    parts: list[SectionPart] = [Sentence(named, "quiet", detail=True), table] if rows else []
    return Section("routes", top("Routes", len(found), most), parts)


def _rest(left: tuple[RouteResult, ...]) -> tuple[float | str | None, ...] | None:
    names = ("network_s", "service_s", "executions", "round_trips")
    sums = (sum(getattr(each, name) for each in left) for name in names)
    return (*sums, None, None, f"{counted(len(left), 'further route')} together") if left else None
