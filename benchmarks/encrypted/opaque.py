#!/usr/bin/env python3
"""Read clear captures both ways, decoded and as opaque turns, and print how far apart they are: `opaque.py CAPTURE…`.

The same packets stand on both sides, so what differs is the error of counting without statements, and nothing else. Left
out (and counted) is what is encrypted, replication, what lost bytes, and what holds no database traffic. `--details`
prints each connection whose round trips differ.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arro3.core import Table

from latpcap import Capture, LatpcapError, read

ASKED_MS = 15.0


@dataclass(frozen=True)
class Way:
    """What one way of reading says."""

    round_trips: int
    runtime_s: float | None
    """At the RTT asked for."""
    streams: dict[int, int]
    """The round trips of each connection."""


@dataclass(frozen=True)
class Pair:
    path: Path
    decoded: Way
    opaque: Way

    @property
    def trips_off(self) -> float:
        return self.opaque.round_trips / self.decoded.round_trips - 1 if self.decoded.round_trips else 0.0

    @property
    def runtime_off(self) -> float:
        decoded, opaque = self.decoded.runtime_s, self.opaque.runtime_s
        return opaque / decoded - 1 if decoded and opaque else 0.0


def columns(table: Any, *names: str) -> list[tuple[Any, ...]]:
    read_table = Table.from_arrow(table)
    return list(zip(*(read_table[name].to_pylist() for name in names), strict=True))


def way(capture: Capture) -> Way:
    analysis = capture.analyze([ASKED_MS])
    points = analysis.projection.points if analysis.projection else ()
    streams = dict(columns(capture.connections, "stream", "round_trips"))
    return Way(analysis.summary.round_trips, points[0].runtime_s if points else None, streams)


def both_ways(path: Path) -> Pair | None:
    """What each way of reading says of this capture; `None` where one of them cannot read it whole."""
    try:
        decoded = read(path)
        connections = columns(decoded.connections, "server", "encryption", "lost_bytes", "replication")
        if any(encryption or lost or replication for _, encryption, lost, replication in connections):
            return None
        ports = {int(server.rpartition(":")[2]): "opaque" for server, *_ in connections}
        return Pair(path, way(decoded), way(read(path, decode_as=ports)))
    except LatpcapError:
        return None


def row(pair: Pair) -> str:
    name, decoded, opaque = pair.path.name.split(".pcap")[0], pair.decoded, pair.opaque
    trips = f"{decoded.round_trips} | {opaque.round_trips} | {pair.trips_off:+.1%}"
    return (
        f"| {name} | {trips} | {decoded.runtime_s or 0:.3f} | {opaque.runtime_s or 0:.3f} | {pair.runtime_off:+.1%} |"
    )


def details(pair: Pair) -> list[str]:
    ways = pair.decoded.streams, pair.opaque.streams
    counts = {stream: [way.get(stream) for way in ways] for stream in sorted(ways[0].keys() | ways[1].keys())}
    return [f"|   stream {stream} | {a} | {b} |" for stream, (a, b) in counts.items() if a != b]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", nargs="+", type=Path, metavar="CAPTURE")
    parser.add_argument("--details", action="store_true")
    arguments = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        pairs = [pair for pair in pool.map(both_ways, arguments.captures) if pair]
    print(f"| capture | round trips | opaque | off | at {ASKED_MS:g} ms, s | opaque | off |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for pair in sorted(pairs, key=lambda pair: (-abs(pair.trips_off), -abs(pair.runtime_off))):
        print("\n".join([row(pair), *(details(pair) if arguments.details else [])]))
    exact, near = (sum(abs(off) <= limit for off in offs) for offs, limit in offs_of(pairs))
    told = f"round trips exact: {exact}; projection within 5 %: {near}"
    print(f"{len(pairs)} captures ({len(arguments.captures) - len(pairs)} left out): {told}", file=sys.stderr)


def offs_of(pairs: list[Pair]) -> list[tuple[list[float], float]]:
    """How far off each capture is, and what counts as right."""
    return [([pair.trips_off for pair in pairs], 0.0), ([pair.runtime_off for pair in pairs], 0.05)]


if __name__ == "__main__":
    main()
