"""What was seen so far of a recording that is under way: a screen for people, a line for logs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from latpcap.report.grid import Grid
from latpcap.report.section import Column
from latpcap.report.text import printable
from latpcap.result.watching import WaitedFor, WatchedSoFar
from latpcap.units import counted, format_s, percent, significant

COLUMNS = (*(Column(title, "figures") for title in ("waited s", "round trips", "each ms")), Column("statement"))
FEW_PER_S = 10
NO_ROOM = "(further statements)"


def screen(seen: WatchedSoFar, where: str, hint: str) -> RenderableType:
    """Return what stands on a terminal: `where` it is recorded, and `hint`, how that ends."""
    return Group(*_parts(seen, where, hint))


def _parts(seen: WatchedSoFar, where: str, hint: str) -> Iterator[RenderableType]:
    yield Text(printable(f"{where} · {format_s(seen.seconds)} · {hint}"), style="bold")
    yield Text(line(seen))
    if seen.round_trips:
        yield Text(_further(seen))
    if seen.worst:
        yield Text()
        yield Grid(COLUMNS, [_row(each) for each in seen.worst])


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
    return f", {per_s:.1f} a second now" if 0 < per_s < FEW_PER_S else f", {per_s:,.0f} a second now"


def _further(seen: WatchedSoFar) -> str:
    """What the next millisecond of RTT costs, if nothing runs side by side."""
    now = f", at the present rate {percent(seen.per_ms_share)} of the time" if seen.per_ms_share else ""
    return f"each further millisecond of RTT: {format_s(seen.per_ms_s)} so far, one after the other{now}"


def _row(each: WaitedFor) -> tuple[str, ...]:
    average = significant(each.waited_s * 1000 / each.round_trips) if each.round_trips else ""
    return (f"{each.waited_s:,.3f}", f"{each.round_trips:,}", average, printable(each.text) or NO_ROOM)
