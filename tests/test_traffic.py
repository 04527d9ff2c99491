"""Generated captures (benchmarks/speed/traffic): each is read with the counts that it was made with, file and pipe."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import latpcap

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "benchmarks"))
from speed.traffic.kinds import KINDS, TNS, Traffic, Wish  # noqa: E402

WISHES = {
    "nplus1": Wish(4_000),
    "nplus1 without ACKs": Wish(4_000, acks=False),
    "nplus1 on 16 connections": Wish(4_000, connections=16),
    "postgresql": Wish(4_000),
    "postgresql on 3 connections": Wish(4_000, connections=3),
    "bulk": Wish(8_000),
    "bulk in small rows": Wish(8_000, row_bytes=200),
    "short": Wish(4_000),
    "connections": Wish(4_000),
    "statements": Wish(4_000),
    "firebird": Wish(4_000),
    "tns": Wish(4_000),
}


def made(name: str) -> Traffic:
    if name == "tns" and not TNS.capture.exists():
        pytest.skip(f"{TNS.capture} is not here")
    return KINDS[name.split()[0]](WISHES[name])


def written(name: str, path: Path) -> Traffic:
    traffic = made(name)
    with path.open("wb") as file:
        traffic.write(file)
    return traffic


def counts(result: dict[str, Any]) -> tuple[int, int, int, int]:
    """Packets, connections, queries and what is told apart of them."""
    (capture,), statements = result["captures"], result["statements"]
    asked = [statement["executions"] for statement in statements if statement["executions"]]
    return capture["packets"], result["summary"]["connections"], sum(asked), len(asked)


@pytest.mark.parametrize("name", WISHES)
def test_a_capture_is_read_with_the_counts_it_was_made_with(name: str, tmp_path: Path) -> None:
    traffic = written(name, tmp_path / "x.pcap")
    result = latpcap.read(tmp_path / "x.pcap").analyze().to_dict()
    assert counts(result) == (traffic.packets, traffic.connections, traffic.queries, traffic.fingerprints)
    assert result["health"] == []
    assert {connection["state"] for connection in result["connections"]} == {"complete"}


@pytest.mark.parametrize("name", WISHES)
def test_packets_are_in_the_order_of_time_and_as_many_as_wanted(name: str) -> None:
    times = list(record_times(b"".join(bytes(block) for block in made(name).blocks())))
    assert times == sorted(times)
    assert WISHES[name].packets * 0.7 <= len(times) <= WISHES[name].packets


def record_times(capture: bytes) -> Iterator[tuple[int, int]]:
    at = 24
    while at < len(capture):
        seconds, nanoseconds, length = struct.unpack_from("<III", capture, at)
        yield seconds, nanoseconds
        at += 16 + length


@pytest.mark.parametrize("kind", KINDS)
def test_a_pipe_brings_the_same_bytes_and_counts(kind: str, tmp_path: Path) -> None:
    traffic = written(kind, tmp_path / "x.pcap")
    command = [sys.executable, "-m", "benchmarks.speed.traffic", kind, "-", "--packets", str(WISHES[kind].packets)]
    piped = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert piped.stdout == (tmp_path / "x.pcap").read_bytes()
    told = json.loads(piped.stderr)
    assert told["queries"] == traffic.queries
    assert told["bytes"] == len(piped.stdout)
    read = subprocess.run(
        [sys.executable, "-m", "latpcap", "analyze", "--json", "--quiet", "-"], input=piped.stdout, capture_output=True
    )
    assert counts(json.loads(read.stdout)) == counts(latpcap.read(tmp_path / "x.pcap").analyze().to_dict())
