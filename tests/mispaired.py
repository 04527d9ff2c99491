"""Compares what is read of a damaged capture with what is read of the good one, exchange by exchange.

    python tests/mispaired.py [CAPTURE…] [--seeds N] [--defect DEFECT…]      (all fixtures, unless some are named)

An exchange that the damaged capture shows as complete must consist of the packets that it consists of in the good one,
and say the same of them. A packet is known by its sender and its sequence number in the good capture: a copy is as good
as the original. For each defect and protocol it says how many exchanges are complete, how many of these are made of
other packets (wrong pairs), and how many say something else than in the good capture, their statement above all.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import damage
from damage import ACK, Packet, Packets

from latpcap import _core
from latpcap.tables.columnar.table import Table

COMPARED = set(damage.PACKET_DEFECTS) - {"merge-segments"}
"""All but one whose packets are others, so that there is nothing to compare."""
MARKS = ("request", "request_end", "response", "response_end")
SAID = ("command", "fingerprint", "rows", "affected_rows", "round_trips", "error")

SOCKS, SOCKS_MESSAGES = 1080, 6
"""Its port; so many messages come before what a tunnel carries, with a password."""

Place = tuple[Any, Any, int] | None
"""A packet: from where, to where, which sequence number."""


@dataclass(frozen=True)
class Exchange:
    places: tuple[Place, ...]
    """Of its first and last request packet, first and last response packet."""
    passed: dict[Place, int]
    """When each packet of the capture passed last, in ns."""
    said: dict[str, Any]
    complete: bool
    cut: bool = False
    """The capture has a snap length: a statement may be shown by its beginning."""

    def __str__(self) -> str:
        places = ["-" if place is None else f"{place[0][1]}:{place[2]}" for place in self.places]
        said = " ".join(f"{name}={value}" for name, value in self.said.items() if value is not None)
        return f"{' '.join(places)} {said}"

    def is_made_of(self, good: Exchange) -> bool:
        """The same packets; of packets that pass in another order, another one may be the last."""
        starts = (self.places[0], self.places[2]) == (good.places[0], good.places[2])
        return starts and all(self._ends_with(good, end) for end in (1, 3))

    def _ends_with(self, good: Exchange, end: int) -> bool:
        mine, true = self.places[end], good.places[end]
        if mine is None or true is None:
            return mine == true
        if end == 1 and self.passed.get(true, 0) > self.passed.get(self.places[2], math.inf):
            return True  # the rest of the request passes when the answer has begun
        is_part = mine[:2] == true[:2] and (true[2] - mine[2]) % (1 << 32) < 1 << 31
        in_order = self.passed.get(mine, 0) < self.passed.get(true, math.inf)
        return mine == true or (is_part and not in_order)

    @property
    def key(self) -> Place:
        """Where it begins."""
        return self.places[0] or self.places[2]


@dataclass
class Tally:
    """What became of the exchanges of damaged captures."""

    good: int = 0
    complete: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @property
    def pairs(self) -> int:
        """Exchanges of other packets than in the good capture."""
        return sum(count for kind, count in self.wrong.items() if not kind.startswith("says other"))

    @property
    def sql(self) -> int:
        """Exchanges with the statement of another."""
        return sum(count for kind, count in self.wrong.items() if "fingerprint" in kind)

    @property
    def other(self) -> int:
        return self.wrong.total() - self.pairs - self.sql

    def add(self, kind: str, example: str) -> None:
        self.wrong[kind] += 1
        if self.wrong[kind] <= 5:
            self.examples.append(f"{kind}: {example}")


def exchanges(packets: Packets, good: Packets) -> Iterator[Exchange]:
    """What is read of the capture file that holds these packets, by their places in the good one."""
    passed: dict[Place, int] = {}
    for packet in packets:
        tcp = packet.tcp
        if tcp and (tcp.payload_length or tcp.flags & ~ACK):  # an empty ACK has the next one's number
            place = _place(packet, good)
            passed[place] = max(passed.get(place, packet.time_ns), packet.time_ns)
    cut = any(len(packet.data) < packet.length for packet in packets)
    core = _core.read([damage.pcapng(packets)])
    texts = {row["id"]: row["text"] for row in Table(core.statements()).to_dicts()}
    for row in Table(core.exchanges()).to_dicts():
        frames = [row[f"{mark}_frame"] for mark in MARKS]
        places = tuple(None if frame is None else _place(packets[frame - 1], good) for frame in frames)
        said = {name: row[name] for name in SAID} | {"fingerprint": texts.get(row["fingerprint"])}
        yield Exchange(places, passed, said, row["complete"], cut)


def _place(packet: Packet, good: Packets) -> Place:
    tcp = (good[packet.origin] if packet.origin >= 0 else packet).tcp
    assert tcp is not None
    return tcp.source, tcp.destination, tcp.sequence


def truth(packets: Packets) -> dict[Place, list[Exchange]]:
    """The exchanges of the good capture by where they begin."""
    found = defaultdict(list)
    for read in (packets, *_tunnels(packets)):
        for exchange in exchanges(read, packets):
            found[exchange.key].append(exchange)
    return found


def _tunnels(packets: Packets) -> Iterator[Packets]:
    """What SOCKS carries: it is read only where some of the tunnel's own messages, which come first, were lost."""
    carried = [
        packet for packet in packets if packet.tcp and SOCKS in (packet.tcp.source[1], packet.tcp.destination[1])
    ]
    seen: Counter[frozenset[Any]] = Counter()
    place = []
    for packet in carried:
        ends = frozenset((packet.tcp.source, packet.tcp.destination))
        seen[ends] += packet.tcp.payload_length > 0
        place.append(seen[ends])
    for lost in range(1, SOCKS_MESSAGES + 1 if carried else 1):
        yield [packet for packet, number in zip(carried, place, strict=True) if number > lost]


def compare(good: Packets, packets: Packets, tally: Tally, name: str) -> None:
    """Add to `tally` what is wrong in the complete exchanges of a damaged capture."""
    _compare(truth(good), good, packets, tally, name)


def _compare(true: dict[Place, list[Exchange]], good: Packets, packets: Packets, tally: Tally, name: str) -> None:
    tally.good += sum(map(len, true.values()))
    for exchange in exchanges(packets, good):
        if exchange.complete:
            tally.complete += 1
            judge(exchange, true.get(exchange.key, []), tally, name)


def judge(exchange: Exchange, candidates: list[Exchange], tally: Tally, name: str) -> None:
    """Add to `tally` what is wrong with one exchange, if none of the `candidates` equals it."""
    same = [one for one in candidates if exchange.is_made_of(one)]
    differing = min((_differing(exchange, one) for one in same), key=len, default=None)
    if differing == []:
        return
    if differing:
        kind = f"says other {' and '.join(differing)}"
    elif not candidates:
        kind = "begins where none begins"
    elif all(one.places[2] != exchange.places[2] for one in candidates):
        kind = "has another response"
    else:
        kind = "ends elsewhere"
    tally.add(kind, "\n    ".join([name, str(exchange), *map(str, same or candidates)]))


def _differing(exchange: Exchange, good: Exchange) -> list[str]:
    """What it says otherwise than the good one."""
    differing = [what for what in SAID if exchange.said[what] != good.said[what]]
    return [what for what in differing if not _is_silent(what, exchange.said[what], good.said[what], exchange.cut)]


def _is_silent(what: str, said: Any, true: Any, cut: bool) -> bool:
    """Does it say nothing, or only the beginning, where the good one says something?"""
    if what == "fingerprint" and said is not None:
        # A prepared statement whose text was lost goes by its name; what the snap length has cut ends with `…`,
        # and inside of quotes with `?`.
        return said.startswith("execute ") or _is_beginning(said, true) or (cut and _is_beginning(said, true, "?"))
    if what == "error":
        return said is not None and _is_beginning(said, true)
    return said is None and what in ("fingerprint", "rows", "affected_rows")


def _is_beginning(said: str, true: str | None, end: str = "…") -> bool:
    return said.endswith(end) and true is not None and true.startswith(said.removesuffix(end).rstrip())


def fixtures() -> list[Path]:
    return sorted([*damage.FIXTURES.glob("*/*.pcapng"), *damage.FIXTURES.glob("*/*.pcapng.zst")])


def run(path: Path, defects: Iterable[str], seeds: range, tallies: dict[tuple[str, str], Tally]) -> None:
    """Damage a capture in several ways; what became of it is added to the tally of defect and protocol (its folder)."""
    packets = damage.read(path)
    true = truth(packets)
    for defect in defects if true else ():
        tally = tallies.setdefault((defect, path.parent.name), Tally())
        for seed in seeds:
            hurt = damage.PACKET_DEFECTS[defect](packets, random.Random(seed))
            _compare(true, packets, hurt, tally, f"{path.parent.name}/{path.name} {defect} seed {seed}")


def report(tallies: dict[tuple[str, str], Tally]) -> None:
    print(f"{'defect':20} {'protocol':12} {'exchanges':>9} {'complete':>9}      %  wrong pairs  wrong SQL  wrong else")
    for (defect, protocol), tally in sorted(tallies.items()):
        share = 100 * tally.complete / max(tally.good, 1)
        counts = f"{tally.good:9,} {tally.complete:9,} {share:6.1f}"
        print(f"{defect:20} {protocol:12} {counts} {tally.pairs:12} {tally.sql:10} {tally.other:11}")
    for tally in tallies.values():
        print(*tally.examples, sep="\n", end="\n" if tally.examples else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", nargs="*", type=Path)
    parser.add_argument("--defect", nargs="+", choices=damage.PACKET_DEFECTS, default=list(COMPARED))
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    tallies: dict[tuple[str, str], Tally] = {}
    for path in asked.captures or fixtures():
        try:
            run(path.resolve(), asked.defect, range(asked.seeds), tallies)
        except (subprocess.CalledProcessError, RuntimeError) as error:
            print(f"{path}: {error}")
    report(tallies)


if __name__ == "__main__":
    main()
