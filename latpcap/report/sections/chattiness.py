"""How many round trips the application makes for what it gets done, and the pace of its requests."""

from __future__ import annotations

from collections.abc import Iterator

from latpcap.report.section import Column, Section, SectionTable, sections_of
from latpcap.result.chattiness import Chattiness
from latpcap.units import counted, format_ms, format_ratio, format_s, percent

COLUMNS = (Column("ratio"), Column("value", "figures"), Column("from", folds=True))
OF_ALL = "median / 95th percentile"

Row = tuple[str, str, str]
"""A ratio, its value, and what it is made of."""


@sections_of.register
def _alone(result: Chattiness) -> list[Section]:
    return [chattiness(result)]


def chattiness(result: Chattiness) -> Section:
    """The ratios, and what each is made of."""
    rows = list(chattiness_rows(result))
    return Section("chattiness", "Chattiness", [SectionTable(COLUMNS, rows)] if rows else [])


def chattiness_rows(result: Chattiness) -> Iterator[Row]:
    """The ratios that are known, one after the other."""
    if result.round_trips == 0:
        return
    for row in (*_ratios(result), *_pace(result)):
        if row[1]:
            yield row


def _ratios(result: Chattiness) -> Iterator[Row]:
    trips = counted(result.round_trips, "round trip")
    yield "round trips per second", _figure(result.round_trips_per_s), f"{trips} in {format_s(result.recorded_s)}"
    yield "round trips per transaction", _figure(result.round_trips_per_transaction), _transactions(result)
    if result.tasks > 1:
        yield (
            "round trips per task",
            _figure(result.round_trips_per_task),
            f"{trips} in {counted(result.tasks, 'task')}",
        )
    if result.round_trips_per_row:
        yield "rows per round trip", _figure(1 / result.round_trips_per_row), f"{counted(result.rows, 'row')} came back"
    yield "round trips per route", _figure(result.round_trips_per_route), _routes(result)
    if result.network_share is not None and result.network_s is not None:
        yield "network share", percent(result.network_share), f"{format_s(result.network_s)} of the runtime"


def _transactions(result: Chattiness) -> str:
    outside = result.statements_outside
    beside = f", {counted(outside, 'statement')} outside" if outside else ""
    trips = counted(result.transaction_round_trips, "round trip")
    return f"{trips} in {counted(result.transactions, 'transaction')}{beside}"


def _routes(result: Chattiness) -> str:
    return f"{counted(result.route_round_trips, 'round trip')} for {counted(result.routes, 'route')}"


def _pace(result: Chattiness) -> Iterator[Row]:
    deltas, waits = result.delta_ms, result.client_ms
    yield "time between requests", _pair(deltas["p50"], deltas["p95"]), f"{OF_ALL}, from request to request"
    yield "application time", _pair(waits["p50"], waits["p95"]), f"{OF_ALL}, from response to request"


def _pair(first: float | None, second: float | None) -> str:
    return "" if first is None or second is None else f"{format_ms(first)} / {format_ms(second)}"


def _figure(value: float | None) -> str:
    return "" if value is None else format_ratio(value)
