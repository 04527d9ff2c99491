"""How time and memory grow: with packets, connections, statements, and over a pipe of ten gigabytes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .captures import capture
from .compare import many
from .cost import Cost, Runs, exponent, in_turn, spend
from .programs import ANALYZE, CORE, FAST, HERE, LATPCAP_ITSELF
from .table import Rows, number, table
from .traffic.kinds import Wish

ROUNDS = 2
MILLION = 1_000_000
PACKETS = tuple(count * MILLION for count in (1, 2, 4, 8))
AMONG = 2 * MILLION
"""So many packets are those of one connection, a thousand, a hundred thousand; of one statement or half a million."""
PIPED = 72 * MILLION
"""Packets of the classic: 10 GB, 18 million exchanges."""
PIPED_WAYS = {
    "through a pipe, in memory": ("--memory", "16GB", "--disk", "0"),
    "through a pipe, chunks on disk": ("--memory", "5GB"),
}
"""The ledger counts what the analysis takes, too: 18 million exchanges would be 10 GB, so they do not fit in 5."""


@dataclass(frozen=True)
class Point:
    """A capture, and what reading it took: everything, and the core alone."""

    name: str
    packets: int
    bytes: int
    runs: dict[str, Runs]

    @property
    def cost(self) -> Cost:
        return self.runs[LATPCAP_ITSELF].median

    @property
    def core(self) -> Cost | None:
        return self.runs[CORE].median if CORE in self.runs else None

    @cached_property
    def result(self) -> dict[str, Any]:
        return dict(json.loads(self.runs[LATPCAP_ITSELF].output))

    @property
    def exchanges(self) -> int:
        return int(self.result["summary"]["exchanges"])

    @property
    def noted(self) -> str:
        """What health says: nothing, if the result is of all packets."""
        return ", ".join(note["code"] for note in self.result["health"])


@dataclass(frozen=True)
class Curves:
    """All that grew."""

    start: Cost
    packets: list[Point]
    connections: list[Point]
    statements: list[Point]
    piped: list[Point]

    @property
    def exponent(self) -> float:
        sizes, seconds = [each.packets for each in self.packets], [each.cost.cpu_s for each in self.packets]
        return exponent(sizes, seconds, self.start.cpu_s)

    def bytes_an_exchange(self, program: str) -> float:
        """What one exchange more adds to the peak, between the smallest capture and the largest."""
        first, last = self.packets[0], self.packets[-1]
        grown_mb = last.runs[program].median.peak_mb - first.runs[program].median.peak_mb
        return 1e6 * grown_mb / (last.exchanges - first.exchanges)


def measured(folder: Path, share: float, start: Cost, *, pipe: bool) -> Curves:
    def read(kind: str, packets: int, **wished: Any) -> Point:
        return point(folder, kind, Wish(packets, **wished).times(share))

    return Curves(
        start,
        [read("nplus1", packets) for packets in PACKETS],
        [read("nplus1", AMONG), read("nplus1", AMONG, connections=1_000), read("connections", AMONG)],
        [read("nplus1", AMONG, acks=False), read("statements", AMONG, acks=False)],
        [point for way in PIPED_WAYS for point in piped(round(PIPED * share), way)] if pipe else [],
    )


def point(folder: Path, kind: str, wish: Wish) -> Point:
    made = capture(folder, kind, wish)
    assert made is not None
    runs = in_turn({name: FAST[name].command(made.path) for name in (LATPCAP_ITSELF, CORE)}, lambda _: ROUNDS)
    name = f"{many(made.connections, 'connection')}, {many(made.fingerprints, 'statement')}"
    return Point(name, made.packets, made.bytes, runs)


def piped(packets: int, way: str) -> list[Point]:
    """Read while it is generated: the generator's time is not latpcap's, but they share the processors.

    Nothing where latpcap ended before the generator did: then the memory was full, and there is no figure of the whole.
    """
    generator = [sys.executable, "-m", "benchmarks.speed.traffic", "nplus1", "-", "--packets", str(packets)]
    with subprocess.Popen(generator, cwd=HERE.parents[1], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as source:
        assert source.stdout is not None
        assert source.stderr is not None
        cost, output = spend([*ANALYZE, "-", *PIPED_WAYS[way]], source.stdout)
        source.stdout.close()
        said = source.stderr.read()
    if source.returncode:
        print("the pipe was not read to its end: no figures of it", file=sys.stderr)
        return []
    told = json.loads(said)
    return [Point(way, told["packets"], told["bytes"], {LATPCAP_ITSELF: Runs({0: cost}, output)})]


def shown(curves: Curves) -> str:
    grown = (curves.packets, curves.connections, curves.statements, curves.piped)
    first, *others = (points_shown(points) for points in grown if points)
    return "\n".join((first, growth_shown(curves), *others))


def growth_shown(curves: Curves) -> str:
    added = f"{curves.bytes_an_exchange(LATPCAP_ITSELF):,.0f}", f"{curves.bytes_an_exchange(CORE):,.0f}"
    return (
        f"From the first row to the last the processor time, without what starting takes, grows with the exponent\n"
        f"{curves.exponent:.2f} (1 is linear); an exchange more adds {added[0]} bytes to the peak, {added[1]} to the core's alone.\n"
    )


def peak_shown(cost: Cost) -> str:
    """The peak; where more than half of it is pages of files, what it is without them, too."""
    own = f" ({number(cost.own_mb)} without pages of files)" if 0 < cost.own_mb < cost.peak_mb / 2 else ""
    return number(cost.peak_mb) + own


def points_shown(points: Sequence[Point]) -> str:
    rows: Rows = [
        ("", "packets", "exchanges", "MB", "wall s", "CPU s", "µs a packet", "peak MB", "core: CPU s", "core: peak MB")
    ]
    for each in points:
        cost, core = each.cost, each.core
        rows.append(
            (
                each.name + (f" (**{each.noted}**)" if each.noted else ""),
                f"{each.packets:,}",
                f"{each.exchanges:,}",
                f"{each.bytes / 1e6:,.0f}",
                number(cost.wall_s),
                number(cost.cpu_s),
                number(1e6 * cost.cpu_s / each.packets),
                peak_shown(cost),
                number(core.cpu_s) if core else "–",
                number(core.peak_mb) if core else "–",
            )
        )
    return table(rows)
