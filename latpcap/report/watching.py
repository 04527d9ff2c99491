"""The progress of a recording that is under way: a screen for people, a line for logs."""

from __future__ import annotations

from rich.console import Group, RenderableType

from latpcap.report.section import Column, Section, SectionTable, Sentence
from latpcap.report.terminal import drawn
from latpcap.result.watching import WaitedFor, WatchedSoFar
from latpcap.units import counted, format_s, percent

COLUMNS = (
    Column("waited s", "ms"),
    Column("round trips", "count"),
    Column("each ms", "figure"),
    Column("statement"),
)
MAX_EXACT_PER_S = 10
NO_ROOM = "(further statements)"


def screen(seen: WatchedSoFar, where: str, hint: str) -> RenderableType:
    """Return what stands on a terminal: `where` it is recorded, and `hint`, how that ends."""
    said = [Sentence(f"{where} · {format_s(seen.seconds)} · {hint}", "strong"), Sentence(line(seen))]
    further = [Sentence(_further(seen))] if seen.round_trips else []
    worst = [Sentence(""), SectionTable(COLUMNS, [*map(_row, seen.worst)])] if seen.worst else []
    return Group(*drawn(Section("watching", "", [*said, *further, *worst])))


def line(seen: WatchedSoFar) -> str:
    """Return the sums in a line."""
    parts = [
        f"{counted(seen.round_trips, 'round trip')}{_rate(seen.round_trips_per_s)}",
        f"waited {format_s(seen.waited_s)}",
        counted(seen.executions, "exchange"),
        counted(seen.connections, "connection"),
    ]
    if seen.errors:
        parts.append(counted(seen.errors, "error"))
    return " · ".join(parts)


def _rate(per_s: float | None) -> str:
    if per_s is None:
        return ""
    return f", {per_s:.1f} a second now" if 0 < per_s < MAX_EXACT_PER_S else f", {per_s:,.0f} a second now"


def _further(seen: WatchedSoFar) -> str:
    """Say what the next millisecond of RTT costs, if nothing runs side by side."""
    now = f", at the present rate {percent(seen.per_ms_share)} of the time" if seen.per_ms_share else ""
    return f"each further millisecond of RTT: {format_s(seen.per_ms_s)} so far, one after the other{now}"


def _row(each: WaitedFor) -> tuple[float, int, float | None, str]:
    average = each.waited_s * 1000 / each.round_trips if each.round_trips else None
    return each.waited_s, each.round_trips, average, each.text or NO_ROOM
