"""Captures that attack memory and time: what reading them takes, under limits that spare the machine.

    python benchmarks/floods.py [FLOOD…] [--scale 1] [--command analyze] [--memory 1GB]

The captures are generated, packed where their content is dull. Each run may take 4 GB of address space and 300 s of the
processor; what ended at such a limit is marked with `!`. The last column shows which notes tell of it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from speed.traffic.mysql import DONE, OK, greeting, log_in, message
from speed.traffic.wire import ACK, PCAP_HEADER, PUSH_ACK, SYN, Wire, client
from spending import Spent, spend

RTT_NS = 400_000
MEMORY = 4 << 30
CPU_S = 300
LARGE = 60_000
"""Bytes of a large segment: as network cards hand them on."""

Records = Iterator[bytes]


def dull(length: int) -> bytes:
    """Bytes that pack well, but not as well as no capture does."""
    block = random.Random(1).randbytes(400)
    return (block * (length // len(block) + 1))[:length]


def wires(count: int, port: int = 3306) -> Iterator[Wire]:
    """Connections that begin one after the other."""
    for number in range(count):
        wire = Wire(RTT_NS, client(number), (bytes([10, 0, 0, 2]), port))
        wire.now_ns += number * 1_000_000
        yield wire


# --- packets -----------------------------------------------------------------------------------------------------------


def syns(count: int) -> Records:
    for wire in wires(count):
        yield wire.packet(0, SYN)


def tiny_connections(count: int) -> Records:
    for wire in wires(count):
        yield from wire.open()
        yield wire.packet(0, PUSH_ACK, b"x")


def quiet_sessions(count: int) -> Records:
    """Connections that log in and then say no more."""
    for wire in wires(count):
        yield from log_in(wire)


def half_messages(count: int) -> Records:
    """Each connection sends the first part of a statement."""
    part = message(0, b"\x03" + dull(70_000))[:LARGE]
    for wire in wires(count):
        yield from log_in(wire)
        yield wire.packet(0, PUSH_ACK, part)


def unrecognised(count: int) -> Records:
    part = dull(LARGE)
    for wire in wires(count, port=9999):
        yield from wire.open()
        yield wire.packet(0, PUSH_ACK, part)


def unrecognised_crumbs(count: int) -> Records:
    """The same, byte by byte."""
    for wire in wires(count, port=9999):
        yield from wire.open()
        for _ in range(1_000):
            yield wire.packet(0, PUSH_ACK, b"x")


def holes(count: int) -> Records:
    """What follows a packet that is missing and was never acknowledged."""
    part = dull(LARGE)
    for wire in wires(count):
        yield from log_in(wire)
        wire.sequence[0] += 1_000
        for _ in range(20):
            yield wire.packet(0, PUSH_ACK, part)


def hole_crumbs(count: int) -> Records:
    """One connection, and each byte behind a hole of its own."""
    for wire in wires(1 + count // 20_000):
        yield from log_in(wire)
        for _ in range(20_000):
            wire.sequence[0] += 1
            yield wire.packet(0, PUSH_ACK, b"x")


def fragments(count: int) -> Records:
    """First pieces of datagrams whose rest never comes."""
    wire = Wire(RTT_NS)
    for number in range(count):
        record = bytearray(wire.packet(0, ACK, bytes(64)))
        struct.pack_into(">HH", record, 16 + 14 + 4, number & 0xFFFF, 0x2000)
        wire.now_ns += 1_000
        yield bytes(record)


def announced(count: int) -> Records:
    """Packets of 16 MB of which nothing comes but the header."""
    for wire in wires(count):
        yield from log_in(wire)
        yield wire.packet(0, PUSH_ACK, b"\xff\xff\xff\0\x03")


def pipeline(count: int) -> Records:
    """Requests that nobody answers."""
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    some = message(0, b"\x03do 1") * 100
    for _ in range(count // 100):
        wire.now_ns += 1_000
        yield wire.packet(0, PUSH_ACK, some)


def pipelines(count: int) -> Records:
    """The same on many connections."""
    some = message(0, b"\x03do 1") * 500
    for wire in wires(count // 500):
        yield from log_in(wire)
        yield wire.packet(0, PUSH_ACK, some)


def statement_of_a_gigabyte(count: int) -> Records:
    """One statement in full MySQL packets."""
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    whole = b"\xff\xff\xff%c" + dull(0xFFFFFF)
    for number in range(count):
        packet = whole.replace(b"%c", bytes([number & 0xFF]), 1)
        packet = packet if number else packet[:4] + b"\x03" + packet[5:]
        for start in range(0, len(packet), LARGE):
            wire.now_ns += 1_000
            yield wire.packet(0, PUSH_ACK, packet[start : start + LARGE])


def statements(count: int) -> Records:
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    for number in range(count):
        asked = message(0, f"\x03SELECT c{number:x} FROM t".encode())
        yield from wire.ask(asked, DONE)


def errors(count: int) -> Records:
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    for number in range(count):
        state = f"#{number % 36**5:05}"[-6:]
        yield from wire.ask(message(0, b"\x03x"), message(1, b"\xff\x28\x04" + state.encode() + b"no"))


def exchanges(count: int) -> Records:
    """Pipelined pings and their answers: a row for each ten bytes."""
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    for _ in range(count // 1000):
        yield from wire.ask(message(0, b"\x0e") * 1000, DONE * 1000)


def samples(count: int) -> Records:
    """A download whose every segment is acknowledged."""
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    yield wire.packet(0, PUSH_ACK, message(0, b"\x03x"))
    for _ in range(count):
        wire.now_ns += 100_000
        yield wire.packet(1, PUSH_ACK, bytes(8))
        wire.now_ns += 100_000
        yield wire.packet(0, ACK)


def compressed_packets(count: int) -> Records:
    """MySQL's compression: each packet of 16 KB says and holds 16 MB."""
    plain = bytes(16_000_000)
    body = zlib.compress(plain, 9)
    bomb = struct.pack("<I", len(body))[:3] + b"\0" + struct.pack("<I", len(plain))[:3] + body
    wire = Wire(RTT_NS)
    yield from wire.open()
    yield wire.packet(1, PUSH_ACK, greeting())
    capabilities = struct.pack("<IIB23x", 0x000AA225, 1 << 24, 45)
    login = message(1, capabilities + b"lab\0\x14" + b"\x07" * 20 + b"mysql_native_password\0")
    yield from wire.ask(login, OK)
    for _ in range(count):
        yield from wire.ask(bomb, b"\x0b\0\0\0\0\0\0" + OK)


# --- files -------------------------------------------------------------------------------------------------------------

SECTION = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)


def block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


INTERFACE = block(1, struct.pack("<HHI", 1, 0, 0))


def names(count: int) -> Records:
    """pcapng blocks that give names to addresses."""
    yield SECTION + INTERFACE
    record = struct.pack("<HH", 1, 4 + 60_000) + bytes([10, 0, 0, 1]) + (b"n" * 29_999 + b"\0") * 2
    for _ in range(count):
        yield block(4, record * 4)


def interfaces(count: int) -> Records:
    yield SECTION
    for _ in range(count):
        yield INTERFACE


def options(count: int) -> Records:
    """Interfaces with very many options."""
    yield SECTION
    many = struct.pack("<HI", 9, 1)[:4] * 100_000
    for _ in range(count):
        yield block(1, struct.pack("<HHI", 1, 0, 0) + many)


def secrets(count: int) -> Records:
    yield SECTION + INTERFACE
    for _ in range(count):
        yield block(10, struct.pack("<II", 0x544C534B, 1_000_000) + dull(1_000_000))


def same_packets(count: int) -> Records:
    """A file of equal packets: a bomb once it is packed."""
    many = Wire(RTT_NS).packet(0, SYN) * 10_000
    for _ in range(count):
        yield many


Pack = Callable[[Path, Path], None]


def in_gzip(source: Path, target: Path) -> None:
    with source.open("rb") as plain, gzip.open(target, "wb", compresslevel=1) as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)


def twice_in_gzip(source: Path, target: Path) -> None:
    in_gzip(source, source.with_suffix(".once"))
    in_gzip(source.with_suffix(".once"), target)


def in_zstd(source: Path, target: Path) -> None:
    subprocess.run(["zstd", "-q", "-f", "-19", "--long=27", "-T1", source, "-o", target], check=True)


def in_lz4(source: Path, target: Path) -> None:
    subprocess.run(["lz4", "-q", "-f", "-9", source, target], check=True)


def plain(source: Path, target: Path) -> None:
    source.rename(target)


PCAPNG = frozenset({names, interfaces, options, secrets})

FLOODS: dict[str, tuple[Callable[[int], Records], int, Pack]] = {
    "SYNs": (syns, 500_000, plain),
    "connections of one byte": (tiny_connections, 200_000, plain),
    "logins": (quiet_sessions, 100_000, plain),
    "half-arrived messages": (half_messages, 20_000, in_gzip),
    "unrecognised streams": (unrecognised, 20_000, in_gzip),
    "unrecognised streams, byte by byte": (unrecognised_crumbs, 1_000, plain),
    "segments behind holes": (holes, 1_000, in_gzip),
    "bytes behind holes": (hole_crumbs, 500_000, plain),
    "pieces of datagrams": (fragments, 500_000, plain),
    "announced lengths": (announced, 50_000, plain),
    "a deep pipeline": (pipeline, 2_000_000, plain),
    "many pipelines": (pipelines, 2_000_000, plain),
    "a statement of 1 GB": (statement_of_a_gigabyte, 64, in_gzip),
    "distinct statements": (statements, 1_000_000, plain),
    "distinct errors": (errors, 500_000, plain),
    "exchanges": (exchanges, 10_000_000, in_gzip),
    "RTT samples": (samples, 1_000_000, plain),
    "MySQL's compressed packets": (compressed_packets, 200, plain),
    "pcapng names": (names, 2_000, in_gzip),
    "pcapng interfaces": (interfaces, 1_000_000, plain),
    "pcapng options": (options, 100, plain),
    "pcapng secrets": (secrets, 500, in_gzip),
    "a gzip bomb": (same_packets, 2_000, in_gzip),
    "a gzip bomb in gzip": (same_packets, 1_000, twice_in_gzip),
    "a zstd bomb": (same_packets, 1_000, in_zstd),
    "an lz4 bomb": (same_packets, 1_000, in_lz4),
}


def main() -> None:
    arguments = parse()
    print("| flood | file MB | plain MB | CPU s | peak MB | notes |\n|---|--:|--:|--:|--:|---|")
    for name in arguments.floods:
        with tempfile.TemporaryDirectory() as folder:
            path, plain_mb = written(name, arguments.scale, Path(folder))
            spent, notes = run(arguments.command, path, arguments.memory)
            size = path.stat().st_size / 1e6
        row = f"{size:,.1f} | {plain_mb:,.0f} | {spent.cpu_s:.1f}{spent.mark} | {spent.peak_mb:,.0f} | {notes}"
        print(f"| {name} | {row} |", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("floods", nargs="*", default=list(FLOODS), metavar="FLOOD", help=", ".join(FLOODS))
    parser.add_argument("--scale", type=float, default=1.0, help="of all captures")
    parser.add_argument("--command", default="analyze")
    parser.add_argument("--memory", help="what reading may keep")
    return parser.parse_args()


def written(name: str, scale: float, folder: Path) -> tuple[Path, float]:
    records, count, pack = FLOODS[name]
    header: Iterable[bytes] = () if records in PCAPNG else (PCAP_HEADER,)
    whole, path = folder / "whole", folder / "capture"
    with whole.open("wb") as file:
        file.writelines(chain(header, records(round(count * scale))))
    size = whole.stat().st_size / 1e6
    pack(whole, path)
    return path, size


def run(command: str, path: Path, memory: str | None) -> tuple[Spent, str]:
    asked = ("--memory", memory) if memory else ()
    spent = spend([*command.split(), str(path), "--quiet", *asked], cpu_s=CPU_S, memory=MEMORY)
    told = spend(["table", "health", str(path), "--quiet", "--format", "jsonl", *asked], cpu_s=CPU_S, memory=MEMORY)
    codes = [json.loads(line)["code"] for line in told.output.splitlines()]
    limits = [code for code in codes if code.startswith(("too-many", "file-"))]
    return spent, ", ".join(limits) or spent.complaint.strip().partition(": ")[2].removeprefix(f"{path}: ")[:80]


if __name__ == "__main__":
    main()
