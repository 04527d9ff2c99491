"""A ring of files says what the one file says: for every fixture, cut anywhere, its files given in any order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from arro3.core import Table
from conftest import FIXTURES, load_fixture
from damage import ENHANCED, INTERFACE, SECTION, unpacked

from latpcap import _core

ALL = sorted(path.with_suffix("").relative_to(FIXTURES).as_posix() for path in FIXTURES.glob("*/*.toml"))
TABLES = ("connections", "exchanges", "statements", "rtt_samples", "clock_readings", "cases")
OF_FILES = {"clock-backwards", "coarse-clock", "snap-length", "file-cut", "file-damaged"}
"""Notes that are told file by file."""


def blocks(pcapng: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(pcapng):
        length = int.from_bytes(pcapng[at + 4 : at + 8], "little")
        yield int.from_bytes(pcapng[at : at + 4], "little"), pcapng[at : at + length]
        at += length


def ring(pcapng: bytes, chance: random.Random) -> list[Any]:
    """The blocks in files of one packet to many, each of which begins as the first one does."""
    head, files, room = b"", [b""], chance.randint(1, 7)
    for kind, block in blocks(pcapng):
        if kind in (SECTION, INTERFACE):
            head += block
            continue
        if kind == ENHANCED and not room:
            files.append(b"")
            room = chance.choice([1, 2, 7, 50])
        files[-1] += block
        room -= kind == ENHANCED
    return [head + file for file in files]


def names(count: int, kind: str) -> list[str]:
    """As dumpcap calls the files, and as nobody knows their order by."""
    if kind == "dumpcap":
        return [f"ring_{number:05}_20261123062630.pcapng" for number in range(count)]
    return [f"{random.Random(number).random()}.pcapng" for number in range(count)]


def rows(table: Any) -> list[dict[str, Any]]:
    return list(Table.from_arrow(table).to_struct_array().to_pylist())


def told(read: Any) -> dict[str, Any]:
    """All that does not name a file."""
    found: dict[str, Any] = {name: rows(getattr(read, name)()) for name in TABLES}
    for case in found["cases"]:
        del case["place"]
    notes = rows(read.notes())
    return found | {
        "notes": sorted((note["code"], note["count"]) for note in notes if note["code"] not in OF_FILES),
        "tick_ns": max((each["tick_ns"] or 1 for each in rows(read.captures())), default=1),
    }


@pytest.mark.parametrize("name", ALL)
def test_a_ring_says_what_the_one_file_says(name: str) -> None:
    whole, chance = unpacked(load_fixture(name).path), random.Random(name)
    files = ring(whole, chance)
    order = chance.sample(range(len(files)), len(files))
    given, kind = [files[number] for number in order], chance.choice(["dumpcap", "any"])
    called = names(len(files), kind)
    of_ring = _core.read(given, names=[called[number] for number in order])
    assert told(of_ring) == told(_core.read([whole]))
