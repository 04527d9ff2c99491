"""Compares what is read of a damaged capture with what is read of the good one, exchange by exchange.

    python tests/mispaired.py [--seeds N] [--defect DEFECT] [CAPTURE…]      (all fixtures, unless some are named)

An exchange that the damaged capture shows as complete must consist of the packets that it consists of in the good one,
and say the same of them. A packet is known by its sender and its sequence number: a copy is as good as the original.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import damage
from damage import ACK, Packet, Packets

from latpcap import _core
from latpcap.tables.table import Table

FIXTURES = Path(__file__).parent.parent / "fixtures"
MARKS = ("request", "request_end", "response", "response_end")
SAID = ("command", "fingerprint", "rows", "affected_rows", "round_trips", "error")

Place = tuple[Any, Any, int] | None
"""A packet: from where, to where, which sequence number."""


@dataclass(frozen=True)
class Exchange:
    places: tuple[Place, ...]
    """Of its first and last request packet, first and last response packet."""
    passed: dict[Place, int]
    """When each packet of the capture passed, in ns."""
    said: dict[str, Any]
    complete: bool

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
        is_part = mine[:2] == true[:2] and (true[2] - mine[2]) % (1 << 32) < 1 << 31
        return mine == true or (is_part and self.passed.get(mine, 0) > self.passed.get(true, 0))

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

    def add(self, kind: str, example: str) -> None:
        self.wrong[kind] += 1
        if self.wrong[kind] <= 5:
            self.examples.append(f"{kind}: {example}")


def exchanges(packets: Packets) -> Iterator[Exchange]:
    """What is read of the capture file that holds these packets."""
    passed: dict[Place, int] = {}
    for packet in packets:
        if packet.tcp and (
            packet.tcp.payload_length or packet.tcp.flags & ~ACK
        ):  # an empty ACK has the next one's number
            passed.setdefault(_place(packet), packet.time_ns)
    core = _core.read([damage.pcapng(packets)])
    texts = {row["id"]: row["text"] for row in Table(core.statements()).to_dicts()}
    for row in Table(core.exchanges()).to_dicts():
        frames = [row[f"{mark}_frame"] for mark in MARKS]
        places = tuple(None if frame is None else _place(packets[frame - 1]) for frame in frames)
        said = {name: row[name] for name in SAID} | {"fingerprint": texts.get(row["fingerprint"])}
        yield Exchange(places, passed, said, row["complete"])


def _place(packet: Packet) -> Place:
    tcp = packet.tcp
    assert tcp is not None
    return tcp.source, tcp.destination, tcp.sequence


def truth(packets: Packets) -> dict[Place, list[Exchange]]:
    """The exchanges of the good capture by where they begin."""
    found = defaultdict(list)
    for exchange in exchanges(packets):
        found[exchange.key].append(exchange)
    return found


def compare(good: dict[Place, list[Exchange]], packets: Packets, tally: Tally, name: str) -> None:
    """Add to `tally` what is wrong in the complete exchanges of a damaged capture."""
    tally.good += sum(map(len, good.values()))
    for exchange in exchanges(packets):
        if exchange.complete:
            tally.complete += 1
            judge(exchange, good.get(exchange.key, []), tally, name)


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
    """What it says otherwise than the good one; a statement that nobody knows is not said."""
    fingerprint = exchange.said["fingerprint"]
    # A PostgreSQL statement whose text was lost goes by its name.
    unknown = fingerprint is None or re.fullmatch(r"execute \S+", fingerprint)
    silent = {"fingerprint"} if unknown else set()
    return [what for what in SAID if what not in silent and exchange.said[what] != good.said[what]]


def fixtures() -> list[Path]:
    return sorted([*FIXTURES.glob("*/*.pcapng"), *FIXTURES.glob("*/*.pcapng.zst")])


def run(path: Path, defect: str, seeds: range, tally: Tally) -> None:
    import random

    packets = damage.read(path)
    good = truth(packets)
    for seed in seeds:
        hurt = damage.PACKET_DEFECTS[defect](packets, random.Random(seed))
        compare(good, hurt, tally, f"{path.parent.name}/{path.name} {defect} seed {seed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", nargs="*", type=Path, default=fixtures())
    parser.add_argument("--defect", choices=damage.PACKET_DEFECTS, default="scramble")
    parser.add_argument("--seeds", type=int, default=10)
    asked = parser.parse_args()
    tally = Tally()
    for path in asked.captures:
        run(path, asked.defect, range(asked.seeds), tally)
    print(f"{tally.complete:,} complete of {tally.good:,}; wrong: {sum(tally.wrong.values()):,} {dict(tally.wrong)}")
    print("\n".join(tally.examples))


if __name__ == "__main__":
    main()
