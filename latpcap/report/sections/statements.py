"""The statements that cost most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from latpcap.measures.timing_only import TimingOnly
from latpcap.report.section import Column, Row, Section, SectionTable, Sentence
from latpcap.report.sections.rest import sums_of_rest
from latpcap.report.text import top
from latpcap.report.timing_only import about_statements
from latpcap.result.statements import StatementResult

__all__ = ["PACE", "pace", "statements"]

PACE = tuple(
    Column(title, "ms", optional=True) for title in ("delta p50 ms", "delta p95 ms", "client p50 ms", "client p95 ms")
)
COLUMNS = (
    Column("network s", "s", name="network_s"),
    Column("service s", "s", name="service_s"),
    Column("runs", "count"),
    Column("round trips", "count", name="round_trips"),
    Column("rows", "count", detail=True),
    Column("p50 ms", "ms", full="response p50 ms"),
    Column("p95 ms", "ms", optional=True, full="response p95 ms"),
    Column("share %", "percent", optional=True),
    *PACE,
    Column("statement", "code", least=40, heads=True),
)
HOW = (
    "Seconds of overlapping connections are shared, so that they add up to the budget. Response: first packet of the "
    "request to the last of the response. Delta: start of the previous request to the start of this one. Client: end "
    "of the previous response to the start of this request. Share: of the network and service time of all statements."
)
SUMMED = ("network_s", "service_s", "executions", "round_trips", "rows")


def statements(found: Sequence[StatementResult], timing_only: TimingOnly | None, most: int) -> Section:
    """What each statement cost, and why there may be none."""
    hidden = [Sentence(text, "quiet")] if (text := about_statements(timing_only)) else []
    rest = sums_of_rest(found, range(most, len(found)), SUMMED)
    foot: Row | None = rest and (*rest, *[None] * 7, [f"{len(found) - most:,} further statements together"])
    table = SectionTable(COLUMNS, [_row(each) for each in found[:most]], "Statements", foot)
    return Section(
        "statements", top("Statements", len(found), most), [*hidden, Sentence(HOW, "quiet", detail=True), table]
    )


def _row(each: StatementResult) -> Row:
    return (
        *(each.network_s, each.service_s, each.executions or None, each.round_trips, each.rows),
        *(each.response_ms["p50"], each.response_ms["p95"], each.share, *pace(each)),
        each.fingerprint or [each.text],
    )


def pace(each: Any) -> tuple[float | None, ...]:
    """The values of `PACE`."""
    return tuple(times[name] for times in (each.delta_ms, each.client_ms) for name in ("p50", "p95"))
