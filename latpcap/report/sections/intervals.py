"""The RTT and the response times over time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from latpcap.report.section import (
    Chart,
    ChartLine,
    Column,
    Kind,
    Section,
    SectionTable,
    Sentence,
    Style,
    sections_of,
    table_of,
)
from latpcap.result.intervals import IntervalsResult
from latpcap.result.tables import flat
from latpcap.units import counted, format_given_ms, format_ms, percent

INTERVALS = (
    Column("start", "clock", name="start"),
    Column("RTT ms", "ms", name="baseline_ms"),
    Column("measured RTT ms", "ms", optional=True, name="rtt_min_ms"),
    Column("fastest response ms", "ms", optional=True, name="fastest_ms"),
    Column("median response ms", "ms", optional=True, name="response_p50_ms"),
    Column("95th response ms", "ms", name="response_p95_ms"),
    Column("round trips", "count", name="round_trips"),
    Column("connections", "count", optional=True, name="connections"),
    Column("errors", "count", optional=True, name="errors"),
    Column("sent again", "count", optional=True, name="retransmissions"),
    Column("lost", "share", name="lost_share"),
)
LINES: dict[str, tuple[str, str, Style]] = {
    "rtt_min_ms": ("RTT measured", "network", "dots"),
    "baseline_ms": ("RTT counted", "network", "dashed"),
    "fastest_ms": ("fastest response", "think", "line"),
    "response_p50_ms": ("median response", "accent", "line"),
    "response_p95_ms": ("95th response", "band-edge", "line"),
    "round_trips": ("round trips", "accent", "bars"),
    "errors": ("errors", "grave", "dots"),
    "lost_share": ("lost", "loss", "dots"),
    "spurious_share": ("sent again for nothing", "accent", "dots"),
}
"""The name, colour and style of each figure."""


@sections_of.register
def _alone(result: IntervalsResult) -> Iterator[Section]:
    rows = [flat(each) for each in result.rows]
    yield Section("intervals", "", [_chart(result, rows), _table(rows)])


def intervals(result: IntervalsResult | None) -> Section:
    """Lines over the time of the recording, and their values, where it is long enough to tell."""
    if result is None:
        return Section("intervals", "", [])
    rows = [flat(each) for each in result.rows]
    first, last = rows[0]["start"], rows[-1]["start"]
    begin = first[11:19] if first[:10] == last[:10] else first[:19].replace("T", " ")
    title = f"Over time ({format_given_ms(result.every_s * 1000)} each, from {begin} UTC)"
    table = replace(_table(rows), detail=True)
    return Section("intervals", title, [_chart(result, rows), Sentence(_slowest(rows), "quiet", detail=True), table])


def _chart(result: IntervalsResult, rows: list[dict[str, Any]]) -> Chart:
    starts = [row["start"] for row in rows]
    end = np.datetime64(starts[-1].removesuffix("Z"), "ns") + np.timedelta64(round(result.every_s * 1e9), "ns")
    lines = [
        ChartLine(title, axis, kind, [row[name] for row in rows], colour=colour, style=style)
        for name, (title, colour, style) in LINES.items()
        for axis, kind in [_axis(name)]
    ]
    return Chart("intervals", "Over time", "time (UTC)", "time", [*starts, f"{end}Z"], tuple(lines))


def _axis(name: str) -> tuple[str, Kind]:
    if name.endswith("_share"):
        return "of the packets with data", "share"
    return ("ms", "ms") if name.endswith("_ms") else ("how many", "count")


def _table(rows: list[dict[str, Any]]) -> SectionTable:
    columns = [replace(INTERVALS[0], title="from (UTC)", kind="text"), *INTERVALS[1:]]
    return table_of(columns, [row | {"start": row["start"][:23].replace("T", " ")} for row in rows], "Over time")


def _slowest(rows: list[dict[str, Any]]) -> str:
    """When the slowest interval was, and what was sent again."""
    slowest = max(rows, key=lambda row: row["response_p95_ms"] or 0.0)
    sent = _sent_again(rows)
    if slowest["response_p95_ms"] is None:
        return sent
    return f"Slowest: {format_ms(slowest['response_p95_ms'])} at {slowest['start'][11:19]}. {sent}"


def _sent_again(rows: list[dict[str, Any]]) -> str:
    """How many packets, and when most of them were lost."""
    again = sum(row["retransmissions"] or 0 for row in rows)
    if not again:
        return "No packet was sent again."
    told = f"{counted(again, 'packet')} {'was' if again == 1 else 'were'} sent again"
    worst = max(rows, key=lambda row: row["lost_share"] or 0.0)
    if not worst["lost_share"]:
        return f"{told}, none because it was lost, as far as is known."
    of = f"{worst['lost']:,} of {counted(worst['segments'], 'packet')} with data ({percent(worst['lost_share'])})"
    return f"{told}. Most were lost at {worst['start'][11:19]}: {of}."
