"""Parts of a recording: whole client groups, which together are all of it, row for row."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from arro3.core import Table
from conftest import FIXTURES, load_fixture

import latpcap
from latpcap import _core
from latpcap.tables.part.client_groups import client_groups, client_groups_of
from latpcap.tables.part.groups import arranged

ALL = sorted(path.with_suffix("").relative_to(FIXTURES).as_posix() for path in FIXTURES.glob("*/*.toml"))
PLAIN = [name for name in ALL if load_fixture(name).path.suffix == ".pcapng"]
CLIENT, SERVER = bytes([10, 77, 0, 1]), bytes([10, 77, 0, 2])
TABLES = ("connections", "exchanges", "rtt_samples", "clock_readings")
PLACED = ("fingerprint", "text", "tags")
"""What of an exchange is a number in the texts of its own reading."""

Rows = dict[str, list[tuple[Any, ...]]]


def rows(read: Any) -> Rows:
    """The rows of each table, ordered, with texts in the place of their numbers."""
    statements = Table.from_arrow(read.statements()).column("text").to_pylist()
    tags = Table.from_arrow(read.tags()).column("text").to_pylist()
    texts = {"fingerprint": statements, "text": statements, "tags": tags}
    found = {}
    for name in TABLES:
        table = Table.from_arrow(getattr(read, name)())
        columns = [
            [None if each is None else texts[column][each] for each in table.column(column).to_pylist()]
            if column in PLACED
            else table.column(column).to_pylist()
            for column in table.column_names
        ]
        found[name] = sorted(zip(*columns, strict=True), key=repr)
    return found


def together(parts: Sequence[Rows]) -> Rows:
    return {name: sorted((row for part in parts for row in part[name]), key=repr) for name in TABLES}


def parts(sources: list[Any], of: int) -> Iterator[Rows]:
    return (rows(_core.read(sources, part=(number, of))) for number in range(of))


def moved(name: str, number: int) -> bytes:
    """A fixture between two hosts of its own; nobody looks at checksums."""
    data = load_fixture(name).path.read_bytes()
    return data.replace(CLIENT, bytes([10, 77, number, 1])).replace(SERVER, bytes([10, 78, number % 7, 2]))


@pytest.mark.parametrize("name", ALL)
def test_the_parts_of_a_recording_are_all_of_it(name: str) -> None:
    path = str(load_fixture(name).path)
    assert together(list(parts([path], 3))) == rows(_core.read([path]))


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_the_parts_of_many_hosts_are_all_of_it(of: int) -> None:
    sources = [moved(name, number) for number, name in enumerate(PLAIN[:250])]
    whole, divided = rows(_core.read(sources)), list(parts(sources, of))
    assert len(whole["connections"]) > 250
    assert all(part["exchanges"] for part in divided)
    assert together(divided) == whole


def test_a_clock_that_was_set_is_put_right_in_each_part_as_in_the_whole(tmp_path: Path) -> None:
    sources = [tmp_path / f"{number}.pcapng" for number in range(4)]
    for number, source in enumerate(sources):
        source.write_bytes(moved("mysql/churn-20", number))
    merged = tmp_path / "merged.pcap"
    subprocess.run(["mergecap", "-F", "nsecpcap", "-w", str(merged), *map(str, sources)], check=True)
    capture = set_back(merged.read_bytes(), seconds=10)
    whole = rows(_core.read([capture]))
    assert together(list(parts([capture], 4))) == whole
    assert whole != rows(_core.read([merged.read_bytes()]))
    lasts = [max(row[0] for row in part["connections"]) for part in parts([capture], 4) if part["connections"]]
    assert len(lasts) > 1, "more than one part has connections"


def set_back(pcap: bytes, seconds: int) -> bytes:
    """The clock goes back by so much in the middle of the packets."""
    data, at, places = bytearray(pcap), 24, []
    while at < len(data):
        places.append(at)
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
    for place in places[len(places) // 2 :]:
        struct.pack_into("<I", data, place, struct.unpack_from("<I", data, place)[0] - seconds)
    return bytes(data)


def test_the_index_tells_of_each_group_which_part_holds_it() -> None:
    sources = [moved(name, number) for number, name in enumerate(PLAIN[:20])]
    index = client_groups(sources)
    hosts = {frozenset((row["host"], row["other_host"])): row for row in index.to_dicts()}
    for number in range(3):
        table = Table.from_arrow(_core.read(sources, part=(number, 3)).connections())
        ends = [[end.rsplit(":", 1)[0] for end in table.column(side).to_pylist()] for side in ("client", "server")]
        assert all(hosts[pair]["hash"] % 3 == number for pair in map(frozenset, zip(*ends, strict=True)))
    assert list(index.column("bytes")) == sorted(index.column("bytes"), reverse=True)


def test_each_group_is_a_recording_of_its_own() -> None:
    capture = latpcap.read([moved("mysql/churn-20", number) for number in range(5)])
    recording = capture.recording
    some = arranged(recording, client_groups_of(recording))
    groups = {group.name: group.recording for groups in some for group in groups}
    assert sorted(groups) == [f"10.77.{number}.1 → 10.78.{number}.2" for number in range(5)]
    assert [len(group.database_rows) for group in groups.values()] == [20] * 5
    assert sum(len(group.exchanges) for group in groups.values()) == len(capture.exchanges)


def test_there_is_no_part_beyond_the_last() -> None:
    with pytest.raises(latpcap.UsageError, match="there is no part 3 of 3"):
        latpcap.read(load_fixture("mysql/churn-20").path, part=(3, 3))
