"""The RTT and the response times over time."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from latpcap.report.section import Column, Drawn, Lines, Section, sections_of, table_of
from latpcap.result.minutes import MinutesResult
from latpcap.result.tables import flat
from latpcap.units import format_given_ms

__all__ = ["MINUTES", "minutes"]

MINUTES = (
    Column("start", "clock", name="start"),
    Column("RTT ms", "ms", name="baseline_ms"),
    Column("measured ms", "ms", optional=True, name="rtt_min_ms"),
    Column("fastest ms", "ms", optional=True, name="fastest_ms"),
    Column("p50 ms", "ms", optional=True, name="response_p50_ms"),
    Column("p95 ms", "ms", name="response_p95_ms"),
    Column("round trips", "count", name="round_trips"),
    Column("connections", "count", optional=True, name="connections"),
    Column("errors", "count", optional=True, name="errors"),
    Column("sent again", "count", name="retransmissions"),
)
LINES = {
    "RTT measured": "rtt_min_ms",
    "fastest response": "fastest_ms",
    "p95 response": "response_p95_ms",
    "round trips": "round_trips",
    "sent again": "retransmissions",
    "errors": "errors",
}


@sections_of.register
def _alone(result: MinutesResult) -> Iterator[Section]:
    *_, table = minutes(result).parts
    yield Section("minutes", "", [replace(table, detail=False)])


def minutes(result: MinutesResult | None) -> Section:
    """Lines over the time of the recording, and their values, where it is long enough to tell."""
    if result is None:
        return Section("minutes", "", [])
    rows = [flat(each) for each in result.rows]
    first, last = rows[0]["start"], rows[-1]["start"]
    begin = first[11:19] if first[:10] == last[:10] else first[:19].replace("T", " ")
    title = f"Over time ({format_given_ms(result.every_s * 1000)} each, from {begin} UTC)"
    lines = Lines(
        [
            (called, [row[name] for row in rows], "ms" if name.endswith("_ms") else "count")
            for called, name in LINES.items()
        ]
    )
    columns = [replace(MINUTES[0], title="from (UTC)", kind="text"), *MINUTES[1:]]
    moments = [row | {"start": row["start"][:23].replace("T", " ")} for row in rows]
    table = replace(table_of(columns, moments, "Over time"), detail=True)
    return Section("minutes", title, [lines, Drawn("minutes"), table])
