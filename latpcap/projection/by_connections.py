"""The projection for several numbers of connections: a grid of runtime and throughput, with their ranges.

Each cell is what the projection says of that number of connections at that RTT; nothing is computed in another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable
from msgspec import Struct
from msgspec.structs import replace

from latpcap.display import Plottable
from latpcap.errors import UsageError
from latpcap.projection.assumptions import Assumption, Conditions
from latpcap.projection.basis import AS_IT_IS, Basis
from latpcap.projection.capacity import Limit
from latpcap.projection.project import LatencyBudget, Point, Projection, per_s, projections
from latpcap.tables.columnar.table import Table, Tabular


class GridCell(Struct, frozen=True):
    """A number of connections at one RTT; `None` where the baseline is unknown."""

    connections: int
    rtt_ms: float
    runtime_s: float | None
    optimistic_s: float | None
    pessimistic_s: float | None
    throughput_per_s: float | None
    """Statements per second of runtime."""
    pessimistic_per_s: float | None
    optimistic_per_s: float | None
    """pessimistic_per_s ≤ throughput_per_s ≤ optimistic_per_s"""
    factor: float | None
    """Runtime there ÷ runtime of the capture."""
    method: str
    """How it came about: `observed`, `replayed`, or `limited by` what bounds the runtime there."""


class OfConnections(Struct, frozen=True):
    """Limit and latency budget of a number of connections."""

    connections: int
    limit: Limit | None
    """Their limit, at the largest of the asked RTTs."""
    within: LatencyBudget | None
    """The RTT at which they meet the target, where one was asked for."""


_KINDS = {str: DataType.string(), int: DataType.uint64(), float: DataType.float64()}
CELL = dict.fromkeys(GridCell.__struct_fields__, _KINDS[float]) | {"connections": _KINDS[int], "method": _KINDS[str]}
"""The columns of a grid as a table."""


class ProjectionGrid(Plottable, Tabular, Struct, frozen=True):
    """Runtime and throughput by RTT and number of connections; as a table (`to_pandas()`, …) with a row for each."""

    baseline_rtt_ms: float | None
    now: Point | None
    """The capture itself, at its baseline RTT."""
    connections_now: int | None
    """How many worked at once in the capture; `None` where the baseline is unknown."""
    cells: tuple[GridCell, ...]
    """RTT by RTT, and within each by the number of connections, both as asked for."""
    by_connections: tuple[OfConnections, ...]
    assumptions: tuple[Assumption, ...]
    conditions: Conditions
    """Other differences; the number of connections is that of each cell."""
    range_text: str
    """Meaning of the range, and how often it held."""
    guess_text: str
    """Advice where a point at a shorter RTT is mostly guesswork; else empty."""

    def table(self) -> Table:
        """One row a cell: `connections`, `rtt_ms`, runtime and throughput with their ranges, `factor`, `method`."""
        return Table(ArrowTable.from_pydict({name: self._column(name, kind) for name, kind in CELL.items()}), "cells")

    def _column(self, name: str, kind: DataType) -> Array:
        return Array([getattr(cell, name) for cell in self.cells], kind)


def by_connections(
    base: Basis,
    connections: Sequence[int],
    rtt_ms: Sequence[float] | None = None,
    within_s: float | None = None,
    conditions: Conditions | None = None,
) -> ProjectionGrid:
    """Project `base` onto each RTT of `rtt_ms` for each number of `connections`."""
    if not connections or min(connections) < 1:
        raise UsageError("a grid needs a number of connections, 1 or more: `connections=[1, 2, 4, 8]`")
    conditions = conditions or base.as_usual
    found = {
        count: projections(base, [AS_IT_IS], rtt_ms, within_s, replace(conditions, connections=count))[0]
        for count in dict.fromkeys(connections)
    }
    first, *_ = found.values()
    return ProjectionGrid(
        baseline_rtt_ms=first.baseline_rtt_ms,
        now=first.now,
        connections_now=base.connections,
        cells=tuple(_cells(found, base.unrecorded_s)),
        by_connections=tuple(OfConnections(count, each.limit, each.within) for count, each in found.items()),
        assumptions=first.assumptions,
        conditions=replace(conditions, connections=None),
        range_text=first.range_text,
        guess_text=next((each.guess_text for each in found.values() if each.guess_text), ""),
    )


def _cells(found: dict[int, Projection], unrecorded_s: float) -> Iterator[GridCell]:
    for place in range(len(next(iter(found.values())).points)):
        for count, projection in found.items():
            point = projection.points[place]
            yield GridCell(
                count,
                point.rtt_ms,
                point.runtime_s,
                point.optimistic_s,
                point.pessimistic_s,
                point.throughput_per_s,
                per_s(point, point.pessimistic_s, unrecorded_s),
                per_s(point, point.optimistic_s, unrecorded_s),
                point.factor,
                point.method,
            )
