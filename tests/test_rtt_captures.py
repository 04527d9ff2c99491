"""Baselines of real captures: both ends of one run, a clock that ticks every millisecond, and impossible times."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import analysed, load_fixture

pytest.importorskip("latpcap._core", reason="the core is not built")

import latpcap
from latpcap.result.analysis import Analysis

PAIRS = (
    "mysql/nplus1-300",
    "postgresql/psycopg3-pipeline-all",
    "postgresql/psycopg2-cursor10-2000",
    "firebird/fbclient3-nplus1-100",
)
MILLISECOND = 1_000_000


def ends(name: str) -> tuple[Analysis, Analysis]:
    return analysed(f"{name}-client"), analysed(f"{name}-server")


@pytest.mark.parametrize("name", PAIRS)
def test_both_ends_know_where_they_are_and_count_the_same_round_trips(name: str) -> None:
    client, server = ends(name)
    assert (client.paths[0].rtt.position, server.paths[0].rtt.position) == ("client", "server")
    assert client.summary.round_trips == server.summary.round_trips


@pytest.mark.parametrize("name", [name for name in PAIRS if "pipeline" not in name])
def test_both_ends_tell_the_same_rtt_within_five_percent(name: str) -> None:
    client, server = ends(name)
    assert client.summary.baseline_rtt_ms is not None
    assert server.summary.baseline_rtt_ms == pytest.approx(client.summary.baseline_rtt_ms, rel=0.05)


@pytest.mark.parametrize("name", [name for name in PAIRS if "pipeline" not in name])
def test_both_ends_tell_the_same_service_time_but_for_what_the_hosts_add(name: str) -> None:
    """Hosts and capture add up to 0.1 ms to a wait (docs/baseline.md); what is longer, is the same within 5 %."""
    client, server = ends(name)
    hosts_s = 0.0001 * client.summary.round_trips
    assert server.budget.service_s == pytest.approx(client.budget.service_s, rel=0.05, abs=hosts_s)


@pytest.mark.parametrize("name", PAIRS)
def test_the_rtt_of_a_path_lies_in_the_other_ends_range(name: str) -> None:
    client, server = (end.paths[0].rtt for end in ends(name))
    for one, other in ((client, server), (server, client)):
        assert one.baseline_ms is not None
        assert other.low_ms is not None
        assert other.high_ms is not None
        assert other.low_ms * 0.95 <= one.baseline_ms <= other.high_ms * 1.05


def blocks(pcapng: bytes) -> Iterator[tuple[int, bytearray]]:
    at = 0
    while at < len(pcapng):
        kind, length = struct.unpack_from("<II", pcapng, at)
        yield kind, bytearray(pcapng[at : at + length])
        at += length


def with_times(pcapng: bytes, time: Callable[[int, int], int]) -> bytes:
    """The capture with other times: `time` gets each packet's number, from 0, and its time."""
    result, number = bytearray(), 0
    for kind, block in blocks(pcapng):
        if kind == 6:  # enhanced packet block
            high, low = struct.unpack_from("<II", block, 12)
            told = time(number, (high << 32) | low) % 2**64
            struct.pack_into("<II", block, 12, told >> 32, told & 0xFFFFFFFF)
            number += 1
        result += block
    return bytes(result)


def with_ticks(pcapng: bytes, tick_ns: int) -> bytes:
    """The capture as a clock would have stamped it that ticks every `tick_ns`."""
    return with_times(pcapng, lambda _, time: time // tick_ns * tick_ns)


@pytest.mark.parametrize("end", ["client", "server"])
def test_a_clock_that_ticks_every_millisecond_blurs_the_rtt_and_the_range_says_so(end: str) -> None:
    fine = load_fixture(f"mysql/nplus1-300-{end}").path.read_bytes()
    true, blurred = (latpcap.read(capture).analyze().paths[0].rtt for capture in (fine, with_ticks(fine, MILLISECOND)))
    assert true.baseline_ms is not None
    assert blurred.low_ms is not None
    assert blurred.high_ms is not None
    assert blurred.low_ms <= true.baseline_ms <= blurred.high_ms
    assert blurred.baseline_ms == pytest.approx(true.baseline_ms, abs=0.5)


def test_a_microsecond_clock_changes_nothing_that_counts() -> None:
    fine = load_fixture("mysql/nplus1-300-client").path.read_bytes()
    true, rounded = (latpcap.read(capture).analyze().paths[0].rtt for capture in (fine, with_ticks(fine, 1000)))
    assert rounded.baseline_ms == pytest.approx(true.baseline_ms, abs=0.002)
    assert rounded.method == true.method


FIRST, LAST = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    "time",
    [
        pytest.param(lambda number, time: FIRST if number == 0 else time, id="the first at the beginning of time"),
        pytest.param(lambda number, time: FIRST + number if number < 2 else LAST - 10**9 + number, id="a handshake"),
        pytest.param(lambda number, time: (FIRST, LAST)[number % 2], id="each other packet"),
        pytest.param(lambda number, time: (FIRST, LAST)[number // 2 % 2], id="two and two"),
        pytest.param(lambda number, time: FIRST + number if number < 50 else LAST - 10**6 + number, id="halves"),
        pytest.param(lambda number, time: LAST, id="all at the end of time"),
    ],
)
def test_times_at_both_ends_overflow_nothing(time: Callable[[int, int], int], tmp_path: Path) -> None:
    capture = latpcap.read(with_times(load_fixture("mysql/nplus1-300-client").path.read_bytes(), time))
    analysis = capture.analyze([0.5, 15])
    assert analysis.summary.round_trips > 250
    capture.report(tmp_path / "report.html")
    assert all(part >= 0 for part in analysis.budget.parts().values())
