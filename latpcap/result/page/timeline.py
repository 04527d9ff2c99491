"""The timeline of a page: what each connection did when, small enough to be carried along.

A recording of few exchanges is drawn exchange by exchange. A longer one is cut into equal intervals of time, each with
the seconds that its exchanges spent on each part; intervals in which a connection did nothing are left out.

```text
block       gap | stall | network | service | loss | transfer | setup | unknown        in microseconds, one list each
interval     the same within equal intervals; `count` says how many exchanges began in it
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.measures.budget import BudgetTimeline
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Floats, Ints
from latpcap.tables.columnar.passes import lanes
from latpcap.tables.connections import Connections
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.recording import Recording

MAX_EXCHANGES = 20_000
"""A recording with more exchanges is drawn in blocks."""
MAX_BLOCKS = 30_000
"""Blocks drawn of a longer recording, over all lanes."""
MAX_LANES = 100
"""Lanes drawn: those with the most exchanges."""


class _Blocks(Struct, frozen=True):
    """Exchanges as intervals in µs since the start, each with its parts one after the other."""

    lane: Ints
    start: Ints
    parts: dict[str, Ints]

    @property
    def length(self) -> Ints:
        total: Ints = np.add.reduce(list(self.parts.values()))
        return total

    def of(self, rows: NDArray[Any]) -> _Blocks:
        return _Blocks(self.lane[rows], self.start[rows], {name: part[rows] for name, part in self.parts.items()})


def timeline(
    recording: Recording,
    baseline_ns: Floats,
    measured: BudgetTimeline,
    one_by_one: int = MAX_EXCHANGES,
    intervals: int = MAX_BLOCKS,
) -> dict[str, Any]:
    """Return lanes of blocks from the RTT and what was `measured` of each exchange."""
    exchanges, connections = recording.exchanges, recording.connections
    lane_of = _lanes(connections)
    drawn = _busiest(lane_of[exchanges.connection])
    round_trip_ns = np.nan_to_num(baseline_ns)
    blocks = _blocks(exchanges, lane_of, exchanges.round_trips * round_trip_ns, measured)
    each = len(exchanges) <= one_by_one
    duration_us = max(round(recording.runtime_s * 1e6), int((blocks.start + blocks.length).max(initial=0)))
    width_us = 0 if each else duration_us // max(intervals // len(drawn), 100) + 1
    found = []
    for lane in drawn.tolist():
        rows = np.flatnonzero(blocks.lane == lane)
        members = np.flatnonzero(lane_of == lane)
        content = _one_by_one(recording, blocks, rows) if each else _intervals(blocks.of(rows), width_us)
        found.append({"streams": connections.stream[members[:3]].tolist(), "connections": len(members)} | content)
    return {
        "duration_us": duration_us,
        "stretch_us": width_us,
        "commands": exchanges.command.names if each else [],
        "lanes": found,
        "lanes_left_out": int(lane_of.max(initial=-1)) + 1 - len(drawn),
    }


def _lanes(connections: Connections) -> Ints:
    """A lane for each connection; where they are many, those that follow each other share one."""
    if len(connections) <= MAX_LANES:
        return np.arange(len(connections))
    return lanes(connections.start, connections.end)


def _busiest(lane: Ints) -> Ints:
    """The lanes with the most exchanges, in their order."""
    counts = np.bincount(lane)
    return np.sort(np.argsort(-counts, kind="stable")[:MAX_LANES])


def _blocks(exchanges: Exchanges, lane_of: Ints, network_ns: Floats, measured: BudgetTimeline) -> _Blocks:
    """Cut each exchange into its round trips, as far as its wait holds them, the rest of its wait, and what remains.

    What its packets were held back comes first, for most of it lies before the request.
    """
    start = np.maximum(exchanges.begin, 0)
    held_before, held_within = _us(measured.own_stalled_ns.before), _us(measured.own_stalled_ns.inside)
    end = np.maximum(exchanges.end, start)
    length = _us(end) - _us(start)
    waited = np.clip(_us(np.maximum(exchanges.waited, 0)), 0, length)
    served = np.clip(_us(measured.own_service_ns), 0, length)
    lost = np.clip(_us(measured.own_loss_ns), 0, length - served)
    network = np.clip(_us(network_ns.astype(np.int64)), 0, np.maximum(waited - served - lost, 0))
    service = np.clip(np.maximum(served, waited - network - lost), 0, length - network - lost)
    whole, setup = exchanges.complete, exchanges.is_setup
    normal = whole & ~setup
    transfer = length - network - service - lost
    held_within = np.minimum(held_within, transfer)
    held_before = np.where(normal, np.minimum(held_before, _us(start)), 0)
    return _Blocks(
        lane_of[exchanges.connection],
        _us(start) - held_before,
        {
            "stall": held_before + np.where(normal, held_within, 0),
            "network": np.where(normal, network, 0),
            "service": np.where(normal, service, 0),
            "loss": np.where(normal, lost, 0),
            "transfer": np.where(normal, transfer - held_within, 0),
            "setup": np.where(whole & setup, length, 0),
            "unknown": np.where(whole, 0, length),
        },
    )


def _us(nanoseconds: Ints) -> Ints:
    return nanoseconds // 1000


def _one_by_one(recording: Recording, blocks: _Blocks, rows: Ints) -> dict[str, Any]:
    """Every exchange of a lane: its command, statement (by id) and first frame as well."""
    exchanges = recording.exchanges
    rows = rows[np.argsort(blocks.start[rows], kind="stable")]
    mine = blocks.of(rows)
    frames = columns.column(recording.exchange_columns("request_frame"), "request_frame").ints(0)
    return _encoded(mine.start, mine.parts) | {
        "command": exchanges.command.codes[rows].tolist(),
        "statement": exchanges.fingerprint[rows].tolist(),
        "frame": frames[rows].tolist(),
    }


def _intervals(mine: _Blocks, width_us: int) -> dict[str, Any]:
    """The parts of a lane within each interval of `width_us`, and how many exchanges began there."""
    last = int((mine.start + mine.length).max(initial=0))
    edges = np.arange(0, last + 2 * width_us, width_us)
    sums = {name: np.diff(_before(edges, begin, length)) for name, begin, length in _laid_out(mine)}
    count = np.bincount(mine.start // width_us, minlength=len(edges) - 1)[: len(edges) - 1]
    busy = np.flatnonzero((np.add.reduce(list(sums.values())) > 0) | (count > 0))
    return _encoded(edges[busy], {name: part[busy] for name, part in sums.items()}) | {"count": count[busy].tolist()}


def _laid_out(mine: _Blocks) -> Iterator[tuple[str, Ints, Ints]]:
    """Each part with where it begins and how long it is."""
    begin = mine.start
    for name, length in mine.parts.items():
        yield name, begin, length
        begin = begin + length


def _before(edges: Ints, begin: Ints, length: Ints) -> Ints:
    """How much of the given intervals lies before each edge: Σ clip(edge − begin, 0, length)."""

    def passed(at: Ints) -> Ints:
        at = np.sort(at)
        number = np.searchsorted(at, edges)
        return number * edges - np.concatenate(([0], np.cumsum(at)))[number]

    return passed(begin) - passed(begin + length)


def _encoded(start: Ints, parts: dict[str, Ints]) -> dict[str, Any]:
    """Starts as their differences, which are short to write; parts that are all zero are left out."""
    used = {name: part.tolist() for name, part in parts.items() if part.any()}
    return {"gap": np.diff(start, prepend=0).tolist(), **used}
