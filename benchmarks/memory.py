"""What each command that reads takes at its peak, for captures that hold more than `--memory` allows.

    python benchmarks/memory.py [--floods "tiny requests"…] [--commands analyze…] [--memory 64MB 256MB 1GB] [--scale 1]

A row a command, a column an amount of memory; in each cell the highest peak in MB, and the flood that has it. What ended
with an error is marked with `!` (a command that does not take a dataset is not asked for one), what took more than
`--memory` and 90 MB for the interpreter and its libraries with `>`. Each run may take 8 GB of address space and 300 s of
the processor. With --all the peaks of all floods go to standard error.
"""

from __future__ import annotations

import argparse
import heapq
import random
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

from floods import RTT_NS, Records, compressed_packets, dull, errors, in_gzip, samples, statements, wires
from speed.traffic.mysql import DONE, log_in, message
from speed.traffic.wire import PCAP_HEADER, Wire
from spending import Spent, spend

from latpcap.units import parse_size

MEMORY = 8 << 30
CPU_S = 300
PINGS = 4_000
"""Requests in a packet."""


def tiny_requests(count: int) -> Records:
    """Packets full of pings, each with its answers in one packet."""
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    for _ in range(count // PINGS):
        yield from wire.ask(message(0, b"\x0e") * PINGS, DONE * PINGS)


def pings(count: int) -> Records:
    """Each in a packet of its own."""
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    for _ in range(count):
        yield from wire.ask(message(0, b"\x0e"), DONE)


def side_by_side(count: int) -> Records:
    """Sixteen connections at once: each asks again after a pause of its own."""

    def asking(wire: Wire, pauses: random.Random) -> Records:
        yield from log_in(wire)
        for _ in range(count // 16):
            wire.now_ns += round(pauses.expovariate(1 / RTT_NS))
            yield from wire.ask(message(0, b"\x0e"), DONE)

    each = (asking(wire, random.Random(number)) for number, wire in enumerate(wires(16)))
    yield from heapq.merge(*each, key=lambda record: struct.unpack("<II", record[:8]))


def connections(count: int) -> Records:
    """Each asks once."""
    for number, wire in enumerate(wires(count)):
        yield from log_in(wire)
        yield from wire.ask(message(0, b"\x03select a from t where b = %d" % number), DONE)


def long_statements(count: int) -> Records:
    """Distinct in their names, each of 3 KB."""
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    names = dull(1_500).hex().encode()
    for number in range(count):
        yield from wire.ask(message(0, b"\x03select %s from t%d_%s" % (names[:9], number, names)), DONE)


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
        yield [*opened, *wire.ask(message(0, b"\x03select 1"), DONE)]


def forged(folder: Path, rows: int) -> str:
    """A dataset of a few KB that says it had so many exchanges, with a text of 100 KB in each."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from test_datasets import forge_bomb

    saved = folder / "saved"
    done = spend(["scan", one_file(pings(1_000), folder), "-o", str(saved), "--quiet"], cpu_s=CPU_S, memory=MEMORY)
    if done.mark:
        sys.exit(done.complaint)
    forge_bomb(saved, "exchanges", "statement", rows, 100_000, dictionary_pagesize_limit=1 << 20)
    return str(saved)


FLOODS: dict[str, Callable[[float, Path], str]] = {
    "tiny requests": lambda scale, folder: one_file(tiny_requests(round(4_000_000 * scale)), folder),
    "pings": lambda scale, folder: one_file(pings(round(1_000_000 * scale)), folder),
    "side by side": lambda scale, folder: one_file(side_by_side(round(1_000_000 * scale)), folder),
    "statements": lambda scale, folder: one_file(statements(round(400_000 * scale)), folder),
    "RTT samples": lambda scale, folder: one_file(samples(round(1_000_000 * scale)), folder),
    "compression": lambda scale, folder: one_file(compressed_packets(round(400 * scale)), folder),
    "Parquet": lambda scale, folder: forged(folder, round(64_000 * scale)),
    "connections": lambda scale, folder: one_file(connections(round(100_000 * scale)), folder),
    "long statements": lambda scale, folder: one_file(long_statements(round(100_000 * scale)), folder),
    "errors": lambda scale, folder: one_file(errors(round(400_000 * scale)), folder),
    "small files": lambda scale, folder: many_files(small_files(round(3_000 * scale)), folder),
}
COMMANDS: dict[str, list[str]] = {
    **{
        name: [*name.split(), "{}"]
        for name in (
            *("table captures", "table health", "analyze", "findings", "statements", "table errors"),
            *("table connections", "table tasks", "table intervals", "rank", "wireshark --verify"),
        )
    },
    "analyze --json": ["analyze", "{}", "--json"],
    "analyze -o": ["analyze", "{}", "-o", "OUT.html"],
    "table exchanges": ["table", "exchanges", "{}", "--format", "csv"],
    "project": ["project", "{}", "--rtt", "15ms"],
    "compare": ["compare", "{}", "{}"],
    "compare --projected": ["compare", "--projected", "{}", "{}"],
    "sql": ["sql", "{}", "select command, count(*), max(response_ms) from exchanges group by all"],
    "wireshark -o": ["wireshark", "{}", "-o", "OUT.pcapng"],
    "watch": ["watch", "{}"],
    "scan -o": ["scan", "{}", "-o", "OUT"],
    "scan --totals": ["scan", "{}", "--totals"],
}


NEED_PACKETS = ("wireshark -o", "table captures", "compare --projected", "wireshark --verify", "watch")
"""Commands that take no dataset, or none beside itself."""
BESIDE_MB = 90
"""What Python takes with all that a command loads."""


def main() -> None:
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        # a process counts what the one took that started it, so others make the captures
        with ProcessPoolExecutor(1, get_context("spawn")) as maker:
            captures = {name: maker.submit(made, name, arguments.scale, folder).result() for name in arguments.floods}
        print(f"| command | {' | '.join(arguments.memory)} |\n|---|{'---|' * len(arguments.memory)}")
        for name in arguments.commands:
            cells = [highest(name, captures, memory, arguments.all) for memory in arguments.memory]
            print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


def made(name: str, scale: float, folder: str) -> str:
    own = Path(folder) / name.replace(" ", "-")
    own.mkdir()
    return FLOODS[name](scale, own)


def highest(command: str, captures: dict[str, str], memory: str, tells_all: bool) -> str:
    """The highest peak of all captures."""
    peaks = {
        name: run(command, capture, memory)
        for name, capture in captures.items()
        if not (name == "Parquet" and command in NEED_PACKETS)
    }
    if tells_all:
        told = ", ".join(f"{name} {each.peak_mb:.0f}{each.mark} ({each.cpu_s:.1f} s)" for name, each in peaks.items())
        print(f"{command}, {memory}: {told}", file=sys.stderr, flush=True)
    name = max(peaks, key=lambda each: peaks[each].peak_mb)
    most = peaks[name].peak_mb
    beyond = " >" if most > parse_size(memory) / 1e6 + BESIDE_MB else ""
    return f"{most:,.0f}{peaks[name].mark}{beyond} {name}"


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
    parser.add_argument("--all", action="store_true", help="show the peak of every flood, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
