"""What each command that reads takes at its peak, for captures that hold more than `--memory` allows.

    python benchmarks/memory.py [--floods "tiny requests"…] [--commands analyze…] [--memory 64MB 256MB 1GB] [--scale 1]

A row a command, a column an amount of memory; in each cell the peaks in MB, in the order of the captures. What ended
with an error is marked with `!`. Each run may take 8 GB of address space and 300 s of the processor.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from floods import RTT_NS, Records, dull, in_gzip, wires
from speed.traffic.mysql import OK, log_in, message
from speed.traffic.wire import PCAP_HEADER, Wire
from spending import Spent, spend

MEMORY = 8 << 30
CPU_S = 300
PINGS = 4_000
"""Requests in a packet."""


def tiny_requests(count: int) -> Records:
    """Packets full of pings, each with its answers in one packet."""
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    for _ in range(count // PINGS):
        yield from wire.ask(message(0, b"\x0e") * PINGS, OK * PINGS)


def connections(count: int) -> Records:
    """Each asks once."""
    for number, wire in enumerate(wires(count)):
        yield from log_in(wire)
        yield from wire.ask(message(0, b"\x03select a from t where b = %d" % number), OK)


def long_statements(count: int) -> Records:
    """Distinct in their names, each of 3 KB."""
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    names = dull(1_500).hex().encode()
    for number in range(count):
        yield from wire.ask(message(0, b"\x03select %s from t%d_%s" % (names[:9], number, names)), OK)


def one_file(records: Records, folder: Path) -> str:
    """All of it, packed."""
    whole, path = folder / "whole.pcap", folder / "capture.pcap.gz"
    with whole.open("wb") as file:
        file.writelines(chain((PCAP_HEADER,), records))
    in_gzip(whole, path)
    whole.unlink()
    return str(path)


def many_files(records: Iterator[list[bytes]], folder: Path) -> str:
    """Each of them with a connection of its own, all side by side."""
    for number, each in enumerate(records):
        (folder / f"{number}.pcap").write_bytes(PCAP_HEADER + b"".join(each))
    return str(folder / "*.pcap")


def small_files(count: int) -> Iterator[list[bytes]]:
    for wire in wires(count):
        opened = [*log_in(wire)]
        wire.now_ns += 3_600 * 10**9
        yield [*opened, *wire.ask(message(0, b"\x03select 1"), OK)]


FLOODS: dict[str, Callable[[float, Path], str]] = {
    "tiny requests": lambda scale, folder: one_file(tiny_requests(round(4_000_000 * scale)), folder),
    "connections": lambda scale, folder: one_file(connections(round(100_000 * scale)), folder),
    "long statements": lambda scale, folder: one_file(long_statements(round(100_000 * scale)), folder),
    "small files": lambda scale, folder: many_files(small_files(round(3_000 * scale)), folder),
}
COMMANDS: dict[str, list[str]] = {
    **{
        name: [name, "{}"]
        for name in (
            *("captures", "health", "analyze", "findings", "statements", "errors", "connections", "tasks", "minutes"),
            "rank",
        )
    },
    "analyze --json": ["analyze", "{}", "--json"],
    "analyze -o": ["analyze", "{}", "-o", "OUT.html"],
    "exchanges": ["exchanges", "{}", "--format", "csv"],
    "project": ["project", "{}", "--rtt", "15ms"],
    "compare": ["compare", "{}", "{}"],
    "validate": ["validate", "{}", "{}"],
    "sql": ["sql", "{}", "select command, count(*), max(response_ms) from exchanges group by all"],
    "annotate": ["annotate", "{}", "OUT.pcapng"],
    "watch": ["watch", "{}"],
    "scan -o": ["scan", "{}", "-o", "OUT"],
    "scan --totals": ["scan", "{}", "--totals"],
}


def main() -> None:
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        captures = [made(name, arguments.scale, Path(folder)) for name in arguments.floods]
        print(f"| command | {' | '.join(arguments.memory)} |\n|---|{'---|' * len(arguments.memory)}")
        for name in arguments.commands:
            cells = [" / ".join(peak(name, each, memory) for each in captures) for memory in arguments.memory]
            print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


def made(name: str, scale: float, folder: Path) -> str:
    own = folder / name.replace(" ", "-")
    own.mkdir()
    return FLOODS[name](scale, own)


def peak(command: str, capture: str, memory: str) -> str:
    spent = run(command, capture, memory)
    return f"{spent.peak_mb:,.0f}{spent.mark}"


def run(command: str, capture: str, memory: str) -> Spent:
    with tempfile.TemporaryDirectory() as folder:
        words = [word.replace("OUT", f"{folder}/written").format(capture) for word in COMMANDS[command]]
        return spend([*words, "--quiet", "--memory", memory], cpu_s=CPU_S, memory=MEMORY)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--floods", nargs="*", default=list(FLOODS), metavar="FLOOD", help=", ".join(FLOODS))
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS), metavar="COMMAND", help=", ".join(COMMANDS))
    parser.add_argument("--memory", nargs="*", default=["64MB", "256MB", "1GB"], help="what reading may keep")
    parser.add_argument("--scale", type=float, default=1.0, help="of all captures")
    return parser.parse_args()


if __name__ == "__main__":
    main()
