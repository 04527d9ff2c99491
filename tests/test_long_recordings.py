"""The files of a ring: connections that cross them, more of them than may be open, and damage in between."""

from __future__ import annotations

import json
import resource
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import load_fixture

import latpcap
from latpcap.report.jsonout import dump
from latpcap.verify import verify

NPLUS1 = "mysql/nplus1-300-client"
FEW_OPEN = 64


def ring(capture: Path, folder: Path, count: int) -> list[Path]:
    """The packets of a fixture, one after the other in `count` files of pcap."""
    plain = folder / "plain.pcap"
    subprocess.run(["editcap", "-F", "nsecpcap", str(capture), str(plain)], check=True)
    data = plain.read_bytes()
    places = [*records(data)]
    edges = [places[len(places) * number // count] for number in range(count)] + [len(data)]
    files = [folder / f"ring_{number:05}.pcap" for number in range(count)]
    for file, (begin, end) in zip(files, pairwise(edges), strict=True):
        file.write_bytes(data[:24] + data[begin:end])
    plain.unlink()
    return files


def records(data: bytes) -> Iterator[int]:
    at = 24
    while at < len(data):
        yield at
        at += 16 + int(struct.unpack_from("<I", data, at + 8)[0])


def figures(capture: latpcap.Capture) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(dump(dict(capture.analyze().parts())))
    return {key: value for key, value in whole.items() if key not in ("captures", "sign_off")}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return ring(load_fixture(NPLUS1).path, tmp_path_factory.mktemp("ring"), 300)


def test_a_ring_says_what_the_one_file_says(files: list[Path]) -> None:
    whole = latpcap.read(load_fixture(NPLUS1).path)
    assert len(whole.connections) == 1, "it crosses all files"
    for given in (files, files[::-1], files[100:] + files[:100]):
        assert figures(latpcap.read(given)) == figures(whole)


def test_more_files_than_may_be_open_are_read(files: list[Path]) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_OPEN, FEW_OPEN))

    assert len(files) > FEW_OPEN
    command = [sys.executable, "-m", "latpcap", "table", "captures", "--format", "csv", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, preexec_fn=limit)
    assert len(done.stdout.splitlines()) == len(files) + 1


def test_a_damaged_file_costs_its_own_packets_and_is_named(files: list[Path], tmp_path: Path) -> None:
    copied = [Path(shutil.copy(file, tmp_path)) for file in files]
    packets = {row["path"]: row["packets"] for row in latpcap.read(copied).captures.to_dicts()}
    copied[100].write_bytes(bytes(1000))
    copied[-1].write_bytes(b"")
    capture = latpcap.read(copied)
    lost = packets[copied[100].name] + packets[copied[-1].name]
    assert sum(capture.captures.column("packets")) == sum(packets.values()) - lost
    notes = {row["code"]: row["message"] for row in capture.health.to_dicts()}
    assert notes["file-damaged"].startswith(f"{copied[100].name}: is not a capture file but all zeros")
    assert notes["file-cut"].startswith(f"{copied[-1].name}: is empty")


def test_what_was_never_a_capture_is_refused_beside_captures(files: list[Path], tmp_path: Path) -> None:
    notes = tmp_path / "ring.log"
    notes.write_text("dumpcap: 300 files\n")
    with pytest.raises(latpcap.CaptureError, match=r"ring\.log: is not a capture file but text"):
        latpcap.read([*files[:3], notes])


def test_wireshark_says_which_file_it_refuses(files: list[Path], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(bytes(1000))
    with pytest.raises(latpcap.CaptureError, match=r"and 1 other file: mergecap: .*damaged\.pcap"):
        verify([files[0], damaged])
