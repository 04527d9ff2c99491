"""The statements that cost most, and the routes of the application."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from latpcap.measures.routes import RouteResult
from latpcap.measures.timing_only import TimingOnly
from latpcap.projection.project import Projection
from latpcap.report.section import Column, Section, SectionPart, Sentence, table_of
from latpcap.report.text import top
from latpcap.result.analysis import growth
from latpcap.result.statements import StatementResult
from latpcap.result.tables import flat
from latpcap.tables.columnar.values import column_of
from latpcap.units import counted, format_given_ms, percent

MIN_SHARE = 0.01
"""The share of all waiting from which on a command without a statement has a row of its own."""
SHARE = Column("share", "share", optional=True, name="share")
COST = (
    Column("network s", "s", name="network_s"),
    Column("server s", "s", name="service_s"),
    Column("runs", "count", name="executions"),
    Column("round trips", "count", name="round_trips"),
)
TIMES = (
    Column("median ms", "ms", full="median response ms", name="response_p50_ms"),
    Column("95th ms", "ms", full="95th response ms", optional=True, name="response_p95_ms"),
)
PACE = tuple(
    Column(f"{title} {which} ms", "ms", optional=True, detail=True, name=f"{what}_{quantile}_ms")
    for what, title in (("delta", "request interval"), ("client", "application"))
    for quantile, which in (("p50", "median"), ("p95", "95th"))
)
GROUPED = (
    SHARE,
    Column("cumulative", "share", optional=True, name="cumulative_share"),
    *COST,
    *TIMES,
    Column("mean ms", "ms", optional=True, name="response_avg_ms"),
    Column("stddev ms", "ms", optional=True, name="response_stddev_ms"),
    *PACE,
    Column("first seen", "moment", optional=True, name="first_seen"),
    Column("last seen", "moment", optional=True, name="last_seen"),
)
"""The figures of a group of exchanges, whatever they have in common."""
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
    "Where connections wait at the same time, each counts its part of that time, so the seconds add up to those of the "
    "runtime. Response: from the first packet of the request to the last of the response. Request interval: from the "
    "start of the previous request to the start of this one. Application: from the end of the previous response to "
    "the start of this request. Share: of the network and server time of all statements."
)
SUMMED = ("network_s", "service_s", "executions", "round_trips")


def statements(
    found: Sequence[StatementResult],
    timing_only: TimingOnly | None,
    most: int,
    projection: Projection,
    *,
    is_whole: bool = True,
) -> Section:
    """Return what each statement cost and costs at the RTT of the projection, and why there may be none.

    Unless it `is_whole`, commands without a statement are one row, but for those that take long.
    """
    hidden = [Sentence(text, "quiet")] if (text := hidden_statements(timing_only)) else []
    grown, columns = _grown(projection), list(COLUMNS)
    if not math.isnan(grown) and projection.headline_rtt_ms is not None and not is_whole:
        title = f"network s at {format_given_ms(projection.headline_rtt_ms)}"
        columns.insert(1, Column(title, "s", name="network_there_s"))
    names, commands = list[StatementResult](), list[StatementResult]()
    for each in found[:most]:
        (commands if not is_whole and _is_minor(each) else names).append(each)
    rows = [_row(each, grown) for each in names]
    if commands:
        rows.append(_together(commands, grown))
    foot = rest(found, range(most, len(found)), (*SUMMED, "rows"), text="statement")
    table = table_of(columns, rows, "Statements", foot and foot | {"text": [foot["text"]]})
    count = len(found) - len(commands)
    return Section("statements", top("Statements", count, most), [*hidden, Sentence(HOW, "quiet", detail=True), table])


def _grown(projection: Projection) -> float:
    """Return by what factor waiting for the network grows; NaN where servers do not move alike."""
    now, there = projection.budget_now, projection.headline_budget
    return math.nan if now is None or projection.conditions.moved else growth(now, there)


def _is_minor(each: StatementResult) -> bool:
    """Return whether it is a command without a statement, such as a login, that takes next to no time."""
    return not each.executions and not each.fingerprint and (each.share or 0.0) < MIN_SHARE


def _row(each: StatementResult, grown: float) -> dict[str, Any]:
    named = {"executions": each.executions or None, "text": each.fingerprint or [each.text]}
    return flat(each) | named | {"network_there_s": each.network_s * grown}


def _together(commands: Sequence[StatementResult], grown: float) -> dict[str, Any]:
    """Return the row of several commands: their sums, and their names."""
    empty = dict.fromkeys(_row(commands[0], grown))
    sums = {
        name: sum(getattr(each, name) or 0 for each in commands) for name in ("network_s", "service_s", "round_trips")
    }
    names = ", ".join(dict.fromkeys(each.text for each in commands))
    return empty | sums | {"network_there_s": sums["network_s"] * grown, "text": [names]}


def hidden_statements(hidden: TimingOnly | None) -> str:
    """Why statements are missing, in their place or above them."""
    return f"{hidden.text}{f'; {hidden.advice}' if hidden.advice else ''}." if hidden else ""


def routes(found: tuple[RouteResult, ...], round_trips: int, most: int) -> Section:
    """Show each route's cost, where statements name one; and how many of all `round_trips` they have."""
    trips = sum(each.round_trips for each in found)
    share = f" ({percent(trips / round_trips)})" if round_trips else ""
    named = f"{trips:,} of {counted(round_trips, 'round trip')}{share} are in statements with a route in their comment."
    foot = rest(found, range(most, len(found)), SUMMED, route="route")
    table = table_of(ROUTES, map(flat, found[:most]), "Routes", foot)
    parts: list[SectionPart] = [Sentence(named, "quiet", detail=True), table] if found else []
    return Section("routes", top("Routes", len(found), most), parts)


def rest(rows: Sequence[Any], places: Sequence[int], summed: Sequence[str], **what: str) -> dict[str, Any] | None:
    """The rows at `places` together, which may be many: sums of some columns, and in another one what they are."""
    if not places:
        return None
    columns = {name: list(column_of(rows, name)) for name in summed}
    sums = {name: sum(column[place] or 0 for place in places) for name, column in columns.items()}
    return sums | {name: f"{counted(len(places), f'further {each}')} together" for name, each in what.items()}
