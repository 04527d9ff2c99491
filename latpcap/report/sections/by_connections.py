"""Runtime and throughput for several numbers of connections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from latpcap.projection.by_connections import GridCell, ProjectionGrid
from latpcap.report.section import Column, Section, SectionTable, Sentence, sections_of
from latpcap.units import counted, format_given_ms, format_ms, significant

__all__ = ["by_connections"]

COLUMNS = (
    Column("RTT ms", "figures"),
    Column("connections", "count"),
    Column("statements/s", "figure"),
    Column("least to most", "figures"),
    Column("runtime s", "figure"),
    Column("runtime range", "figures"),
)


@sections_of.register
def _sections(grid: ProjectionGrid) -> list[Section]:
    return [by_connections(grid)]


def by_connections(grid: ProjectionGrid) -> Section:
    """A row for each number of connections at each RTT, and what is said of them."""
    title = "By the number of connections"
    if grid.baseline_rtt_ms is None:
        text = "unknown, because the baseline RTT is; give it with `--rtt-baseline`"
        return Section("by-connections", title, [Sentence(text)])
    rows = [
        (
            f"{cell.rtt_ms:,g}",
            cell.connections,
            cell.throughput_per_s,
            _range(cell.pessimistic_per_s, cell.optimistic_per_s),
            cell.runtime_s,
            _range(cell.optimistic_s, cell.pessimistic_s),
        )
        for cell in grid.cells
    ]
    return Section("by-connections", title, [SectionTable(COLUMNS, rows), *_said(grid, grid.baseline_rtt_ms)])


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{significant(low)} to {significant(high)}"


def _said(grid: ProjectionGrid, baseline_ms: float) -> Iterator[Sentence]:
    if grid.now is not None and grid.now.runtime_s is not None and grid.now.throughput_per_s is not None:
        was = f"{significant(grid.now.throughput_per_s)} statements/s, {significant(grid.now.runtime_s)} s"
        yield Sentence(f"The capture itself, at the baseline RTT of {format_ms(baseline_ms)}: {was}.", "quiet")
    yield Sentence(grid.range_text, "quiet")
    if grid.guess_text:
        yield Sentence(grid.guess_text)
    if grid.conditions.text:
        yield Sentence(f"with {grid.conditions.text}", "quiet")
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
