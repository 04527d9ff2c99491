"""The RTT and the response times over time, as lines of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from latpcap.report.console import heading
from latpcap.report.grid import Grid, Heading
from latpcap.report.sparkline import sparkline
from latpcap.result.minutes import MinutesResult
from latpcap.units import format_given_ms, format_ms

__all__ = ["minutes"]


def minutes(result: MinutesResult | None) -> Iterator[RenderableType]:
    """Lines over the time of the recording, where it is long enough to tell."""
    if result is None:
        return
    first, last = result.rows[0].start, result.rows[-1].start
    begin = first[11:19] if first[:10] == last[:10] else first[:19].replace("T", " ")
    yield heading(f"Over time ({format_given_ms(result.every_s * 1000)} each, from {begin} UTC)")
    rows = [row for row in _lines(result) if row[1]]
    yield Grid((Heading("what", "left"), Heading("least"), Heading("most"), Heading("over time", "left")), rows)


def _lines(result: MinutesResult) -> Iterator[tuple[str, str, str, str]]:
    rows = result.rows
    yield _durations("RTT measured", [row.rtt_min_ms for row in rows])
    yield _durations("fastest response", [row.fastest_ms for row in rows])
    yield _durations("p95 response", [row.response_p95_ms for row in rows])
    yield _counts("round trips", [row.round_trips for row in rows])
    yield _counts("sent again", [row.retransmissions for row in rows])
    yield _counts("errors", [row.errors for row in rows])


def _durations(name: str, values: Sequence[float | None]) -> tuple[str, str, str, str]:
    known = [value for value in values if value is not None]
    if not known:
        return name, "", "", ""
    return name, format_ms(min(known)), format_ms(max(known)), sparkline(values)


def _counts(name: str, values: Sequence[int]) -> tuple[str, str, str, str]:
    return name, f"{min(values):,}" if any(values) else "", f"{max(values):,}", sparkline(values)
