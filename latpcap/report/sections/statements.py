"""The statements that cost most, and the routes of the application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from latpcap.measures.routes import RouteResult
from latpcap.measures.timing_only import TimingOnly
from latpcap.report.section import Column, Section, SectionPart, Sentence, table_of
from latpcap.report.text import top
from latpcap.result.statements import StatementResult
from latpcap.result.tables import flat
from latpcap.tables.columnar.values import column_of
from latpcap.units import counted, percent

SHARE = Column("share", "share", optional=True, name="share")
COST = (
    Column("network s", "s", name="network_s"),
    Column("service s", "s", name="service_s"),
    Column("runs", "count", name="executions"),
    Column("round trips", "count", name="round_trips"),
)
TIMES = (
    Column("p50 ms", "ms", full="response p50 ms", name="response_p50_ms"),
    Column("p95 ms", "ms", full="response p95 ms", optional=True, name="response_p95_ms"),
)
PACE = tuple(
    Column(f"{what} {which} ms", "ms", optional=True, name=f"{what}_{which}_ms")
    for what in ("delta", "client")
    for which in ("p50", "p95")
)
GROUPED = (
    SHARE,
    Column("cumulative", "share", optional=True, name="cumulative_share"),
    *COST,
    *TIMES,
    Column("avg ms", "ms", optional=True, name="response_avg_ms"),
    Column("stddev ms", "ms", optional=True, name="response_stddev_ms"),
    *PACE,
    Column("first seen", "moment", optional=True, name="first_seen"),
    Column("last seen", "moment", optional=True, name="last_seen"),
)
"""What tells of a group of exchanges, whatever they have in common."""
STATEMENTS = (*GROUPED, Column("statement", least=30, name="text"))
COLUMNS = (
    *COST,
    Column("rows", "count", detail=True, name="rows"),
    *TIMES,
    SHARE,
    *PACE,
    Column("statement", "code", least=40, heads=True, name="text"),
)
ROUTES = (
    *COST,
    Column("distinct", "count", name="distinct_statements"),
    Column("framework", optional=True, detail=True, name="framework"),
    Column("route", least=30, heads=True, name="route"),
)
HOW = (
    "Seconds of overlapping connections are shared, so that they add up to the budget. Response: first packet of the "
    "request to the last of the response. Delta: start of the previous request to the start of this one. Client: end "
    "of the previous response to the start of this request. Share: of the network and service time of all statements."
)
SUMMED = ("network_s", "service_s", "executions", "round_trips")


def statements(found: Sequence[StatementResult], timing_only: TimingOnly | None, most: int) -> Section:
    """What each statement cost, and why there may be none."""
    hidden = [Sentence(text, "quiet")] if (text := hidden_statements(timing_only)) else []
    rows = [
        flat(each) | {"executions": each.executions or None, "text": each.fingerprint or [each.text]}
        for each in found[:most]
    ]
    foot = {**sums(found, range(most, len(found)), (*SUMMED, "rows")), "text": [_further(found, most, "statement")]}
    table = table_of(COLUMNS, rows, "Statements", foot if len(found) > most else None)
    return Section(
        "statements", top("Statements", len(found), most), [*hidden, Sentence(HOW, "quiet", detail=True), table]
    )


def hidden_statements(hidden: TimingOnly | None) -> str:
    """Why statements are missing, in their place or above them."""
    return f"{hidden.text}{f'; {hidden.advice}' if hidden.advice else ''}." if hidden else ""


def routes(found: tuple[RouteResult, ...], round_trips: int, most: int) -> Section:
    """What each route cost, where statements name one; and how many of all `round_trips` they have."""
    trips = sum(each.round_trips for each in found)
    share = f" ({percent(trips / round_trips)})" if round_trips else ""
    named = f"{trips:,} of {counted(round_trips, 'round trip')}{share} are in statements with a route in their comment."
    foot = {**sums(found, range(most, len(found)), SUMMED), "route": _further(found, most, "route")}
    table = table_of(ROUTES, map(flat, found[:most]), "Routes", foot if len(found) > most else None)
    parts: list[SectionPart] = [Sentence(named, "quiet", detail=True), table] if found else []
    return Section("routes", top("Routes", len(found), most), parts)


def sums(rows: Sequence[Any], rest: Sequence[int], names: Sequence[str]) -> dict[str, float]:
    """The sums of some columns over the rows at the places `rest`, which may be many."""
    columns = {name: list(column_of(rows, name)) for name in names if rest}
    return {name: sum(column[place] or 0 for place in rest) for name, column in columns.items()}


def _further(rows: Sequence[Any], most: int, what: str) -> str:
    return f"{counted(len(rows) - most, f'further {what}')} together"
