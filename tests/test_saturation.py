"""The server's limit, from queues that are worked out by hand."""

from __future__ import annotations

import heapq
from types import SimpleNamespace

import numpy as np
import pytest
from builder import Conn, Ex, build

from latpcap.projection.project import Conditions
from latpcap.projection.saturation import capacity_per_s
from latpcap.result.analysis import Measures

MS = 1_000_000


def queue(
    connections: int, servers: int, *, service_ms: float = 4.0, think_ms: float = 6.0, turns: int = 100
) -> SimpleNamespace:
    """A closed loop: each connection thinks, asks, and waits for one of `servers`; some go home earlier than others."""
    random = np.random.default_rng(7)
    free = [0.0] * servers
    asking = [(random.exponential(think_ms), number, 0) for number in range(connections)]
    rows = []
    while asking:
        asked, number, turn = heapq.heappop(asking)
        begun = max(heapq.heappop(free), asked)
        done = begun + random.exponential(service_ms)
        heapq.heappush(free, done)
        rows.append((number, asked, done))
        if turn < turns * (number + 1) // connections:
            heapq.heappush(asking, (done + random.exponential(think_ms), number, turn + 1))
    connection, asked, answered = np.array(sorted(rows)).T
    times = (asked * MS).astype(np.int64)
    return SimpleNamespace(
        connection=connection.astype(int),
        phase=connection.astype(int),
        baseline_ns=np.full(connections, 0.0),
        request_ns=times,
        request_end_ns=times,
        response_ns=(answered * MS).astype(np.int64),
        round_trips=np.ones(len(rows)),
        setup=np.zeros(len(rows), bool),
    )


@pytest.mark.parametrize("servers", [1, 2, 4])
def test_a_server_at_its_limit_shows_it(servers: int) -> None:
    capacity = capacity_per_s(queue(connections=8 * servers, servers=servers))  # type: ignore[arg-type]
    assert capacity == pytest.approx(servers * 250, rel=0.15)


@pytest.mark.parametrize("connections", [1, 2, 8])
def test_a_server_with_room_has_no_known_limit(connections: int) -> None:
    assert capacity_per_s(queue(connections, servers=64)) is None  # type: ignore[arg-type]


def test_more_connections_get_nothing_done_sooner_at_the_limit() -> None:
    """Two servers at 4 ms give 500 answers a second; 16 connections keep them busy, and 64 do no better."""
    job = queue(connections=16, servers=2)
    connections = []
    for number in range(16):
        mine = job.connection == number
        times = zip(job.request_ns[mine] / MS, job.response_ns[mine] / MS, strict=True)
        exchanges = [Ex(at_ms=asked, waited_ms=answered - asked) for asked, answered in times]
        connections.append(Conn(exchanges=exchanges, rtt_ms=0.05))
    projection = Measures(build(connections)).project([0.05], conditions=Conditions(connections=64))
    assert projection.capacity_per_s == pytest.approx(500, rel=0.15)
    [point] = projection.points
    assert point.runtime_s == pytest.approx(len(job.request_ns) / (projection.capacity_per_s or 1), rel=0.01)
    assert (point.optimistic_s or 0) < (point.runtime_s or 0) < (point.pessimistic_s or 0)


def test_a_limit_that_is_seldom_met_is_none() -> None:
    assert capacity_per_s(queue(connections=4, servers=2, think_ms=40.0)) is None  # type: ignore[arg-type]
