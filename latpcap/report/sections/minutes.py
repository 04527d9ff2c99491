"""The RTT and the response times over time."""

from __future__ import annotations

from latpcap.report.section import Column, Drawn, Lines, Section, SectionTable
from latpcap.result.minutes import MinutesResult
from latpcap.units import format_given_ms

__all__ = ["minutes"]

FIGURES = {
    "RTT ms": "baseline_ms",
    "measured ms": "rtt_min_ms",
    "fastest ms": "fastest_ms",
    "p50 ms": "response_p50_ms",
    "p95 ms": "response_p95_ms",
}
COUNTS = {"round trips": "round_trips", "errors": "errors", "sent again": "retransmissions"}
COLUMNS = (
    Column("from (UTC)"),
    *(Column(title, "ms") for title in FIGURES),
    *(Column(title, "count") for title in COUNTS),
)


def minutes(result: MinutesResult | None) -> Section:
    """Lines over the time of the recording, and their values, where it is long enough to tell."""
    if result is None:
        return Section("minutes", "", [])
    first, last = result.rows[0].start, result.rows[-1].start
    begin = first[11:19] if first[:10] == last[:10] else first[:19].replace("T", " ")
    title = f"Over time ({format_given_ms(result.every_s * 1000)} each, from {begin} UTC)"
    names = (*FIGURES.values(), *COUNTS.values())
    rows = [(each.start[:23].replace("T", " "), *(getattr(each, name) for name in names)) for each in result.rows]
    return Section(
        "minutes", title, [_lines(result), Drawn("minutes"), SectionTable(COLUMNS, rows, "Over time", detail=True)]
    )


def _lines(result: MinutesResult) -> Lines:
    rows = result.rows
    return Lines(
        [
            ("RTT measured", [row.rtt_min_ms for row in rows], "ms"),
            ("fastest response", [row.fastest_ms for row in rows], "ms"),
            ("p95 response", [row.response_p95_ms for row in rows], "ms"),
            ("round trips", [row.round_trips for row in rows], "count"),
            ("sent again", [row.retransmissions for row in rows], "count"),
            ("errors", [row.errors for row in rows], "count"),
        ]
    )
