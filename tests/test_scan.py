"""The analysis as one pure function: the same bytes whatever the partition, and whoever computes the parts."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest
from conftest import Fixture
from msgspec.structs import replace
from test_client_groups import moved

import latpcap as package
from latpcap.measures.health import core_notes
from latpcap.scan import GROUP_SHARES, Partition, Scan, ScanOptions, part, reduce
from latpcap.tables.part.client_groups import client_groups
from latpcap.units import DEFAULT_MEMORY_BYTES
from latpcap.work.weights import GROUP_PACKETS, weights

MANY = (
    "mysql/nplus1-300-client",
    "postgresql/psycopg2-errors",
    "mysql/nplus1-300-loss2",
    "postgresql/psycopg2-cursor10",
)
"""Several protocols; each gets a client and a server of its own."""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = [tmp_path / f"{number}.pcapng" for number in range(len(MANY))]
    for number, path in enumerate(paths):
        path.write_bytes(moved(MANY[number], number))
    return [str(path) for path in paths]


def scanned(files: list[str], parts: int) -> Scan:
    """Each part by way of bytes, the last one first."""
    return reduce([pickle.loads(pickle.dumps(part(files, each))) for each in reversed(Partition.all(parts))])


def test_the_partition_does_not_show_in_the_result(files: list[str]) -> None:
    whole = scanned(files, 1)
    assert len(whole.groups) >= 4
    assert {scanned(files, parts).json() for parts in (2, 3, 7)} == {whole.json()}


def test_nor_does_what_the_parts_weigh(files: list[str]) -> None:
    seen = weights(files, DEFAULT_MEMORY_BYTES)
    assert seen is not None
    for weighed in ([*seen], [*range(1, GROUP_SHARES + 1)]):
        found = reduce([part(files, each) for each in Partition.weighed(3, weighed)])
        assert found.json() == scanned(files, 1).json()


def test_a_group_weighs_its_packets_and_its_own_cost(files: list[str]) -> None:
    packets = max(group["packets"] for group in client_groups(files).to_dicts())
    assert packets > 600  # the N+1
    assert max(weights(files, DEFAULT_MEMORY_BYTES) or []) == packets + GROUP_PACKETS


def test_a_share_with_half_of_the_work_has_a_part_of_its_own() -> None:
    weighed = [1] * GROUP_SHARES
    weighed[5] = GROUP_SHARES
    assert [each.shares for each in Partition.weighed(2, weighed)] == [(5,), (*range(5), *range(6, GROUP_SHARES))]


@pytest.mark.parametrize("parts", [1, 2, 7, GROUP_SHARES, GROUP_SHARES + 1])
def test_all_shares_are_dealt_out_once(parts: int) -> None:
    divided = Partition.weighed(parts, [*range(1, GROUP_SHARES + 1)])
    assert len(divided) == parts
    if parts <= GROUP_SHARES:
        assert sorted(share for each in divided for share in each.shares) == [*range(GROUP_SHARES)]
        assert all(each.shares for each in divided)


def test_files_that_cannot_be_weighed_are_divided_all_the_same(files: list[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pcapng")  # nobody reads it in vain
    (tmp_path / "notes.pcapng").write_text("no capture")
    for name in ("pipe", "notes", "nowhere"):
        assert weights([*files, str(tmp_path / f"{name}.pcapng")], DEFAULT_MEMORY_BYTES) is None


def test_threads_and_processes_find_the_same(files: list[str]) -> None:
    found = []
    for executor in (ThreadPoolExecutor(2), ProcessPoolExecutor(2, get_context("spawn"))):
        with executor:
            found.append(reduce(executor.map(partial(part, files), Partition.all(3))).json())
    assert found == [scanned(files, 1).json()] * 2


def test_a_group_is_what_the_analysis_of_its_connections_says(fixture: Callable[[str], Fixture]) -> None:
    path = fixture("postgresql/several-applications").path
    for group in scanned([str(path)], 2).groups.to_dicts():
        alone = package.read(path).select(client=group["client"], server=group["server"]).analyze([1, 5, 15, 50])
        assert group["round_trips"] == alone.summary.round_trips
        assert group["connections"] == alone.summary.connections
        assert group["runtime_ns"] == round(alone.summary.runtime_s * 1e9)
        assert group["network_ns"] == round(alone.budget.network_s * 1e9)
        assert group["runtime_15ms_ns"] == round((alone.projection.points[2].runtime_s or 0) * 1e9)
        assert group["findings"] == " ".join(sorted({found.code for found in alone.findings}))


def test_its_sums_are_those_of_the_whole(files: list[str]) -> None:
    found, whole = json.loads(scanned(files, 3).json()), package.read(files).analyze()
    assert found["total"]["round_trips"] == whole.summary.round_trips
    assert (
        found["total"]["exchanges"] == whole.summary.exchanges == sum(row["exchanges"] for row in found["statements"])
    )
    for group in found["groups"]:
        parts = ("network", "service", "transfer", "stall", "client", "think", "setup", "loss", "unknown")
        assert abs(sum(group[f"{name}_ns"] for name in parts) - group["runtime_ns"]) <= len(parts)


def test_a_dataset_gives_what_its_captures_give(files: list[str], tmp_path: Path) -> None:
    saved = [str(tmp_path / "saved")]
    package.read(files).save(saved[0])
    assert scanned(saved, 2).json() == scanned(files, 1).json()
    weighed = Partition.weighed(3, weights(saved, DEFAULT_MEMORY_BYTES) or [])
    assert reduce([part(saved, each) for each in weighed]).json() == scanned(files, 1).json()


def test_what_health_says_of_files_and_packets_is_what_the_analysis_says(files: list[str], tmp_path: Path) -> None:
    """One file in the middle is damaged, one lacks packets; what is measured is said of each group."""
    damaged, cut = Path(files[1]), Path(files[2])
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2 :] = b"\xff" * (len(content) - len(content) // 2)
    damaged.write_bytes(content)
    cut.write_bytes(cut.read_bytes()[:-7])
    capture = package.read(files)
    core = {(note.code, note.message) for note in core_notes(capture.recording)}
    of_all = [note for note in capture.health.to_dicts() if (note["code"], note["message"]) in core]
    whole = scanned(files, 1)
    assert whole.health.to_dicts() == of_all
    said = {note["code"]: note["message"] for note in of_all}
    assert said["file-damaged"].startswith("1.pcapng: ")
    assert said["file-cut"].startswith("2.pcapng: ")
    assert {scanned(files, parts).json() for parts in (2, 5)} == {whole.json()}
    capture.save(tmp_path / "saved")
    assert {scanned([str(tmp_path / "saved")], parts).json() for parts in (1, 3)} == {whole.json()}


def test_parts_that_are_not_of_one_scan_are_told(files: list[str], tmp_path: Path) -> None:
    parts = [part(files[:2], each) for each in Partition.all(2)]
    for told, message in (
        ([], "no part"),
        (parts[:1], "1 parts are there, and not each of the 2 once"),
        ([*parts, parts[0]], "3 parts are there"),
        ([replace(parts[0], version="0.0.9"), parts[1]], r"different versions of latpcap \(0.0.9, "),
        ([part(files[:2], Partition(0, 2), ScanOptions(think_s=2.0)), parts[1]], "asked for different things"),
        ([part(files[1:2], Partition(0, 2)), parts[1]], "different files under the same names"),
        ([part(files[:2], Partition.weighed(2, [1] * GROUP_SHARES)[0]), parts[1]], "divided differently"),
    ):
        with pytest.raises(package.UsageError, match=message):
            reduce(told)
    with pytest.raises(package.UsageError, match="one part at least"):
        Partition.all(0)
