"""The runtime at other RTTs, as the job is and with fixes made."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.findings.what_if import FixResult, WhatIf
from latpcap.projection.project import Point, Projection
from latpcap.report.console import heading
from latpcap.report.grid import Grid, Heading
from latpcap.report.terminal.budget import PARTS
from latpcap.report.text import printable
from latpcap.units import format_given_ms, format_ms, percent, significant

__all__ = ["budget_parts", "projection_parts", "what_if_parts"]

SAVINGS = 3


def projection_parts(projection: Projection) -> Iterator[RenderableType]:
    """The projection's table, and the latency budget where one was asked for."""
    yield heading("At another RTT")
    if projection.baseline_rtt_ms is None:
        yield Text("unknown, because the baseline RTT is; give it with --rtt-baseline")
        return
    titles = ("", "RTT ms", "runtime s", "×", "optimistic s", "pessimistic s", "statements/s")
    now = () if projection.now is None else (("now", significant(projection.now.rtt_ms), *_figures(projection.now)),)
    there = (("", f"{point.rtt_ms:,g}", *_figures(point)) for point in projection.points)
    yield Grid([Heading(title) for title in titles], [*now, *there])
    yield Text(f"×: runtime there ÷ runtime now, at the baseline RTT of {format_ms(projection.baseline_rtt_ms)}", "dim")
    yield Text(projection.range_text, "dim")
    if projection.guess_text:
        yield Text(projection.guess_text)
    if projection.conditions.text:
        yield Text(f"with {projection.conditions.text}", style="dim")
    if projection.limit is not None:
        yield Text(projection.limit.text)
    if projection.hosts is not None:
        yield Text(projection.hosts.text)
    if projection.within is not None:
        yield Text(projection.within.text)
    if projection.told_rtt_ms is not None:
        for saving in projection.fetches[:SAVINGS]:
            yield Text(f"{printable(saving.statement)[:60]}: {saving.text(projection.told_rtt_ms)}")


def budget_parts(projection: Projection) -> Iterator[RenderableType]:
    """Where the time goes there, beside where it went."""
    now, there = projection.budget_now, projection.budget_at
    if now is None or there is None or projection.told_rtt_ms is None:
        return
    yield heading(f"Where the time goes at {format_given_ms(projection.told_rtt_ms)}")
    parts = [(PARTS[name][1], seconds, now.parts()[name]) for name, seconds in there.parts().items()]
    total = sum(there.parts().values())
    yield Grid(
        (Heading("", "left"), Heading("now s"), Heading("there s"), Heading("share")),
        [
            (name, significant(before), significant(after), percent(after / total))
            for name, after, before in parts
            if total > 0 and (before > 0 or after > 0)
        ],
    )


def _figures(point: Point) -> tuple[str, ...]:
    """A projection has three digits at most; that of the capture itself has no range."""
    range_s = (point.optimistic_s, point.pessimistic_s)
    figures = (point.runtime_s, point.factor, *range_s, point.throughput_per_s)
    return tuple("" if figure is None else significant(figure) for figure in figures)


def what_if_parts(changed: WhatIf | None) -> Iterator[RenderableType]:
    """The runtimes with fixes: as is, each, all; and what to do."""
    if changed is None:
        return
    yield heading("With fixes")
    rtt = f"{changed.told_rtt_ms:g}"
    as_is = ("as is", "", changed.as_is_s, changed.as_is_optimistic_s[rtt], changed.as_is_pessimistic_s[rtt])
    fixed = (
        (
            _with_needs(each),
            f"{each.round_trips_saved:,}",
            each.runtime_s,
            each.optimistic_s[rtt],
            each.pessimistic_s[rtt],
        )
        for each in (*changed.fixes, changed.all_fixes)
    )
    yield Grid(
        (
            *(Heading("fix", "left"), Heading("trips saved")),
            *(Heading(f"{rtt} ms, s") for rtt in changed.as_is_s),
            Heading(f"range at {rtt} ms"),
        ),
        [
            (name, trips, *map(significant, runtimes.values()), f"{significant(least)} to {significant(most)}")
            for name, trips, runtimes, least, most in (as_is, *fixed)
        ],
    )
    if changed.left_out:
        yield Text(f"`all` leaves out {', '.join(changed.left_out)}, a suggestion: name it to try it.", style="dim")
    yield Text(changed.answer, style="bold")


def _with_needs(fixed: FixResult) -> str:
    return f"{fixed.name} (with {', '.join(fixed.needs)})" if fixed.needs else fixed.name
