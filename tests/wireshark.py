"""What Wireshark says of a capture: one tshark call a file, kept for the session."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path

FIELDS = (
    "frame.number",
    "frame.time_epoch",
    "frame.protocols",
    "tcp.stream",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.analysis.initial_rtt",
    "mysql.command",
    "mysql.query",
)
"""Where a header comes several times (tunnels), the innermost is last."""

JOIN = "\x1f"
"""Between several values of one field: tshark escapes it where a capture contains it."""

MYSQL_PORTS = (3307, 6033, 20130, 30130)
"""Besides 3306; Wireshark goes by the port."""


@dataclass
class Dissection:
    """One file as Wireshark reads it."""

    packets: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    ends: dict[int, frozenset[str]] = field(default_factory=dict)
    """The two end points of each TCP stream."""
    initial_rtt_ns: dict[int, int] = field(default_factory=dict)
    commands: Counter[tuple[int, int]] = field(default_factory=Counter)
    """MySQL commands, each with the frame that completes it."""
    queries: Counter[str] = field(default_factory=Counter)
    mysql: set[int] = field(default_factory=set)
    """Streams that it dissects as MySQL."""

    def add(self, frame: dict[str, list[str]]) -> None:
        if frame["frame.protocols"] == ["data"]:  # a custom block: Wireshark numbers it, but it holds no packet
            return
        self.packets += 1
        if frame["frame.time_epoch"]:
            time = nanoseconds(frame["frame.time_epoch"][0])
            self.first_ns = time if self.first_ns is None else min(self.first_ns, time)
            self.last_ns = time if self.last_ns is None else max(self.last_ns, time)
        for stream in map(int, frame["tcp.stream"][-1:]):
            self.ends.setdefault(stream, end_points(frame))
            for rtt in frame["tcp.analysis.initial_rtt"][-1:]:
                self.initial_rtt_ns[stream] = nanoseconds(rtt)
            if "mysql" in frame["frame.protocols"][-1].split(":"):
                self.mysql.add(stream)
        number = int(frame["frame.number"][0])
        self.commands.update((number, int(command)) for command in frame["mysql.command"])
        self.queries.update(frame["mysql.query"])


def nanoseconds(seconds: str) -> int:
    """Exact, for `1700000000.123456789`; no float holds that."""
    whole, _, fraction = seconds.partition(".")
    return int(whole) * 10**9 + int(fraction.ljust(9, "0"))


def end_points(frame: dict[str, list[str]]) -> frozenset[str]:
    """The innermost addresses with their ports, as latpcap writes them."""
    layers = frame["frame.protocols"][-1].split(":")
    v6 = "ipv6" in layers and ("ip" not in layers or layers[::-1].index("ipv6") < layers[::-1].index("ip"))
    addresses = [frame[f"ipv6.{side}" if v6 else f"ip.{side}"][-1] for side in ("src", "dst")]
    ports = frame["tcp.srcport"][-1], frame["tcp.dstport"][-1]
    return frozenset(f"[{a}]:{p}" if ":" in a else f"{a}:{p}" for a, p in zip(addresses, ports, strict=True))


@cache
def dissect(path: Path) -> Dissection:
    decode_as = [part for port in MYSQL_PORTS for part in ("-d", f"tcp.port=={port},mysql")]
    fields = [part for name in FIELDS for part in ("-e", name)]
    output = ["-T", "fields", "-E", "separator=/t", "-E", "occurrence=a", "-E", f"aggregator={JOIN}"]
    done = subprocess.run(
        ["tshark", "-n", "-r", str(path), *decode_as, *output, *fields], capture_output=True, check=True
    )
    found = Dissection()
    for frame in frames(done.stdout.decode("utf-8", "replace")):
        found.add(frame)
    return found


def frames(output: str) -> Iterator[dict[str, list[str]]]:
    for line in output.split("\n")[:-1]:
        cells = line.split("\t")
        yield {name: cell.split(JOIN) if cell else [] for name, cell in zip_longest(FIELDS, cells, fillvalue="")}
