"""The runtime at other RTTs: as the job is, with fixes made, and for several numbers of connections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from latpcap.findings.what_if import FixResult, WhatIf
from latpcap.measures.budget import Budget
from latpcap.projection.by_connections import GridCell, ProjectionGrid
from latpcap.projection.project import Point, Projection
from latpcap.report.section import Chart, ChartLine, Column, Drawn, Section, SectionTable, Sentence, sections_of
from latpcap.report.sections.budget import PARTS
from latpcap.report.sections.opening import asked_for
from latpcap.report.text import between, printable
from latpcap.result.settings import Settings
from latpcap.tables.part.selection import Selected
from latpcap.units import counted, format_given_ms, format_ms, percent, significant

MAX_SAVINGS = 3
COLUMNS = (
    Column("RTT ms", "figures"),
    Column("runtime s", "figure"),
    Column("range s", "figures"),
    *(Column(title, "figure") for title in ("times as long", "statements/s")),
    Column("how", optional=True, detail=True),
)
THERE = (Column(""), *(Column(title, "figure") for title in ("now s", "there s")), Column("share", "figures"))

BY_CONNECTIONS = (
    Column("RTT ms", "figures"),
    Column("connections", "figures"),
    Column("statements/s", "figure"),
    Column("range", "figures"),
    Column("runtime s", "figure"),
    Column("runtime range", "figures"),
)

RUNTIME, THROUGHPUT = ("runtime (s)", "runtime", "s"), ("statements a second", "throughput", "per_s")
"""The axis of a figure, its name and its unit."""
UNKNOWN = "unknown, because the baseline RTT is; give it with `--rtt-baseline`"
RESTED = "Idle hosts respond a little later at a higher RTT; this is included in server and application time."
MAX_RTTS = 20
"""RTTs shown of a projection if there is little room."""


@sections_of.register
def _alone(found: Projection) -> Iterator[Section]:
    """The runtimes at the first of the asked RTTs."""
    parts, left = projection(replace(found, points=found.points[:MAX_RTTS])).parts, len(found.points) - MAX_RTTS
    more = [Sentence(f"and {left:,} more RTTs")] if left > 0 else []
    line = _line("runtime", RUNTIME, found.points, "accent")
    chart = Chart("runtime", "Runtime over RTT", "RTT (ms)", "ms", [each.rtt_ms for each in found.points], (line,))
    yield Section("projection", "", [chart, *parts, *more])


def projection(found: Projection) -> Section:
    """The runtimes, and how they came about."""
    if found.baseline_rtt_ms is None:
        return Section("elsewhere", "At another RTT", [Sentence(UNKNOWN)])
    methods = sorted({point.method for point in found.points if not point.of_capture})
    now = () if found.now is None else ((f"now {significant(found.now.rtt_ms)}", *_figures(found.now), ""),)
    there = ((f"{point.rtt_ms:,g}", *_figures(point), point.method if methods[1:] else "") for point in found.points)
    table = SectionTable(COLUMNS, [*now, *there], "At other round-trip times")
    alike = [Sentence(f"Each runtime is {each}.", "quiet", detail=True) for each in methods if not methods[1:]]
    said = (*alike, *_said(found))
    return Section("elsewhere", "At another RTT", [Drawn("what-if"), table, *said])


def _said(found: Projection) -> Iterator[Sentence]:
    for own in filter(None, (point.of_capture for point in found.points)):
        yield Sentence(f"{own}, so its runtime needs no range.")
    yield from _how(found)
    for each in (found.limit, found.hosts, found.within):
        if each is not None:
            yield Sentence(each.text)
    if found.headline_rtt_ms is not None:
        for saving in found.fetches[:MAX_SAVINGS]:
            yield Sentence(f"{printable(saving.statement)[:60]}: {saving.text(found.headline_rtt_ms)}")


def _how(found: Projection | ProjectionGrid) -> Iterator[Sentence]:
    """Explain the range and the assumptions."""
    if found.range_text:
        yield Sentence(found.range_text, "quiet")
    if found.guess_text:
        yield Sentence(found.guess_text)
    if found.conditions.text:
        yield Sentence(f"Conditions there: {found.conditions.text}.", "quiet")


def projected(
    found: Projection | ProjectionGrid, changed: WhatIf | None, selected: Selected | None, settings: Settings
) -> Iterator[Section]:
    """All that is said of a projection, of which part of the captures it is, and with what it was asked for."""
    if isinstance(found, Projection):
        yield Section("within", "", [] if found.within is None else [Sentence(found.within.text)])
    yield Section("asked-for", "", [*asked_for(selected, settings)])
    if isinstance(found, Projection):
        yield from (projection(replace(found, within=None)), budget_there(found), _what_if(changed))
    else:
        yield from _by_connections(found)


def budget_there(found: Projection) -> Section:
    """Show the budget there, beside today's."""
    now, there = found.budget_now, found.headline_budget
    if now is None or there is None or found.headline_rtt_ms is None:
        return Section("budget-there", "", [])
    total = sum(there.parts().values())
    rows = [
        (PARTS[name][1], before, after, percent(after / total))
        for name, after in there.parts().items()
        if total > 0 and ((before := now.parts()[name]) > 0 or after > 0)
    ]
    title = f"Where the time goes at {format_given_ms(found.headline_rtt_ms)}"
    return Section("budget-there", title, [SectionTable(THERE, rows), *_rested(now, there)])


def _rested(now: Budget, there: Budget) -> Iterator[Sentence]:
    """Why hosts take another time there."""
    pairs = zip((now.service_s, now.client_s), (there.service_s, there.client_s), strict=True)
    if any(significant(one) != significant(other) for one, other in pairs):
        yield Sentence(RESTED, "quiet")


def _figures(point: Point) -> tuple[float | str | None, ...]:
    """A projection has three digits at most; that of the capture itself has no range."""
    is_known = bool(point.of_capture) or point.optimistic_s == point.pessimistic_s
    likely = "" if is_known else between(point.optimistic_s, point.pessimistic_s)
    return (point.runtime_s, likely, point.factor, point.throughput_per_s)


def _what_if(changed: WhatIf | None) -> Section:
    """The runtimes with fixes: as is, each, all; and what to do."""
    if changed is None:
        return Section("what-if", "", [])
    rtt = f"{changed.headline_rtt_ms:g}"
    fixes = (*changed.fixes, changed.all_fixes)
    columns = (
        *(Column("fix"), Column("trips saved", "count")),
        *(Column(f"{rtt} ms, s", "figure") for rtt in changed.as_is_s),
        Column(f"range at {rtt} ms", "figures"),
        *(Column(f"saves at {rtt} ms, s", "figure"), Column("saves between", "figures")),
    )
    there = between(changed.as_is_optimistic_s[rtt], changed.as_is_pessimistic_s[rtt])
    rows = [
        ("as is", None, *changed.as_is_s.values(), there, None, ""),
        *((_with_needs(each), each.round_trips_saved, *each.runtime_s.values(), *_at(each, rtt)) for each in fixes),
    ]
    left = ", ".join(changed.left_out)
    said = [Sentence(f"`all` leaves out {left}, a suggestion: name it to try it.", "quiet")] if left else []
    return Section("what-if", "With fixes", [SectionTable(columns, rows), *said, Sentence(changed.answer, "strong")])


def _at(fixed: FixResult, rtt: str) -> tuple[str, float, str]:
    """The range of its runtime, and its saving with that one's range."""
    runtime = between(fixed.optimistic_s[rtt], fixed.pessimistic_s[rtt])
    return runtime, fixed.saved_s[rtt], between(fixed.saved_min_s[rtt], fixed.saved_max_s[rtt])


def _with_needs(fixed: FixResult) -> str:
    return f"{fixed.name} (with {', '.join(fixed.needs)})" if fixed.needs else fixed.name


@sections_of.register
def _by_connections(grid: ProjectionGrid) -> Iterator[Section]:
    """A row for each number of connections at each RTT, and what is said of them."""
    title = "By the number of connections"
    if grid.baseline_rtt_ms is None:
        yield Section("by-connections", title, [Sentence(UNKNOWN)])
        return
    rows = [
        (
            f"{cell.rtt_ms:,g}",
            f"{'captured ' if cell.connections == grid.connections_now else ''}{cell.connections:,}",
            cell.throughput_per_s,
            between(cell.pessimistic_per_s, cell.optimistic_per_s),
            cell.runtime_s,
            between(cell.optimistic_s, cell.pessimistic_s),
        )
        for cell in grid.cells
    ]
    said = _said_of_grid(grid, grid.baseline_rtt_ms)
    yield Section("by-connections", title, [_chart_of_grid(grid), SectionTable(BY_CONNECTIONS, rows), *said])


def _chart_of_grid(grid: ProjectionGrid) -> Chart:
    """Throughput and runtime over the connections: a line and its range for each RTT."""
    by_rtt: dict[float, list[GridCell]] = {}
    for cell in grid.cells:
        by_rtt.setdefault(cell.rtt_ms, []).append(cell)
    lines = [
        _line(format_given_ms(rtt), figure, cells) for figure in (THROUGHPUT, RUNTIME) for rtt, cells in by_rtt.items()
    ]
    places = [each.connections for each in grid.by_connections]
    return Chart("by-connections", "By the number of connections", "connections", "count", places, tuple(lines))


def _line(name: str, figure: tuple[str, str, str], rows: Sequence[Any], colour: str = "") -> ChartLine:
    """A figure of the points or cells, with its range."""
    axis, middle, unit = figure
    values, low, high = (
        [getattr(row, f"{each}_{unit}") for row in rows] for each in (middle, "optimistic", "pessimistic")
    )
    return ChartLine(name, axis, "figure", values, low, high, colour)


def _said_of_grid(grid: ProjectionGrid, baseline_ms: float) -> Iterator[Sentence]:
    if grid.now is not None and grid.now.runtime_s is not None and grid.now.throughput_per_s is not None:
        was = f"{significant(grid.now.throughput_per_s)} statements/s, {significant(grid.now.runtime_s)} s"
        worked = f"{counted(grid.connections_now or 0, 'connection')} at work at once"
        yield Sentence(f"The capture itself, {worked}, baseline RTT {format_ms(baseline_ms)}: {was}.", "quiet")
    yield from _how(grid)
    yield from map(Sentence, _limited(grid.cells))
    most = max(grid.by_connections, key=lambda each: each.connections)
    if most.limit is not None:
        yield Sentence(most.limit.text)
    for each in grid.by_connections:
        if each.within is not None:
            yield Sentence(f"{counted(each.connections, 'connection')}: {each.within.text}")


def _limited(cells: Sequence[GridCell]) -> Iterator[str]:
    """For each RTT and limit from how many connections on it bounds the runtime."""
    first: dict[tuple[float, str], int] = {}
    for cell in cells:
        if cell.method.startswith("limited by"):
            key = cell.rtt_ms, cell.method
            first[key] = min(first.get(key, cell.connections), cell.connections)
    for (rtt_ms, method), connections in first.items():
        yield f"At {format_given_ms(rtt_ms)}: {method} from {counted(connections, 'connection')} on."
